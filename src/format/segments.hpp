// Segment ciphers and the functions that they share.
#pragma once

#include <array>

#include "base/error.hpp"
#include "format/hkdf.hpp"
#include "format/segment_cipher.hpp"

namespace warpaes {

/// Throws Error{DATA_LENGTH} if the format does not allow these segments.
void check_range(const SegmentLayout& layout, const SegmentRange& range);

/// Returns the plaintext size of the range's segment `i`.
constexpr std::uint64_t text_of(const SegmentLayout& layout, const SegmentRange& range, std::uint64_t i) {
    if (range.ends && i + 1 == range.count) return range.last_text;
    return range.first + i == 0 ? layout.first_text : layout.text;
}

/// Returns the size of Tink's header, which contains its own length, a salt as long as the AES key, and the nonce
/// prefix.
std::size_t tink_header_bytes(std::size_t aes_key_bytes) noexcept;
SegmentLayout tink_layout(const StreamParameters& parameters);

struct TinkFile {
    std::vector<std::uint8_t> header;
    SecretVector derived;  ///< the AES key and the HMAC key
};
/// Returns the header and the keys of a file, or of a new file if `header` is empty.
TinkFile tink_file(const StreamKey& key, std::span<const std::uint8_t> aad, std::span<const std::uint8_t> header,
                   std::size_t mac_key_bytes);

/// Returns Tink's nonce for a segment: prefix(7) || BE32(segment) || last. The prefix is the end of the header.
std::array<std::uint8_t, 12> tink_nonce(std::span<const std::uint8_t> header, std::uint64_t segment, bool last);

/// Error{AUTHENTICATION} for a segment. `key_is_right` means that the same key opened another segment of the file.
class SegmentRefused : public Error {
public:
    SegmentRefused(const SegmentLayout& layout, std::uint64_t segment, bool key_is_right);
    [[nodiscard]] std::uint64_t segment() const noexcept { return segment_; }
    [[nodiscard]] bool key_is_right() const noexcept { return key_is_right_; }

private:
    std::uint64_t segment_;
    bool key_is_right_;
};

/// Wipes the range's plaintext and throws SegmentRefused for the range's segment `i`, which is not authentic.
[[noreturn]] void refuse_segment(const SegmentLayout& layout, const SegmentRange& range, std::uint64_t i,
                                 std::uint8_t* plaintext);

/// Segments that are AES-GCM messages under the same key, without associated data: Tink's AES-GCM-HKDF and C2SP's
/// chunks.
class GcmSegments : public SegmentCipher {
public:
    void process(Lane& lane, Direction direction, const SegmentRange& range, std::uint8_t* plaintext,
                 std::uint8_t* ciphertext) const final;

protected:
    using Nonce = std::array<std::uint8_t, 12>;

    GcmSegments(const SegmentLayout& layout, std::vector<std::uint8_t> header, std::span<const std::uint8_t> key)
        : SegmentCipher(layout, std::move(header)), key_(key) {}

private:
    [[nodiscard]] virtual Nonce nonce(std::uint64_t segment, bool last) const = 0;

    ExpandedKey key_;
};

}  // namespace warpaes
