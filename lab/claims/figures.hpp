// A record's figures by their names, and what two of them say about each other.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab/record.hpp"

namespace lab {

/// A figure that a verdict needs is not in the record.
class Missing : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// With its quartiles, or without spread if the record has none.
struct Figure {
    double value = 0, low = 0, high = 0;
};

/// A series of a panel, by its places.
class Row {
public:
    Row(const Panel& panel, const Series& series) : panel_(&panel), series_(&series) {}
    [[nodiscard]] const std::vector<double>& x() const { return panel_->x.values; }
    [[nodiscard]] const std::vector<std::string>& labels() const { return panel_->x.labels; }
    [[nodiscard]] std::size_t size() const { return series_->values.size(); }
    [[nodiscard]] bool has(std::size_t i) const { return i < size() && series_->values[i].has_value(); }
    /// Throw Missing if there is no figure.
    [[nodiscard]] Figure operator[](std::size_t i) const;
    [[nodiscard]] Figure at(double x) const;
    [[nodiscard]] Figure at(const std::string& label) const;
    /// Of a surface.
    [[nodiscard]] Figure at(std::size_t column, std::size_t row) const { return (*this)[row * columns() + column]; }
    [[nodiscard]] std::size_t columns() const { return panel_->x.size(); }
    [[nodiscard]] std::size_t rows() const { return panel_->y.size(); }
    /// The place of the largest figure, of those there are; of those at `x` no more than `most`.
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
    /// All throw Missing.
    [[nodiscard]] const Panel& panel(const std::string& experiment, const std::string& title) const;
    [[nodiscard]] Row row(const std::string& experiment, const std::string& title, const std::string& series) const;
    [[nodiscard]] double fact(const std::string& experiment, const std::string& name) const;
    /// The first panel whose title begins and ends so.
    [[nodiscard]] const Panel& panel_like(const std::string& experiment, const std::string& begin,
                                          const std::string& end = "") const;
    static Row row(const Panel& panel, const std::string& series);

private:
    [[nodiscard]] const Entry& measured(const std::string& experiment) const;
    const Record* record_;
};

/// How many times as large, with the ends of what it may be.
using Ratio = Figure;
Ratio over(const Figure& a, const Figure& b);
/// Of ratios at several places.
Ratio mean(const std::vector<Ratio>& ratios);

/// What another run of the same experiment may find: a twentieth more or less at least, where a rule sets one figure,
/// or a ratio of several, beside a threshold.
Figure in_another_run(const Figure& figure);
inline Figure in_another_run(double value) {
    return in_another_run(Figure{value, value, value});
}

using Holds = Verdict::Holds;

/// Speeds that differ by less are as good as equal.
inline constexpr double tie = 0.015;
/// What a rule says at both ends of a ratio; open if it says two things.
Holds at_both_ends(const Ratio& ratio, const std::function<Holds(double)>& rule);
/// "A is faster, by so much": yes from two thirds of the published gain on, in part if it is ahead at all, no if it is
/// a tie or behind. `published`: 1.63 is 63 % faster; 1: no figure was published.
Holds by_gain(const Ratio& ratio, double published = 1);
/// "It hardly matters": yes within 5 %, in part within 15 %.
Holds by_sameness(const Ratio& ratio);

enum class Order { behind, even, ahead, unclear };
/// Even if they are within a tie of each other; unclear if that depends on the spread.
Order order_of(const Figure& a, const Figure& b);

/// At how many of several places something is so, and at how many the spread leaves it open.
struct Count {
    std::size_t is = 0, may = 0, of = 0;
    void add(bool so, bool unclear = false) {
        ++of;
        is += so && !unclear ? 1 : 0;
        may += unclear ? 1 : 0;
    }
    /// What `so` says of both ends.
    void add_at_both_ends(const Figure& f, bool (*so)(double)) { add(so(f.low), so(f.low) != so(f.high)); }
    /// Ahead by more than a tie.
    void add_ahead(Order order) { add(order == Order::ahead, order == Order::unclear); }
    /// Ahead or a tie, which intervals that overlap are too.
    void add_not_behind(Order order) { add(order != Order::behind); }
};
/// "Everywhere": yes at all places, in part at more than half; open if the spread decides.
Holds by_count(const Count& count);

/// Places of a row of figures, 1 the largest, those within 1 % of the next larger being ties: they share a mean place.
std::vector<double> places(const std::vector<double>& values);
/// Spearman's coefficient of two rows of places, with an interval of 95 % after Fisher's transformation with Fieller's
/// variance, 1.06 / (n - 3).
Ratio rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace lab
