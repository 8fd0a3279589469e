#include "lab/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace lab {

namespace {

struct RecordedFigure {
    double value;
    std::optional<Series::Spread> spread;
    std::string unit;
};
using Key = std::tuple<std::string, std::string, std::string, std::string>;

/// All figures of a record except the published figures, in the record's order and by key.
struct RecordedFigures {
    std::vector<Key> order;
    std::map<Key, RecordedFigure> by_key;
    void add(Key key, RecordedFigure figure) {
        if (by_key.emplace(key, std::move(figure)).second) order.push_back(std::move(key));
    }
};

void collect(const std::string& experiment, const Panel& panel, RecordedFigures& figures) {
    const bool surface = panel.kind == Panel::Kind::surface;
    const Axis& unit_of = surface ? panel.z : panel.y;
    for (const Series& series : panel.series) {
        if (series.role == Series::Role::published) continue;
        for (std::size_t i = 0; i < series.values.size(); ++i) {
            if (!series.values[i] || panel.x.size() == 0) continue;
            std::string place = place_name(panel.x, i % panel.x.size());
            if (surface) place += ", " + place_name(panel.y, i / panel.x.size());
            const auto spread = series.spread.empty() ? std::nullopt : series.spread[i];
            figures.add({experiment, panel.title, series.name, place}, {*series.values[i], spread, unit_of.unit});
        }
    }
}

RecordedFigures collect(const Record& record) {
    RecordedFigures figures;
    for (const Entry& entry : record.experiments) {
        for (const Panel& panel : entry.result.panels) collect(entry.key, panel, figures);
        for (const Fact& fact : entry.result.facts) {
            if (std::isfinite(fact.value)) figures.add({entry.key, "", fact.name, ""}, {fact.value, {}, fact.unit});
        }
    }
    return figures;
}

std::optional<bool> differ(const RecordedFigure& a, const RecordedFigure& b) {
    if (!a.spread || !b.spread) return std::nullopt;
    const double apart = std::fabs(a.value - b.value);
    const double width = std::max(a.spread->high - a.spread->low, b.spread->high - b.spread->low);
    const bool meet = a.spread->low <= b.spread->high && b.spread->low <= a.spread->high;
    return apart > width && !meet;
}

}  // namespace

std::string place_name(const Axis& axis, std::size_t index) {
    if (axis.scale == Axis::Scale::category) return axis.labels.at(index);
    const double value = axis.values.at(index);
    if (axis.unit != "B") return axis.unit.empty() ? fmt::format("{}", value) : fmt::format("{} {}", value, axis.unit);
    double n = value;
    static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    while (n >= 1024 && std::fmod(n, 1024) == 0 && unit + 1 < std::size(units)) {
        n /= 1024;
        ++unit;
    }
    return fmt::format("{} {}", n, units[unit]);
}

Comparison compare(const Record& a, const Record& b) {
    const RecordedFigures of_a = collect(a), of_b = collect(b);
    Comparison comparison;
    for (const Key& key : of_a.order) {
        const auto other = of_b.by_key.find(key);
        const RecordedFigure& first = of_a.by_key.at(key);
        if (other == of_b.by_key.end() || other->second.unit != first.unit) {
            ++comparison.only_a;
            continue;
        }
        const RecordedFigure& second = other->second;
        Compared figure{std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key),     first.unit,
                        first.value,      second.value,     std::nullopt,     differ(first, second)};
        if (first.value != 0) figure.ratio = second.value / first.value;
        comparison.figures.push_back(std::move(figure));
    }
    comparison.only_b = of_b.order.size() - comparison.figures.size();
    return comparison;
}

}  // namespace lab
