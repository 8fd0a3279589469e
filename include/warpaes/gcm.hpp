// warpaes: AES-GCM in one call, and many messages under the same key as one batch. C++20 over the C ABI, header only.
// The rules in warpaes.hpp also apply here.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <warpaes/batch.hpp>

namespace warpaes {
inline namespace cpp {

/// Length of the tag that follows a sealed message, in bytes.
inline constexpr std::size_t gcm_tag_bytes = 16;

/// Returns the ciphertext of `plaintext` followed by its tag of 16 bytes. `iv` should have 12 bytes, and must never be
/// used twice with the same key. Thread-safe. Throws Error.
inline std::vector<std::uint8_t> seal(const Engine& engine, const Key& key, ConstBytes iv, ConstBytes plaintext,
                                      ConstBytes aad = {}) {
    std::vector<std::uint8_t> sealed(plaintext.size() + gcm_tag_bytes);
    Message message =
        detail::message_of(Mode::gcm, Direction::encrypt, key, iv, plaintext, Bytes(sealed.data(), plaintext.size()));
    message.aad = aad;
    message.tag = Bytes(sealed.data() + plaintext.size(), gcm_tag_bytes);
    engine.crypt(message);
    return sealed;
}

/// Returns the plaintext of a message that `seal` returned. Throws Error{WARPAES_ERROR_AUTHENTICATION} if the message
/// is not authentic. Thread-safe.
inline std::vector<std::uint8_t> open(const Engine& engine, const Key& key, ConstBytes iv, ConstBytes sealed,
                                      ConstBytes aad = {}) {
    if (sealed.size() < gcm_tag_bytes) {
        throw Error(WARPAES_ERROR_AUTHENTICATION, "sealed: is shorter than its tag");
    }
    const std::size_t length = sealed.size() - gcm_tag_bytes;
    std::vector<std::uint8_t> plaintext(length);
    Message message =
        detail::message_of(Mode::gcm, Direction::decrypt, key, iv, ConstBytes(sealed.data(), length), plaintext);
    message.aad = aad;
    message.tag = Bytes(const_cast<std::uint8_t*>(sealed.data()) + length, gcm_tag_bytes);  // decryption only reads it
    engine.crypt(message);
    return plaintext;
}

/// Size of the nonce at the start of a message that was sealed with a random nonce.
inline constexpr std::size_t gcm_nonce_bytes = 12;

/// Seals with a random nonce, and returns nonce, ciphertext and tag. Seal at most 2^32 messages this way with the same
/// key (SP 800-38D, 8.3). Thread-safe. Throws Error{WARPAES_ERROR_INTERNAL} if the system provides no random numbers.
inline std::vector<std::uint8_t> seal(const Engine& engine, const Key& key, ConstBytes plaintext) {
    std::array<std::uint8_t, gcm_nonce_bytes> nonce;
    for (std::size_t have = 0; have < nonce.size();) {
        const ssize_t n = ::getrandom(nonce.data() + have, nonce.size() - have, 0);
        if (n < 0 && errno != EINTR) throw Error(WARPAES_ERROR_INTERNAL, "the system provides no random numbers");
        if (n > 0) have += static_cast<std::size_t>(n);
    }
    std::vector<std::uint8_t> sealed = seal(engine, key, nonce, plaintext);
    sealed.insert(sealed.begin(), nonce.begin(), nonce.end());
    return sealed;
}

/// Returns the plaintext of a message that `seal` sealed with a random nonce. Errors and threads are as for `open`
/// above.
inline std::vector<std::uint8_t> open(const Engine& engine, const Key& key, ConstBytes sealed) {
    if (sealed.size() < gcm_nonce_bytes + gcm_tag_bytes) {
        throw Error(WARPAES_ERROR_AUTHENTICATION, "sealed: is shorter than its nonce and tag");
    }
    return open(engine, key, ConstBytes(sealed.data(), gcm_nonce_bytes),
                ConstBytes(sealed.data() + gcm_nonce_bytes, sealed.size() - gcm_nonce_bytes));
}

/// Many AES-GCM messages under the same key at equal distances (the last message may be shorter): the segments of a
/// file or of a table. The plaintext of segment i begins `i * plaintext_stride` bytes into its buffer, and its
/// ciphertext `i * ciphertext_stride` bytes into the other buffer. For in-place processing, both strides must be equal.
struct Segments {
    Direction direction{};
    const Key* key = nullptr;
    ConstBytes nonces{};  ///< 12 bytes per segment, all different; the size determines the number of segments
    std::uint64_t segment_len = 0;
    std::uint64_t last_len = 0;  ///< length of the last segment, at most segment_len
    ConstBytes aad{};            ///< shared by all segments
    ConstBytes input{};
    Bytes output{};
    /// Distance between segments in bytes: at least segment_len, and for ciphertext followed by tags at least 16 more.
    /// 0: no gaps.
    std::uint64_t plaintext_stride = 0;
    std::uint64_t ciphertext_stride = 0;
    Bytes tags{};  ///< 16 bytes for each segment; empty: each tag follows its ciphertext
};

/// Thrown if some segments are not authentic. Their outputs are wiped; the other outputs are valid.
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

/// Runs all segments as one batch, waits, and returns the length of the output, including gaps. Throws Error, and
/// SegmentsError if some segments are not authentic. Thread-safe.
inline std::uint64_t crypt_segments(const Engine& engine, const Segments& segments) {
    constexpr std::size_t nonce_bytes = 12;
    const std::uint64_t count = segments.nonces.size() / nonce_bytes;
    if (segments.nonces.size() % nonce_bytes != 0) {
        throw Error(WARPAES_ERROR_IV_LENGTH, "nonces: must have 12 bytes for each segment");
    }
    if (count == 0) return 0;
    // Lengths and strides may come from a file header that has not been authenticated yet.
    constexpr std::uint64_t most = std::uint64_t{1} << 60;
    if (segments.segment_len > most) throw Error(WARPAES_ERROR_DATA_LENGTH, "segment_len: must be at most 2^60");
    if (segments.last_len > segments.segment_len) {
        throw Error(WARPAES_ERROR_DATA_LENGTH, "last_len: must be at most segment_len");
    }
    const bool encrypt = segments.direction == Direction::encrypt;
    const bool inline_tags = segments.tags.size() == 0;
    if (!inline_tags && segments.tags.size() / gcm_tag_bytes < count) {
        throw Error(WARPAES_ERROR_BUFFER_TOO_SMALL, "tags: must have 16 bytes for each segment");
    }
    const auto tag_of = [&](bool plaintext) { return !plaintext && inline_tags ? gcm_tag_bytes : 0; };
    const auto stride_of = [&](bool plaintext) {
        const std::uint64_t given = plaintext ? segments.plaintext_stride : segments.ciphertext_stride;
        return given != 0 ? given : segments.segment_len + tag_of(plaintext);
    };
    // No segment extends past the beginning of the next segment, so none extends past the end of the last segment.
    const auto span = [&](bool plaintext) {
        const std::uint64_t stride = stride_of(plaintext);
        if (count > 1 && stride < segments.segment_len + tag_of(plaintext)) {
            throw Error(WARPAES_ERROR_DATA_LENGTH,
                        plaintext ? "plaintext_stride: must be at least segment_len"
                        : tag_of(false) == 0
                            ? "ciphertext_stride: must be at least segment_len"
                            : "ciphertext_stride: must be at least segment_len plus the tag's 16 bytes");
        }
        if (stride != 0 && count - 1 > most / stride) {
            throw Error(WARPAES_ERROR_DATA_LENGTH,
                        "nonces: there are too many; the segments would take more than 2^60 bytes");
        }
        return (count - 1) * stride + segments.last_len + tag_of(plaintext);
    };
    if (segments.input.size() < span(encrypt)) {
        throw Error(WARPAES_ERROR_DATA_LENGTH, "input: is shorter than its segments");
    }
    if (segments.output.size() < span(!encrypt)) {
        throw Error(WARPAES_ERROR_BUFFER_TOO_SMALL, "output: is shorter than its segments");
    }
    // Adds the segments from `first` up to `end`, each of `length` bytes, as one entry.
    std::vector<Entry> entries;
    const auto add = [&](std::uint64_t first, std::uint64_t end, std::uint64_t length) {
        if (first == end) return;
        const auto at = [&](const void* base, std::uint64_t stride) {
            return Elements{static_cast<const std::uint8_t*>(base) + first * stride, stride};
        };
        const void* const ciphertext = encrypt ? segments.output.data() : segments.input.data();
        Entry& e = entries.emplace_back();
        e.mode = Mode::gcm;
        e.direction = segments.direction;
        e.count = end - first;
        e.length = length;
        e.key = segments.key;
        e.input = at(segments.input.data(), stride_of(encrypt));
        e.output = at(segments.output.data(), stride_of(!encrypt));
        e.iv = at(segments.nonces.data(), nonce_bytes);
        e.iv_len = nonce_bytes;
        e.aad = {segments.aad.data(), 0};
        e.aad_len = segments.aad.size();
        e.tag = inline_tags ? at(static_cast<const std::uint8_t*>(ciphertext) + length, stride_of(false))
                            : at(segments.tags.data(), gcm_tag_bytes);
        e.tag_len = gcm_tag_bytes;
    };
    const bool shorter = segments.last_len != segments.segment_len;
    add(0, shorter ? count - 1 : count, segments.segment_len);
    if (shorter) add(count - 1, count, segments.last_len);
    Batch batch(engine, entries);
    (void)batch.wait();
    std::uint64_t failures = 0, first_failure = 0;
    for (std::size_t i = entries.size(); i-- != 0;) {
        if (batch.status(i) != WARPAES_OK && batch.status(i) != WARPAES_ERROR_AUTHENTICATION) {
            throw Error(batch.status(i), batch.error(i));
        }
        if (batch.failures(i) == 0) continue;
        failures += batch.failures(i);
        first_failure = batch.first_failure(i) + (i == 0 ? 0 : entries[0].count);
    }
    if (failures != 0) {
        throw SegmentsError("tag: " + std::to_string(failures) + " of " + std::to_string(count) +
                                " segments are not authentic, the first is segment " + std::to_string(first_failure) +
                                ". The key, the nonce or the associated data is wrong, or the data was altered",
                            failures, first_failure);
    }
    return span(!encrypt);
}

}  // namespace cpp
}  // namespace warpaes
