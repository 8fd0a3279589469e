#include <limits>
#include <string>

#include "base/error.hpp"
#include "format/segments.hpp"

namespace warpaes {

namespace {

[[noreturn]] void refuse_length(const std::string& why) {
    throw Error(WARPAES_ERROR_FORMAT, "input: " + why);
}

[[noreturn]] void refuse_plaintext(const SegmentLayout& layout) {
    throw Error(WARPAES_ERROR_DATA_LENGTH, "input: is longer than " + std::to_string(layout.most_segments) +
                                               " segments, the maximum of the format");
}

}  // namespace

std::uint64_t SegmentLayout::segments_of(std::uint64_t text_bytes) const {
    std::uint64_t segments = 1;
    if (last_is_shorter) {
        if (text_bytes >= first_text) segments = 2 + (text_bytes - first_text) / text;
    } else if (text_bytes > first_text) {
        segments = 2 + (text_bytes - first_text - 1) / text;
    }
    if (segments > most_segments) refuse_plaintext(*this);
    return segments;
}

std::uint64_t SegmentLayout::file_bytes(std::uint64_t text_bytes) const {
    const std::uint64_t more = header_bytes + segments_of(text_bytes) * tag;
    if (text_bytes > std::numeric_limits<std::uint64_t>::max() - more) refuse_plaintext(*this);
    return text_bytes + more;
}

std::uint64_t SegmentLayout::text_bytes(std::uint64_t file_bytes) const {
    if (file_bytes < header_bytes + tag) {
        refuse_length("is truncated: header and tag have " + std::to_string(header_bytes + tag) +
                      " bytes, but the file has " + std::to_string(file_bytes));
    }
    const std::uint64_t body = file_bytes - header_bytes, first = first_text + tag, full = text + tag;
    if (body < first || (body == first && !last_is_shorter)) return body - tag;
    const std::uint64_t others = (body - first) / full, rest = (body - first) % full;
    // The last segment is missing, is shorter than its tag, or consists only of a tag in a format without empty last
    // segments.
    const bool impossible = last_is_shorter ? rest < tag : rest != 0 && rest <= tag;
    if (impossible) {
        refuse_length("no file of this format is " + std::to_string(file_bytes) +
                      " bytes long, so it is truncated or has a different format");
    }
    const std::uint64_t segments = 1 + others + (last_is_shorter || rest != 0 ? 1 : 0);
    if (segments > most_segments) refuse_length("has more than " + std::to_string(most_segments) + " segments");
    return body - segments * tag;
}

SegmentRange SegmentLayout::range(std::uint64_t first, std::uint64_t count, std::uint64_t text_bytes) const {
    const std::uint64_t segments = segments_of(text_bytes);
    return {first, count, text_bytes - text_offset(segments - 1), first + count == segments};
}

void check_range(const SegmentLayout& layout, const SegmentRange& range) {
    if (range.count > layout.most_segments || range.first > layout.most_segments - range.count) {
        refuse_plaintext(layout);
    }
}

}  // namespace warpaes
