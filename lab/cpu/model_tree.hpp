// M5': regression trees with linear models. R. Quinlan, "Learning with continuous classes", 1992, as improved by Y.
// Wang and I. Witten, "Inducing model trees for continuous classes", 1997.
//
// A node is split at the point that reduces the standard deviation of the targets most. Each inner node gets a linear
// model of the attributes that its subtree tests. Attributes are removed as long as the estimated error does not grow.
// The error of a model with v parameters on n examples is its mean absolute residual times (n + v) / (n - v). A subtree
// that is not better than the model of its root becomes a leaf. A prediction starts at a leaf and is smoothed with the
// model of each node on the path to the root.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lab {

/// Rows with the same number of attributes, and the target of each row.
struct Examples {
    std::vector<std::vector<double>> attributes;
    std::vector<double> targets;
};

struct LinearModel {
    double constant = 0;
    std::vector<double> coefficients;  ///< one for each attribute; 0 for unused attributes
    std::size_t parameters = 1;        ///< number of used attributes, plus one for the constant
    [[nodiscard]] double predict(std::span<const double> attributes) const;
};

/// Fits a linear model by least squares to the rows `rows` with the attributes `use`. Attributes that are constant, or
/// linearly dependent on other attributes, get coefficient 0.
LinearModel fit_linear(const Examples& examples, std::span<const std::size_t> rows, std::span<const std::size_t> use);
/// Returns the mean absolute residual times (n + v) / (n - v); infinite unless n > v.
double estimated_error(const LinearModel& model, const Examples& examples, std::span<const std::size_t> rows);
/// Reduction of the standard deviation by a split: sd(T) - sum of |Ti| / |T| sd(Ti).
double deviation_reduction(std::span<const double> below, std::span<const double> above);

class ModelTree {
public:
    struct Options {
        std::size_t least = 4;  ///< smaller nodes are not split
        double share = 0.05;    ///< nodes with less than this share of the root's deviation are not split
        double smoothing = 15;  ///< k; 0: no smoothing
    };
    /// Throws std::invalid_argument if there is no example, or if the numbers of attributes differ.
    explicit ModelTree(const Examples& examples, const Options& options);
    explicit ModelTree(const Examples& examples) : ModelTree(examples, Options()) {}

    [[nodiscard]] double predict(std::span<const double> attributes) const;
    [[nodiscard]] std::size_t leaves() const;
    /// Returns the tree as text, one line per node. `names` are the names of the attributes.
    [[nodiscard]] std::string describe(std::span<const std::string> names) const;

    struct Node {
        std::size_t examples = 0;
        LinearModel model;
        std::size_t attribute = 0;  ///< inner nodes: values up to `threshold` go to `below`
        double threshold = 0;
        std::unique_ptr<Node> below, above;  ///< null: a leaf
    };
    [[nodiscard]] const Node& root() const { return *root_; }

private:
    std::unique_ptr<Node> root_;
    double smoothing_;
};

/// The quality of predictions for examples that were not used in training.
struct Quality {
    double relative_absolute_error = 0;  ///< sum of |error|, divided by this sum if every prediction is the mean
    double r_squared = 0;  ///< 1 - sum of squared errors, divided by this sum if every prediction is the mean
    std::vector<double> predictions;  ///< prediction for each example, by a tree that was trained without that example
};
/// `folds` is at least 2 and at most the number of examples. The assignment to folds is deterministic.
Quality cross_validate(const Examples& examples, std::size_t folds, const ModelTree::Options& options = {});

}  // namespace lab
