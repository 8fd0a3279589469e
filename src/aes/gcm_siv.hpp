// GCM-SIV (RFC 8452): POLYVAL expressed in terms of GHASH, and the derivation of keys, tag and counters.
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

/// Returns block number `i`, which is encrypted under the key-generating key (RFC 8452, 4). The first 8 bytes of each
/// encrypted block are key material: the first two blocks for authentication, the other blocks for encryption.
constexpr Block gcm_siv_key_block(GcmSivNonce nonce, unsigned i) {
    Block block{static_cast<std::uint8_t>(i)};
    std::copy(nonce.begin(), nonce.end(), block.begin() + 4);
    return block;
}

/// Returns the hash subkey H' with which GHASH computes POLYVAL. POLYVAL has the reverse bit order: POLYVAL(H, X) =
/// reversed(GHASH(H', reversed(X))), block by block (RFC 8452, appendix A).
constexpr FieldElement polyval_subkey(const Block& h) {
    Block reversed{};
    std::reverse_copy(h.begin(), h.end(), reversed.begin());
    return times_x(load_element(reversed));
}

/// Reverses each block of `bytes` bytes, with the last block padded with zeros. `to` may not equal `from`.
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

/// Returns the last block of the POLYVAL input (the lengths), reversed.
constexpr FieldElement gcm_siv_lengths(std::uint64_t aad_bytes, std::uint64_t text_bytes) {
    return length_block(text_bytes, aad_bytes);
}

/// Returns the block whose encryption is the tag. `digest` is the GHASH result.
constexpr Block gcm_siv_tag_block(FieldElement digest, GcmSivNonce nonce) {
    const Block reversed = store_element(digest);
    Block block{};
    std::reverse_copy(reversed.begin(), reversed.end(), block.begin());
    for (std::size_t i = 0; i < nonce.size(); ++i) block[i] = static_cast<std::uint8_t>(block[i] ^ nonce[i]);
    block[15] &= 0x7f;
    return block;
}

/// Writes the counter blocks of a message, starting at block `first`. Each begins with a little-endian 32-bit counter,
/// which wraps; the other bytes are those of the tag.
inline void gcm_siv_counters(const Block& tag, std::uint64_t first, std::uint8_t* to, std::size_t blocks) {
    std::uint32_t counter = static_cast<std::uint32_t>(first);
    for (unsigned i = 0; i < 4; ++i) counter += std::uint32_t{tag[i]} << (8 * i);
    // Processes eight bytes at a time, because the compiler does not merge byte accesses here.
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
