// CMAC (SP 800-38B) and the formatting of CCM (SP 800-38C, appendix A).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "aes/types.hpp"

namespace warpaes {

/// Multiplies by x in GF(2^128); bit 0 of the element is the most significant bit of byte 0 (SP 800-38B, 6.1). Constant
/// time.
constexpr Block doubled(const Block& block) {
    Block out{};
    for (unsigned i = 0; i < block_bytes; ++i) {
        const unsigned next = i + 1 < block_bytes ? block[i + 1] : 0u;
        out[i] = static_cast<std::uint8_t>((unsigned{block[i]} << 1) | (next >> 7));
    }
    out[15] = static_cast<std::uint8_t>(out[15] ^ ((0u - (block[0] >> 7)) & 0x87u));
    return out;
}

/// K1 is added to a whole last block, K2 to a padded last block. `l` is E(K, 0).
struct CmacSubkeys {
    Block k1{}, k2{};
};
constexpr CmacSubkeys cmac_subkeys(const Block& l) {
    const Block k1 = doubled(l);
    return {k1, doubled(k1)};
}

/// Returns the last block of a message as it is passed to the cipher, before the chaining value is added (SP 800-38B,
/// 6.2, step 4). `rest` is the unprocessed end of the message: 1 to 16 bytes, or 0 if the message is empty.
constexpr Block cmac_last_block(const CmacSubkeys& subkeys, std::span<const std::uint8_t> rest) {
    const bool whole = rest.size() == block_bytes;
    Block block = whole ? subkeys.k1 : subkeys.k2;
    for (std::size_t i = 0; i < rest.size(); ++i) block[i] = static_cast<std::uint8_t>(block[i] ^ rest[i]);
    if (!whole) block[rest.size()] = static_cast<std::uint8_t>(block[rest.size()] ^ 0x80);
    return block;
}

/// Returns the length of the message end that is passed to cmac_last_block().
constexpr std::size_t cmac_rest(std::uint64_t bytes) {
    return bytes == 0 ? 0 : static_cast<std::size_t>((bytes - 1) % block_bytes + 1);
}

/// Returns the length of the longest plaintext whose length fits in q = 15 - nonce_bytes bytes: 2^(8q) - 1.
constexpr std::uint64_t ccm_most_bytes(std::uint64_t nonce_bytes) {
    const std::uint64_t q = 15 - nonce_bytes;
    return q >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * q)) - 1;
}

/// Returns the first block of the CBC-MAC input (SP 800-38C, A.2.1).
constexpr Block ccm_b0(std::span<const std::uint8_t> nonce, std::uint64_t aad_bytes, std::uint64_t text_bytes,
                       std::uint64_t tag_bytes) {
    Block b{};
    const auto q = static_cast<unsigned>(15 - nonce.size());
    b[0] = static_cast<std::uint8_t>((aad_bytes != 0 ? 0x40u : 0u) | ((tag_bytes - 2) / 2) << 3 | (q - 1));
    for (std::size_t i = 0; i < nonce.size(); ++i) b[1 + i] = nonce[i];
    for (unsigned i = 0; i < q && i < 8; ++i) b[15 - i] = static_cast<std::uint8_t>(text_bytes >> (8 * i));
    return b;
}

/// Returns the counter block with counter 0, which masks the tag. The text begins with counter 1 (SP 800-38C, A.3).
constexpr Block ccm_counter0(std::span<const std::uint8_t> nonce) {
    Block b{};
    b[0] = static_cast<std::uint8_t>(14 - nonce.size());
    for (std::size_t i = 0; i < nonce.size(); ++i) b[1 + i] = nonce[i];
    return b;
}

/// The encoded length that precedes the associated data (SP 800-38C, A.2.2): `size` bytes; 0 if there is no data.
struct CcmAadPrefix {
    std::array<std::uint8_t, 10> bytes{};
    std::size_t size = 0;
};
constexpr CcmAadPrefix ccm_aad_prefix(std::uint64_t aad_bytes) {
    CcmAadPrefix p;
    if (aad_bytes == 0) return p;
    std::size_t width = 2;
    if (aad_bytes >= 0xff00) {
        p.bytes[0] = 0xff;
        p.bytes[1] = aad_bytes <= 0xffffffffu ? 0xfe : 0xff;
        width = aad_bytes <= 0xffffffffu ? 4 : 8;
        p.size = 2;
    }
    for (std::size_t i = 0; i < width; ++i) {
        p.bytes[p.size + i] = static_cast<std::uint8_t>(aad_bytes >> (8 * (width - 1 - i)));
    }
    p.size += width;
    return p;
}

/// The counter blocks of a CCM message, and the CBC-MAC input up to the associated data. After the associated data and
/// after the text, the input is padded with zeros to whole blocks.
struct CcmStart {
    Block counter0, counter1;  ///< for the tag and for the beginning of the text
    std::array<std::uint8_t, block_bytes + sizeof(CcmAadPrefix::bytes)> head{};
    std::size_t head_bytes = block_bytes;

    constexpr CcmStart(std::span<const std::uint8_t> nonce, std::uint64_t aad_bytes, std::uint64_t text_bytes,
                       std::uint64_t tag_bytes)
        : counter0(ccm_counter0(nonce)), counter1(counter0) {
        counter1[15] = 1;
        const Block b0 = ccm_b0(nonce, aad_bytes, text_bytes, tag_bytes);
        const CcmAadPrefix prefix = ccm_aad_prefix(aad_bytes);
        for (std::size_t i = 0; i < block_bytes; ++i) head[i] = b0[i];
        for (std::size_t i = 0; i < prefix.size; ++i) head[head_bytes++] = prefix.bytes[i];
    }
    [[nodiscard]] constexpr std::span<const std::uint8_t> mac_head() const { return std::span(head).first(head_bytes); }
};

}  // namespace warpaes
