// Tests Welch's t-test and its use in dudect.
#include "lab/leak_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace lab {
namespace {

Moments of(std::initializer_list<double> values) {
    Moments m;
    for (const double v : values) m.add(v);
    return m;
}

TEST(Welch, IsWhatTheFormulaSays) {
    // The means are 3 and 7, and the variances are 2.5 and 10. Each sample contains 5 values, so t is
    // -4 / sqrt(0.5 + 2).
    const Moments a = of({1, 2, 3, 4, 5}), b = of({3, 5, 7, 9, 11});
    EXPECT_DOUBLE_EQ(a.mean(), 3);
    EXPECT_DOUBLE_EQ(b.variance(), 10);
    EXPECT_NEAR(welch_t(a, b), -4 / std::sqrt(2.5), 1e-12);
    Moments sum = of({1, 2});
    sum += of({3, 4, 5});
    EXPECT_DOUBLE_EQ(sum.variance(), a.variance());
}

TEST(Welch, OfWhatDoesNotVary) {
    EXPECT_EQ(welch_t(of({7, 7, 7}), of({7, 7})), 0);
    EXPECT_EQ(welch_t(of({7, 7, 7}), of({8, 8})), -no_doubt);
    EXPECT_EQ(welch_t(of({7}), of({8, 8})), 0);
}

/// Runs the leak test on times around 1,000 with a long tail. `effect` changes the times of the fixed class.
template <typename Effect>
LeakTest::Outcome test(unsigned seed, std::size_t times, Effect effect) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> usual(1000, 10);
    std::exponential_distribution<double> late(1.0 / 5000);
    std::bernoulli_distribution is_late(0.02), coin(0.5);
    const auto time = [&] { return std::floor(usual(random) + (is_late(random) ? late(random) : 0)); };
    std::vector<double> first;
    for (int i = 0; i < 5000; ++i) first.push_back(time());
    LeakTest test(first);
    for (std::size_t i = 0; i < times; ++i) {
        const bool fixed = coin(random);
        const double t = time();
        test.add(fixed ? 0 : 1, fixed ? effect(t, random) : t);
    }
    return test.outcome();
}

TEST(LeakTest, NothingIsFoundWhereNothingIs) {
    for (unsigned seed = 0; seed < 10; ++seed) {
        const auto outcome = test(seed, 100'000, [](double t, auto&) { return t; });
        EXPECT_LT(std::abs(outcome.t), 4.5) << seed;
        EXPECT_EQ(outcome.times, 100'000u);
    }
}

TEST(LeakTest, CroppingFindsWhatTheTailHides) {
    const auto outcome = test(1, 100'000, [](double t, auto&) { return t + 1; });
    EXPECT_LT(std::abs(outcome.whole_t), 4.5);
    EXPECT_GT(outcome.t, 10);
    EXPECT_LT(outcome.kept, 1);
    EXPECT_FALSE(outcome.squared);
}

TEST(LeakTest, SignAndMeansAreThoseOfTheClasses) {
    const auto outcome = test(2, 50'000, [](double t, auto&) { return t - 500; });
    EXPECT_LT(outcome.t, -10);
    EXPECT_LT(outcome.fixed_mean, outcome.random_mean - 300);
}

TEST(LeakTest, EqualMeansOfOtherSpreadAreFound) {
    LeakTest test({90, 95, 100, 105, 110});
    for (int i = 0; i < 40'000; ++i) {
        test.add(0, i % 4 < 2 ? 90 : 110);
        test.add(1, i % 4 < 2 ? 99 : 101);
    }
    EXPECT_EQ(test.outcome().whole_t, 0);
    EXPECT_GT(std::abs(test.outcome().t), 10);
}

TEST(LeakTest, AFewTimesProveNothingByCropping) {
    LeakTest test({1, 2, 3});
    for (int i = 0; i < 100; ++i) {
        test.add(0, 1);
        test.add(1, i % 2 == 0 ? 2 : 0);
    }
    EXPECT_EQ(test.outcome().t, test.outcome().whole_t);
    EXPECT_THROW(LeakTest({}), std::invalid_argument);
}

TEST(LeakTest, TheUsualTimeIsInEveryCrop) {
    // Nine tenths of the times are 800. By chance, the few smaller times are more frequent in one class. Otherwise, the
    // classes are equal.
    std::vector<double> first(1000, 800);
    for (std::size_t i = 0; i < 50; ++i) first[i] = 790, first[999 - i] = 810;
    LeakTest test(first);
    for (int i = 0; i < 400'000; ++i) {
        const unsigned kind = i % 2;
        const int place = i / 2 % 20;
        test.add(kind, place == 0 ? (kind == 0 ? 790.0 : 790.1) : place == 1 ? 810 : 800);
    }
    const auto outcome = test.outcome();
    EXPECT_GT(outcome.kept, 0.9) << "the usual time was dropped, and only the rare times were judged";
    EXPECT_LT(std::abs(outcome.t), 4.5);
}

TEST(LeakTest, TimesThatNeverVary) {
    LeakTest equal({812});
    LeakTest other({812});
    for (int i = 0; i < 20'000; ++i) {
        equal.add(0, 812), equal.add(1, 812);
        other.add(0, 812), other.add(1, 813);
    }
    EXPECT_EQ(equal.outcome().t, 0);
    EXPECT_EQ(other.outcome().t, -no_doubt);
}

}  // namespace
}  // namespace lab
