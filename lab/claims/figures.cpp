#include "lab/claims/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lab {

namespace {

/// An experiment is not judged if other processes used more than this share of the machine's processors while it ran.
constexpr double busy_from = 0.2;

}  // namespace

Figure Row::operator[](std::size_t i) const {
    if (!has(i)) throw Missing(fmt::format("'{}' of '{}' has no such figure", series_->name, panel_->title));
    const double value = *series_->values[i];
    if (series_->spread.empty() || !series_->spread[i]) return {value, value, value};
    return {value, series_->spread[i]->low, series_->spread[i]->high};
}

Figure Row::at(double x) const {
    const auto place = std::find(panel_->x.values.begin(), panel_->x.values.end(), x);
    if (place == panel_->x.values.end()) {
        throw Missing(fmt::format("'{}' has no figures at {}", panel_->title, x));
    }
    return (*this)[static_cast<std::size_t>(place - panel_->x.values.begin())];
}

Figure Row::at(const std::string& label) const {
    const auto place = std::find(panel_->x.labels.begin(), panel_->x.labels.end(), label);
    if (place == panel_->x.labels.end()) throw Missing(fmt::format("'{}' has no '{}'", panel_->title, label));
    return (*this)[static_cast<std::size_t>(place - panel_->x.labels.begin())];
}

std::size_t Row::best() const {
    const auto& v = series_->values;
    return static_cast<std::size_t>(std::max_element(v.begin(), v.end()) -
                                    v.begin());  // a missing figure counts as the smallest
}

std::size_t Row::worst() const {
    std::size_t least = best();
    for (std::size_t i = 0; i < size(); ++i) {
        if (has(i) && *series_->values[i] < *series_->values[least]) least = i;
    }
    return least;
}

const Entry& Figures::measured(const std::string& experiment) const {
    const auto& all = record_->experiments;
    const auto entry = std::find_if(all.begin(), all.end(), [&](const Entry& e) { return e.key == experiment; });
    if (entry == all.end()) throw Missing(fmt::format("{} is not in this record", experiment));
    switch (entry->status) {
    case Status::measured:
        if (entry->load.value_or(0) > busy_from) {
            throw Missing(fmt::format("others used {:.0f} % of the machine's processors while {} ran",
                                      100 * *entry->load, experiment));
        }
        return *entry;
    case Status::left_out:
        throw Missing(fmt::format("{} was left out: {}", experiment, entry->reason));
    case Status::failed:
        throw Missing(fmt::format("{} failed", experiment));
    case Status::not_run:
        throw Missing(fmt::format("{} has not run", experiment));
    }
    throw Missing(experiment);
}

const Panel& Figures::panel(const std::string& experiment, const std::string& title) const {
    const auto& panels = measured(experiment).result.panels;
    const auto panel = std::find_if(panels.begin(), panels.end(), [&](const Panel& p) { return p.title == title; });
    if (panel == panels.end()) throw Missing(fmt::format("'{}' of {} is not in this record", title, experiment));
    return *panel;
}

const Panel& Figures::panel_like(const std::string& experiment, const std::string& begin,
                                 const std::string& end) const {
    for (const Panel& panel : measured(experiment).result.panels) {
        if (panel.title.starts_with(begin) && panel.title.ends_with(end)) return panel;
    }
    throw Missing(fmt::format("'{}{}' of {} is not in this record", begin, end, experiment));
}

Row Figures::row(const Panel& panel, const std::string& series) {
    for (const Series& one : panel.series) {
        if (one.name == series) return {panel, one};
    }
    throw Missing(fmt::format("'{}' of '{}' is not in this record", series, panel.title));
}

Row Figures::row(const std::string& experiment, const std::string& title, const std::string& series) const {
    return row(panel(experiment, title), series);
}

double Figures::fact(const std::string& experiment, const std::string& name) const {
    for (const Fact& fact : measured(experiment).result.facts) {
        if (fact.name == name && std::isfinite(fact.value)) return fact.value;
    }
    throw Missing(fmt::format("'{}' of {} is not in this record", name, experiment));
}

Ratio over(const Figure& a, const Figure& b) {
    return {a.value / b.value, a.low / b.high, a.high / b.low};
}

Ratio mean(const std::vector<Ratio>& ratios) {
    Ratio sum;
    for (const Ratio& r : ratios) sum = {sum.value + r.value, sum.low + r.low, sum.high + r.high};
    const auto n = static_cast<double>(ratios.size());
    return {sum.value / n, sum.low / n, sum.high / n};
}

Figure in_another_run(const Figure& figure) {
    constexpr double apart = 1.05;
    return {figure.value, std::min(figure.low, figure.value / apart), std::max(figure.high, figure.value * apart)};
}

Holds at_both_ends(const Ratio& ratio, const std::function<Holds(double)>& rule) {
    const Holds low = rule(ratio.low);
    return low == rule(ratio.high) ? low : Holds::open;
}

Holds by_gain(const Ratio& ratio, double published) {
    return at_both_ends(ratio, [&](double r) {
        if (r - 1 < tie) return Holds::no;
        return r - 1 >= (published - 1) * 2 / 3 ? Holds::yes : Holds::partly;
    });
}

Holds by_sameness(const Ratio& ratio) {
    const auto rule = [](double r) {
        const double apart = std::max(r, 1 / r) - 1;
        return apart <= 0.05 ? Holds::yes : apart <= 0.15 ? Holds::partly : Holds::no;
    };
    // The rule is not monotonic: it is most favourable at a ratio of 1, so the ends of the range do not determine the
    // verdicts between them.
    const Holds ends = at_both_ends(ratio, rule);
    return ratio.low < 1 && ratio.high > 1 && ends != rule(1) ? Holds::open : ends;
}

Order order_of(const Figure& a, const Figure& b) {
    const auto of = [](double r) {
        return r >= 1 + tie ? Order::ahead : r <= 1 / (1 + tie) ? Order::behind : Order::even;
    };
    const Ratio r = over(a, b);
    return of(r.low) == of(r.high) ? of(r.low) : Order::unclear;
}

Holds by_count(const Count& count) {
    const auto of = [&](std::size_t n) {
        return n == count.of ? Holds::yes : 2 * n > count.of ? Holds::partly : Holds::no;
    };
    return of(count.is) == of(count.is + count.may) ? of(count.is) : Holds::open;
}

std::vector<double> places(const std::vector<double>& values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
    std::vector<double> out(values.size());
    for (std::size_t first = 0; first < order.size();) {
        std::size_t last = first;
        while (last + 1 < order.size() && values[order[last]] <= 1.01 * values[order[last + 1]]) ++last;
        for (std::size_t i = first; i <= last; ++i) out[order[i]] = 1 + static_cast<double>(first + last) / 2;
        first = last + 1;
    }
    return out;
}

Ratio rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
    const auto n = static_cast<double>(a.size());
    const double mean = (n + 1) / 2;
    double both = 0, of_a = 0, of_b = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        both += (a[i] - mean) * (b[i] - mean);
        of_a += (a[i] - mean) * (a[i] - mean);
        of_b += (b[i] - mean) * (b[i] - mean);
    }
    const double rho = of_a == 0 || of_b == 0 ? 0 : both / std::sqrt(of_a * of_b);
    const double z = std::atanh(std::clamp(rho, -0.9999, 0.9999)), apart = 1.96 * std::sqrt(1.06 / (n - 3));
    return {rho, std::tanh(z - apart), std::tanh(z + apart)};
}

}  // namespace lab
