// Functions that the segment ciphers share.
#pragma once

#include <array>

#include "base/error.hpp"
#include "format/segment_cipher.hpp"

namespace warpaes {

/// Throws Error{DATA_LENGTH} if the format has no such segments.
void check_range(const SegmentLayout& layout, const SegmentRange& range);

/// The plaintext size of the range's segment `i`.
constexpr std::uint64_t text_of(const SegmentLayout& layout, const SegmentRange& range, std::uint64_t i) {
    if (range.ends && i + 1 == range.count) return range.last_text;
    return range.first + i == 0 ? layout.first_text : layout.text;
}

/// Tink's nonce for a segment: prefix(7) || BE32(segment) || last. The prefix is the end of the header.
std::array<std::uint8_t, 12> tink_nonce(std::span<const std::uint8_t> header, std::uint64_t segment, bool last);

/// Error{AUTHENTICATION} for a segment. `key_is_right`: another segment of the file opened with the same key.
class SegmentRefused : public Error {
public:
    SegmentRefused(const SegmentLayout& layout, std::uint64_t segment, bool key_is_right);
    [[nodiscard]] std::uint64_t segment() const noexcept { return segment_; }
    [[nodiscard]] bool key_is_right() const noexcept { return key_is_right_; }

private:
    std::uint64_t segment_;
    bool key_is_right_;
};

/// Wipes the range's plaintext and throws SegmentRefused for its segment `i`, which is not authentic.
[[noreturn]] void refuse_segment(const SegmentLayout& layout, const SegmentRange& range, std::uint64_t i,
                                 std::uint8_t* plaintext);

}  // namespace warpaes
