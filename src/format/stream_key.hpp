// A key for files of authenticated segments, with the parameters of its format: the parameters of a streaming AEAD key
// in a Tink keyset, or the fixed parameters of C2SP chunked encryption.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/secret.hpp"

namespace warpaes {

class SegmentCipher;
struct SegmentLayout;
struct StreamKey;
struct StreamParameters;
struct StreamTemplate;

/// A format of authenticated segments. Each format is defined in its own source file, and segment_formats.hpp lists all
/// formats.
struct SegmentFormat {
    std::string_view name;       ///< used in file information and messages; a string literal
    std::string_view tink_type;  ///< type URL of the format's keys in keysets; empty: there are only raw keys, as long
                                 ///< as the AES key
    bool hmac;                   ///< the format's keys have the parameters of an HMAC
    bool marked;                 ///< the first byte of a file is the length of its header
    bool commits;                ///< the header identifies the key, so no segment is opened to find it
    bool cpu_bound;              ///< the CPU's part of the work takes longer than the cipher
    std::span<const StreamTemplate> templates;
    SegmentLayout (*layout)(const StreamParameters& parameters);
    /// Returns the cipher for the file with this header, or for a new file if the header is empty. `header` is empty or
    /// complete, with its mark. Throws Error{AUTHENTICATION} if the header shows that the key is wrong.
    std::unique_ptr<SegmentCipher> (*cipher)(const StreamKey& key, std::span<const std::uint8_t> aad,
                                             std::span<const std::uint8_t> header);
};

/// The values match Tink's HashType.
enum class Hash { sha1 = 1, sha384 = 2, sha256 = 3, sha512 = 4, sha224 = 5 };

struct StreamParameters {
    const SegmentFormat* format = nullptr;
    std::size_t aes_key_bytes = 32;         ///< 16 or 32; size of the AES key derived for a file
    std::uint32_t segment_bytes = 1 << 20;  ///< ciphertext and tag; in Tink's formats, the first segment includes the
                                            ///< header
    Hash hkdf_hash = Hash::sha256;
    Hash hmac_hash = Hash::sha256;  ///< if the format has an HMAC
    std::size_t tag_bytes = 16;     ///< size of the HMAC tag; otherwise 16

    friend bool operator==(const StreamParameters&, const StreamParameters&) = default;
};

struct StreamTemplate {
    std::string_view name;
    StreamParameters parameters;
};

/// Returns template `index` in the list of all formats' templates, in the order of segment_formats; null beyond the
/// last.
const StreamTemplate* template_at(std::size_t index) noexcept;
/// Throws Error{ARGUMENT}, whose message lists the choices, for an unknown name.
const StreamTemplate& find_template(std::string_view name);
/// Returns the name of the template with these parameters, or "" if there is no such template.
std::string_view template_name_of(const StreamParameters& parameters);

struct StreamKey {
    StreamParameters parameters;
    SecretVector key;  ///< input keying material
    std::uint32_t id = 0;
};

}  // namespace warpaes
