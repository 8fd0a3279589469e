// A batch of segments with its oracle's answers, for buffers of any kind.
#pragma once

#include "gcm.hpp"

namespace abi_tests {

struct SegmentsCase {
    SegmentsCase(Random& random, std::size_t count, std::size_t segment_bytes, std::size_t last_bytes);

    std::size_t count, segment_bytes, last_bytes;
    Bytes key, nonces, aad;
    std::vector<Bytes> texts;
    std::vector<Bytes> sealed;  ///< each with its tag
    bool inline_tags = false;
    bool in_place = false;
    /// As they are passed on.
    std::size_t plaintext_stride = 0, ciphertext_stride = 0;

    /// Gaps of up to `gap` bytes; equal strides if in place.
    void space_out(Random& random, std::size_t gap);
    [[nodiscard]] std::size_t length(std::size_t i) const { return i + 1 == count ? last_bytes : segment_bytes; }
    /// From segment to segment, and in all, on the side of the plaintext or of the ciphertext.
    [[nodiscard]] std::size_t stride(bool plaintext) const;
    [[nodiscard]] std::size_t span(bool plaintext) const;
    [[nodiscard]] Bytes tags() const;
    [[nodiscard]] std::string name() const;

    /// Puts that side's segments where they belong; the gaps stay.
    void lay_out(PoisonedBuffer& buffer, bool plaintext) const { lay_out(buffer.data(), plaintext); }
    void lay_out(std::uint8_t* to, bool plaintext) const;
    /// Adds failures to the test for segments that are not there.
    void expect(PoisonedBuffer& buffer, bool plaintext) const { expect(buffer.data(), plaintext); }
    void expect(const std::uint8_t* from, bool plaintext) const;

    [[nodiscard]] warpaes_segments request(const Key& key, warpaes_direction direction, const void* input, void* output,
                                           void* tags) const;

private:
    [[nodiscard]] Bytes unit(std::size_t i, bool plaintext) const;
};

}  // namespace abi_tests
