// The segments of one file: their positions, and how they are encrypted and decrypted. Formats differ in the header,
// the derivation of the file's key, the nonces and the tag; other code uses only this interface.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/engine.hpp"
#include "format/stream_key.hpp"

namespace warpaes {

struct SegmentRange;

/// The arithmetic of a format's segments. A file is header || segment 0 || segment 1 || … In Tink's formats, the header
/// counts towards the size of the first segment, which therefore contains less plaintext; in C2SP it does not.
struct SegmentLayout {
    std::uint64_t header_bytes = 0;
    std::uint64_t first_text = 0;  ///< plaintext of segment 0, unless it is the last
    std::uint64_t text = 0;        ///< plaintext of each other full segment
    std::uint64_t tag = 0;
    std::uint64_t most_segments = 0;
    bool last_is_shorter = false;  ///< C2SP: the last segment is never full, and may be empty

    /// The offset of a segment's plaintext in the whole plaintext, and of its ciphertext in the file.
    [[nodiscard]] std::uint64_t text_offset(std::uint64_t segment) const noexcept {
        return segment == 0 ? 0 : first_text + (segment - 1) * text;
    }
    [[nodiscard]] std::uint64_t file_offset(std::uint64_t segment) const noexcept {
        return header_bytes + text_offset(segment) + segment * tag;
    }
    /// Returns the segment that contains byte `offset` of the plaintext.
    [[nodiscard]] std::uint64_t segment_at(std::uint64_t offset) const noexcept {
        return offset < first_text ? 0 : 1 + (offset - first_text) / text;
    }
    /// Returns the number of segments for a plaintext length. Throws Error{DATA_LENGTH} if the format does not allow
    /// this many segments.
    [[nodiscard]] std::uint64_t segments_of(std::uint64_t text_bytes) const;
    [[nodiscard]] std::uint64_t file_bytes(std::uint64_t text_bytes) const;
    /// Returns the plaintext length for a file size. Throws Error{FORMAT} if no file has that size: the file is
    /// truncated or has a different format.
    [[nodiscard]] std::uint64_t text_bytes(std::uint64_t file_bytes) const;
    /// Returns `count` segments, starting with `first`, of a plaintext of `text_bytes` bytes.
    [[nodiscard]] SegmentRange range(std::uint64_t first, std::uint64_t count, std::uint64_t text_bytes) const;
};

inline SegmentLayout layout_of(const StreamParameters& parameters) {
    return parameters.format->layout(parameters);
}

/// `count` consecutive segments, starting with `first`. If `ends` is set, the last of them ends the file and contains
/// `last_text` bytes of plaintext. All other segments are full.
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

    /// Encrypts or decrypts the segments. `plaintext` and `ciphertext` contain the segments one after another, starting
    /// with the first segment and without the header; one buffer is read, the other is written. Processing in place
    /// (both equal) is allowed only for a single segment; otherwise the buffers are disjoint. Both are in host memory;
    /// for a CUDA lane, the plaintext may be in its device's memory. If decryption fails, the function wipes its output
    /// and throws Error{AUTHENTICATION}, which names the first segment that is not authentic. Thread-safe if each
    /// thread has its own lane.
    virtual void process(Lane& lane, Direction direction, const SegmentRange& range, std::uint8_t* plaintext,
                         std::uint8_t* ciphertext) const = 0;

protected:
    SegmentCipher(const SegmentLayout& layout, std::vector<std::uint8_t> header)
        : layout_(layout), header_(std::move(header)) {}

private:
    SegmentLayout layout_;
    std::vector<std::uint8_t> header_;
};

/// Returns a cipher for a new file, with a random salt and nonce prefix.
inline std::unique_ptr<SegmentCipher> make_segment_cipher(const StreamKey& key, std::span<const std::uint8_t> aad) {
    return key.parameters.format->cipher(key, aad, {});
}

/// Returns a cipher for the file that begins with `header`, which has at least layout.header_bytes unless the file is
/// shorter. Throws Error{FORMAT} if the header does not have the key's format, and Error{AUTHENTICATION} if the header
/// shows that the key is wrong (C2SP's commitment); in Tink's formats, only a segment can show that the key is wrong.
std::unique_ptr<SegmentCipher> open_segment_cipher(const StreamKey& key, std::span<const std::uint8_t> aad,
                                                   std::span<const std::uint8_t> header);

}  // namespace warpaes
