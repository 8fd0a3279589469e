// What a backend has kernels for: stretches of one message; and how groups are carried out with them alone. Only
// backends know of it.
#pragma once

#include "backend/backend.hpp"

namespace warpaes {

/// A stretch of one message, processed in one go: `length` bytes from `input` to `output`, which are equal or disjoint.
/// What MessageGroup says of lengths and chaining values goes for it.
struct Run {
    Mode mode;
    Direction direction;
    const ExpandedKey* key;
    const std::uint8_t* input;
    std::uint8_t* output;
    std::uint64_t length;
    Block chain;  ///< before the first block
    /// XTS: the key that encrypts the tweaks.
    const ExpandedKey* tweak_key = nullptr;
    DataUnits data_units{};
    const Block* tweaks = nullptr;  ///< see MessageGroup
    bool beyond_caches = false;     ///< see MessageGroup

    [[nodiscard]] std::uint64_t bytes() const noexcept { return mode == Mode::cfb1 ? (length + 7) / 8 : length; }
};

/// AES-GCM (SP 800-38D) under one key: `count` segments at equal distances, each a message of its own; or with
/// `count` = 1 a stretch of one message, or only its authentication.
///
/// A stretch yields the digest of its own ciphertext, padded with zeros to whole blocks, and whoever cut the message
/// adds the digests up (see MessageGroup::digest).
struct GcmRun {
    Direction direction;
    const ExpandedKey* key;
    const std::uint8_t* input;
    /// Equal to `input` (then with equal strides) or disjoint. Null, where digests are wanted: `input` is only hashed,
    /// as associated data is; `j0` is then ignored.
    std::uint8_t* output;
    std::uint64_t count = 1;
    std::uint64_t segment_bytes = 0;  ///< plaintext of every segment but the last
    std::uint64_t last_bytes = 0;     ///< of the last, at most segment_bytes
    /// From the beginning of a segment to that of the next; at least segment_bytes. What lies between the segments of
    /// the output may be overwritten.
    std::uint64_t input_stride = 0;
    std::uint64_t output_stride = 0;
    /// The pre-counter block J0 (SP 800-38D, 7.1) of every segment, in host memory.
    const Block* j0 = nullptr;
    /// Block of the message that a stretch begins with: its first counter is inc32 applied 1 + first_block times to J0.
    std::uint64_t first_block = 0;
    /// Whether all know the last four bytes of J0, as they do if IVs have 12 bytes. Those of other IVs come from H: on
    /// a CPU no branch and no address may depend on their counters.
    bool public_counters = false;

    /// What `results` receives for every segment: the digest described above, or the tag of a whole message, 16 bytes.
    enum class Result { digest, tag } result = Result::digest;
    /// For tags: the digest of the associated data, which is the same for all segments, and its length.
    Block aad_digest{};
    std::uint64_t aad_bytes = 0;
    /// `count` blocks in host memory; on a caller's stream memory that the device can write. Decryption
    /// hashes its input and writes the tag that the message should have: comparing is the caller's.
    Block* results = nullptr;

    /// POLYVAL's order of bytes, where data in device memory is only hashed.
    bool reversed = false;

    [[nodiscard]] std::uint64_t total_bytes() const noexcept {
        return count == 0 ? 0 : (count - 1) * segment_bytes + last_bytes;
    }
    /// The tag of an empty message needs no output either.
    [[nodiscard]] bool hashes_only() const noexcept { return output == nullptr && result == Result::digest; }
};

/// A lane made of two kernels.
class StretchLane : public Lane {
public:
    virtual void run_stretch(const Run& run) = 0;
    virtual void run_gcm(const GcmRun& run) = 0;

    /// Messages one after the other, those of GCM that allow it in one run: for modes and sizes that a backend has
    /// nothing better for. What is not `direct` lies in host memory.
    void run_one_by_one(std::span<const MessageGroup> groups);

    /// Rows of `bytes` bytes of tags, to or from where the caller of a direct group keeps them.
    virtual void copy_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                           std::size_t bytes, std::size_t rows);
    /// Zeros over rows of the output of a direct group; over what lies between them, too, if that is cheaper.
    virtual void clear_rows(std::uint8_t* memory, std::size_t stride, std::size_t bytes, std::size_t rows);
};

/// The run of a message, or a stretch of one, that is not GCM's.
[[nodiscard]] Run run_of(const MessageGroup& group);

}  // namespace warpaes
