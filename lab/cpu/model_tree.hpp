// M5': regression trees with linear models. R. Quinlan, "Learning with continuous classes", 1992, as improved by Y.
// Wang and I. Witten, "Inducing model trees for continuous classes", 1997.
//
// A node is split where that lowers the standard deviation of what it predicts most. Each inner node gets a linear
// model of the attributes that its subtree asks for, less those that it does better without; the error of a model of v
// parameters on n examples is its mean absolute residual times (n + v) / (n - v). A subtree that is not better than its
// root's model becomes a leaf. A prediction is smoothed on its way up by the models that it passes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lab {

/// Rows of equally many attributes, and what is to be predicted for each.
struct Examples {
    std::vector<std::vector<double>> attributes;
    std::vector<double> targets;
};

struct LinearModel {
    double constant = 0;
    std::vector<double> coefficients;  ///< of every attribute; 0 for those that it does without
    std::size_t parameters = 1;        ///< the constant, and the attributes that it uses
    [[nodiscard]] double predict(std::span<const double> attributes) const;
};

/// Least squares over the rows `rows` with the attributes `use`. Attributes that do not vary, or that others determine,
/// get no part.
LinearModel fit_linear(const Examples& examples, std::span<const std::size_t> rows, std::span<const std::size_t> use);
/// Mean absolute residual times (n + v) / (n - v); infinite if n is not above v.
double estimated_error(const LinearModel& model, const Examples& examples, std::span<const std::size_t> rows);
/// By how much a split lowers the standard deviation: sd(T) - sum of |Ti| / |T| sd(Ti).
double deviation_reduction(std::span<const double> below, std::span<const double> above);

class ModelTree {
public:
    struct Options {
        std::size_t least = 4;  ///< fewer examples are not split
        double share = 0.05;    ///< nor those that deviate less than this share of all examples' deviation
        double smoothing = 15;  ///< k; 0: predictions are not smoothed
    };
    /// At least one example, and as many attributes in all, else std::invalid_argument.
    explicit ModelTree(const Examples& examples, const Options& options);
    explicit ModelTree(const Examples& examples) : ModelTree(examples, Options()) {}

    [[nodiscard]] double predict(std::span<const double> attributes) const;
    [[nodiscard]] std::size_t leaves() const;
    /// As text, a line a node; `names` of the attributes.
    [[nodiscard]] std::string describe(std::span<const std::string> names) const;

    struct Node {
        std::size_t examples = 0;
        LinearModel model;
        std::size_t attribute = 0;  ///< inner nodes: at most `threshold` goes to `below`
        double threshold = 0;
        std::unique_ptr<Node> below, above;  ///< none: a leaf
    };
    [[nodiscard]] const Node& root() const { return *root_; }

private:
    std::unique_ptr<Node> root_;
    double smoothing_;
};

/// How good predictions are of examples that were not learned from.
struct Quality {
    double relative_absolute_error = 0;  ///< sum of |error| over that of predicting the mean
    double r_squared = 0;                ///< 1 - sum of squared errors over that of predicting the mean
    std::vector<double> predictions;     ///< of each example, by a tree that did not see it
};
/// `folds` at least 2, at most as many as there are examples; how they are dealt out depends on nothing else.
Quality cross_validate(const Examples& examples, std::size_t folds, const ModelTree::Options& options = {});

}  // namespace lab
