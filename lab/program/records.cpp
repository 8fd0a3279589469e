#include "lab/program/records.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "command.hpp"
#include "lab/claims/claim.hpp"
#include "lab/compare.hpp"
#include "lab/names.hpp"
#include "lab/report.hpp"
#include "record.hpp"

namespace cli {

namespace {

using nlohmann::json;

constexpr const char* report_help = R"(Usage: warpaes lab report RECORD.json [-o PAGE.html]

Writes the page of a record once more: one HTML file that needs nothing else (default: report.html
beside the record). A link stays and leads to the new page, FIFOs and devices are written to, and -
is standard output.

Example:
  warpaes lab report results/record.json -o h200.html
)";

constexpr const char* judge_help = R"(Usage: warpaes lab judge RECORD.json [--json]

Judges the papers' conclusions by a record's figures, each once, and counts them by paper.
--json prints when the GPU is worth it, findings, tallies, and every table, figure and sentence of the
papers with what measures it, or why nothing does, and of conclusions the rule and the verdict.

Example:
  warpaes lab judge results/record.json
)";

constexpr const char* compare_help = R"(Usage: warpaes lab compare A.json B.json [--json]

Every figure that both records have: A, B, and B / A. A * marks those that are further apart than
either spread (from quartile to quartile) is wide.

Example:
  warpaes lab compare before/record.json after/record.json
)";

json to_json(const lab::Comparison& comparison) {
    json figures = json::array();
    for (const lab::Compared& f : comparison.figures) {
        figures.push_back({{"experiment", f.experiment},
                           {"panel", f.panel},
                           {"series", f.series},
                           {"place", f.place},
                           {"unit", f.unit},
                           {"a", f.a},
                           {"b", f.b},
                           {"ratio", f.ratio ? json(*f.ratio) : json(nullptr)},
                           {"differs", f.differs ? json(*f.differs) : json(nullptr)}});
    }
    return {{"figures", figures}, {"only_a", comparison.only_a}, {"only_b", comparison.only_b}};
}

void print(const lab::Comparison& comparison) {
    std::string heading;
    std::size_t differ = 0;
    for (const lab::Compared& f : comparison.figures) {
        std::string next = f.panel.empty() ? f.experiment : fmt::format("{}, {}", f.experiment, f.panel);
        if (next != heading) fmt::print("\n{}\n", heading = std::move(next));
        const std::string name = f.place.empty() ? f.series : fmt::format("{}, {}", f.series, f.place);
        fmt::print("  {:<56}{:>11.4g}{:>11.4g} {:<6}{:>7}{}\n", name, f.a, f.b, f.unit,
                   f.ratio ? fmt::format("{:.2f}", *f.ratio) : "", f.differs.value_or(false) ? " *" : "");
        differ += f.differs.value_or(false) ? 1 : 0;
    }
    fmt::print("\n{} figures in both, {} of them further apart than their spread; {} only in A, {} only in B\n",
               comparison.figures.size(), differ, comparison.only_a, comparison.only_b);
}

}  // namespace

lab::Record load_record(const std::string& path) {
    try {
        return lab::load(path);
    } catch (const lab::RecordError& error) {
        throw Failure(WARPAES_ERROR_FORMAT, fmt::format("'{}' is no record of the lab: {}", path, error.what()));
    } catch (const std::system_error& error) {
        throw Failure(WARPAES_ERROR_NOT_FOUND, fmt::format("cannot read '{}': {}", path, error.code().message()));
    }
}

void write_page(const lab::Record& record, const std::filesystem::path& path) {
    if (path == "-" || path == "/dev/stdout") {
        fmt::print("{}", lab::report_page(record));
        return;
    }
    try {
        lab::replace_file(path, lab::report_page(record));
    } catch (const std::system_error& error) {
        throw Failure(WARPAES_ERROR_WRITE, fmt::format("cannot write '{}': {}", path.string(), error.code().message()));
    }
}

void print_tally(const lab::Record& record) {
    using lab::Paper;
    for (const lab::Source& source : lab::all_sources()) {
        const Paper paper = source.paper;
        const lab::Tally t = lab::tally(record, paper);
        fmt::print("[{}] {:>2} conclusions: {:>2} hold, {:>2} in part, {:>2} do not, {:>2} open{}\n",
                   lab::letter_of(paper), t.all(), t.yes, t.partly, t.no, t.open,
                   paper == Paper::ours ? " (ours)" : "");
    }
}

int run_report(int argc, char** argv) {
    CLI::App app{"", "warpaes lab report"};
    std::string input, output;
    app.add_option("RECORD", input)->required();
    app.add_option("-o,--output", output);
    if (!parse_options(app, argc, argv, report_help)) return 0;
    const std::filesystem::path beside = std::filesystem::path(input).replace_filename("report.html");
    write_page(load_record(input), output.empty() ? beside : std::filesystem::path(output));
    return 0;
}

int run_judge(int argc, char** argv) {
    CLI::App app{"", "warpaes lab judge"};
    std::string input;
    bool as_json = false;
    app.add_option("RECORD", input)->required();
    app.add_flag("--json", as_json);
    if (!parse_options(app, argc, argv, judge_help)) return 0;
    lab::Record record = load_record(input);
    lab::refresh(record);
    if (as_json) {
        print_json(lab::summary_of(record), 1);
        return 0;
    }
    for (const lab::Claim& claim : lab::all_claims()) {
        if (claim.kind != lab::Claim::Kind::conclusion) continue;
        const lab::Verdict verdict = lab::judge(claim, record);
        fmt::print("{:<8}{}: {}\n        {}\n", lab::holds_names(verdict.holds), claim.id, claim.says,
                   verdict.sentence);
    }
    fmt::print("\n");
    print_tally(record);
    return 0;
}

int run_compare(int argc, char** argv) {
    CLI::App app{"", "warpaes lab compare"};
    std::string a, b;
    bool as_json = false;
    app.add_option("A", a)->required();
    app.add_option("B", b)->required();
    app.add_flag("--json", as_json);
    if (!parse_options(app, argc, argv, compare_help)) return 0;
    const lab::Record first = load_record(a), second = load_record(b);
    const lab::Comparison comparison = lab::compare(first, second);
    if (as_json) {
        print_json(to_json(comparison), 1);
    } else {
        const auto machine = [](const lab::Record& r) {
            return fmt::format("{}{}, {}, commit {}", r.machine.gpu ? r.machine.gpu->name + " and " : "", r.machine.cpu,
                               r.date.substr(0, 10), r.commit.substr(0, 12));
        };
        fmt::print("A: {}\nB: {}\n", machine(first), machine(second));
        print(comparison);
    }
    return 0;
}

RecordCommand record_command(const char* name) {
    constexpr std::pair<std::string_view, RecordCommand> commands[] = {
        {"report", run_report}, {"judge", run_judge}, {"compare", run_compare}};
    for (const auto& [own, run] : commands) {
        if (own == name) return run;
    }
    return nullptr;
}

}  // namespace cli
