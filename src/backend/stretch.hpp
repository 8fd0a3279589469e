// A backend's kernels, which process stretches of one message, and code that processes groups with only these kernels.
// Only backends use this header.
#pragma once

#include "backend/backend.hpp"

namespace warpaes {

/// A stretch of one message, processed as a whole: `length` bytes from `input` to `output`, which are equal or
/// disjoint. The rules of MessageGroup for lengths and chaining values apply.
struct Run {
    Mode mode;
    Direction direction;
    const ExpandedKey* key;
    const std::uint8_t* input;
    std::uint8_t* output;
    std::uint64_t length;  ///< bytes
    Block chain;           ///< the chaining value before the first block
    /// XTS: the key that encrypts the tweaks.
    const ExpandedKey* tweak_key = nullptr;
    DataUnits data_units{};
    const Block* tweaks = nullptr;  ///< see MessageGroup
    bool beyond_caches = false;     ///< see MessageGroup
    bool zero_copy = false;         ///< see MessageGroup
    std::uint32_t unused_bits = 0;  ///< see MessageGroup
};

/// AES-GCM (SP 800-38D) under one key: `count` segments at equal distances, each of which is a message; or, with
/// `count` = 1, a stretch of one message, or only its authentication.
///
/// A stretch yields the digest of its own ciphertext, padded with zeros to whole blocks. The caller that cut the
/// message combines the digests (see MessageGroup::digest).
struct GcmRun {
    Direction direction;
    const ExpandedKey* key;
    const std::uint8_t* input;
    /// Equal to `input` (with equal strides) or disjoint from it. If `output` is null and digests are requested,
    /// `input` is only hashed, like associated data, and `j0` is ignored.
    std::uint8_t* output;
    std::uint64_t count = 1;
    std::uint64_t segment_bytes = 0;  ///< plaintext size of every segment except the last
    std::uint64_t last_bytes = 0;     ///< length of the last segment, at most segment_bytes
    /// Distance from the start of each segment to the start of the next, at least segment_bytes. Bytes between the
    /// segments of the output may be overwritten.
    std::uint64_t input_stride = 0;
    std::uint64_t output_stride = 0;
    /// The pre-counter block J0 (SP 800-38D, 7.1) of every segment, in host memory.
    const Block* j0 = nullptr;
    /// The block of the message at which a stretch begins: the stretch's first counter is J0 after inc32 has been
    /// applied 1 + first_block times.
    std::uint64_t first_block = 0;
    bool beyond_caches = false;  ///< see MessageGroup
    /// Whether the last four bytes of J0 are public, as with 12-byte IVs. For other IVs, J0 depends on H: on a CPU, no
    /// branch and no address may depend on those counters.
    bool public_counters = false;

    /// The kind of value that `results` receives for every segment: the digest described above, or the 16-byte tag of a
    /// whole message.
    enum class Result { digest, tag } result = Result::digest;
    /// For tags: the digest of the associated data, which all segments share, and its length in bytes.
    Block aad_digest{};
    std::uint64_t aad_bytes = 0;
    /// `count` blocks in host memory; on a caller's stream, in memory that the device can write to. Decryption hashes
    /// its input and writes the correct tag of the message, which the caller compares.
    Block* results = nullptr;

    /// Whether blocks are in POLYVAL's byte order. Supported only for hashing data in device memory without an output.
    bool reversed = false;

    [[nodiscard]] std::uint64_t total_bytes() const noexcept {
        return count == 0 ? 0 : (count - 1) * segment_bytes + last_bytes;
    }
    /// Whether the input is only hashed. False for a run that computes a tag, because the tag of an empty message needs
    /// no output either.
    [[nodiscard]] bool hashes_only() const noexcept { return output == nullptr && result == Result::digest; }
};

/// A lane that is built on two kernels.
class StretchLane : public Lane {
public:
    virtual void run_stretch(const Run& run) = 0;
    virtual void run_gcm(const GcmRun& run) = 0;

    /// Processes messages one after another, except that GCM messages share one run if possible. Used for modes and
    /// sizes for which a backend has no faster function. Groups that are not `direct` are in host memory.
    void run_one_by_one(std::span<const MessageGroup> groups);

    /// Copies rows of `bytes` bytes of tags from or to the caller's memory of a direct group.
    virtual void copy_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                           std::size_t bytes, std::size_t rows);
    /// Overwrites with zeros the rows of a direct group's output whose mark is not 0. Each row has `bytes` bytes.
    /// Complete when run() returns.
    virtual void clear_rows(std::uint8_t* memory, std::size_t stride, std::size_t bytes,
                            std::span<const std::uint8_t> marks, bool beyond_caches);
};

/// Returns the run for a message or stretch in any mode except GCM.
[[nodiscard]] Run run_of(const MessageGroup& group);

}  // namespace warpaes
