// A batch of segments with expected results, for any kind of buffer.
#pragma once

#include "gcm.hpp"

namespace abi_tests {

/// Many GCM messages under one key at equal strides, laid out as a client of batches would.
struct Segments {
    warpaes_direction direction{};
    const warpaes_key* key = nullptr;
    const std::uint8_t* nonces = nullptr;  ///< 12 bytes for each
    std::size_t count = 0, segment_len = 0, last_len = 0;
    const void* aad = nullptr;  ///< of all
    std::size_t aad_len = 0;
    const void* input = nullptr;
    void* output = nullptr;
    std::size_t plaintext_stride = 0, ciphertext_stride = 0;  ///< 0: without gaps
    void* tags = nullptr;                                     ///< null: inline
    // Results:
    std::uint64_t failures = 0, first_failure = 0;
    bool on_gpu = false;
};
/// Runs all segments but the last as one entry, and the last as another. Returns the status of the batch.
warpaes_status crypt_segments(warpaes_engine* engine, Segments& segments);

struct SegmentsCase {
    SegmentsCase(Random& random, std::size_t count, std::size_t segment_bytes, std::size_t last_bytes);

    std::size_t count, segment_bytes, last_bytes;
    Bytes key, nonces, aad;
    std::vector<Bytes> texts;
    std::vector<Bytes> sealed;  ///< each with its tag
    bool inline_tags = false;
    bool in_place = false;
    /// The strides that are passed to the library.
    std::size_t plaintext_stride = 0, ciphertext_stride = 0;

    /// Adds gaps of up to `gap` bytes. In place, both strides are equal.
    void space_out(Random& random, std::size_t gap);
    [[nodiscard]] std::size_t length(std::size_t i) const { return i + 1 == count ? last_bytes : segment_bytes; }
    /// Returns the distance between segments, and their total extent, in the plaintext or the ciphertext buffer.
    [[nodiscard]] std::size_t stride(bool plaintext) const;
    [[nodiscard]] std::size_t span(bool plaintext) const;
    [[nodiscard]] Bytes tags() const;
    [[nodiscard]] std::string name() const;

    /// Writes that buffer's segments to their positions and leaves the gaps unchanged.
    void lay_out(PoisonedBuffer& buffer, bool plaintext) const { lay_out(buffer.data(), plaintext); }
    void lay_out(std::uint8_t* to, bool plaintext) const;
    /// Fails the test for each segment that differs.
    void expect(PoisonedBuffer& buffer, bool plaintext) const { expect(buffer.data(), plaintext); }
    void expect(const std::uint8_t* from, bool plaintext) const;

    [[nodiscard]] Segments request(const Key& key, warpaes_direction direction, const void* input, void* output,
                                   void* tags) const;

private:
    [[nodiscard]] Bytes unit(std::size_t i, bool plaintext) const;
};

}  // namespace abi_tests
