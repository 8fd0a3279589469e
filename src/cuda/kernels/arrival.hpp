// Data that the thread blocks of a launch share in device memory, and the ways in which they notify a polling host.
#pragma once

#include <cstdint>

namespace warpaes::cuda {

/// A field element, and the number of thread blocks that have added to the element. Both are zero before and after a
/// launch.
struct GcmSum {
    unsigned long long high, low;
    unsigned arrived;
};

/// A caller that polls a word of page-locked memory, instead of waiting for the stream, receives the result a
/// microsecond earlier.
struct Notice {
    unsigned* arrived = nullptr;  ///< in device memory: number of thread blocks that have finished; 0 before and after
                                  ///< a launch
    unsigned* word = nullptr;     ///< null: the host does not poll
    unsigned value = 0;  ///< stored to `word` when all data that the launch writes is visible to host and device
};

/// Page-locked memory in which each thread block stores its share of a field element, and in which a polling host adds
/// up the shares. This avoids the round trips of atomic operations in device memory. A word contains 32 bits of the
/// share and, above them, `turn`. Eight aligned bytes are stored at once, so the word is complete as soon as the host
/// reads the expected turn.
struct HostShares {
    static constexpr unsigned words_each = 4;
    unsigned long long* words = nullptr;  ///< null: the host does not poll, and the thread blocks compute the sum
    unsigned turn = 0;                    ///< differs from the previous contents of the words
    /// In device memory: a copy of the shares for a later kernel, or the only copy if the host does not poll. May be
    /// null.
    unsigned* kept = nullptr;
    unsigned* arrived = nullptr;  ///< in device memory: set to 0 for that kernel; may be null

    /// Whether the thread blocks store shares instead of adding them up.
    [[nodiscard]] constexpr bool any() const { return words != nullptr || kept != nullptr; }
};

/// The tag that a message must have, and what happens to the result of the comparison.
struct TagCheck {
    static constexpr unsigned words = HostShares::words_each;
    std::uint32_t expected[words], mask[words];  ///< the tag, padded with zeros, and its mask
    /// In device memory, if `expected` is not set: `expected_bytes` bytes at any address.
    const std::uint8_t* expected_at;
    std::uint32_t expected_bytes;
    std::int32_t bad;
    std::int32_t* status;  ///< in device memory: receives 0 or `bad`; may be null
};

}  // namespace warpaes::cuda
