// Segments that are AES-GCM messages under one key, without associated data: Tink's AES-GCM-HKDF and C2SP's chunks.
#pragma once

#include <array>

#include "format/segment_cipher.hpp"
#include "format/segments.hpp"

namespace warpaes {

class GcmSegments : public SegmentCipher {
public:
    void process(Lane& lane, Direction direction, const SegmentRange& range, std::uint8_t* plaintext,
                 std::uint8_t* ciphertext) const final;

protected:
    using Nonce = std::array<std::uint8_t, 12>;

    GcmSegments(const SegmentLayout& layout, std::vector<std::uint8_t> header, std::span<const std::uint8_t> key)
        : SegmentCipher(layout, std::move(header)), key_(key) {}

private:
    [[nodiscard]] virtual Nonce nonce(std::uint64_t segment, bool last) const = 0;

    ExpandedKey key_;
};

/// The nonce is prefix(7) || BE32(segment) || last, where the prefix is the header's last bytes.
class TinkGcmSegments final : public GcmSegments {
public:
    TinkGcmSegments(const SegmentLayout& layout, std::vector<std::uint8_t> header, std::span<const std::uint8_t> key)
        : GcmSegments(layout, std::move(header), key) {}

private:
    Nonce nonce(std::uint64_t segment, bool last) const override { return tink_nonce(header(), segment, last); }
};

/// The nonce is the base nonce XOR the segment number, as a big-endian number.
class C2spSegments final : public GcmSegments {
public:
    C2spSegments(const SegmentLayout& layout, std::vector<std::uint8_t> header, std::span<const std::uint8_t> key,
                 std::span<const std::uint8_t> base);

private:
    Nonce nonce(std::uint64_t segment, bool last) const override;

    Secret<Nonce> base_;
};

}  // namespace warpaes
