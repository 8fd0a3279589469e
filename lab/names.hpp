// The names of enumerators in JSON.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "lab/record.hpp"

namespace lab {

/// The names of an enumeration whose values are 0, 1, 2, …
template <typename Enum, std::size_t count>
struct Names {
    const char* what;
    std::array<const char*, count> list;

    [[nodiscard]] constexpr const char* operator()(Enum value) const {
        return list.at(static_cast<std::size_t>(value));
    }
    /// Throws RecordError for an unknown name.
    [[nodiscard]] Enum parse(std::string_view name) const {
        for (std::size_t i = 0; i < count; ++i) {
            if (name == list[i]) return static_cast<Enum>(i);
        }
        throw RecordError(fmt::format("{}: there is no '{}'", what, name));
    }
};

inline constexpr Names<Axis::Scale, 3> scales{"scale", {"linear", "log", "category"}};
inline constexpr Names<Series::Role, 4> roles{"role", {"published", "measured", "baseline", "model"}};
inline constexpr Names<Panel::Kind, 4> kinds{"kind", {"bars", "lines", "stacked", "surface"}};
inline constexpr Names<Verdict::Holds, 4> holds_names{"holds", {"yes", "partly", "no", "open"}};
inline constexpr Names<Status, 4> statuses{"status", {"measured", "left_out", "failed", "not_run"}};
inline constexpr Names<Experiment::Needs, 3> needs_names{"needs", {"cpu", "gpu", "either"}};

}  // namespace lab
