// Tests that fitting recovers the parameters that generated the measurements.
#include "engine/calibration/fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace warpaes {
namespace {

TEST(Nonnegative, SolvesWhatHasASolution) {
    const std::vector<std::vector<double>> a{{1, 0}, {0, 2}, {1, 1}};
    const auto x = solve_nonnegative(a, {3, 8, 7});
    EXPECT_NEAR(x[0], 3, 1e-9);
    EXPECT_NEAR(x[1], 4, 1e-9);
}

TEST(Nonnegative, StaysAtZeroWhereItWouldGoBelow) {
    // Without the bound, x would be (2, -1).
    const auto x = solve_nonnegative({{1, 0}, {0, 1}, {1, 1}}, {2, -1, 1});
    EXPECT_NEAR(x[0], 1.5, 1e-9);
    EXPECT_EQ(x[1], 0);
}

TEST(Nonnegative, ColumnsOfZerosAndOfVeryDifferentSizes) {
    const auto x = solve_nonnegative({{1e9, 0, 1e-9}, {2e9, 0, 5e-9}, {3e9, 0, 1e-9}}, {1 + 3, 2 + 15, 3 + 3});
    EXPECT_NEAR(x[0], 1e-9, 1e-15);
    EXPECT_EQ(x[1], 0);
    EXPECT_NEAR(x[2], 3e9, 1e3);
}

TEST(Nonnegative, AgreesWithASearchOnRandomSystems) {
    std::mt19937 random(7);
    std::uniform_real_distribution<double> number(-1, 1);
    for (int round = 0; round < 200; ++round) {
        std::vector<std::vector<double>> a(8, std::vector<double>(4));
        std::vector<double> b(8);
        for (auto& row : a) {
            for (double& value : row) value = number(random);
        }
        for (double& value : b) value = number(random);
        const auto x = solve_nonnegative(a, b);
        // The Karush-Kuhn-Tucker conditions require that there is no descent direction except at a bound.
        for (std::size_t j = 0; j < 4; ++j) {
            double gradient = 0;
            for (std::size_t i = 0; i < a.size(); ++i) {
                double rest = b[i];
                for (std::size_t k = 0; k < 4; ++k) rest -= a[i][k] * x[k];
                gradient += a[i][j] * rest;
            }
            EXPECT_GE(x[j], 0);
            EXPECT_LE(gradient, 1e-6);
            EXPECT_TRUE(x[j] < 1e-9 || std::fabs(gradient) < 1e-6) << gradient;
        }
    }
}

Measured point(const Cost& truth, std::uint64_t messages, std::uint64_t bytes, std::uint64_t keys, double factor = 1) {
    return {messages * bytes, messages, bytes, keys, truth.seconds(messages * bytes, messages, bytes, keys) * factor};
}

TEST(Fit, AMessagesCosts) {
    // A GPU's costs are constant below 64 KiB. Above this size, copies overlap increasingly.
    Cost truth{.fixed = 3e-5};
    truth.byte = {0, 1e-11, 3e-11, 3e-11, 3e-11, 2.3e-11, 2.1e-11, 2.1e-11};
    std::mt19937 random(1);
    std::uniform_real_distribution<double> noise(0.98, 1.02);
    std::vector<Measured> points;
    for (std::uint64_t bytes = 64; bytes <= 256 << 20; bytes *= 4)
        points.push_back(point(truth, 1, bytes, 1, noise(random)));
    const Cost cost = fit_cost(points, {});
    EXPECT_TRUE(cost.valid());
    EXPECT_NEAR(cost.fixed, truth.fixed, 0.03 * truth.fixed);
    for (std::uint64_t bytes = 100; bytes <= std::uint64_t{1} << 30; bytes *= 3) {
        EXPECT_NEAR(cost.seconds(bytes, 1, bytes, 1) / truth.seconds(bytes, 1, bytes, 1), 1, 0.05) << bytes;
    }
    EXPECT_LT(median_error(cost, points), 0.03);
}

TEST(Fit, ABatchsCosts) {
    Cost truth{.fixed = 5e-5, .message = 4e-9, .key = 2e-8, .serial_byte = 2e-8};
    truth.byte.fill(2e-12);
    std::mt19937 random(2);
    std::uniform_real_distribution<double> noise(0.97, 1.03);
    std::vector<Measured> points;
    for (const std::uint64_t bytes : {64, 1504, 16384}) {
        for (const std::uint64_t messages : {1, 256, 16384, 65536}) {
            points.push_back(point(truth, messages, bytes, 1, noise(random)));
        }
    }
    points.push_back(point(truth, 65536, 64, 65536));
    points.push_back(point(truth, 1, 1 << 20, 1));
    const Cost cost = fit_cost(points, {.messages = true, .keys = true, .serial = true});
    EXPECT_NEAR(cost.serial_byte, truth.serial_byte, 0.05 * truth.serial_byte);
    for (const std::uint64_t bytes : {64, 512, 4096, 16384}) {
        for (const std::uint64_t messages : {1, 64, 1024, 65536}) {
            const Measured m = point(truth, messages, bytes, messages);
            EXPECT_NEAR(cost.seconds(m.bytes, m.messages, m.longest, m.keys) / m.seconds, 1, 0.15)
                << messages << " x " << bytes;
        }
    }
}

TEST(Fit, TheMedianErrorIsThatOfTheOneInTheMiddle) {
    Cost cost{.fixed = 1e-6};
    cost.byte.fill(1e-10);
    std::vector<Measured> points;
    for (const double factor : {4.0, 1.0, 0.8, 1.0, 0.1}) points.push_back(point(cost, 1, 4096, 1, factor));
    EXPECT_NEAR(median_error(cost, points), 0.25, 1e-9) << "predicted / measured: 1/4, 1, 5/4, 1, 10";
    EXPECT_EQ(median_error(cost, {}), 0);
}

TEST(Fit, WhatIsInFlightIsTold) {
    Cost truth{.fixed = 1e-6};
    truth.byte.fill(1e-10);
    const std::vector<Measured> points{point(truth, 1, 64, 1), point(truth, 1, 65536, 1)};
    EXPECT_EQ(fit_cost(points, {.in_flight = 4096}).in_flight, 4096U);
}

TEST(Fit, WhatWasNotMeasuredGoesOnLikeTheLast) {
    Cost truth{.fixed = 1e-6};
    truth.byte.fill(1e-10);
    const std::vector<Measured> points{point(truth, 1, 64, 1), point(truth, 1, 65536, 1)};
    const Cost cost = fit_cost(points, {});
    EXPECT_NEAR(cost.seconds(std::uint64_t{1} << 30, 1, 1, 1) / truth.seconds(std::uint64_t{1} << 30, 1, 1, 1), 1,
                0.05);
    EXPECT_TRUE(fit_cost({points.data(), 1}, {}).valid());
}

}  // namespace
}  // namespace warpaes
