#include "format/segment_cipher.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/kernel_random.hpp"
#include "engine/engine.hpp"
#include "engine/pipeline/memory.hpp"
#include "format/hkdf.hpp"
#include "format/segment_stage.hpp"
#include "format/segments.hpp"

namespace warpaes {

namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t tink_mac_key_bytes = 32;
constexpr std::size_t c2sp_salt_bytes = 24, c2sp_nonce_bytes = 12, c2sp_commitment_bytes = 32;

std::unique_ptr<SegmentCipher> tink_cipher(const StreamKey& key, Bytes aad, std::vector<std::uint8_t> header) {
    const StreamParameters& p = key.parameters;
    const SegmentLayout layout = layout_of(p);
    const bool mac = p.format == SegmentFormat::ctr_hmac;
    const SecretVector derived = hkdf(p.hkdf_hash, key.key, Bytes(header).subspan(1, p.aes_key_bytes), aad,
                                      p.aes_key_bytes + (mac ? tink_mac_key_bytes : 0));
    const Bytes aes_key = Bytes(derived).first(p.aes_key_bytes);
    if (!mac) return std::make_unique<TinkGcmSegments>(layout, std::move(header), aes_key);
    return std::make_unique<CtrHmacSegments>(layout, std::move(header), aes_key, p.hmac_hash,
                                             Bytes(derived).subspan(p.aes_key_bytes));
}

/// Derives key || base nonce || commitment.
SecretVector derive_c2sp(const StreamKey& key, Bytes aad, Bytes salt) {
    constexpr std::string_view protocol = "c2sp.org/chunked-encryption@v1+";
    const std::string_view algorithm = key.parameters.aes_key_bytes == 32 ? "AEAD_AES_256_GCM" : "AEAD_AES_128_GCM";
    const auto bytes_of = [](std::string_view text) {
        return Bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    };
    const std::uint8_t zero = 0;
    return hkdf_expand(Hash::sha512, key.key, {bytes_of(protocol), bytes_of(algorithm), {&zero, 1}, salt, aad},
                       key.parameters.aes_key_bytes + c2sp_nonce_bytes + c2sp_commitment_bytes);
}

std::unique_ptr<SegmentCipher> c2sp_cipher(const StreamKey& key, const SecretVector& derived,
                                           std::vector<std::uint8_t> header) {
    const std::size_t n = key.parameters.aes_key_bytes;
    return std::make_unique<C2spSegments>(layout_of(key.parameters), std::move(header), Bytes(derived).first(n),
                                          Bytes(derived).subspan(n, c2sp_nonce_bytes));
}

}  // namespace

std::array<std::uint8_t, 12> tink_nonce(Bytes header, std::uint64_t segment, bool last) {
    std::array<std::uint8_t, 12> nonce{};
    std::copy(header.end() - tink_prefix_bytes, header.end(), nonce.begin());
    for (unsigned i = 0; i < 4; ++i) nonce[tink_prefix_bytes + i] = static_cast<std::uint8_t>(segment >> (24 - 8 * i));
    nonce[11] = last ? 1 : 0;
    return nonce;
}

void refuse_segment(const SegmentLayout& layout, const SegmentRange& range, std::uint64_t i, std::uint8_t* plaintext) {
    clear_memory(plaintext, static_cast<std::size_t>(text_bytes(layout, range)), device_of(plaintext));
    // With a wrong key or wrong associated data, segment 0 would not have opened.
    throw SegmentRefused(layout, range.first + i, range.first == 0 && i > 0);
}

SegmentRefused::SegmentRefused(const SegmentLayout& layout, std::uint64_t segment, bool key_is_right)
    : Error(WARPAES_ERROR_AUTHENTICATION,
            "input: segment " + std::to_string(segment) + ", at byte " + std::to_string(layout.file_offset(segment)) +
                (key_is_right
                     ? ", was altered or truncated: earlier data opens with this key"
                     : ", is not authentic: it was altered or truncated, or the key or the associated data is wrong")),
      segment_(segment),
      key_is_right_(key_is_right) {}

std::unique_ptr<SegmentCipher> make_segment_cipher(const StreamKey& key, Bytes aad) {
    std::vector<std::uint8_t> header(static_cast<std::size_t>(layout_of(key.parameters).header_bytes));
    if (key.parameters.format != SegmentFormat::c2sp) {
        header[0] = static_cast<std::uint8_t>(header.size());
        fill_from_kernel(std::span(header).subspan(1), "salt");
        return tink_cipher(key, aad, std::move(header));
    }
    const auto salt = std::span(header).first(c2sp_salt_bytes);
    fill_from_kernel(salt, "salt");
    const SecretVector derived = derive_c2sp(key, aad, salt);
    const Bytes commitment = Bytes(derived).last(c2sp_commitment_bytes);
    std::copy(commitment.begin(), commitment.end(), header.end() - c2sp_commitment_bytes);
    return c2sp_cipher(key, derived, std::move(header));
}

std::unique_ptr<SegmentCipher> open_segment_cipher(const StreamKey& key, Bytes aad, Bytes header) {
    const auto needed = static_cast<std::size_t>(layout_of(key.parameters).header_bytes);
    const bool c2sp = key.parameters.format == SegmentFormat::c2sp;
    if (!c2sp && !header.empty() && header[0] != needed) {
        throw Error(WARPAES_ERROR_FORMAT, "input: does not begin with a header of the key's format: byte 0 is " +
                                              std::to_string(header[0]) + ", not " + std::to_string(needed));
    }
    if (header.size() < needed) {
        throw Error(WARPAES_ERROR_FORMAT, "input: is truncated: the header has " + std::to_string(needed) +
                                              " bytes, but the file has " + std::to_string(header.size()));
    }
    std::vector<std::uint8_t> own(header.begin(), header.begin() + static_cast<std::ptrdiff_t>(needed));
    if (!c2sp) return tink_cipher(key, aad, std::move(own));
    const SecretVector derived = derive_c2sp(key, aad, Bytes(own).first(c2sp_salt_bytes));
    if (CRYPTO_memcmp(Bytes(derived).last(c2sp_commitment_bytes).data(), own.data() + c2sp_salt_bytes,
                      c2sp_commitment_bytes) != 0) {
        throw Error(
            WARPAES_ERROR_AUTHENTICATION,
            "input: the key or the associated data differ from those of the encryption, or the header was altered, "
            "or the file has a different format");
    }
    return c2sp_cipher(key, derived, std::move(own));
}

}  // namespace warpaes
