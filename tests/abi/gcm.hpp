// Shared code for the AES-GCM tests: messages, and batches of segments, with their expected results.
#pragma once

#include "support.hpp"

namespace abi_tests {

/// A message whose expected result is libcrypto's ciphertext and tag.
struct GcmCase {
    Bytes key, iv, aad, text;
    Bytes sealed;  ///< ciphertext
    Bytes tag;     ///< 16 bytes
};
GcmCase make_gcm_case(Random& random, std::size_t key_bytes, std::size_t iv_bytes, std::size_t aad_bytes,
                      std::size_t text_bytes);

/// Returns a 16-byte IV whose pre-counter block is `j0`, so that the counter can start at any value.
Bytes iv_of(const Bytes& key, const Bytes& j0);
/// Sets a different IV and recomputes the case's expected result.
void change_iv(GcmCase& c, const Bytes& iv);

/// Returns a call from `input` to `output`, whose other arguments come from the case. `tag` has 16 bytes. The arguments
/// must outlive the call.
Call gcm_message(const GcmCase& c, const Key& key, warpaes_direction direction, const void* input, void* output,
                 void* tag);

/// Many GCM messages under the same key at equal distances, as a batch's caller would arrange them.
struct Segments {
    warpaes_direction direction{};
    const warpaes_key* key = nullptr;
    const std::uint8_t* nonces = nullptr;  ///< 12 bytes for each segment
    std::size_t count = 0, segment_len = 0, last_len = 0;
    const void* aad = nullptr;  ///< for all segments
    std::size_t aad_len = 0;
    const void* input = nullptr;
    void* output = nullptr;
    std::size_t plaintext_stride = 0, ciphertext_stride = 0;  ///< 0: no gaps
    void* tags = nullptr;                                     ///< null: inline tags
    // The results:
    std::uint64_t failures = 0, first_failure = 0;
    bool on_gpu = false;
};
/// Processes all segments but the last in one entry, and the last segment in a second entry. Returns the batch's
/// status.
warpaes_status crypt_segments(warpaes_engine* engine, Segments& segments);

struct SegmentsCase {
    SegmentsCase(Random& random, std::size_t count, std::size_t segment_bytes, std::size_t last_bytes);

    std::size_t count, segment_bytes, last_bytes;
    Bytes key, nonces, aad;
    std::vector<Bytes> texts;
    std::vector<Bytes> sealed;  ///< each followed by its tag
    bool inline_tags = false;
    bool in_place = false;
    /// The arguments of the entries that are passed to the library.
    std::size_t plaintext_stride = 0, ciphertext_stride = 0;

    /// Inserts gaps of up to `gap` bytes. In place, both strides are equal.
    void space_out(Random& random, std::size_t gap);
    [[nodiscard]] std::size_t length(std::size_t i) const { return i + 1 == count ? last_bytes : segment_bytes; }
    /// Return the distance between segments, and the total length, on the plaintext or the ciphertext side.
    [[nodiscard]] std::size_t stride(bool plaintext) const;
    [[nodiscard]] std::size_t span(bool plaintext) const;
    [[nodiscard]] Bytes tags() const;
    [[nodiscard]] std::string name() const;

    /// Copies the segments of the plaintext or the ciphertext side to their positions. The gaps are unchanged.
    void lay_out(PoisonedBuffer& buffer, bool plaintext) const { lay_out(buffer.data(), plaintext); }
    void lay_out(std::uint8_t* to, bool plaintext) const;
    /// Fails the test if a segment is not at its position.
    void expect(PoisonedBuffer& buffer, bool plaintext) const { expect(buffer.data(), plaintext); }
    void expect(const std::uint8_t* from, bool plaintext) const;

    [[nodiscard]] Segments request(const Key& key, warpaes_direction direction, const void* input, void* output,
                                   void* tags) const;

private:
    [[nodiscard]] Bytes unit(std::size_t i, bool plaintext) const;
};

}  // namespace abi_tests
