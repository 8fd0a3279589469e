// AES-KW and AES-KWP (SP 800-38F; RFC 3394, RFC 5649): the arithmetic around the cipher.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "aes/types.hpp"

namespace warpaes {

inline constexpr std::size_t semiblock_bytes = 8;
using Semiblock = std::array<std::uint8_t, semiblock_bytes>;

/// ICV1 of KW (SP 800-38F, 6.2) and ICV2 of KWP (6.3). Callers may replace them.
inline constexpr Semiblock kw_icv{0xa6, 0xa6, 0xa6, 0xa6, 0xa6, 0xa6, 0xa6, 0xa6};
inline constexpr std::array<std::uint8_t, 4> kwp_icv{0xa6, 0x59, 0x59, 0xa6};

/// The semiblock that KWP puts before the padded plaintext: ICV2 and the plaintext's length in bytes.
constexpr Semiblock kwp_first(std::span<const std::uint8_t, 4> icv, std::uint64_t bytes) {
    Semiblock a{};
    std::copy(icv.begin(), icv.end(), a.begin());
    for (unsigned i = 0; i < 4; ++i) a[4 + i] = static_cast<std::uint8_t>(bytes >> (24 - 8 * i));
    return a;
}

namespace detail {

constexpr void add_step(std::uint8_t* a, std::uint64_t step) {
    for (unsigned i = 0; i < semiblock_bytes; ++i) a[i] = static_cast<std::uint8_t>(a[i] ^ (step >> (56 - 8 * i)));
}

}  // namespace detail

/// W of SP 800-38F, 6.1, in place on `a` followed by `n` >= 2 semiblocks at `r`. `encrypt(Block&)` encrypts a block;
/// `work` is scratch space.
template <typename Cipher>
constexpr void wrap(Semiblock& a, std::uint8_t* r, std::uint64_t n, const Cipher& encrypt, Block& work) {
    std::copy(a.begin(), a.end(), work.begin());
    std::uint64_t step = 0;
    for (unsigned round = 0; round < 6; ++round) {
        for (std::uint64_t i = 0; i < n; ++i) {
            std::uint8_t* const at = r + i * semiblock_bytes;
            std::copy_n(at, semiblock_bytes, work.begin() + semiblock_bytes);
            encrypt(work);
            detail::add_step(work.data(), ++step);
            std::copy_n(work.begin() + semiblock_bytes, semiblock_bytes, at);
        }
    }
    std::copy_n(work.begin(), semiblock_bytes, a.begin());
}

/// The inverse of wrap(). `decrypt(Block&)` decrypts a block.
template <typename Cipher>
constexpr void unwrap(Semiblock& a, std::uint8_t* r, std::uint64_t n, const Cipher& decrypt, Block& work) {
    std::copy(a.begin(), a.end(), work.begin());
    for (std::uint64_t step = 6 * n; step != 0; --step) {
        std::uint8_t* const at = r + (step - 1) % n * semiblock_bytes;
        detail::add_step(work.data(), step);
        std::copy_n(at, semiblock_bytes, work.begin() + semiblock_bytes);
        decrypt(work);
        std::copy_n(work.begin() + semiblock_bytes, semiblock_bytes, at);
    }
    std::copy_n(work.begin(), semiblock_bytes, a.begin());
}

/// The result of KWP's checks of a padded plaintext of `padded` bytes: checks of the preceding semiblock and of the
/// padding.
struct KwpEnd {
    std::uint8_t wrong = 0;  ///< nonzero: the first semiblock or the padding is invalid
    std::uint64_t bytes = 0;
};

/// Steps 4 to 9 of SP 800-38F, algorithm 6. All failures produce the same result in the same time.
constexpr KwpEnd kwp_end(const Semiblock& a, std::span<const std::uint8_t, 4> icv,
                         std::span<const std::uint8_t, semiblock_bytes> last, std::uint64_t padded) {
    KwpEnd end;
    for (unsigned i = 4; i < 8; ++i) end.bytes = end.bytes << 8 | a[i];
    std::uint64_t wrong = 0;
    for (unsigned i = 0; i < 4; ++i) wrong |= static_cast<std::uint64_t>(a[i] ^ icv[i]);
    const std::uint64_t padding = padded - end.bytes;  // 0 to 7, or a much larger number
    wrong |= padding >> 3;
    for (std::uint64_t i = 0; i < semiblock_bytes; ++i) {
        const std::uint64_t kept = (i - (semiblock_bytes - padding)) >> 63;  // 1 before the padding, 0 in the padding
        wrong |= (kept - 1) & last[i];
    }
    // 1 if any of the 64 bits is set.
    end.wrong = static_cast<std::uint8_t>((wrong | (0 - wrong)) >> 63);
    return end;
}

}  // namespace warpaes
