// Tests that the papers' figures agree with the papers' conclusions, which detects typing errors.
#include "lab/published.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace {

using namespace lab::published;

TEST(Published, Units) {
    EXPECT_DOUBLE_EQ(gb_per_s_of_gbit(22.5), 2.8125);
    EXPECT_DOUBLE_EQ(gb_per_s_of_mbit(harrison::ctr_kernel_mbit_per_s), 1.927875);
}

TEST(Published, ThirteenImplementations) {
    using namespace gibadullin;
    double next = 0;
    for (std::size_t i = 0; i < implementations.size(); ++i) {
        EXPECT_EQ(implementations[i].number, static_cast<int>(i) + 1);
        if (implementations[i].bytes_per_thread < 16) next = std::max(next, implementations[i].gbit_per_s);
    }
    EXPECT_NEAR(implementations[2].gbit_per_s / next, 1 + best_granularity_gain, 0.02);
    EXPECT_NEAR(implementations[1].gbit_per_s / implementations[0].gbit_per_s, constant_t_box_loss, 0.2);
    EXPECT_NEAR(implementations[2].gbit_per_s / implementations[1].gbit_per_s, 1 + constant_round_key_loss, 0.01);
    EXPECT_NEAR(implementations[2].gbit_per_s / implementations[3].gbit_per_s, 1 + four_tables_gain, 0.01);
    // A single table is 40 % slower, as the paper states.
    EXPECT_NEAR(1 - implementations[3].gbit_per_s / implementations[2].gbit_per_s, 0.40, 0.02);
    EXPECT_NEAR(1 - implementations[4].gbit_per_s / implementations[2].gbit_per_s, registers_gain_least, 0.01);
    EXPECT_NEAR(overlap.gbit_per_s_with / overlap.gbit_per_s_without, 1.68, 0.01);
}

TEST(Published, CurvesAreOverPowersOfTwo) {
    for (std::size_t i = 1; i < gu::input_bytes.size(); ++i) EXPECT_EQ(gu::input_bytes[i], 2 * gu::input_bytes[i - 1]);
    EXPECT_EQ(gu::input_bytes.back(), 8u << 20);
    // Tables in constant memory are faster than in texture memory only from 64 KB to 256 KB. Mapped memory is always
    // faster than page-locked memory.
    for (std::size_t i = 0; i < gu::input_bytes.size(); ++i) {
        const bool middle = gu::input_bytes[i] >= (64 << 10) && gu::input_bytes[i] <= (256 << 10);
        EXPECT_EQ(gu::constant_table[i] > gu::texture_table[i], middle) << gu::input_bytes[i];
        EXPECT_GT(gu::mapped_write_combined[i], gu::page_locked[i]);
    }
    // The comparison uses the figure for the constant table, truncated to two digits.
    for (const gu::Against& a : gu::against_manavski) {
        const auto place = std::find(gu::input_bytes.begin(), gu::input_bytes.end(), a.bytes) - gu::input_bytes.begin();
        EXPECT_NEAR(a.gu_gbit_per_s, gu::constant_table[static_cast<std::size_t>(place)], 0.01) << a.bytes;
    }
}

}  // namespace
