// Compares M5' with cases that were computed by hand.
#include "lab/cpu/model_tree.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace {

using namespace lab;

Examples over(const std::vector<double>& x, double (*f)(double)) {
    Examples examples;
    for (const double value : x) {
        examples.attributes.push_back({value});
        examples.targets.push_back(f(value));
    }
    return examples;
}

std::vector<double> up_to(int n) {
    std::vector<double> x(static_cast<std::size_t>(n));
    std::iota(x.begin(), x.end(), 0.0);
    return x;
}

std::vector<std::size_t> rows(std::size_t n) {
    std::vector<std::size_t> all(n);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
}

/// Returns examples whose target is 1 for 0 to 3 and 5 for 4 to 7.
Examples step() {
    return over(up_to(8), [](double x) { return x < 4 ? 1.0 : 5.0; });
}

constexpr ModelTree::Options not_smoothed{4, 0.05, 0};

TEST(ModelTree, ReductionOfDeviation) {
    // sd(1, 1, 5, 5) is 2, and the deviation of each half is 0.
    EXPECT_DOUBLE_EQ(deviation_reduction(std::vector<double>{1, 1}, std::vector<double>{5, 5}), 2);
    // sd(1, 5, 1, 5) is 2, and so is the deviation of each half.
    EXPECT_DOUBLE_EQ(deviation_reduction(std::vector<double>{1, 5}, std::vector<double>{1, 5}), 0);
    // sd(0, 0, 0, 4) is sqrt(3). sd(0, 4) is 2, with a weight of one half.
    EXPECT_DOUBLE_EQ(deviation_reduction(std::vector<double>{0, 0}, std::vector<double>{0, 4}), std::sqrt(3.0) - 1);
}

TEST(ModelTree, LeastSquares) {
    // The line through (0, 1), (1, 2), (2, 6): the means are 1 and 3, Sxy is 5, and Sxx is 2.
    const Examples examples{{{0}, {1}, {2}}, {1, 2, 6}};
    const std::size_t use[] = {0};
    const LinearModel line = fit_linear(examples, rows(3), use);
    EXPECT_NEAR(line.coefficients[0], 2.5, 1e-12);
    EXPECT_NEAR(line.constant, 0.5, 1e-12);
    EXPECT_EQ(line.parameters, 2u);
    // The residuals are 0.5, -1 and 0.5. Their mean of 2/3 is multiplied by (3 + 2) / (3 - 2).
    EXPECT_NEAR(estimated_error(line, examples, rows(3)), 10.0 / 3, 1e-12);
    const LinearModel constant = fit_linear(examples, rows(3), {});
    EXPECT_DOUBLE_EQ(constant.constant, 3);
    // The residuals are 2, 1 and 3. Their mean of 2 is multiplied by (3 + 1) / (3 - 1).
    EXPECT_DOUBLE_EQ(estimated_error(constant, examples, rows(3)), 4);
    EXPECT_EQ(estimated_error(line, examples, rows(2)), std::numeric_limits<double>::infinity());
}

TEST(ModelTree, AttributesThatOthersDetermine) {
    Examples examples;
    for (int i = 0; i < 6; ++i) {
        examples.attributes.push_back({i * 1.0, 3.0 * i - 1, 7, (i * i) % 5 * 1.0});
        examples.targets.push_back(2.0 * i + 0.5 * ((i * i) % 5) + 1);
    }
    const std::size_t use[] = {0, 1, 2, 3};
    const LinearModel model = fit_linear(examples, rows(6), use);
    EXPECT_EQ(model.parameters, 3u);  // the constant, one of the first two attributes, and the last
    EXPECT_EQ(model.coefficients[2], 0);
    for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_NEAR(model.predict(examples.attributes[i]), examples.targets[i], 1e-9);
    }
}

TEST(ModelTree, AStepIsSplitBetweenItsLevels) {
    const ModelTree tree(step(), not_smoothed);
    EXPECT_EQ(tree.leaves(), 2u);
    EXPECT_DOUBLE_EQ(tree.root().threshold, 3.5);
    EXPECT_DOUBLE_EQ(tree.predict(std::vector<double>{-10}), 1);
    EXPECT_DOUBLE_EQ(tree.predict(std::vector<double>{3.5}), 1);
    EXPECT_DOUBLE_EQ(tree.predict(std::vector<double>{3.6}), 5);
}

