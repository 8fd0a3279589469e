// Verdicts about kernels come out as the figures say, either way; the published figures themselves are a yes.
#include "lab/experiments/kernel_verdicts.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "lab/experiments/panels.hpp"
#include "lab/published.hpp"

namespace lab::experiments {
namespace {

using Holds = Verdict::Holds;

Series series(const std::vector<double>& values) {
    return {"", Series::Role::measured, {values.begin(), values.end()}, {}};
}
std::vector<Holds> holds_of(const std::vector<Verdict>& verdicts) {
    std::vector<Holds> holds;
    for (const Verdict& v : verdicts) holds.push_back(v.holds);
    return holds;
}
bool says(const Verdict& verdict, const std::string& words) {
    return verdict.sentence.find(words) != std::string::npos;
}

TEST(KernelVerdicts, ComparedSpeeds) {
    EXPECT_EQ(compared(7, 1), "7.0 times as fast as");
    EXPECT_EQ(compared(1.3, 1), "30 % faster than");
    EXPECT_EQ(compared(1.01, 1), "as fast as");
    EXPECT_EQ(compared(1, 1.01), "as fast as");
    EXPECT_EQ(compared(0.7, 1), "30 % slower than");
    EXPECT_EQ(compared(0.21, 1), "79 % slower than");
    EXPECT_EQ(compared(0.002, 1), "99.8 % slower than");
}

TEST(KernelVerdicts, RankCorrelation) {
    const std::vector<double> up{1, 2, 3, 4}, down{9, 5, 2, 1}, equal{3, 3, 3, 3}, ties{1, 2, 2, 3};
    EXPECT_DOUBLE_EQ(rank_correlation(up, up), 1);
    EXPECT_DOUBLE_EQ(rank_correlation(up, down), -1);
    EXPECT_DOUBLE_EQ(rank_correlation(up, equal), 0);
    EXPECT_DOUBLE_EQ(rank_correlation(ties, ties), 1);
    EXPECT_NEAR(rank_correlation(up, ties), 0.9487, 1e-4);
}

TEST(KernelVerdicts, Thirteen) {
    std::vector<double> here;
    for (int i = 1; i <= 13; ++i) here.push_back(100 * published_speed(i));
    const auto published = judge_thirteen(here);
    EXPECT_EQ(holds_of(published), std::vector<Holds>(6, Holds::yes));
    EXPECT_TRUE(
        says(published[0], "much the same (rank correlation 1.00): the fastest was 3 with 4.4 GB/s and is 3 with 440"))
        << published[0].sentence;
    EXPECT_TRUE(says(published[2], "6.9 times as fast as")) << published[2].sentence;
    EXPECT_TRUE(says(published[4], "63 % faster than with one")) << published[4].sentence;
    EXPECT_FALSE(says(published[0], "What moved most")) << published[0].sentence;
    EXPECT_FALSE(says(published[4], "N.tables")) << published[4].sentence;
    std::vector<double> moved = here;
    moved[3] = 439;  // one table and rotations as fast as four
    const auto one_table = judge_thirteen(moved);
    EXPECT_TRUE(says(one_table[0], "What moved most: 4 from place 10 to 2 (docs/lab-profile.md"))
        << one_table[0].sentence;
    EXPECT_EQ(one_table[4].holds, Holds::no);
    EXPECT_TRUE(says(one_table[4], "it is as fast as with one and rotations, 440 GB/s and 439 GB/s"));
    EXPECT_TRUE(says(one_table[4], "N.tables has both where no lane waits for another")) << one_table[4].sentence;
    std::reverse(here.begin(), here.end());
    const auto reversed = judge_thirteen(here);
    EXPECT_EQ(reversed[0].holds, Holds::no);
    EXPECT_TRUE(says(reversed[0], "is another one today")) << reversed[0].sentence;
    EXPECT_EQ(reversed[1].holds, Holds::no);
    EXPECT_TRUE(says(reversed[0], "What moved most: 2 from place 2 to 11, 12 from place 11 to 2, 3 from place 1 to 6"))
        << reversed[0].sentence;
    EXPECT_EQ(holds_of(judge_thirteen(std::vector<double>(13, 1.0))),
              (std::vector<Holds>{Holds::no, Holds::no, Holds::no, Holds::yes, Holds::no, Holds::no}));
}

TEST(KernelVerdicts, GranularityAndWaiting) {
    EXPECT_EQ(judge_granularity({4.4, 3.36, 3.16, 0.36}).holds, Holds::yes);
    EXPECT_EQ(judge_granularity({4.4, 4.2, 3.16, 0.36}).holds, Holds::partly);
    EXPECT_EQ(judge_granularity({4, 1, 5, 1}).holds, Holds::no);
    EXPECT_TRUE(says(judge_granularity({4, 1, 5, 1}),
                     "4 GB/s, is 20 % slower than the best way to share one, shuffles included"));
    EXPECT_EQ(judge_waiting(1, 2, 3).holds, Holds::yes);
    EXPECT_EQ(judge_waiting(1, 1.01, 3).holds, Holds::partly);
    EXPECT_EQ(judge_waiting(1, 0.9, 3).holds, Holds::no);
}

TEST(KernelVerdicts, TablesAndLayouts) {
    const auto all_yes = judge_tables({1, 7, 4, 9, 20, 10});
    EXPECT_EQ(holds_of(all_yes), std::vector<Holds>(4, Holds::yes));
    EXPECT_FALSE(says(all_yes[1], "hides")) << all_yes[1].sentence;
    EXPECT_TRUE(says(all_yes[3], "the S-box and arithmetic, 9 GB/s, are 29 % faster than four tables"))
        << all_yes[3].sentence;
    EXPECT_EQ(holds_of(judge_tables({5, 7, 6.5, 7, 7.5, 7.5})), std::vector<Holds>(4, Holds::partly));
    const auto all_no = judge_tables({7, 7, 7, 1, 3, 2});
    EXPECT_EQ(holds_of(all_no), std::vector<Holds>(4, Holds::no));
    EXPECT_TRUE(says(all_no[1], "Four tables in shared memory are as fast as one and rotations, 7 GB/s and 7 GB/s"));
    EXPECT_TRUE(
        says(all_no[1], "3 GB/s and 2 GB/s, they are 50 % faster than one: there rotations count, here waiting"))
        << all_no[1].sentence;
    EXPECT_EQ(holds_of(judge_layouts({35, 30, 22, 23, 27, 17, 25})), std::vector<Holds>(2, Holds::yes));
    EXPECT_EQ(holds_of(judge_layouts({31, 30, 22, 30, 27, 17, 25})), std::vector<Holds>(2, Holds::partly));
    EXPECT_EQ(holds_of(judge_layouts({30, 20, 30, 30, 27, 17, 25})), std::vector<Holds>(2, Holds::no));
}

TEST(KernelVerdicts, Staying) {
    const std::vector<unsigned> blocks{1, 2, 4, 16};
    const Verdict yes = judge_staying(blocks, series({50, 97, 100, 99}), 90);
    EXPECT_EQ(yes.holds, Holds::yes);
    EXPECT_TRUE(says(yes, "95 % of it with 2 thread blocks a")) << yes.sentence;
    EXPECT_TRUE(says(judge_staying(blocks, series({97, 97, 100, 99}), 90), "with 1 thread block a"));
    EXPECT_EQ(judge_staying(blocks, series({50, 60, 70, 100}), 90).holds, Holds::partly);
    EXPECT_EQ(judge_staying(blocks, series({50, 80, 80, 80}), 90).holds, Holds::no);
}

TEST(KernelVerdicts, SchemesAndTexture) {
    EXPECT_EQ(judge_schemes(8 << 20, {1, 2, 1}, {9, 8, 7}).holds, Holds::yes);
    EXPECT_EQ(judge_schemes(8 << 20, {2, 1, 1}, {7, 8, 7}).holds, Holds::partly);
    EXPECT_EQ(judge_schemes(8 << 20, {2, 1, 1}, {9, 8, 7}).holds, Holds::no);
    const Verdict two = judge_schemes(8 << 20, {1, 2, 3}, {9, 8, 7});
    EXPECT_TRUE(
        says(two, "At 8 MiB the third scheme, sixteen threads a block, is the fastest with tables in constant"));
    EXPECT_TRUE(says(two, "(1, 2 and 3 GB/s with one, four")) << two.sentence;
    EXPECT_TRUE(says(two, "the first scheme, one thread a block, with tables in shared memory (9, 8 and 7 GB/s)"));
    EXPECT_TRUE(says(judge_schemes(8 << 20, {1, 2, 1}, {7, 8, 7}), "and with tables in shared memory"));
    const std::vector<double> x{2048, 512 << 10, 8 << 20};
    const auto paper = judge_texture(x, series({1.1, 1, 0.75}), series({1, 1.1, 1.13}), 1, 2);
    EXPECT_EQ(holds_of(paper), std::vector<Holds>(2, Holds::yes));
    EXPECT_TRUE(says(paper[0], "ahead of constant memory from 512 KiB on")) << paper[0].sentence;
    EXPECT_TRUE(says(judge_texture(x, series({1, 1, 1}), series({2, 2, 2}), 5, 9)[0], "at every length"));
    const auto none = judge_texture(x, series({1, 1, 1}), series({2, 2, 0.5}), 5, 9);
    EXPECT_EQ(holds_of(none), std::vector<Holds>(2, Holds::no));
    EXPECT_TRUE(says(none[0], "is not ahead of constant memory for long texts")) << none[0].sentence;
}

TEST(KernelVerdicts, Paracrypt) {
    EXPECT_EQ(judge_teams(series({4, 3, 2, 1}), series({4, 3, 2, 1})).holds, Holds::yes);
    EXPECT_EQ(judge_teams(series({3.99, 3, 4, 1}), series({4, 3, 2, 1})).holds, Holds::partly);
    EXPECT_TRUE(says(judge_teams(series({3, 3, 4, 1}), series({4, 3, 2, 1})), "Four threads a block are fastest"));
    EXPECT_EQ(range_of(series({2, 9, 4})).most, 9);
    EXPECT_EQ(range_of(series({2, 9, 4})).least, 2);
    EXPECT_EQ(judge_block_sizes({2, 1}).holds, Holds::yes);
    EXPECT_TRUE(says(judge_block_sizes({1.05, 1}), "hardly matters"));
    EXPECT_EQ(judge_memories({110, 100}, {101, 100}, 100).holds, Holds::yes);
    EXPECT_EQ(judge_memories({300, 10}, {101, 100}, 10).holds, Holds::partly);
    EXPECT_EQ(judge_memories({300, 0.1}, {101, 100}, 0.1).holds, Holds::no);
    EXPECT_TRUE(
        says(judge_memories({300, 5}, {101, 100}, 5), "5 GB/s, is faster than the published disk, 208 MB/s, behind"));
    EXPECT_TRUE(says(judge_memories({300, 5}, {101, 100}, 5), "and slower than its bus, 8 GB/s."));
    EXPECT_TRUE(says(judge_memories({300, 0.1}, {101, 100}, 0.1), "is slower than the published disk"));
    EXPECT_EQ(judge_words(1.5, 2).holds, Holds::yes);
    EXPECT_EQ(judge_words(1, 2).holds, Holds::partly);
    EXPECT_EQ(judge_words(1, 1).holds, Holds::no);
    EXPECT_EQ(judge_launch_orders({101, 100}).holds, Holds::yes);
    EXPECT_EQ(judge_launch_orders({110, 100}).holds, Holds::partly);
    EXPECT_EQ(judge_launch_orders({150, 100}).holds, Holds::no);
}

TEST(KernelVerdicts, Occupancy) {
    EXPECT_EQ(judge_calculator(5, 0, 13).holds, Holds::yes);
    EXPECT_EQ(judge_calculator(5, 2, 13).holds, Holds::partly);
    EXPECT_TRUE(says(judge_calculator(5, 2, 13), "contradicts the runtime for 2 of 13 sizes"));
    EXPECT_EQ(judge_calculator(4, 0, 13).holds, Holds::no);
    const std::vector<unsigned> x{64, 256, 1024};
    EXPECT_EQ(judge_occupancy(x, {16.0, 48.0, 32.0}, series({1, 3, 2})).holds, Holds::yes);
    EXPECT_EQ(judge_occupancy(x, {16.0, 48.0, 32.0}, series({1, 2.8, 3})).holds, Holds::partly);
    EXPECT_TRUE(says(judge_occupancy(x, {16.0, 48.0, 32.0}, series({1, 3, 2})),
                     "the fastest size, 256 threads with 3 GB/s, has all 48 warps"));
    EXPECT_TRUE(
        says(judge_occupancy(x, {16.0, 48.0, 32.0}, series({1, 2.95, 3})), "Occupancy is a good guide: the best"));
    const Verdict no = judge_occupancy(x, {16.0, 48.0, 32.0}, series({1, 2, 3}));
    EXPECT_EQ(no.holds, Holds::no);
    EXPECT_TRUE(
        says(no, "all 48 warps that there can be reaches 2 GB/s, the fastest of all, 1024 threads with 32 warps, 3"))
        << no.sentence;
}

TEST(KernelVerdicts, TableStudyAndContenders) {
    EXPECT_EQ(holds_of(judge_table_study(series({1, 1, 2, 1}), series({1, 1, 3, 1}))),
              std::vector<Holds>(2, Holds::yes));
    EXPECT_EQ(holds_of(judge_table_study(series({1, 1, 3.1, 1}), series({1, 1, 3, 9}))),
              (std::vector<Holds>{Holds::partly, Holds::no}));
    const auto other = judge_table_study(series({5, 1, 3, 7}), series({1, 1, 3, 1}));
    EXPECT_EQ(other[0].holds, Holds::no);
    EXPECT_TRUE(says(other[0], "the single table in texture memory is the fastest, 5 GB/s")) << other[0].sentence;
    EXPECT_EQ(judge_contenders("ECB", {300, 700, 400, 790, 2000}).holds, Holds::yes);
    EXPECT_EQ(judge_contenders("ECB", {300, 800, 400, 790, 2000}).holds, Holds::partly);
    EXPECT_EQ(judge_contenders("ECB", {300, 790, 400, 795, 2000}).holds, Holds::partly);  // "as fast as"
    EXPECT_EQ(judge_contenders("ECB", {300, 900, 400, 790, 2000}).holds, Holds::no);
}

TEST(KernelVerdicts, Leakage) {
    const auto judge = [](double constant, double shared, double copies, double functions, double launches) {
        return judge_leakage({{{"constant memory", true, false, constant, 1'000'000},
                               {"shared memory", true, false, shared, 1'000'000},
                               {"one copy a bank", false, false, copies, 1'000'000},
                               {"functions", false, true, functions, 1'000'000},
                               {"launches", false, true, launches, 20'000}}});
    };
    const auto as_hoped = judge(2000, 150, 1.2, 0, 2.1);
    EXPECT_EQ(holds_of(as_hoped), std::vector<Holds>(3, Holds::yes));
    EXPECT_TRUE(says(as_hoped[0], "constant memory 2000, shared memory 150")) << as_hoped[0].sentence;
    EXPECT_TRUE(says(as_hoped[2], "nothing, in at least 20,000 measurements of each (|t|: functions 0, launches 2.1)"))
        << as_hoped[2].sentence;
    EXPECT_EQ(judge(2000, 3, 1.2, 0, 2.1)[0].holds, Holds::partly);
    EXPECT_EQ(holds_of(judge(3, 3, 5, 6, 2.1)), std::vector<Holds>(3, Holds::no));
    EXPECT_EQ(judge(3, 3, 5, 0, 4.6)[2].holds, Holds::no);
    EXPECT_TRUE(says(judge(no_doubt, 3, 5, 0, 4.6)[0], "constant memory beyond measure"));
}

}  // namespace
}  // namespace lab::experiments
