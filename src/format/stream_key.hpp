// A key for files of authenticated segments, with the parameters of its format: the parameters of a streaming AEAD key
// in a Tink keyset, or the fixed parameters of C2SP chunked encryption.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/secret.hpp"

namespace warpaes {

enum class SegmentFormat {
    gcm_hkdf,  ///< Tink AES-GCM-HKDF streaming
    ctr_hmac,  ///< Tink AES-CTR-HMAC streaming
    c2sp       ///< C2SP chunked encryption
};

/// The properties of a format that code outside its segment cipher reads.
struct SegmentFormatTraits {
    std::string_view
        tink_type;   ///< type URL of its keys in keysets; empty: its keys are only raw, of the AES key's size
    bool marked;     ///< the first byte of a file is the length of its header
    bool commits;    ///< the header identifies the key, so no segment is opened to find it
    bool cpu_bound;  ///< the CPU's part of the work takes longer than the cipher
};

/// In the order of SegmentFormat.
inline constexpr std::array segment_formats{
    SegmentFormatTraits{"type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey", true, false, false},
    SegmentFormatTraits{"type.googleapis.com/google.crypto.tink.AesCtrHmacStreamingKey", true, false, true},
    SegmentFormatTraits{"", false, true, false}};

constexpr const SegmentFormatTraits& traits_of(SegmentFormat format) {
    return segment_formats[static_cast<std::size_t>(format)];
}

/// The values are those of Tink's HashType.
enum class Hash { sha1 = 1, sha384 = 2, sha256 = 3, sha512 = 4, sha224 = 5 };

struct StreamParameters {
    SegmentFormat format = SegmentFormat::gcm_hkdf;
    std::size_t aes_key_bytes = 32;         ///< 16 or 32; size of the AES key derived for a file
    std::uint32_t segment_bytes = 1 << 20;  ///< ciphertext and tag; in Tink's formats, the first segment includes the
                                            ///< header
    Hash hkdf_hash = Hash::sha256;
    Hash hmac_hash = Hash::sha256;  ///< ctr_hmac only
    std::size_t tag_bytes = 16;     ///< ctr_hmac: size of the HMAC tag; otherwise 16

    friend bool operator==(const StreamParameters&, const StreamParameters&) = default;
};

/// The size of Tink's header, which contains its own length, a salt as long as the AES key, and the nonce prefix.
inline constexpr std::size_t tink_prefix_bytes = 7;
constexpr std::size_t tink_header_bytes(std::size_t aes_key_bytes) {
    return 1 + aes_key_bytes + tink_prefix_bytes;
}

struct StreamTemplate {
    std::string_view name;
    StreamParameters parameters;
};

struct StreamKey {
    StreamParameters parameters;
    SecretVector key;  ///< input keying material
    std::uint32_t id = 0;
};

}  // namespace warpaes
