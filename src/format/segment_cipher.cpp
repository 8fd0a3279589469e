#include "format/segment_cipher.hpp"

#include <string>

#include "base/error.hpp"
#include "engine/pipeline/memory.hpp"
#include "format/segment_stage.hpp"
#include "format/segments.hpp"

namespace warpaes {

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

std::unique_ptr<SegmentCipher> open_segment_cipher(const StreamKey& key, std::span<const std::uint8_t> aad,
                                                   std::span<const std::uint8_t> header) {
    const auto needed = static_cast<std::size_t>(layout_of(key.parameters).header_bytes);
    if (key.parameters.format->marked && !header.empty() && header[0] != needed) {
        throw Error(WARPAES_ERROR_FORMAT, "input: does not begin with a header of the key's format: byte 0 is " +
                                              std::to_string(header[0]) + ", not " + std::to_string(needed));
    }
    if (header.size() < needed) {
        throw Error(WARPAES_ERROR_FORMAT, "input: is truncated: the header has " + std::to_string(needed) +
                                              " bytes, but the file has " + std::to_string(header.size()));
    }
    return key.parameters.format->cipher(key, aad, header.first(needed));
}

}  // namespace warpaes
