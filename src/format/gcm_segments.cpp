#include "format/gcm_segments.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <vector>

#include "format/segments.hpp"

namespace warpaes {

void GcmSegments::process(Lane& lane, Direction direction, const SegmentRange& range, std::uint8_t* plaintext,
                          std::uint8_t* ciphertext) const {
    check_range(layout(), range);
    const bool encrypt = direction == Direction::encrypt;
    const auto count = static_cast<std::size_t>(range.count);
    std::vector<Block> j0(count), tags(count);
    for (std::size_t i = 0; i < count; ++i) {
        j0[i] = pre_counter(nonce(range.first + i, range.ends && i + 1 == count));
    }

    std::uint8_t* text = plaintext;
    std::uint8_t* sealed = ciphertext;
    for (std::size_t done = 0; done < count;) {
        // A first segment that is shorter than the others is a run of its own.
        const bool alone = range.first + done == 0 && layout().first_text != layout().text;
        const std::size_t n = alone ? 1 : count - done;
        const std::uint64_t full = alone ? layout().first_text : layout().text;
        GcmRun run{.direction = direction,
                   .key = &key_,
                   .input = encrypt ? text : sealed,
                   .output = encrypt ? sealed : text,
                   .count = n,
                   .segment_bytes = full,
                   .last_bytes = text_of(layout(), range, done + n - 1),
                   .j0 = j0.data() + done,
                   .public_counters = true,
                   .result = GcmRun::Result::tag,
                   .results = tags.data() + done};
        const std::uint64_t text_stride = text == sealed ? full + layout().tag : full;
        run.input_stride = encrypt ? text_stride : full + layout().tag;
        run.output_stride = encrypt ? full + layout().tag : text_stride;
        lane.run_gcm(run);

        for (std::size_t i = done; i < done + n; ++i) {
            const std::uint64_t bytes = text_of(layout(), range, i);
            text += bytes;
            sealed += bytes;
            if (encrypt) {
                std::copy(tags[i].begin(), tags[i].end(), sealed);
            } else if (CRYPTO_memcmp(tags[i].data(), sealed, tags[i].size()) != 0) {
                refuse_segment(layout(), range, i, plaintext);
            }
            sealed += layout().tag;
        }
        done += n;
    }
}

C2spSegments::C2spSegments(const SegmentLayout& layout, std::vector<std::uint8_t> header,
                           std::span<const std::uint8_t> key, std::span<const std::uint8_t> base)
    : GcmSegments(layout, std::move(header), key) {
    std::copy(base.begin(), base.end(), base_->begin());
}

C2spSegments::Nonce C2spSegments::nonce(std::uint64_t segment, bool /*last*/) const {
    Nonce nonce = *base_;
    for (unsigned i = 0; i < 8; ++i) nonce[11 - i] = static_cast<std::uint8_t>(nonce[11 - i] ^ (segment >> (8 * i)));
    return nonce;
}

}  // namespace warpaes
