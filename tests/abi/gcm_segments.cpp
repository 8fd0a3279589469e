#include "gcm_segments.hpp"

#include <algorithm>

#include "evp_oracle.hpp"

namespace abi_tests {

SegmentsCase::SegmentsCase(Random& random, std::size_t number, std::size_t segment, std::size_t last)
    : count(number),
      segment_bytes(segment),
      last_bytes(last),
      key(random.bytes(16 + 8 * random.below(3))),
      nonces(random.bytes(12 * number)),
      aad(random.bytes(random.below(2) * random.below(50))) {
    for (std::size_t i = 0; i < count; ++i) {
        texts.push_back(random.bytes(length(i)));
        const auto nonce = nonces.begin() + static_cast<std::ptrdiff_t>(12 * i);
        sealed.push_back(oracle::evp_gcm(key, Bytes(nonce, nonce + 12), texts.back(), aad));
    }
}

void SegmentsCase::space_out(Random& random, std::size_t gap) {
    const std::size_t least = segment_bytes + (inline_tags ? 16 : 0);
    if (in_place) {
        plaintext_stride = ciphertext_stride = least + random.below(gap + 1);
    } else if (gap != 0) {
        plaintext_stride = segment_bytes + random.below(gap + 1);
        ciphertext_stride = least + random.below(gap + 1);
    }
}

std::size_t SegmentsCase::stride(bool plaintext) const {
    const std::size_t given = plaintext ? plaintext_stride : ciphertext_stride;
    return given != 0 ? given : segment_bytes + (!plaintext && inline_tags ? 16 : 0);
}

std::size_t SegmentsCase::span(bool plaintext) const {
    // In place, room for the tags on either side.
    const bool tag = inline_tags && (!plaintext || in_place);
    return (count - 1) * stride(plaintext) + last_bytes + (tag ? 16 : 0);
}

Bytes SegmentsCase::tags() const {
    Bytes all;
    for (const Bytes& one : sealed) all.insert(all.end(), one.end() - 16, one.end());
    return all;
}

std::string SegmentsCase::name() const {
    return std::to_string(count) + " segments of " + std::to_string(segment_bytes) + ", the last " +
           std::to_string(last_bytes) + ", strides " + std::to_string(plaintext_stride) + " and " +
           std::to_string(ciphertext_stride) + (inline_tags ? ", tags inline" : ", tags apart") +
           (in_place ? ", in place" : "");
}

Bytes SegmentsCase::unit(std::size_t i, bool plaintext) const {
    if (plaintext) return texts[i];
    Bytes one = sealed[i];
    if (!inline_tags) one.resize(length(i));
    return one;
}

void SegmentsCase::lay_out(std::uint8_t* to, bool plaintext) const {
    for (std::size_t i = 0; i < count; ++i) {
        const Bytes one = unit(i, plaintext);
        std::copy(one.begin(), one.end(), to + i * stride(plaintext));
    }
}

void SegmentsCase::expect(const std::uint8_t* from, bool plaintext) const {
    for (std::size_t i = 0; i < count; ++i) {
        const Bytes one = unit(i, plaintext);
        const std::uint8_t* at = from + i * stride(plaintext);
        ASSERT_TRUE(std::equal(one.begin(), one.end(), at)) << "segment " << i;
    }
}

warpaes_segments SegmentsCase::request(const Key& its_key, warpaes_direction direction, const void* input, void* output,
                                       void* tags) const {
    warpaes_segments s = WARPAES_SEGMENTS_INIT;
    s.direction = direction;
    s.key = its_key.get();
    s.nonces = nonces.data();
    s.count = count;
    s.segment_len = segment_bytes;
    s.last_len = last_bytes;
    s.aad = aad.data();
    s.aad_len = aad.size();
    s.input = input;
    s.output = output;
    s.plaintext_stride = plaintext_stride;
    s.ciphertext_stride = ciphertext_stride;
    s.tags = inline_tags ? nullptr : tags;
    return s;
}

}  // namespace abi_tests