TEST(ModelTree, PredictionsAreSmoothedByTheModelsAbove) {
    // The root's line has slope 32/42 and passes through (3.5, 3), so its value at 0 is 1/3. The lower leaf has 4 of
    // the 8 examples, so the result is (4 * 1 + 15 / 3) / 19.
    const ModelTree tree(step());
    EXPECT_NEAR(tree.root().model.coefficients[0], 32.0 / 42, 1e-12);
    EXPECT_NEAR(tree.predict(std::vector<double>{0}), 9.0 / 19, 1e-12);
    // The line's value at 7 is 1/3 + 7 * 32/42 = 17/3.
    EXPECT_NEAR(tree.predict(std::vector<double>{7}), (4 * 5 + 15 * 17.0 / 3) / 19, 1e-12);
}

TEST(ModelTree, ALineIsPrunedToOneLeaf) {
    const ModelTree tree(over(up_to(20), [](double x) { return 3 * x - 2; }));
    EXPECT_EQ(tree.leaves(), 1u);
    EXPECT_NEAR(tree.predict(std::vector<double>{100}), 298, 1e-9);
}

TEST(ModelTree, ABendHasALineOnEitherSide) {
    const Examples bend = over(up_to(60), [](double x) { return x < 30 ? x : 30 + 10 * (x - 30); });
    const ModelTree tree(bend, not_smoothed);
    EXPECT_GE(tree.leaves(), 2u);
    EXPECT_LE(tree.leaves(), 8u);
    const auto slope = [&](double x) {
        return (tree.predict(std::vector<double>{x + 0.5}) - tree.predict(std::vector<double>{x - 0.5}));
    };
    EXPECT_NEAR(slope(3), 1, 1e-6);
    EXPECT_NEAR(slope(57), 10, 1e-6);
    // The error is far below that of a single line, whose mean error exceeds 50.
    const Quality quality = cross_validate(bend, 10, not_smoothed);
    EXPECT_LT(quality.relative_absolute_error, 0.05);
    EXPECT_GT(quality.r_squared, 0.99);
}

TEST(ModelTree, WhatSaysNothingIsLeftOut) {
    // The second attribute is noise with a mean of zero. The first attribute explains all of the target.
    Examples examples;
    for (int i = 0; i < 24; ++i) {
        examples.attributes.push_back({i * 1.0, (i * 7) % 5 * 1.0});
        examples.targets.push_back(4.0 * i);
    }
    const ModelTree tree(examples);
    EXPECT_EQ(tree.leaves(), 1u);
    EXPECT_EQ(tree.root().model.coefficients[1], 0);
    EXPECT_EQ(tree.root().model.parameters, 2u);
}

TEST(ModelTree, FewExamplesAndEqualOnesAreNotSplit) {
    EXPECT_EQ(ModelTree(Examples{{{0}, {1}, {2}}, {0, 100, 0}}).leaves(), 1u);
    EXPECT_DOUBLE_EQ(ModelTree(Examples{{{0}, {1}, {2}}, {0, 100, 50}}).predict(std::vector<double>{7}), 50);
    EXPECT_EQ(ModelTree(over(up_to(30), [](double) { return 2.0; })).leaves(), 1u);
    EXPECT_DOUBLE_EQ(ModelTree(Examples{{{1, 2}}, {6}}).predict(std::vector<double>{0, 0}), 6);
}

TEST(ModelTree, MalformedExamplesAreRefused) {
    EXPECT_THROW(ModelTree(Examples{}), std::invalid_argument);
    EXPECT_THROW(ModelTree(Examples{{{1}, {2}}, {1}}), std::invalid_argument);
    EXPECT_THROW(ModelTree(Examples{{{1}, {2, 3}}, {1, 2}}), std::invalid_argument);
    EXPECT_THROW(cross_validate(step(), 1), std::invalid_argument);
    EXPECT_THROW(cross_validate(step(), 9), std::invalid_argument);
}

TEST(ModelTree, CrossValidation) {
    const Quality line = cross_validate(over(up_to(40), [](double x) { return 3 * x - 2; }), 10);
    EXPECT_NEAR(line.relative_absolute_error, 0, 1e-9);
    EXPECT_NEAR(line.r_squared, 1, 1e-9);
    EXPECT_NEAR(line.predictions[17], 49, 1e-6);
    // If the targets alternate, the mean is the best prediction, so the tree cannot learn anything.
    const Quality noise = cross_validate(
        over(up_to(40), [](double x) { return static_cast<int>(x * x + x / 3) % 2 == 0 ? 1.0 : -1.0; }), 10);
    EXPECT_GT(noise.relative_absolute_error, 0.7);
    EXPECT_LT(noise.r_squared, 0.5);
}

TEST(ModelTree, Description) {
    const std::string names[] = {"size"};
    EXPECT_EQ(ModelTree(step()).describe(names), "size <= 3.5:\n  1 (4 examples)\nsize > 3.5:\n  5 (4 examples)\n");
}

}  // namespace
