// Records with invented figures, to test verdicts.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "lab/claims/claim.hpp"

namespace lab {

/// A record whose figures a test chooses.
class MadeRecord {
public:
    /// Returns a measured experiment and creates it if it does not exist.
    Entry& of(const std::string& key) {
        auto& all = record.experiments;
        const auto found = std::find_if(all.begin(), all.end(), [&](const Entry& e) { return e.key == key; });
        if (found != all.end()) return *found;
        Entry entry;
        entry.key = key;
        entry.paper = key.substr(0, 1);
        entry.status = Status::measured;
        return all.emplace_back(std::move(entry));
    }
    Panel& panel(const std::string& key, const std::string& title) {
        auto& panels = of(key).result.panels;
        const auto found = std::find_if(panels.begin(), panels.end(), [&](const Panel& p) { return p.title == title; });
        if (found != panels.end()) return *found;
        panels.emplace_back();
        panels.back().title = title;
        return panels.back();
    }
    /// `spread` is half of every figure's interquartile range, relative to the figure.
    void bars(const std::string& key, const std::string& title, const std::vector<std::string>& labels,
              const std::string& series, const std::vector<double>& values, double spread = 0) {
        Panel& p = panel(key, title);
        p.x.scale = Axis::Scale::category;
        p.x.labels = labels;
        add(p, series, values, spread);
    }
    void lines(const std::string& key, const std::string& title, const std::vector<double>& x,
               const std::string& series, const std::vector<double>& values, double spread = 0) {
        Panel& p = panel(key, title);
        p.x.values = x;
        add(p, series, values, spread);
    }
    void surface(const std::string& key, const std::string& title, const std::vector<double>& x,
                 const std::vector<double>& y, const std::string& series, const std::vector<double>& values) {
        Panel& p = panel(key, title);
        p.kind = Panel::Kind::surface;
        p.x.values = x;
        p.y.values = y;
        add(p, series, values, 0);
    }
    void fact(const std::string& key, const std::string& name, double value) {
        of(key).result.facts.push_back({name, value, "", {}});
    }
    [[nodiscard]] Verdict judged(const std::string& id) const { return judge(claim_of(id), record); }
    [[nodiscard]] Verdict::Holds holds(const std::string& id) const { return judged(id).holds; }

    Record record;

private:
    static void add(Panel& panel, const std::string& name, const std::vector<double>& values, double spread) {
        Series series;
        series.name = name;
        for (const double value : values) {
            series.values.emplace_back(value);
            if (spread > 0) series.spread.push_back(Series::Spread{value * (1 - spread), value * (1 + spread)});
        }
        panel.series.push_back(std::move(series));
    }
};

/// Prints verdicts in gtest's messages.
inline void PrintTo(Verdict::Holds holds, std::ostream* out) {
    constexpr const char* names[] = {"yes", "partly", "no", "open"};
    *out << names[static_cast<int>(holds)];
}

}  // namespace lab
