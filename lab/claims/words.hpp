// How verdicts express figures in words.
#pragma once

#include <fmt/format.h>

#include <cmath>
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
/// "30 % faster than", "as fast as".
inline std::string compared(const Ratio& r) {
    return experiments::compared(r.value, 1);
}
inline std::string size_of(double bytes) {
    return size_name(static_cast<std::size_t>(bytes));
}
/// "57 %"; "0 %", not "-0 %".
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
inline Holds both(bool one, bool other) {
    return one && other ? Holds::yes : one || other ? Holds::partly : Holds::no;
}

/// Texts of the common rules, as they appear in the table of claims.
inline constexpr const char* gain_rule =
    "yes from two thirds of the published gain on, in part if ahead at all, no if a tie or behind";
inline constexpr const char* lead_rule = "yes if ahead by 1.5 % or more, else no";
inline constexpr const char* same_rule = "yes within 5 % of each other, in part within 15 %";

}  // namespace lab::claims
