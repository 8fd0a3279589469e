// Times a warp that encrypts 32 blocks, one per lane, with the multiprocessor's clock. A timing leakage test prepares
// the inputs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/gpu/device.hpp"
#include "lab/gpu/variant.hpp"

namespace lab::gpu {

/// The implementations that are timed, all AES-128 with round keys in shared memory.
enum class Timed : std::uint8_t {
    constant,  ///< this and the next four: the variants with four tables, by memory
    shared,
    global,
    texture,
    replicated,
    production,  ///< tables<4> and encrypt_block of <warpaes/device.cuh>: production's tables and rounds
    bitsliced    ///< the same header's bitsliced cipher: each lane's block and 31 blocks derived from it
};
inline constexpr std::size_t timed_subjects = 7;
constexpr std::string_view name_of(Timed subject) {
    constexpr std::string_view names[] = {"constant memory", "shared memory",   "global memory",
                                          "texture memory",  "one copy a bank", "production's functions",
                                          "bitsliced"};
    return names[static_cast<std::size_t>(subject)];
}

inline constexpr std::size_t warp_text = 512;  ///< bytes that a measurement encrypts
inline constexpr std::size_t schedule_words = 44;

/// Inputs of the measurements: one for each measurement, or one for all.
struct WarpInputs {
    std::size_t count = 0;                ///< number of measurements
    std::span<const std::uint8_t> texts;  ///< 512 bytes, once or `count` times
    std::span<const std::uint32_t> keys;  ///< 44 words of round keys, once or `count` times
};

struct WarpTimes {
    std::vector<std::uint32_t> cycles;      ///< clocks of each measurement
    std::vector<std::uint8_t> ciphertexts;  ///< outputs of 512 bytes each, if requested
};

/// Measures on the current device; reuses its memory in later calls.
class WarpTimer {
public:
    WarpTimer();
    /// Throws std::invalid_argument if the sizes do not match.
    WarpTimes measure(Timed subject, const WarpInputs& inputs, bool with_ciphertexts);

private:
    DeviceMemory texts_, keys_, ciphertexts_, cycles_;
    Stream stream_;
    unsigned multiprocessors_;
};

}  // namespace lab::gpu
