// Tests samples and their statistics.
#include "lab/measure.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace {

using namespace lab;

TEST(Measure, QuartilesLieBetweenSamples) {
    const Summary of_five = summarize({5, 1, 4, 2, 3});
    EXPECT_EQ(of_five.median, 3);
    EXPECT_EQ(of_five.low, 2);
    EXPECT_EQ(of_five.high, 4);
    EXPECT_EQ(of_five.samples, 5u);
    const Summary of_four = summarize({10, 40, 30, 20});
    EXPECT_DOUBLE_EQ(of_four.median, 25);
    EXPECT_DOUBLE_EQ(of_four.low, 17.5);
    EXPECT_DOUBLE_EQ(of_four.high, 32.5);
    const Summary of_one = summarize({7});
    EXPECT_EQ(of_one.low, 7);
    EXPECT_EQ(of_one.high, 7);
    EXPECT_THROW(summarize({}), std::invalid_argument);
}

TEST(Measure, TheFirstCallIsNotCounted) {
    int calls = 0;
    const Summary summary = sample({4, 4, 0}, [&] { return calls++ == 0 ? 1000.0 : 2.0; });
    EXPECT_EQ(calls, 5);
    EXPECT_EQ(summary.samples, 4u);
    EXPECT_EQ(summary.high, 2);
}

TEST(Measure, ACounterCountsWhatTheSecondsDo) {
    double counter = 0;
    int calls = 0;
    const Counted counted = sample_in_turns({4, 4, 0},
                                            {[&] {
                                                 counter += calls++ == 0 ? 1000 : 2;
                                                 return 1.0;
                                             },
                                             [&] {
                                                 counter += 7;
                                                 return 3.0;
                                             }},
                                            [&] { return counter; });
    ASSERT_EQ(counted.seconds.size(), 2u);
    ASSERT_EQ(counted.grown.size(), 2u);
    for (const auto& summaries : {counted.seconds, counted.grown}) {
        for (const Summary& summary : summaries) EXPECT_EQ(summary.samples, 4u);
    }
    EXPECT_EQ(counted.grown[0].high, 2) << "the first call does not count";
    EXPECT_EQ(counted.grown[1].median, 7);
    EXPECT_EQ(counted.seconds[1].median, 3);
}

TEST(Measure, EffortSaysHowLong) {
    const auto none = [] { return 1.0; };
    EXPECT_EQ(sample({3, 9, 0}, none).samples, 3u);     // no minimum time is set
    EXPECT_EQ(sample({3, 9, 1000}, none).samples, 9u);  // the maximum number is not exceeded
    EXPECT_LT(effort(true).most, effort(false).most);
}

TEST(Measure, SubjectsTakeTurns) {
    std::string order;
    const auto subject = [&](char name, double seconds) {
        return [&order, name, seconds] {
            order += name;
            return seconds;
        };
    };
    const auto summaries = sample_in_turns({2, 2, 0}, {subject('a', 1), subject('b', 3)});
    EXPECT_EQ(order, "ababab");
    ASSERT_EQ(summaries.size(), 2u);
    EXPECT_EQ(summaries[0].median, 1);
    EXPECT_EQ(summaries[1].median, 3);
}

TEST(Measure, ARateExchangesTheQuartiles) {
    const Summary r = rate(12, {3, 2, 4, 9});
    EXPECT_EQ(r.median, 4);
    EXPECT_EQ(r.low, 3);
    EXPECT_EQ(r.high, 6);
    EXPECT_EQ(r.samples, 9u);
}

TEST(Measure, AnotherUnit) {
    const Summary us = scaled({3, 2, 5, 9}, 1e6);
    EXPECT_EQ(us.median, 3e6);
    EXPECT_EQ(us.low, 2e6);
    EXPECT_EQ(us.high, 5e6);
    EXPECT_EQ(us.samples, 9u);
}

TEST(Measure, FiguresAndGapsStayInStep) {
    Series series{"s", Series::Role::measured, {}, {}};
    add_none(series);
    EXPECT_TRUE(series.spread.empty());
    add(series, {2, 1, 3, 5});
    add_none(series);
    ASSERT_EQ(series.values.size(), 3u);
    ASSERT_EQ(series.spread.size(), 3u);
    EXPECT_FALSE(series.values[0]);
    EXPECT_FALSE(series.spread[0]);
    EXPECT_EQ(series.values[1], 2);
    EXPECT_EQ(series.spread[1]->low, 1);
    EXPECT_EQ(series.spread[1]->high, 3);
    EXPECT_FALSE(series.values[2]);
    EXPECT_FALSE(series.spread[2]);
}

}  // namespace
