#include <openssl/crypto.h>

#include <algorithm>

#include "engine/chain.hpp"
#include "format/segments.hpp"

namespace warpaes {

void CtrHmacSegments::process(Lane& lane, Direction direction, const SegmentRange& range, std::uint8_t* plaintext,
                              std::uint8_t* ciphertext) const {
    check_range(layout(), range);
    Hmac mac = mac_;
    std::array<std::uint8_t, Hmac::most_bytes> computed{};
    const auto tag = std::span(computed).first(static_cast<std::size_t>(layout().tag));

    /// Calls `work(i, counter, text, sealed, bytes)` for each segment.
    const auto for_each = [&](const auto& work) {
        std::uint8_t* text = plaintext;
        std::uint8_t* sealed = ciphertext;
        for (std::uint64_t i = 0; i < range.count; ++i) {
            Block counter{};
            const auto nonce = tink_nonce(header(), range.first + i, range.ends && i + 1 == range.count);
            std::copy(nonce.begin(), nonce.end(), counter.begin());
            const std::uint64_t bytes = text_of(layout(), range, i);
            work(i, counter, text, sealed, bytes);
            text += bytes;
            sealed += bytes + layout().tag;
        }
    };
    const auto crypt = [&](const Block& counter, const std::uint8_t* input, std::uint8_t* output, std::uint64_t bytes) {
        MessageGroup segment = stretch_of(Mode::ctr, direction, key_, counter, input, output, bytes);
        segment.direct = true;
        lane.run(segment);
    };
    const auto authenticate = [&](const Block& counter, const std::uint8_t* sealed, std::uint64_t bytes) {
        mac.compute({counter, {sealed, static_cast<std::size_t>(bytes)}}, tag);
    };

    if (direction == Direction::encrypt) {
        for_each(
            [&](std::uint64_t, const Block& counter, std::uint8_t* text, std::uint8_t* sealed, std::uint64_t bytes) {
                crypt(counter, text, sealed, bytes);
                authenticate(counter, sealed, bytes);
                std::copy(tag.begin(), tag.end(), sealed + bytes);
            });
        return;
    }
    for_each([&](std::uint64_t i, const Block& counter, std::uint8_t*, std::uint8_t* sealed, std::uint64_t bytes) {
        authenticate(counter, sealed, bytes);
        if (CRYPTO_memcmp(tag.data(), sealed + bytes, tag.size()) != 0) {
            refuse_segment(layout(), range, i, plaintext);
        }
    });
    for_each([&](std::uint64_t, const Block& counter, std::uint8_t* text, std::uint8_t* sealed, std::uint64_t bytes) {
        crypt(counter, sealed, text, bytes);
    });
}

}  // namespace warpaes
