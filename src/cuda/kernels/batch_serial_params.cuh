// What the kernel for serial modes is told.
#pragma once

#include "aes/types.hpp"
#include "cuda/kernels/batch_params.cuh"

namespace warpaes::cuda {

struct SerialParams {
    BatchParams batch;
    std::uint32_t warps;     ///< of a thread block that take messages; the others help to fill the tables
    std::uint32_t staged;    ///< whether there is shared memory for that behind the tables
    std::uint32_t decrypts;  ///< CCM, CMAC
};

inline constexpr unsigned stage_blocks = 4;  ///< of each message at a time
inline constexpr unsigned stage_bytes = warp_lanes * stage_blocks * static_cast<unsigned>(block_bytes);
inline constexpr unsigned serial_stages = 2;
inline constexpr unsigned serial_shared_bytes_per_warp = serial_stages * stage_bytes;

}  // namespace warpaes::cuda
