// Formats for the tests, with segments so small that short files have many of them, and Tink keysets with keys for
// these formats, which have no template.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace oracle {

using Bytes = std::vector<std::uint8_t>;

struct SegmentFormat {
    enum class Kind { gcm_hkdf, ctr_hmac, c2sp };
    std::string name;
    Kind kind;
    std::size_t key_bytes;  ///< the AES key's length
    std::size_t segment_bytes;
    std::size_t tag_bytes = 16;

    [[nodiscard]] std::size_t header_bytes() const { return kind == Kind::c2sp ? 24 + 32 : 1 + key_bytes + 7; }
    /// Returns the number of plaintext bytes in segment 0 if other segments follow, and in a later full segment.
    [[nodiscard]] std::size_t first_text() const { return text() - (kind == Kind::c2sp ? 0 : header_bytes()); }
    [[nodiscard]] std::size_t text() const { return segment_bytes - tag_bytes; }
    /// Returns the file position where segment `i` begins. A segment includes its tag; segment 0 does not include the
    /// header.
    [[nodiscard]] std::size_t begin(std::size_t i) const;
    /// Returns the number of segments in a plaintext of `bytes` bytes.
    [[nodiscard]] std::size_t segments(std::size_t bytes) const;
    /// Returns the part of a 32-byte key that the format uses: the whole key for Tink, the AES key's length for C2SP.
    [[nodiscard]] Bytes input_key(const Bytes& key) const {
        return {key.begin(), kind == Kind::c2sp ? key.begin() + static_cast<std::ptrdiff_t>(key_bytes) : key.end()};
    }
};

/// Returns formats of all kinds, with small segments and with the sizes of the templates.
const std::vector<SegmentFormat>& segment_formats();

/// Returns the file that the oracle in tests/format creates with the input_key() of `key`. `header` consists of
/// header_bytes() random bytes, or is the header of a different file.
Bytes seal_segments(const SegmentFormat& format, const Bytes& key, const Bytes& aad, const Bytes& plaintext,
                    Bytes header);

/// Return a key of a Tink keyset as JSON, and a keyset of such keys.
std::string tink_key(const SegmentFormat& format, const Bytes& key, std::uint32_t id,
                     const std::string& status = "ENABLED");
std::string tink_keyset(const std::vector<std::string>& keys, std::uint32_t primary);

}  // namespace oracle
