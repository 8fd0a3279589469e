// GCM-SIV (RFC 8452): POLYVAL in the words of GHASH, keys, tag and counters.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "aes/ghash.hpp"
#include "aes/types.hpp"

namespace warpaes {

inline constexpr std::size_t gcm_siv_nonce_bytes = 12;
using GcmSivNonce = std::span<const std::uint8_t, gcm_siv_nonce_bytes>;

/// Block `i` of those that the key-generating key encrypts (RFC 8452, 4). Of each result the first 8 bytes are key:
/// two blocks for authentication, the rest for encryption.
constexpr Block gcm_siv_key_block(GcmSivNonce nonce, unsigned i) {
    Block block{static_cast<std::uint8_t>(i)};
    std::copy(nonce.begin(), nonce.end(), block.begin() + 4);
    return block;
}

/// POLYVAL has its bits in the reverse order: POLYVAL(H, X) = reversed(GHASH(H', reversed(X))), block by block, with
/// this H' (RFC 8452, appendix A).
constexpr FieldElement polyval_subkey(const Block& h) {
    Block reversed{};
    std::reverse_copy(h.begin(), h.end(), reversed.begin());
    return times_x(load_element(reversed));
}

/// The blocks of `bytes` bytes, the last filled up with zeros, reversed one by one. `to` may not be `from`.
inline void reverse_blocks(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
    std::size_t at = 0;
    for (; at + block_bytes <= bytes; at += block_bytes) {
        std::uint64_t first, second;
        std::memcpy(&first, from + at, 8);
        std::memcpy(&second, from + at + 8, 8);
        first = __builtin_bswap64(first);
        second = __builtin_bswap64(second);
        std::memcpy(to + at, &second, 8);
        std::memcpy(to + at + 8, &first, 8);
    }
    if (at == bytes) return;
    std::memset(to + at, 0, block_bytes);
    for (std::size_t i = 0; at + i < bytes; ++i) to[at + block_bytes - 1 - i] = from[at + i];
}

/// The last block that POLYVAL takes, reversed.
constexpr FieldElement gcm_siv_lengths(std::uint64_t aad_bytes, std::uint64_t text_bytes) {
    return length_block(text_bytes, aad_bytes);
}

/// What is encrypted to be the tag. `digest`: of GHASH.
constexpr Block gcm_siv_tag_block(FieldElement digest, GcmSivNonce nonce) {
    const Block reversed = store_element(digest);
    Block block{};
    std::reverse_copy(reversed.begin(), reversed.end(), block.begin());
    for (std::size_t i = 0; i < nonce.size(); ++i) block[i] = static_cast<std::uint8_t>(block[i] ^ nonce[i]);
    block[15] &= 0x7f;
    return block;
}

/// Counter blocks from block `first` of a message on. They begin with a little-endian number of 32 bits, which wraps;
/// what follows it is the tag's.
inline void gcm_siv_counters(const Block& tag, std::uint64_t first, std::uint8_t* to, std::size_t blocks) {
    std::uint32_t counter = static_cast<std::uint32_t>(first);
    for (unsigned i = 0; i < 4; ++i) counter += std::uint32_t{tag[i]} << (8 * i);
    // Eight bytes at a time, for the compiler does no better.
    std::uint64_t start = 0, end = 0;
    for (unsigned i = 0; i < 8; ++i) start |= std::uint64_t{tag[i]} << (8 * i);
    for (unsigned i = 0; i < 8; ++i) end |= std::uint64_t{tag[8 + i]} << (8 * i);
    start &= ~std::uint64_t{0xffffffff};
    end |= std::uint64_t{1} << 63;
    const auto store = [](std::uint8_t* at, std::uint64_t v) {
        if constexpr (std::endian::native == std::endian::big) v = __builtin_bswap64(v);
        std::memcpy(at, &v, sizeof v);
    };
    for (std::size_t i = 0; i < blocks; ++i) {
        store(to + i * block_bytes, start | static_cast<std::uint32_t>(counter + i));
        store(to + i * block_bytes + 8, end);
    }
}

}  // namespace warpaes
