#include "lab/cpu/model_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>

namespace lab {

namespace {

using Rows = std::vector<std::size_t>;
using Node = ModelTree::Node;

double mean(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation(std::span<const double> values) {
    const double m = mean(values);
    double sum = 0;
    for (const double v : values) sum += (v - m) * (v - m);
    return std::sqrt(sum / static_cast<double>(values.size()));
}

std::vector<double> targets_of(const Examples& examples, std::span<const std::size_t> rows) {
    std::vector<double> targets;
    targets.reserve(rows.size());
    for (const std::size_t row : rows) targets.push_back(examples.targets[row]);
    return targets;
}

bool varies(const Examples& examples, std::span<const std::size_t> rows, std::size_t attribute) {
    return std::any_of(rows.begin(), rows.end(), [&](std::size_t row) {
        return examples.attributes[row][attribute] != examples.attributes[rows[0]][attribute];
    });
}

/// Solves a x = b for a symmetric, positive semidefinite matrix of size b.size() by elimination with pivots on the
/// diagonal. Unknowns whose pivot vanishes are 0, and their `used` is false.
std::vector<double> solve(std::vector<std::vector<double>> a, std::vector<double> b, std::vector<bool>& used) {
    const std::size_t n = b.size();
    used.assign(n, false);
    std::vector<double> scale(n);
    for (std::size_t i = 0; i < n; ++i) scale[i] = a[i][i];
    for (std::size_t step = 0; step < n; ++step) {
        std::optional<std::size_t> pivot;
        for (std::size_t i = 0; i < n; ++i) {
            constexpr double least_share =
                1e-9;  // a smaller remaining share of an attribute's variance is rounding error
            if (used[i] || a[i][i] <= least_share * scale[i]) continue;
            if (!pivot || a[i][i] / scale[i] > a[*pivot][*pivot] / scale[*pivot]) pivot = i;
        }
        if (!pivot) break;
        const std::size_t p = *pivot;
        used[p] = true;
        for (std::size_t i = 0; i < n; ++i) {
            if (i == p) continue;
            const double factor = a[i][p] / a[p][p];
            for (std::size_t j = 0; j < n; ++j) a[i][j] -= factor * a[p][j];
            b[i] -= factor * b[p];
        }
    }
    std::vector<double> x(n, 0);
    for (std::size_t i = 0; i < n; ++i) x[i] = used[i] ? b[i] / a[i][i] : 0;
    return x;
}

struct Split {
    std::size_t attribute;
    double threshold;
    double reduction;
};

/// Returns the split that reduces the deviation most, or none if no attribute varies.
std::optional<Split> best_split(const Examples& examples, const Rows& rows) {
    std::optional<Split> best;
    for (std::size_t attribute = 0; attribute < examples.attributes[rows[0]].size(); ++attribute) {
        Rows sorted = rows;
        const auto value = [&](std::size_t row) { return examples.attributes[row][attribute]; };
        std::sort(sorted.begin(), sorted.end(), [&](auto a, auto b) { return value(a) < value(b); });
        const std::vector<double> targets = targets_of(examples, sorted);
        for (std::size_t i = 1; i < sorted.size(); ++i) {
            const double below = value(sorted[i - 1]), above = value(sorted[i]);
            if (below == above) continue;
            const double reduction = deviation_reduction(std::span(targets).first(i), std::span(targets).subspan(i));
            if (!best || reduction > best->reduction) best = Split{attribute, std::midpoint(below, above), reduction};
        }
    }
    return best;
}

/// Returns a linear model of the attributes `use`. Removes attributes one by one as long as the estimated error does
/// not grow.
LinearModel fit_simplified(const Examples& examples, const Rows& rows, std::set<std::size_t> use) {
    const auto fit = [&](const std::set<std::size_t>& attributes) {
        const Rows list(attributes.begin(), attributes.end());
        return fit_linear(examples, rows, list);
    };
    LinearModel model = fit(use);
    double error = estimated_error(model, examples, rows);
    for (bool dropped = true; dropped && !use.empty();) {
        dropped = false;
        std::size_t best_attribute = 0;
        for (const std::size_t attribute : use) {
            std::set<std::size_t> fewer = use;
            fewer.erase(attribute);
            const LinearModel simpler = fit(fewer);
            const double its_error = estimated_error(simpler, examples, rows);
            if (its_error > error) continue;
            error = its_error;
            model = simpler;
            best_attribute = attribute;
            dropped = true;
        }
        if (dropped) use.erase(best_attribute);
    }
    return model;
}

class Builder {
public:
    Builder(const Examples& examples, const ModelTree::Options& options) : examples_(examples), options_(options) {
        least_deviation_ = options.share * deviation(examples.targets);
        negligible_error_ = 1e-5 * deviation(examples.targets);
    }

    std::unique_ptr<Node> build() {
        Rows all(examples_.targets.size());
        std::iota(all.begin(), all.end(), std::size_t{0});
        return grow(all).node;
    }

private:
    struct Grown {
        std::unique_ptr<Node> node;
        std::set<std::size_t> asked;  ///< attributes that the subtree tests
        double error;                 ///< estimated error of the subtree
    };

    /// Grows and prunes the subtree for `rows`.
    Grown grow(const Rows& rows) {
        Grown grown{std::make_unique<Node>(), {}, 0};
        Node& node = *grown.node;
        node.examples = rows.size();
        const bool divisible =
            rows.size() >= options_.least && deviation(targets_of(examples_, rows)) > least_deviation_;
        const auto split = divisible ? best_split(examples_, rows) : std::nullopt;
        if (!split) {
            node.model = fit_linear(examples_, rows, {});
            grown.error = estimated_error(node.model, examples_, rows);
            return grown;
        }

        Rows low, high;
        for (const std::size_t row : rows) {
            (examples_.attributes[row][split->attribute] <= split->threshold ? low : high).push_back(row);
        }
        Grown below = grow(low), above = grow(high);
        grown.asked = std::move(below.asked);
        grown.asked.merge(above.asked);
        grown.asked.insert(split->attribute);
        node.model = fit_simplified(examples_, rows, grown.asked);
        const double own_error = estimated_error(node.model, examples_, rows);
        const double subtree_error =
            (static_cast<double>(low.size()) * below.error + static_cast<double>(high.size()) * above.error) /
            static_cast<double>(rows.size());
        grown.error = std::min(own_error, subtree_error);
        if (subtree_error >= own_error || own_error < negligible_error_) return grown;
        node.attribute = split->attribute;
        node.threshold = split->threshold;
        node.below = std::move(below.node);
        node.above = std::move(above.node);
        return grown;
    }

    const Examples& examples_;
    ModelTree::Options options_;
    double least_deviation_, negligible_error_;
};

std::size_t count_leaves(const Node& node) {
    return node.below == nullptr ? 1 : count_leaves(*node.below) + count_leaves(*node.above);
}

void describe(const Node& node, std::span<const std::string> names, std::size_t depth, std::string& text) {
    const std::string indent(2 * depth, ' ');
    if (node.below != nullptr) {
        text += fmt::format("{}{} <= {:.4g}:\n", indent, names[node.attribute], node.threshold);
        describe(*node.below, names, depth + 1, text);
        text += fmt::format("{}{} > {:.4g}:\n", indent, names[node.attribute], node.threshold);
        describe(*node.above, names, depth + 1, text);
        return;
    }
    text += fmt::format("{}{:.4g}", indent, node.model.constant);
    for (std::size_t i = 0; i < node.model.coefficients.size(); ++i) {
        if (node.model.coefficients[i] != 0) text += fmt::format(" {:+.4g} {}", node.model.coefficients[i], names[i]);
    }
    text += fmt::format(" ({} examples)\n", node.examples);
}

}  // namespace

double LinearModel::predict(std::span<const double> attributes) const {
    return std::inner_product(coefficients.begin(), coefficients.end(), attributes.begin(), constant);
}

LinearModel fit_linear(const Examples& examples, std::span<const std::size_t> rows,
                       std::span<const std::size_t> wanted) {
    const auto n = static_cast<double>(rows.size());
    Rows use;
    std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(use),
                 [&](std::size_t attribute) { return varies(examples, rows, attribute); });
    LinearModel model;
    model.coefficients.assign(examples.attributes[rows[0]].size(), 0);
    const double target_mean = mean(targets_of(examples, rows));
    std::vector<double> means(use.size(), 0), b(use.size(), 0);
    for (std::size_t i = 0; i < use.size(); ++i) {
        for (const std::size_t row : rows) means[i] += examples.attributes[row][use[i]] / n;
    }
    std::vector<std::vector<double>> a(use.size(), std::vector<double>(use.size(), 0));
    for (const std::size_t row : rows) {
        for (std::size_t i = 0; i < use.size(); ++i) {
            const double centred = examples.attributes[row][use[i]] - means[i];
            b[i] += centred * (examples.targets[row] - target_mean);
            for (std::size_t j = 0; j < use.size(); ++j) {
                a[i][j] += centred * (examples.attributes[row][use[j]] - means[j]);
            }
        }
    }
    std::vector<bool> used;
    const std::vector<double> x = solve(std::move(a), std::move(b), used);
    model.constant = target_mean;
    for (std::size_t i = 0; i < use.size(); ++i) {
        model.coefficients[use[i]] = x[i];
        model.constant -= x[i] * means[i];
        model.parameters += used[i] ? 1 : 0;
    }
    return model;
}

double estimated_error(const LinearModel& model, const Examples& examples, std::span<const std::size_t> rows) {
    if (rows.size() <= model.parameters) return std::numeric_limits<double>::infinity();
    double sum = 0;
    for (const std::size_t row : rows)
        sum += std::fabs(examples.targets[row] - model.predict(examples.attributes[row]));
    const auto n = static_cast<double>(rows.size()), v = static_cast<double>(model.parameters);
    return sum / n * (n + v) / (n - v);
}

double deviation_reduction(std::span<const double> below, std::span<const double> above) {
    std::vector<double> all(below.begin(), below.end());
    all.insert(all.end(), above.begin(), above.end());
    const auto share = [&](std::span<const double> part) {
        return static_cast<double>(part.size()) / static_cast<double>(all.size()) * deviation(part);
    };
    return deviation(all) - share(below) - share(above);
}

ModelTree::ModelTree(const Examples& examples, const Options& options) : smoothing_(options.smoothing) {
    if (examples.targets.empty() || examples.attributes.size() != examples.targets.size()) {
        throw std::invalid_argument("examples: as many rows of attributes as targets, and at least one");
    }
    for (const auto& row : examples.attributes) {
        if (row.size() != examples.attributes[0].size()) {
            throw std::invalid_argument("examples: rows of different numbers of attributes");
        }
    }
    root_ = Builder(examples, options).build();
}

double ModelTree::predict(std::span<const double> attributes) const {
    std::vector<const Node*> path{root_.get()};
    while (path.back()->below != nullptr) {
        const Node& node = *path.back();
        path.push_back(attributes[node.attribute] <= node.threshold ? node.below.get() : node.above.get());
    }
    double prediction = path.back()->model.predict(attributes);
    if (smoothing_ == 0) return prediction;
    for (std::size_t i = path.size() - 1; i > 0; --i) {
        const auto n = static_cast<double>(path[i]->examples);
        prediction = (n * prediction + smoothing_ * path[i - 1]->model.predict(attributes)) / (n + smoothing_);
    }
    return prediction;
}

std::size_t ModelTree::leaves() const {
    return count_leaves(*root_);
}

std::string ModelTree::describe(std::span<const std::string> names) const {
    std::string text;
    lab::describe(*root_, names, 0, text);
    return text;
}

Quality cross_validate(const Examples& examples, std::size_t folds, const ModelTree::Options& options) {
    const std::size_t count = examples.targets.size();
    if (folds < 2 || folds > count) throw std::invalid_argument("folds: from 2 to the number of examples");
    Rows order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937 random(1);
    // std::shuffle is not used, because its result differs between standard libraries.
    for (std::size_t i = count - 1; i > 0; --i) std::swap(order[i], order[random() % (i + 1)]);

    Quality quality;
    quality.predictions.resize(count);
    double absolute = 0, squared = 0, absolute_of_mean = 0, squared_of_mean = 0;
    for (std::size_t fold = 0; fold < folds; ++fold) {
        Examples learned;
        for (std::size_t i = 0; i < count; ++i) {
            if (i % folds == fold) continue;
            learned.attributes.push_back(examples.attributes[order[i]]);
            learned.targets.push_back(examples.targets[order[i]]);
        }
        const ModelTree tree(learned, options);
        const double learned_mean = mean(learned.targets);
        for (std::size_t i = fold; i < count; i += folds) {
            const std::size_t row = order[i];
            const double prediction = tree.predict(examples.attributes[row]), target = examples.targets[row];
            quality.predictions[row] = prediction;
            absolute += std::fabs(prediction - target);
            absolute_of_mean += std::fabs(learned_mean - target);
            squared += (prediction - target) * (prediction - target);
            squared_of_mean += (learned_mean - target) * (learned_mean - target);
        }
    }
    quality.relative_absolute_error = absolute_of_mean > 0 ? absolute / absolute_of_mean : 0;
    quality.r_squared = squared_of_mean > 0 ? 1 - squared / squared_of_mean : 1;
    return quality;
}

}  // namespace lab
