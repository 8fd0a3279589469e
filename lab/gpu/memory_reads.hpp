// [H]'s memory study: how fast the multiprocessors read 4-byte words from each kind of memory. A launch reads a small
// table many times, at addresses that are equal for all lanes of a warp, consecutive, or random.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/gpu/device.hpp"

namespace lab::gpu {

enum class ReadFrom {
    constant,
    shared,
    replicated,  ///< shared memory with 32 copies of each word, one per bank; every lane reads its own copy
    texture,
    l1,     ///< global memory through the first-level cache
    l2,     ///< global memory bypassing the first-level cache
    memory  ///< global memory, with a table much larger than the caches
};
enum class ReadPattern {
    same,         ///< all lanes of a warp read the same word
    consecutive,  ///< 32 neighbouring words
    random        ///< a different random word for each lane
};

/// Times of one launch.
struct ReadTimes {
    double seconds = 0;  ///< by events
    double cycles = 0;   ///< multiprocessor clock cycles from its first read to its last; median over the
                         ///< multiprocessors
};

/// The tables, and memory for the results. Word i of a table is a hash of i, so that expected sums can be computed
/// without reading: verify() computes them on the GPU for every thread, and on the host for some.
class MemoryReads {
public:
    /// `small_words`: size of the table in all memories except the last two, a power of two from 32 to 1024.
    /// `l2_words`, `memory_words`: powers of two, at least 32. A launch has one thread block of 1024 threads per
    /// multiprocessor.
    MemoryReads(int device, std::uint32_t small_words, std::uint32_t l2_words, std::uint32_t memory_words);

    /// Returns the number of reads of a launch: `wanted`, rounded to complete rounds of all threads.
    [[nodiscard]] std::uint64_t reads(std::uint64_t wanted) const;
    /// Times a launch that performs reads(wanted) reads and stores the sum of each thread. `wanted` is at least 1.
    ReadTimes run(ReadFrom from, ReadPattern pattern, std::uint64_t wanted);
    /// Returns whether the sums of the last run are correct.
    [[nodiscard]] bool verify();
    [[nodiscard]] unsigned multiprocessors() const { return blocks_; }

private:
    struct Launch {
        ReadFrom from;
        ReadPattern pattern;
        std::uint32_t rounds;
    };
    [[nodiscard]] std::uint32_t words_of(ReadFrom from) const;

    unsigned blocks_;
    std::uint32_t small_words_, l2_words_, memory_words_;
    DeviceMemory small_, l2_, memory_, sums_, cycles_;
    Stream stream_;
    Launch last_{};
};

}  // namespace lab::gpu
