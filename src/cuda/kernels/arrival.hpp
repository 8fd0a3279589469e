// Data that the thread blocks of a launch share in device memory, and how they notify a polling host.
#pragma once

namespace warpaes::cuda {

/// A field element, and the number of thread blocks that have added to it. Both are zero before and after a launch.
struct GcmSum {
    unsigned long long high, low;
    unsigned arrived;
};

/// A caller that polls a word of page-locked memory, instead of waiting for the stream, gets the result a microsecond
/// earlier.
struct Notice {
    unsigned* arrived = nullptr;  ///< in device memory: thread blocks that are done; 0 before and after a launch
    unsigned* word = nullptr;     ///< null: the host does not poll
    unsigned value = 0;  ///< stored to `word` when everything that the launch writes is visible to host and device
};

/// Page-locked memory in which each thread block stores its share of a field element, for a polling host to add up.
/// That saves the round trips of atomic operations in device memory. A word holds 32 bits of the share and, above them,
/// `turn`: it is complete as soon as the host reads the turn, because 8 aligned bytes are stored at once.
struct HostShares {
    static constexpr unsigned words_each = 4;
    unsigned long long* words = nullptr;  ///< null: the host does not poll, and the thread blocks compute the sum
    unsigned turn = 0;                    ///< differs from the previous contents of the words
    /// In device memory: a copy of the shares for a later kernel, or the only one if the host does not poll; or null.
    unsigned* kept = nullptr;
    unsigned* arrived = nullptr;  ///< in device memory: set to 0 for that kernel; or null

    /// Whether the thread blocks store shares instead of adding them up.
    [[nodiscard]] constexpr bool any() const { return words != nullptr || kept != nullptr; }
};

}  // namespace warpaes::cuda
