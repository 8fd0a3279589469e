// The result of an experiment: panels, each of which is a plot and a table, and verdicts on published conclusions.
// `warpaes lab` prints, stores, draws and compares objects of these types.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lab {

/// A quantity that was varied or measured.
struct Axis {
    enum class Scale { linear, log, category };
    std::string name;  ///< "input", "throughput"
    std::string unit;  ///< "B", "GB/s"; "" for categories and plain numbers
    Scale scale = Scale::linear;
    std::vector<double> values;       ///< values of linear and log axes; empty for an axis of results
    std::vector<std::string> labels;  ///< labels of category axes, one per category
    [[nodiscard]] std::size_t size() const { return scale == Scale::category ? labels.size() : values.size(); }
};

/// A row of figures in the unit of its panel's `y` (for a surface, `z`).
struct Series {
    enum class Role {
        published,  ///< the paper's figure, converted to the panel's unit
        measured,   ///< measured on this machine; the output was verified
        baseline,   ///< a reference point: production's kernels, OpenSSL, a plain copy
        model       ///< a computed figure: a fit, the occupancy calculator
    };
    struct Spread {
        double low, high;  ///< quartiles
    };
    std::string name;
    Role role = Role::measured;
    /// One value for each position on `x`, or none if there is no figure. A surface has a row of such values for each
    /// position on `y`.
    std::vector<std::optional<double>> values;
    std::vector<std::optional<Spread>> spread;  ///< empty, or one for each of `values`
};

struct Panel {
    enum class Kind {
        bars,     ///< x: categories; series side by side
        lines,    ///< x: numbers
        stacked,  ///< x: numbers or categories; series are percentages of a whole
        surface   ///< x and y: numbers or categories; `z` describes the figures
    };
    std::string title;
    Kind kind = Kind::bars;
    Axis x, y;
    Axis z;  ///< surfaces only
    std::vector<Series> series;
    std::string note;  ///< notes for readers, such as the work included in the time and the source of published figures
};

/// Whether a published conclusion holds on this machine, and why.
struct Verdict {
    enum class Holds { yes, partly, no, open };
    Holds holds = Holds::open;
    std::string sentence;  ///< the reason, which quotes the most important figures
    std::string claim;     ///< the `id` of a claim (lab/claims); empty in records from builds without claims
};

/// A figure that is not part of a plot: the error of a fit, the hidden share of transfers.
struct Fact {
    std::string name;
    double value = 0;
    std::string unit;
    std::optional<double> published;
};

struct Result {
    std::vector<Panel> panels;
    std::vector<Fact> facts;
    std::vector<Verdict> verdicts;   ///< written by lab/claims; experiments leave it empty
    std::vector<std::string> notes;  ///< measurements that were omitted on this machine, with reasons
};

}  // namespace lab
