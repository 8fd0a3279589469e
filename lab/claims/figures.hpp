// Access to a record's figures by name, and the rules that compare figures.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab/record.hpp"

namespace lab {

/// Thrown if the record lacks a figure that a verdict needs.
class Missing : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A figure with its quartiles; without a recorded spread, all three are equal.
struct Figure {
    double value = 0, low = 0, high = 0;
};

/// A series of a panel, with the panel's axes.
class Row {
public:
    Row(const Panel& panel, const Series& series) : panel_(&panel), series_(&series) {}
    [[nodiscard]] const std::vector<double>& x() const { return panel_->x.values; }
    [[nodiscard]] const std::vector<double>& y() const { return panel_->y.values; }
    [[nodiscard]] const std::vector<std::string>& labels() const { return panel_->x.labels; }
    [[nodiscard]] std::size_t size() const { return series_->values.size(); }
    [[nodiscard]] bool has(std::size_t i) const { return i < size() && series_->values[i].has_value(); }
    /// operator[] and at() throw Missing if there is no figure.
    [[nodiscard]] Figure operator[](std::size_t i) const;
    [[nodiscard]] Figure at(double x) const;
    [[nodiscard]] Figure at(const std::string& label) const;
    /// Returns the figure of a surface in this column and row.
    [[nodiscard]] Figure at(std::size_t column, std::size_t row) const { return (*this)[row * columns() + column]; }
    [[nodiscard]] std::size_t columns() const { return panel_->x.size(); }
    [[nodiscard]] std::size_t rows() const { return panel_->y.size(); }
    /// Returns the index of the largest figure; positions without a figure are ignored.
    [[nodiscard]] std::size_t best() const;
    [[nodiscard]] std::size_t worst() const;

private:
    const Panel* panel_;
    const Series* series_;
};

class Figures {
public:
    explicit Figures(const Record& record) : record_(&record) {}
    [[nodiscard]] const Record& record() const { return *record_; }
    /// These functions throw Missing if the record lacks the panel, series or fact.
    [[nodiscard]] const Panel& panel(const std::string& experiment, const std::string& title) const;
    [[nodiscard]] Row row(const std::string& experiment, const std::string& title, const std::string& series) const;
    [[nodiscard]] double fact(const std::string& experiment, const std::string& name) const;
    /// Returns the first panel whose title begins with `begin` and ends with `end`.
    [[nodiscard]] const Panel& panel_like(const std::string& experiment, const std::string& begin,
                                          const std::string& end = "") const;
    static Row row(const Panel& panel, const std::string& series);

private:
    [[nodiscard]] const Entry& measured(const std::string& experiment) const;
    const Record* record_;
};

/// The ratio of two figures, with the smallest and the largest ratio that their spreads allow.
using Ratio = Figure;
Ratio over(const Figure& a, const Figure& b);
/// Returns the mean of ratios at several positions.
Ratio mean(const std::vector<Ratio>& ratios);

/// Returns the range in which another run of the same experiment is expected to be: at least from `value` / 1.05 to
/// `value` * 1.05. Rules that compare a figure, or a ratio of figures, with a threshold use this range.
Figure in_another_run(const Figure& figure);
inline Figure in_another_run(double value) {
    return in_another_run(Figure{value, value, value});
}

using Holds = Verdict::Holds;

/// Speeds that differ by less than this share count as equal.
inline constexpr double tie = 0.015;
/// Returns the result of a rule at both ends of a ratio's range, or `open` if the results differ. The rule must be
/// monotonic.
Holds at_both_ends(const Ratio& ratio, const std::function<Holds(double)>& rule);
/// Judges "A is faster by this much": `yes` for at least two thirds of the published gain, `partly` for a smaller gain,
/// `no` if A is tied or slower. A `published` of 1.63 means 63 % faster, and 1 means that no gain was published.
Holds by_gain(const Ratio& ratio, double published = 1);
/// Judges "it hardly matters": `yes` if the figures differ by at most 5 %, `partly` if by at most 15 %, otherwise `no`,
/// and `open` if the range of the ratio allows more than one of these verdicts.
Holds by_sameness(const Ratio& ratio);

/// Judges a statement with two parts: `open` if either part is open, the common verdict if both agree, and otherwise
/// `partly`.
inline Holds together(Holds a, Holds b) {
    return a == Holds::open || b == Holds::open ? Holds::open : a == b ? a : Holds::partly;
}

enum class Order { behind, even, ahead, unclear };
/// Returns the order of `a` relative to `b`: `even` if they differ by less than a tie, and `unclear` if the order
/// depends on the spread.
Order order_of(const Figure& a, const Figure& b);

/// Counts the positions at which a condition holds, and the positions at which the result depends on the spread.
struct Count {
    std::size_t is = 0, may = 0, of = 0;
    void add(bool so, bool unclear = false) {
        ++of;
        is += so && !unclear ? 1 : 0;
        may += unclear ? 1 : 0;
    }
    /// Adds the results of `so` at both ends of the figure's range.
    void add_at_both_ends(const Figure& f, bool (*so)(double)) { add(so(f.low), so(f.low) != so(f.high)); }
    /// Counts a position if it is ahead by more than a tie.
    void add_ahead(Order order) { add(order == Order::ahead, order == Order::unclear); }
    void add_behind(Order order) { add(order == Order::behind, order == Order::unclear); }
    /// Counts a position if it is ahead or tied. An unclear order counts as a tie.
    void add_not_behind(Order order) { add(order != Order::behind); }
};
/// Judges "everywhere": `yes` if the condition holds at all positions, `partly` if it holds at more than half of them,
/// and `open` if the verdict depends on the spread.
Holds by_count(const Count& count);

/// Returns the ranks of figures; the largest figure has rank 1. Figures within 1 % of the next larger figure are tied
/// with it, and tied figures share their mean rank.
std::vector<double> places(const std::vector<double>& values);
/// Returns Spearman's coefficient for two lists of ranks, with the 95 % interval from Fisher's transformation and
/// Fieller's variance, 1.06 / (n - 3).
Ratio rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace lab
