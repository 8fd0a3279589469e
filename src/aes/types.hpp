// The vocabulary of FIPS 197 and SP 800-38A that every layer shares.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define WARPAES_HD __host__ __device__ __forceinline__
#else
#define WARPAES_HD inline
#endif

namespace warpaes {

inline constexpr std::size_t block_bytes = 16;

using Block = std::array<std::uint8_t, block_bytes>;

/// A block as the two big-endian numbers of a Halves, its `high` and its `low`.
template <typename Halves>
constexpr Halves load_halves(const Block& block) {
    Halves h;
    for (unsigned i = 0; i < 8; ++i) {
        h.high = (h.high << 8) | block[i];
        h.low = (h.low << 8) | block[i + 8];
    }
    return h;
}

template <typename Halves>
constexpr Block store_halves(const Halves& h) {
    Block block{};
    for (unsigned i = 0; i < 8; ++i) {
        block[i] = static_cast<std::uint8_t>(h.high >> (56 - 8 * i));
        block[i + 8] = static_cast<std::uint8_t>(h.low >> (56 - 8 * i));
    }
    return block;
}

/// Values are those of `warpaes_mode` in the C ABI.
enum class Mode : std::int32_t {
    ecb = 1,
    cbc = 2,
    cfb128 = 3,
    cfb8 = 4,
    cfb1 = 5,
    ofb = 6,
    ctr = 7,
    xts = 8,
    gcm = 9,
    ccm = 10,
    cmac = 11
};

/// Every mode, in the order of their values.
inline constexpr std::array modes{Mode::ecb, Mode::cbc, Mode::cfb128, Mode::cfb8, Mode::cfb1, Mode::ofb,
                                  Mode::ctr, Mode::xts, Mode::gcm,    Mode::ccm,  Mode::cmac};
/// Elements of a table that is indexed by the value of a mode.
inline constexpr std::size_t mode_values = static_cast<std::size_t>(modes.back()) + 1;

/// Values are those of `warpaes_direction` in the C ABI.
enum class Direction : std::int32_t { encrypt = 1, decrypt = 2 };

/// Whether a single message can be cut anywhere and its pieces processed at once: the mode's input to the block
/// cipher is known beforehand, from a counter or from ciphertext that is already there (SP 800-38A, section 6).
constexpr bool is_parallel(Mode mode, Direction direction) {
    switch (mode) {
    case Mode::ecb:
    case Mode::ctr:
    case Mode::xts:
    case Mode::gcm:
        return true;
    case Mode::cbc:
    case Mode::cfb128:
    case Mode::cfb8:
    case Mode::cfb1:
        return direction == Direction::decrypt;
    case Mode::ofb:
    case Mode::ccm:
    case Mode::cmac:
        return false;
    }
    return false;
}

/// ECB and CBC process whole blocks only; every other mode takes a message of any length.
constexpr bool needs_whole_blocks(Mode mode) {
    return mode == Mode::ecb || mode == Mode::cbc;
}

constexpr bool uses_iv(Mode mode) {
    return mode != Mode::ecb && mode != Mode::cmac;
}

/// Modes whose messages carry a tag.
constexpr bool uses_tag(Mode mode) {
    return mode == Mode::gcm || mode == Mode::ccm || mode == Mode::cmac;
}

/// Only ECB, CBC and XTS decryption run the inverse cipher (FIPS 197, section 5.3).
constexpr bool uses_inverse_cipher(Mode mode, Direction direction) {
    return (needs_whole_blocks(mode) || mode == Mode::xts) && direction == Direction::decrypt;
}

/// A decryption whose chaining value is the 16 bytes of ciphertext before it, wherever it starts.
constexpr bool chains_on_ciphertext(Mode mode, Direction direction) {
    return direction == Direction::decrypt &&
           (mode == Mode::cbc || mode == Mode::cfb128 || mode == Mode::cfb8 || mode == Mode::cfb1);
}

}  // namespace warpaes
