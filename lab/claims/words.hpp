// Expresses figures in words, for verdicts.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include "lab/claims/claim.hpp"
#include "lab/experiments/panels.hpp"
#include "lab/published.hpp"

namespace lab::claims {

using experiments::size_name;
using experiments::times;
using Kind = Claim::Kind;

inline std::string gb_per_s(const Figure& f) {
    return experiments::gb_per_s(f.value);
}
/// Returns, for example, "30 % faster than" or "as fast as".
inline std::string compared(const Ratio& r) {
    return experiments::compared(r.value, 1);
}
inline std::string size_of(double bytes) {
    return size_name(static_cast<std::size_t>(bytes));
}
/// Formats 0.57 as "57 %", and small negative shares as "0 %" instead of "-0 %".
inline std::string percent(double share) {
    const double whole = std::round(100 * share);
    return fmt::format("{:.0f} %", whole == 0 ? 0 : whole);
}
inline Verdict verdict(Holds holds, std::string sentence) {
    return {holds, std::move(sentence), {}};
}
inline Holds all_or_most(std::size_t with, std::size_t of) {
    return with == of ? Holds::yes : 2 * with > of ? Holds::partly : Holds::no;
}
/// Judges a statement with two parts that must both hold.
inline Holds less_of(Holds a, Holds b) {
    if (a == Holds::open || b == Holds::open) return Holds::open;
    return std::max(a, b);  // the enumerators are ordered yes, partly, no
}
inline Holds both(bool one, bool other) {
    return one && other ? Holds::yes : one || other ? Holds::partly : Holds::no;
}

/// Returns the largest and the smallest of some figures.
inline Figure best_figure(std::span<const Figure> figures) {
    return *std::max_element(figures.begin(), figures.end(),
                             [](const Figure& a, const Figure& b) { return a.value < b.value; });
}
inline Figure worst_figure(std::span<const Figure> figures) {
    return *std::min_element(figures.begin(), figures.end(),
                             [](const Figure& a, const Figure& b) { return a.value < b.value; });
}
/// Returns `yes` if the best figure is ahead of both ends of a row, and `partly` if it is ahead of only one end.
inline Holds by_both_ends_behind(const Row& row) {
    const Figure best = row[row.best()];
    const Order first = order_of(best, row[0]), last = order_of(best, row[row.size() - 1]);
    if (first == Order::unclear || last == Order::unclear) return Holds::open;
    return both(first == Order::ahead, last == Order::ahead);
}

}  // namespace lab::claims
