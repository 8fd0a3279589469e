// How fast the multiprocessors read four-byte words from each of their memories, as [H] counted it: many reads of a
// small table at addresses that a warp's lanes share, that lie beside each other, or that are random.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/gpu/device.hpp"

namespace lab::gpu {

enum class ReadFrom {
    constant,
    shared,
    replicated,  ///< shared memory that holds each word 32 times, once a bank: every lane reads its own
    texture,
    l1,     ///< global memory through the first-level cache
    l2,     ///< global memory past the first-level cache
    memory  ///< global memory, a table much larger than the caches
};
enum class ReadPattern {
    same,         ///< all lanes of a warp read one word
    consecutive,  ///< 32 neighbouring words
    random        ///< each lane a word of its own
};

/// Of one launch.
struct ReadTimes {
    double seconds = 0;  ///< by events
    double cycles = 0;   ///< of a multiprocessor's clock, from its first read to its last; median
};

/// The tables, and room for the results. Word i of a table is a mix of i's bits, so that sums can be computed without
/// reading: verify() does, on the GPU for every thread and on the host for some.
class MemoryReads {
public:
    /// `small_words`: of the table in all memories but the last two, a power of two from 32 to 1024; `l2_words` and
    /// `memory_words`: powers of two from 32. Thread blocks: one of 1024 threads a multiprocessor.
    MemoryReads(int device, std::uint32_t small_words, std::uint32_t l2_words, std::uint32_t memory_words);

    /// The number of reads that a launch makes of `wanted`: whole rounds of all threads.
    [[nodiscard]] std::uint64_t reads(std::uint64_t wanted) const;
    /// Reads and keeps every thread's sum. `wanted`: from 1 on.
    ReadTimes run(ReadFrom from, ReadPattern pattern, std::uint64_t wanted);
    /// Whether the sums of the last run are what they must be.
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
