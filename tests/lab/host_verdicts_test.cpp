// Verdicts come out as the figures say, either way; the published figures themselves are a yes.
#include "lab/experiments/host_verdicts.hpp"

#include <gtest/gtest.h>

#include "lab/published.hpp"

namespace lab::experiments {
namespace {

using Holds = Verdict::Holds;

Series series(const std::vector<double>& values) {
    return {"", Series::Role::measured, {values.begin(), values.end()}, {}};
}

TEST(HostVerdicts, Overlap) {
    const int chunks[] = {1, 4};
    const auto judge = [&](double with, double hidden, double kernel) {
        return judge_overlap(chunks, series({1.675, with}), series({0, hidden}), kernel);
    };
    const Verdict published = judge(2.8125, 65, 0.38);
    EXPECT_EQ(published.holds, Holds::yes);
    EXPECT_NE(published.sentence.find("by 68 % and hide 65 %; the best number of chunks, 4, gives 2.81 GB/s"),
              std::string::npos)
        << published.sentence;
    EXPECT_EQ(published.sentence.find("both ways"), std::string::npos);
    EXPECT_EQ(judge(1.8, 10, 0.02).holds, Holds::partly);
    EXPECT_NE(judge(1.8, 10, 0.02).sentence.find("both ways"), std::string::npos);
    EXPECT_EQ(judge(1.6, -3, 0.02).holds, Holds::no);
}

TEST(HostVerdicts, Streams) {
    EXPECT_EQ(judge_streams(series({1, 1.05, 1.07, 1.07}), 8 << 20).holds, Holds::yes);
    EXPECT_EQ(judge_streams(series({1, 1.01, 1.02, 1.02}), 8 << 20).holds, Holds::partly);
    EXPECT_EQ(judge_streams(series({1, 0.9, 0.9, 0.9}), 8 << 20).holds, Holds::no);
}

TEST(HostVerdicts, Mapped) {
    const std::vector<double> x{2048, 8 << 20};
    EXPECT_EQ(judge_mapped(x, series({0.065, 0.286}), series({0.06, 0.3}), series({0.1, 0.83})).holds, Holds::yes);
    const Verdict partly = judge_mapped(x, series({1, 25}), series({1, 48}), series({2, 42}));
    EXPECT_EQ(partly.holds, Holds::partly);
    EXPECT_NE(partly.sentence.find("behind it at 1 of 2 sizes, last at 2 KiB"), std::string::npos) << partly.sentence;
    EXPECT_EQ(judge_mapped(x, series({1, 25}), series({1, 48}), series({0.5, 20})).holds, Holds::no);
}

TEST(HostVerdicts, Breakdown) {
    const std::vector<double> x{2048, 64 << 10, 8 << 20};
    EXPECT_EQ(judge_breakdown(x, series({80, 50, 20})).holds, Holds::yes);
    EXPECT_EQ(judge_breakdown(x, series({30, 30, 2})).holds, Holds::partly);
    EXPECT_EQ(judge_breakdown(x, series({30, 60, 70})).holds, Holds::no);
    EXPECT_NE(judge_breakdown(x, series({80, 50, 20})).sentence.find("half up to 2 KiB and transfers from 64 KiB on"),
              std::string::npos);
}

TEST(HostVerdicts, Reads) {
    EXPECT_EQ(judge_reads(series({32, 32, 32, 8, 32}), series({1, 9, 32, 6, 10})).holds, Holds::yes);
    EXPECT_EQ(judge_reads(series({32, 32, 32, 8, 32}), series({1, 9, 32, 12, 10})).holds, Holds::partly);
    EXPECT_EQ(judge_reads(series({32, 32, 32, 8, 32}), series({20, 9, 32, 12, 10})).holds, Holds::no);
}

TEST(HostVerdicts, CounterMode) {
    const double alone = published::gb_per_s_of_mbit(published::harrison::ctr_kernel_mbit_per_s);
    const double with = published::gb_per_s_of_mbit(published::harrison::ctr_with_transfers_mbit_per_s);
    EXPECT_EQ(judge_counter_mode(alone, with, 1, 1).holds, Holds::yes);
    EXPECT_EQ(judge_counter_mode(300, 25, 900, 48).holds, Holds::yes);
    EXPECT_EQ(judge_counter_mode(300, 200, 900, 48).holds, Holds::partly);
    EXPECT_EQ(judge_counter_mode(300, 290, 900, 48).holds, Holds::no);
}

TEST(HostVerdicts, Overhead) {
    const std::vector<double> x{16, 512, 16384};
    const auto judge = [&](const std::vector<double>& model, const std::vector<double>& production,
                           const std::vector<double>& beyond) {
        const Series with = series(model), kernel = series({1, 2, 3}), ours = series(production);
        const std::vector<double> message{100, 110, 120};
        return judge_overhead(x, {with, kernel, ours, message, beyond});
    };
    const Verdict published = judge({45, 22, 16}, {5, 1, 0}, {50, 10, 2});
    EXPECT_EQ(published.holds, Holds::yes);
    EXPECT_NE(published.sentence.find("it costs 16 % with 16,384, 22 % with 512, 45 % with 16; its kernel alone 3 %, "
                                      "2 %, 1 %. "),
              std::string::npos)
        << published.sentence;
    EXPECT_NE(published.sentence.find(
                  "0 %, 1 %, 5 %, submitting and checking included; one by itself takes 2, 10, 50 µs beyond "
                  "the 120, 110, 100 µs of one message."),
              std::string::npos)
        << published.sentence;
    EXPECT_EQ(judge({9, 3, 2}, {5, 1, 0}, {1, 1, 1}).holds, Holds::partly);
    const Verdict none_at_all = judge({9, 3, -0.3}, {5, 1, 0}, {1, 1, 1});
    EXPECT_NE(none_at_all.sentence.find("it costs 0 % with 16,384"), std::string::npos) << none_at_all.sentence;
    EXPECT_EQ(judge({3, 3, 4}, {5, 1, 0}, {1, 1, 1}).holds, Holds::no);
    const auto fixed = [&](const Verdict& v) { return v.sentence.find("what any batch costs") != std::string::npos; };
    EXPECT_TRUE(fixed(judge({45, 22, 16}, {70, 70, 60}, {110, 150, 190})));
    EXPECT_FALSE(fixed(judge({45, 22, 16}, {70, 9, 9}, {400, 150, 100})));
    EXPECT_FALSE(fixed(judge({45, 22, 16}, {70, 9, 9}, {4, -1, 1})));
    const Series one = series({3});
    const std::vector<double> none{1};
    EXPECT_EQ(judge_overhead({1}, {one, one, one, none, none}).holds, Holds::open);
}

TEST(HostVerdicts, Rekeying) {
    const std::vector<double> x{1, 512};
    const Series one = series({10, 100}), much = series({2, 50}), little = series({5, 99}), none = series({9, 99});
    EXPECT_EQ(judge_rekeying(x, {one, much}, {one, much}).holds, Holds::yes);
    EXPECT_EQ(judge_rekeying(x, {one, much}, {one, little}).holds, Holds::partly);
    EXPECT_EQ(judge_rekeying(x, {one, much}, {one, none}).holds, Holds::no);
}

TEST(HostVerdicts, SerialMessages) {
    Series rates = series({1, 2, 3, 0.1, 2, 40});
    EXPECT_EQ(judge_serial_counts({32, 1024, 65536}, rates, 1).holds, Holds::yes);
    EXPECT_EQ(judge_serial_counts({32, 1024, 65536}, rates, 0).holds, Holds::partly);
    rates.values[1] = rates.values[2] = std::nullopt;  // left out
    EXPECT_EQ(judge_serial_counts({32, 1024, 65536}, rates, 0).holds, Holds::no);

    const std::vector<double> x{1, 128, 512};
    const Series production = series({50, 49, 48});
    EXPECT_EQ(judge_distance(x, series({100, 40, 20}), production).holds, Holds::yes);
    EXPECT_EQ(judge_distance(x, series({100, 70, 60}), production).holds, Holds::partly);
    EXPECT_EQ(judge_distance(x, series({100, 95, 95}), production).holds, Holds::no);
    EXPECT_NE(judge_distance(x, series({100, 40, 20}), series({50, 40, 48}))
                  .sentence.find("is at 128 blocks 20 % slower than at the least distance."),
              std::string::npos);
    EXPECT_EQ(judge_distance({1, 2}, series({1, 1}), series({1, 1})).holds, Holds::open);
}

TEST(HostVerdicts, Orders) {
    const Series flat = series({1, 1, 1, 1, 1, 1, 1});
    EXPECT_EQ(judge_orders(series({1, 2, 3, 4, 5, 6, 7}), flat, flat).holds, Holds::yes);
    EXPECT_EQ(judge_orders(series({1, 2, 3, 4, 5, 7, 6}), flat, flat).holds, Holds::partly);
    EXPECT_EQ(judge_orders(series({7, 2, 3, 4, 5, 6, 1}), flat, flat).holds, Holds::no);
    EXPECT_EQ(judge_orders(flat, flat, flat).holds, Holds::no);  // none matters
}

}  // namespace
}  // namespace lab::experiments
