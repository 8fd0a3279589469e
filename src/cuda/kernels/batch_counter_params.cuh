// What the kernels of batch_ctr.cuh are told.
#pragma once

#include "cuda/kernels/batch_params.cuh"

namespace warpaes::cuda {

struct CounterParams {
    static constexpr std::uint32_t window = 256;  ///< blocks
    static constexpr int width = 2;               ///< groups of 32 blocks in each of the shares of a window,
    static constexpr std::uint32_t shares = window / (32 * width);  ///< which as many tasks have

    BatchParams batch;
    std::uint32_t gcm;  ///< 32 bits count, from J0 on; else 128, from the IV on
    /// What a warp takes at a time: steps of 32 threads, or of a long message windows.
    std::uint32_t at_once;
    uint4* pads;  ///< GCM: E(J0) of every message of the launch, or null

    /// Tasks of a long message.
    static __host__ __device__ std::uint64_t tasks_of(std::uint64_t bytes, std::uint32_t at_once) {
        const std::uint64_t windows = (bytes / 16 + (bytes % 16 != 0) + window - 1) / window;
        return shares * ((windows + at_once - 1) / at_once);
    }
};

using CounterKernel = void (*)(CounterParams);
CounterKernel batch_ctr_kernel_for(int rounds, int tables, bool one_key, bool long_messages);

}  // namespace warpaes::cuda
