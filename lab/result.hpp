// What an experiment yields: panels, each a plot and a table at once, and a sentence about what they show. Everything
// that `warpaes lab` prints, stores, draws and compares is made of these.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lab {

/// One thing that was varied, or counted.
struct Axis {
    enum class Scale { linear, log, category };
    std::string name;  ///< "input", "throughput"
    std::string unit;  ///< "B", "GB/s", "" for categories and plain numbers
    Scale scale = Scale::linear;
    std::vector<double> values;       ///< of numbers; not of an axis that only carries results
    std::vector<std::string> labels;  ///< of categories, as many as there are
    [[nodiscard]] std::size_t size() const { return scale == Scale::category ? labels.size() : values.size(); }
};

/// A row of figures in the unit of its panel's `y` (of a surface, `z`).
struct Series {
    enum class Role {
        published,  ///< the paper's figure, converted to the panel's unit
        measured,   ///< ours, from outputs that were verified
        baseline,   ///< what it is held against: production's kernels, OpenSSL, a bare copy
        model       ///< computed: a fit, an occupancy calculator
    };
    struct Spread {
        double low, high;  ///< quartiles
    };
    std::string name;
    Role role = Role::measured;
    /// One for each place on `x` (of a surface, row after row, `y` times `x`); none where there is no figure.
    std::vector<std::optional<double>> values;
    std::vector<std::optional<Spread>> spread;  ///< empty, or as many as `values`
};

struct Panel {
    enum class Kind {
        bars,     ///< x: categories; series side by side
        lines,    ///< x: numbers
        stacked,  ///< x: numbers or categories; series are shares of a whole, in per cent
        surface   ///< x and y: numbers or categories; `z` says what the figures are
    };
    std::string title;
    Kind kind = Kind::bars;
    Axis x, y;
    Axis z;  ///< of surfaces
    std::vector<Series> series;
    std::string note;  ///< what a reader must know: what is included, where the published figures come from
};

/// Whether the published conclusion still holds here, and why.
struct Verdict {
    enum class Holds { yes, partly, no, open };
    Holds holds = Holds::open;
    std::string sentence;  ///< made of the figures, with the most important of them in it
    std::string claim;     ///< which: `id` of lab/claims; empty in records of builds that knew none
};

/// A figure that is no row of a plot: an error of a fit, a share that was hidden.
struct Fact {
    std::string name;
    double value = 0;
    std::string unit;
    std::optional<double> published;
};

struct Result {
    std::vector<Panel> panels;
    std::vector<Fact> facts;
    std::vector<Verdict> verdicts;   ///< of lab/claims; an experiment leaves them out
    std::vector<std::string> notes;  ///< what was left out here, and why
};

}  // namespace lab
