// Tests the kernels of the memory study on the simulated GPU. They must read the right addresses, and the check must be
// able to fail.
#include "lab/gpu/memory_reads.hpp"

#include <gtest/gtest.h>

#include "lab/gpu/stream_reads.hpp"

namespace lab::gpu {
namespace {

constexpr ReadFrom sources[] = {ReadFrom::constant, ReadFrom::shared, ReadFrom::replicated, ReadFrom::texture,
                                ReadFrom::l1,       ReadFrom::l2,     ReadFrom::memory};
constexpr ReadPattern patterns[] = {ReadPattern::same, ReadPattern::consecutive, ReadPattern::random};

TEST(MemoryReads, EverySourceAndPattern) {
    MemoryReads memory(0, 256, 1024, 4096);
    for (const ReadFrom from : sources) {
        for (const ReadPattern pattern : patterns) {
            const ReadTimes times = memory.run(from, pattern, 50'000);
            EXPECT_GT(times.seconds, 0);
            EXPECT_GT(times.cycles, 0);
            EXPECT_TRUE(memory.verify()) << static_cast<int>(from) << ' ' << static_cast<int>(pattern);
        }
    }
}

TEST(MemoryReads, WholeRounds) {
    const MemoryReads memory(0, 32, 32, 32);
    EXPECT_EQ(memory.multiprocessors(), 2u);
    EXPECT_EQ(memory.reads(1), 2u * 1024 * 8);
    EXPECT_EQ(memory.reads(2 * 1024 * 8 + 1), 2u * 2 * 1024 * 8);
}

TEST(MemoryReads, SumsThatAreWrongAreFound) {
    MemoryReads memory(0, 64, 64, 64);
    EXPECT_FALSE(memory.verify());  // no kernel has run yet
    memory.run(ReadFrom::shared, ReadPattern::random, 1);
    EXPECT_TRUE(memory.verify());
}

TEST(MemoryReads, TablesThatAreTooLargeAreRefused) {
    EXPECT_THROW(MemoryReads(0, 2048, 32, 32), Error);
}

TEST(StreamReads, ReadTheSameBlocksAtEveryDistance) {
    StreamReads reads(300, 8, 32);
    EXPECT_EQ(reads.bytes(), 16u * 512 * 8);
    EXPECT_FALSE(reads.verify());  // no kernel has run yet
    for (const std::uint32_t distance : {1u, 2u, 8u, 32u}) {
        EXPECT_GT(reads.run(distance), 0);
        EXPECT_TRUE(reads.verify()) << distance;
    }
}

}  // namespace
}  // namespace lab::gpu
