// Compares the occupancy calculator with the paper's and NVIDIA's figures.
#include "lab/occupancy.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "lab/published.hpp"

namespace lab {
namespace {

using Limit = Occupancy::Limit;

TEST(Occupancy, PublishedSizesAreTheFullOnes) {
    namespace paper = published::damjanovic;
    for (const int threads : paper::full_occupancy_threads) {
        EXPECT_EQ(occupancy(fermi_21, static_cast<unsigned>(threads), paper::registers_per_thread, 0).warps,
                  static_cast<unsigned>(paper::active_warps))
            << threads;
    }
    EXPECT_EQ(occupancy(fermi_21, 128, 18, 0).warps, 32u);  // the maximum is 8 thread blocks
    EXPECT_EQ(occupancy(fermi_21, 128, 18, 0).limit, Limit::blocks);
    EXPECT_EQ(occupancy(fermi_21, 1024, 18, 0).warps, 32u);
    EXPECT_EQ(occupancy(fermi_21, 192, 32, 0).warps, 30u);  // registers for 32 warps allow 5 thread blocks of 6 warps
    EXPECT_EQ(occupancy(fermi_21, 192, 32, 0).limit, Limit::registers);
}

TEST(Occupancy, OfTodaysGpu) {
    constexpr MultiprocessorLimits h200{2048, 32, 65536, 233472, 1024, 256, 4, 128};
    EXPECT_EQ(occupancy(h200, 1024, 32, 0).warps, 64u);
    EXPECT_EQ(occupancy(h200, 1024, 33, 0).warps, 32u);  // 40 registers per thread allow 51 warps, or 48 in groups of 4
    EXPECT_EQ(occupancy(h200, 256, 40, 0).warps, 48u);
    EXPECT_EQ(occupancy(h200, 32, 16, 0).warps, 32u);
    EXPECT_EQ(occupancy(h200, 32, 16, 0).limit, Limit::blocks);
    EXPECT_EQ(occupancy(h200, 1024, 47, 128 * 1024).blocks, 1u);
    EXPECT_EQ(occupancy(h200, 256, 32, 128 * 1024).limit, Limit::shared);
    // 8,194 bytes are rounded up to 8,320, and each thread block needs 1,024 more bytes.
    EXPECT_EQ(occupancy(h200, 32, 16, 8 * 1024 + 2).blocks, 233472u / (8 * 1024 + 128 + 1024));
    EXPECT_EQ(occupancy(h200, 1024, 65, 0).blocks, 0u);  // such a thread block cannot run
}

}  // namespace
}  // namespace lab
