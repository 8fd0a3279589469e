#include "lab/submission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "lab/matrix.hpp"

namespace lab {

namespace {

double rounded(double value) {
    return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

void round_figures(Result& result) {
    for (Panel& panel : result.panels) {
        for (Series& series : panel.series) {
            for (auto& value : series.values) {
                if (value) value = rounded(*value);
            }
            for (auto& spread : series.spread) {
                if (spread) spread = Series::Spread{rounded(spread->low), rounded(spread->high)};
            }
        }
    }
    for (Fact& fact : result.facts) {
        fact.value = rounded(fact.value);
        if (fact.published) fact.published = rounded(*fact.published);
    }
}

bool is_commit(const std::string& text) {
    return text.size() == 40 &&
           std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
}

void require_commit(const std::string& commit, const std::string& of) {
    if (is_commit(commit)) return;
    throw RecordError(commit.empty()
                          ? fmt::format("{} was run by a build of no known commit; build it from a clone", of)
                          : fmt::format("{} was run by a build with uncommitted changes ('{}'); commit them, "
                                        "or stash them, build, and run it again",
                                        of, commit));
}

}  // namespace

Record submission_of(const Record& record) {
    Record out = record;
    require_commit(record.commit, "the record");
    bool any = false;
    for (Entry& entry : out.experiments) {
        if (entry.status == Status::failed) {
            throw RecordError(
                fmt::format("{} failed ({}); `warpaes lab run --resume` tries it again", entry.key, entry.reason));
        }
        if (entry.status == Status::measured) require_commit(entry.commit, entry.key), any = true;
        entry.result.verdicts.clear();
        round_figures(entry.result);
    }
    if (!any) throw RecordError("no experiment was measured; `warpaes lab run` measures them");
    out.options.disk.clear();
    out.options.memory.clear();
    return out;
}

std::string text_of_submission(const Record& submission) {
    return to_json(submission).dump() + "\n";
}

std::string submission_file_name(const Record& record) {
    std::string name;
    for (const char c : machine_name(record) + "-" + record.date) {
        const auto letter = static_cast<unsigned char>(c);
        if (c == ':') continue;
        if (std::isalnum(letter) != 0) {
            name += static_cast<char>(std::tolower(letter));
        } else if (!name.empty() && name.back() != '-') {
            name += '-';
        }
    }
    return name + ".json";
}

}  // namespace lab
