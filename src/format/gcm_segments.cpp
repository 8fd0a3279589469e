#include <algorithm>
#include <vector>

#include "format/segments.hpp"

namespace warpaes {

void GcmSegments::process(Lane& lane, Direction direction, const SegmentRange& range, std::uint8_t* plaintext,
                          std::uint8_t* ciphertext) const {
    check_range(layout(), range);
    const bool encrypt = direction == Direction::encrypt;
    const auto count = static_cast<std::size_t>(range.count);
    std::vector<Nonce> nonces(count);
    std::vector<std::uint8_t> failed(count);
    for (std::size_t i = 0; i < count; ++i) nonces[i] = nonce(range.first + i, range.ends && i + 1 == count);

    // There are at most three groups, because only the first and the last segment may be shorter.
    std::vector<MessageGroup> groups;
    std::uint8_t* text = plaintext;
    std::uint8_t* sealed = ciphertext;
    for (std::size_t first = 0; first < count;) {
        const std::uint64_t bytes = text_of(layout(), range, first), stride = bytes + layout().tag;
        std::size_t n = 1;
        while (first + n < count && text_of(layout(), range, first + n) == bytes) ++n;
        const std::uint64_t text_stride = text == sealed ? stride : bytes;
        groups.push_back({.mode = Mode::gcm,
                          .direction = direction,
                          .count = n,
                          .length = bytes,
                          .input = encrypt ? Elements{text, text_stride} : Elements{sealed, stride},
                          .output = encrypt ? Elements{sealed, stride} : Elements{text, text_stride},
                          .iv = {nonces[first].data(), sizeof(Nonce)},
                          .iv_length = sizeof(Nonce),
                          .tag = {sealed + bytes, stride},
                          .tag_length = static_cast<std::uint32_t>(layout().tag),
                          .key = &key_,
                          .failed = &failed[first],
                          .direct = true});
        text += n * bytes;
        sealed += n * stride;
        first += n;
    }
    lane.run(groups);
    const auto bad = std::find(failed.begin(), failed.end(), 1);
    if (bad != failed.end()) {
        refuse_segment(layout(), range, static_cast<std::uint64_t>(bad - failed.begin()), plaintext);
    }
}

}  // namespace warpaes
