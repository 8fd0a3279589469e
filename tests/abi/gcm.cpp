#include "gcm.hpp"

#include <algorithm>

#include "evp_oracle.hpp"
#include "reference.hpp"

namespace abi_tests {

namespace {

void seal(GcmCase& c) {
    constexpr std::size_t longest_of_libcrypto = 128;
    if (c.iv.size() > longest_of_libcrypto) {
        const reference::Aes aes(c.key);
        const auto [sealed, tag] = reference::gcm::encrypt(aes, reference::gcm::j0(aes, c.iv), c.text, c.aad);
        c.sealed = sealed;
        c.tag.assign(tag.begin(), tag.end());
        return;
    }
    c.sealed = oracle::evp_gcm(c.key, c.iv, c.text, c.aad);
    c.tag.assign(c.sealed.end() - 16, c.sealed.end());
    c.sealed.resize(c.text.size());
}

}  // namespace

GcmCase make_gcm_case(Random& random, std::size_t key_bytes, std::size_t iv_bytes, std::size_t aad_bytes,
                      std::size_t text_bytes) {
    GcmCase c{
        random.bytes(key_bytes), random.bytes(iv_bytes), random.bytes(aad_bytes), random.bytes(text_bytes), {}, {}};
    seal(c);
    return c;
}

void change_iv(GcmCase& c, const Bytes& iv) {
    c.iv = iv;
    seal(c);
}

Bytes iv_of(const Bytes& key, const Bytes& j0) {
    using reference::Block;
    using reference::gcm::multiply;
    // j0 = (iv * H ^ lengths) * H, and 1 / H = H^(2^128 - 2) = H^2 * H^4 * … * H^(2^127).
    const Block h = reference::Aes(key).cipher(Block{});
    Block square = multiply(h, h), inverse = square;
    for (int i = 2; i < 128; ++i) {
        square = multiply(square, square);
        inverse = multiply(inverse, square);
    }
    Block block;
    std::copy(j0.begin(), j0.end(), block.begin());
    block = multiply(block, inverse);
    block[15] ^= 128;  // length in bits
    block = multiply(block, inverse);
    return {block.begin(), block.end()};
}

Call gcm_message(const GcmCase& c, const Key& key, warpaes_direction direction, const void* input, void* output,
                 void* tag) {
    Call message = make_message(WARPAES_GCM, direction, key, c.iv, input, c.text.size(), output, c.text.size());
    message.aad = c.aad.data();
    message.aad_len = c.aad.size();
    message.tag = tag;
    message.tag_len = 16;
    return message;
}

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
    // In place, both buffers have room for the tags.
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

warpaes_status crypt_segments(warpaes_engine* engine, Segments& s) {
    const bool encrypt = s.direction == WARPAES_ENCRYPT, inline_tags = s.tags == nullptr;
    const auto stride = [&](bool plaintext) {
        const std::size_t given = plaintext ? s.plaintext_stride : s.ciphertext_stride;
        return given != 0 ? given : s.segment_len + (!plaintext && inline_tags ? 16 : 0);
    };
    std::vector<warpaes_batch_entry> entries;
    const auto add = [&](std::size_t first, std::size_t end, std::size_t length) {
        if (first == end) return;
        const auto at = [&](const void* base, std::size_t step) {
            warpaes_elements e{};
            e.at.pointer = const_cast<std::uint8_t*>(static_cast<const std::uint8_t*>(base)) + first * step;
            e.stride = step;
            return e;
        };
        const void* const ciphertext = encrypt ? s.output : s.input;
        warpaes_batch_entry& e = entries.emplace_back();
        e.mode = WARPAES_GCM;
        e.direction = s.direction;
        e.count = end - first;
        e.length = length;
        e.key = s.key;
        e.input = at(s.input, stride(encrypt));
        e.output = at(s.output, stride(!encrypt));
        e.iv = at(s.nonces, 12);
        e.iv_len = 12;
        e.aad.at.pointer = const_cast<void*>(s.aad);
        e.aad_len = s.aad_len;
        e.tag = inline_tags ? at(static_cast<const std::uint8_t*>(ciphertext) + length, stride(false)) : at(s.tags, 16);
        e.tag_len = 16;
    };
    const bool shorter = s.last_len != s.segment_len;
    add(0, shorter ? s.count - 1 : s.count, s.segment_len);
    if (shorter) add(s.count - 1, s.count, s.last_len);
    warpaes_batch* batch = nullptr;
    warpaes_status status = warpaes_batch_submit(engine, nullptr, entries.data(), entries.size(), &batch);
    if (status != WARPAES_OK) return status;
    status = warpaes_batch_wait(batch, WARPAES_UNKNOWN);
    s.failures = s.first_failure = 0;
    for (std::size_t i = entries.size(); i-- != 0;) {
        warpaes_entry_result result{};
        EXPECT_EQ(warpaes_batch_query_entry(batch, i, &result), WARPAES_OK);
        if (result.failures == 0) continue;
        s.failures += result.failures;
        s.first_failure = result.first_failure + (i == 0 ? 0 : entries[0].count);
    }
    warpaes_batch_result all = WARPAES_BATCH_RESULT_INIT;
    EXPECT_EQ(warpaes_batch_query(batch, &all), WARPAES_OK);
    s.on_gpu = all.messages_on_gpu == s.count;
    warpaes_batch_destroy(batch);
    return status;
}

Segments SegmentsCase::request(const Key& its_key, warpaes_direction direction, const void* input, void* output,
                               void* tags) const {
    Segments s;
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
