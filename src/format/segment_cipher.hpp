// The segments of one file: where they lie, and how they are sealed and opened. The three formats differ in their
// header, the derivation of the file's key, the nonces and the tag; everything above them sees only this.
//
//   Tink AES-GCM-HKDF  header = H || salt || prefix(7), HKDF-HMAC, nonce = prefix || BE32(i) || last
//   Tink AES-CTR-HMAC  the same header; counter = nonce || 0^4, encrypt-then-MAC
//   C2SP               header = salt(24) || commitment(32), HKDF-Expand-SHA512, nonce = base XOR i
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/engine.hpp"
#include "format/stream_key.hpp"

namespace warpaes {

struct SegmentRange;

/// Arithmetic of the segments of one format; a file is header || segment 0 || segment 1 || … In Tink's formats the
/// header takes the place of some of the first segment's plaintext, in C2SP it comes before.
struct SegmentLayout {
    std::uint64_t header_bytes = 0;
    std::uint64_t first_text = 0;  ///< plaintext of segment 0, if it is not the last
    std::uint64_t text = 0;        ///< plaintext of the others
    std::uint64_t tag = 0;
    std::uint64_t most_segments = 0;
    bool last_is_shorter = false;  ///< C2SP: the last segment is never full, but perhaps empty

    /// Offset of a segment's plaintext in the plaintext, and of its ciphertext in the file.
    [[nodiscard]] std::uint64_t text_offset(std::uint64_t segment) const noexcept {
        return segment == 0 ? 0 : first_text + (segment - 1) * text;
    }
    [[nodiscard]] std::uint64_t file_offset(std::uint64_t segment) const noexcept {
        return header_bytes + text_offset(segment) + segment * tag;
    }
    /// Which segment holds byte `offset` of the plaintext.
    [[nodiscard]] std::uint64_t segment_at(std::uint64_t offset) const noexcept {
        return offset < first_text ? 0 : 1 + (offset - first_text) / text;
    }
    /// Segments of a plaintext of so many bytes. Throws Error{DATA_LENGTH} if the format has not so many.
    [[nodiscard]] std::uint64_t segments_of(std::uint64_t text_bytes) const;
    /// Bytes of the file of a plaintext.
    [[nodiscard]] std::uint64_t file_bytes(std::uint64_t text_bytes) const;
    /// Bytes of plaintext of a file. Throws Error{FORMAT} if no file has that length: truncated, or another format.
    [[nodiscard]] std::uint64_t text_bytes(std::uint64_t file_bytes) const;
    /// `count` segments from `first` of a plaintext of `text_bytes` bytes.
    [[nodiscard]] SegmentRange range(std::uint64_t first, std::uint64_t count, std::uint64_t text_bytes) const;
};

SegmentLayout layout_of(const StreamParameters& parameters);

/// A few neighbouring segments: `count` from `first`; the last of them ends the file if `ends`, and then takes
/// `last_text` bytes of plaintext. Every other segment is full.
struct SegmentRange {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint64_t last_text = 0;
    bool ends = false;
};

class SegmentCipher {
public:
    virtual ~SegmentCipher() = default;

    [[nodiscard]] const SegmentLayout& layout() const noexcept { return layout_; }
    [[nodiscard]] std::span<const std::uint8_t> header() const noexcept { return header_; }

    /// Seals or opens the segments. `plaintext` and `ciphertext` are the two sides, from the first segment's beginning
    /// (without the header), segment after segment: one of them is read, the other written. They are equal for work in
    /// place only with a single segment, else disjoint. Host memory; for a CUDA lane plaintext may be its device's
    /// memory. Opening wipes what it wrote and throws Error{AUTHENTICATION} naming the first segment that is not
    /// authentic. Thread-safe, with a lane a thread.
    virtual void process(Lane& lane, Direction direction, const SegmentRange& range, std::uint8_t* plaintext,
                         std::uint8_t* ciphertext) const = 0;

protected:
    SegmentCipher(const SegmentLayout& layout, std::vector<std::uint8_t> header)
        : layout_(layout), header_(std::move(header)) {}

private:
    SegmentLayout layout_;
    std::vector<std::uint8_t> header_;
};

/// For a new file: fresh salt and nonce prefix.
std::unique_ptr<SegmentCipher> make_segment_cipher(const StreamKey& key, std::span<const std::uint8_t> aad);

/// For the file that begins with `header`, of which at least layout.header_bytes are given if the file has them. Throws
/// Error{FORMAT} if it is no header of the key's format, Error{AUTHENTICATION} if the header shows that this is not the
/// key (C2SP's commitment); with Tink's formats only a segment can tell.
std::unique_ptr<SegmentCipher> open_segment_cipher(const StreamKey& key, std::span<const std::uint8_t> aad,
                                                   std::span<const std::uint8_t> header);

}  // namespace warpaes
