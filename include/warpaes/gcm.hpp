// warpaes: AES-GCM in one call, and many messages of one key as one batch. C++20 over the C ABI, header only; the rules
// are those of warpaes.hpp.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <warpaes/warpaes.hpp>

namespace warpaes {
inline namespace cpp {

/// Bytes of the tag behind a sealed message.
inline constexpr std::size_t gcm_tag_bytes = 16;

/// The ciphertext of `plaintext` and its tag, 16 bytes, one after the other. `iv`: best 12 bytes, and never twice with
/// the same key. Thread-safe.
inline std::vector<std::uint8_t> seal(const Engine& engine, const Key& key, ConstBytes iv, ConstBytes plaintext,
                                      ConstBytes aad = {}) {
    std::vector<std::uint8_t> sealed(plaintext.size() + gcm_tag_bytes);
    Message message;
    message.mode = Mode::gcm;
    message.direction = Direction::encrypt;
    message.key = &key;
    message.iv = iv;
    message.input = plaintext;
    message.output = Bytes(sealed.data(), plaintext.size());
    message.aad = aad;
    message.tag = Bytes(sealed.data() + plaintext.size(), gcm_tag_bytes);
    engine.crypt(message);
    return sealed;
}

/// The plaintext of what `seal` gave. Throws Error{WARPAES_ERROR_AUTHENTICATION} if it is not authentic. Thread-safe.
inline std::vector<std::uint8_t> open(const Engine& engine, const Key& key, ConstBytes iv, ConstBytes sealed,
                                      ConstBytes aad = {}) {
    if (sealed.size() < gcm_tag_bytes) {
        throw Error(WARPAES_ERROR_AUTHENTICATION, "sealed: shorter than its tag");
    }
    const std::size_t length = sealed.size() - gcm_tag_bytes;
    std::vector<std::uint8_t> plaintext(length);
    Message message;
    message.mode = Mode::gcm;
    message.direction = Direction::decrypt;
    message.key = &key;
    message.iv = iv;
    message.input = ConstBytes(sealed.data(), length);
    message.output = plaintext;
    message.aad = aad;
    message.tag = Bytes(const_cast<std::uint8_t*>(sealed.data()) + length, gcm_tag_bytes);  // which is only read
    engine.crypt(message);
    return plaintext;
}

/// Many AES-GCM messages of one key at equal distances. See warpaes_segments in warpaes.h.
struct Segments {
    Direction direction{};
    const Key* key = nullptr;
    ConstBytes nonces{};  ///< 12 bytes for each segment, all different; says how many segments there are
    std::uint64_t segment_len = 0;
    std::uint64_t last_len = 0;  ///< of the last segment, at most segment_len
    ConstBytes aad{};            ///< the same for every segment
    ConstBytes input{};
    Bytes output{};
    std::uint64_t plaintext_stride = 0;  ///< from segment to segment; 0: without gaps
    std::uint64_t ciphertext_stride = 0;
    Bytes tags{};  ///< 16 bytes for each segment; empty: inline, behind each ciphertext
};

/// Some segments are not authentic. Their output is wiped, the others stand.
class SegmentsError : public Error {
public:
    SegmentsError(const std::string& sentence, std::uint64_t failures, std::uint64_t first_failure)
        : Error(WARPAES_ERROR_AUTHENTICATION, sentence), failures_(failures), first_failure_(first_failure) {}
    [[nodiscard]] std::uint64_t failures() const noexcept { return failures_; }
    [[nodiscard]] std::uint64_t first_failure() const noexcept { return first_failure_; }

private:
    std::uint64_t failures_;
    std::uint64_t first_failure_;
};

/// Runs all segments and returns when they are done; `output_len` is that of the output with its gaps. Throws Error,
/// and SegmentsError if some segments are not authentic. Thread-safe.
inline Result crypt_segments(const Engine& engine, const Segments& segments) {
    constexpr std::size_t nonce_bytes = 12;
    const std::uint64_t count = segments.nonces.size() / nonce_bytes;
    if (segments.nonces.size() % nonce_bytes != 0) {
        throw Error(WARPAES_ERROR_IV_LENGTH, "nonces: not 12 bytes for each segment");
    }
    if (count == 0) return {};
    const bool encrypt = segments.direction == Direction::encrypt;
    const bool inline_tags = segments.tags.size() == 0;
    if (!inline_tags && segments.tags.size() / gcm_tag_bytes < count) {
        throw Error(WARPAES_ERROR_BUFFER_TOO_SMALL, "tags: not 16 bytes for each segment");
    }
    const auto span = [&](bool plaintext) {
        const std::uint64_t tag = !plaintext && inline_tags ? gcm_tag_bytes : 0;
        const std::uint64_t given = plaintext ? segments.plaintext_stride : segments.ciphertext_stride;
        const std::uint64_t stride = given != 0 ? given : segments.segment_len + tag;
        if (stride != 0 && count - 1 > (std::uint64_t{1} << 60) / stride) {
            throw Error(WARPAES_ERROR_DATA_LENGTH, "nonces: the segments take more than 2^60 bytes");
        }
        return (count - 1) * stride + segments.last_len + tag;
    };
    if (segments.input.size() < span(encrypt)) {
        throw Error(WARPAES_ERROR_DATA_LENGTH, "input: shorter than its segments");
    }
    if (segments.output.size() < span(!encrypt)) {
        throw Error(WARPAES_ERROR_BUFFER_TOO_SMALL, "output: shorter than its segments");
    }
    warpaes_segments raw = WARPAES_SEGMENTS_INIT;
    raw.direction = static_cast<warpaes_direction>(segments.direction);
    raw.key = segments.key != nullptr ? segments.key->get() : nullptr;
    raw.nonces = segments.nonces.data();
    raw.count = count;
    raw.segment_len = segments.segment_len;
    raw.last_len = segments.last_len;
    raw.aad = segments.aad.data();
    raw.aad_len = segments.aad.size();
    raw.input = segments.input.data();
    raw.output = segments.output.data();
    raw.plaintext_stride = segments.plaintext_stride;
    raw.ciphertext_stride = segments.ciphertext_stride;
    raw.tags = inline_tags ? nullptr : segments.tags.data();
    const warpaes_status status = warpaes_crypt_segments(engine.get(), &raw);
    if (status == WARPAES_ERROR_AUTHENTICATION) {
        throw SegmentsError(warpaes_last_error(), raw.failures, raw.first_failure);
    }
    check(status);
    return {span(!encrypt), raw.notes, raw.backend != nullptr ? raw.backend : "", raw.device};
}

}  // namespace cpp
}  // namespace warpaes
