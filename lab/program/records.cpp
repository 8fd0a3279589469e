#include "lab/program/records.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "command.hpp"
#include "elsewhere.hpp"
#include "lab/claims/claim.hpp"
#include "lab/compare.hpp"
#include "lab/matrix.hpp"
#include "lab/names.hpp"
#include "lab/record.hpp"
#include "lab/report.hpp"
#include "record.hpp"

namespace cli {

namespace {

using nlohmann::json;

constexpr const char* report_help = R"(Usage: warpaes lab report RECORD.json... [-o PAGE.html]

Writes the page of a record again: one HTML file that needs nothing else (default: report.html in
the record's folder). With several records the page is that of the first, and has a table of the
verdicts of all. A link stays and leads to the new page, FIFOs and devices are written to, and - is
standard output.

Examples:
  warpaes lab report results/record.json -o h200.html
  warpaes lab report mine/record.json bench/results/lab/nvidia-*.json -o machines.html
)";

constexpr const char* judge_help = R"(Usage: warpaes lab judge RECORD.json [--json]

Judges the papers' conclusions by a record's figures, each once, and counts them by paper.
--json prints when the GPU is worth it, findings, tallies, and every table, figure and sentence of the
papers with what measures it, or why nothing does, and of conclusions the rule and the verdict.

Example:
  warpaes lab judge results/record.json
)";

constexpr const char* compare_help = R"(Usage: warpaes lab compare A.json B.json... [--json]

Prints the verdict on every conclusion by each record, one column for each. A ! marks conclusions on
which records that decide them disagree. With two records also every figure that both have: A, B, and
B / A. A * marks figures that are further apart than either spread (from quartile to quartile) is wide.

Examples:
  warpaes lab compare before/record.json after/record.json
  warpaes lab compare h100.json h200.json rtx4090.json
)";

constexpr const char* submit_help = R"(Usage: warpaes lab submit RECORD.json [-o FILE]

Writes a record in the form in which warpaes' repository keeps records of other machines: with six
digits of each figure, without the names of folders (default: a file named after the machine and the
date, in the current folder; - is standard output). It sends nothing. The record must be of a build
of a commit without changes, and no experiment may have failed.

Example:
  warpaes lab submit warpaes-lab/record.json
)";

/// Adds to `out` the figures that two records have in common.
void add_figures(const lab::Comparison& comparison, json& out) {
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
    out["figures"] = figures;
    out["only_a"] = comparison.only_a;
    out["only_b"] = comparison.only_b;
}

/// Returns the letters of a column: "A", …, "Z", "AA", …
std::string letters_of(std::size_t column) {
    const std::string last(1, static_cast<char>('A' + column % 26));
    return column < 26 ? last : letters_of(column / 26 - 1) + last;
}

void print(const lab::Matrix& matrix) {
    fmt::print("\n{:<24}", "");
    for (std::size_t i = 0; i < matrix.columns.size(); ++i) fmt::print("{:<8}", letters_of(i));
    fmt::print("\n");
    std::size_t agree = 0, decided = 0;
    for (const lab::Matrix::Row& row : matrix.rows) {
        fmt::print("{:<24}", row.claim->id);
        for (const lab::Verdict& verdict : row.verdicts) fmt::print("{:<8}", lab::holds_names(verdict.holds));
        const std::optional<bool> agrees = row.agrees();
        fmt::print("{} {}\n", agrees.value_or(true) ? " " : "!", row.claim->says);
        decided += agrees ? 1 : 0;
        agree += agrees.value_or(false) ? 1 : 0;
    }
    fmt::print("\n{} conclusions; {} are decided by two records or more, {} of them alike\n", matrix.rows.size(),
               decided, agree);
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
        throw Failure(WARPAES_ERROR_FORMAT, fmt::format("'{}' is not a record of the lab: {}", path, error.what()));
    } catch (const std::system_error& error) {
        throw Failure(WARPAES_ERROR_NOT_FOUND, fmt::format("cannot read '{}': {}", path, error.code().message()));
    }
}

namespace {

void refuse_empty(const CLI::Option& output, const std::string& name) {
    if (output.count() != 0 && name.empty()) throw UsageError("-o: the name is empty; '-' is standard output");
}

/// Writes the text to a file, which it replaces atomically, or to standard output.
void write_output(const std::filesystem::path& path, const std::string& text) {
    if (lab::is_standard_output(path)) {
        fmt::print("{}", text);
        return;
    }
    try {
        lab::replace_file(path, text);
    } catch (const std::system_error& error) {
        throw Failure(WARPAES_ERROR_WRITE, fmt::format("cannot write '{}': {}", path.string(), error.code().message()));
    }
}

std::vector<lab::Record> load_records(const std::vector<std::string>& paths) {
    std::vector<lab::Record> records;
    for (const std::string& path : paths) records.push_back(load_record(path));
    return records;
}

}  // namespace

void write_page(std::span<const lab::Record> records, const std::filesystem::path& path) {
    write_output(path, lab::report_page(records));
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

namespace {

int run_report(int argc, char** argv) {
    CLI::App app{"", "warpaes lab report"};
    std::vector<std::string> inputs;
    std::string output;
    app.add_option("RECORD", inputs)->required();
    const CLI::Option& named = *app.add_option("-o,--output", output);
    if (!parse_options(app, argc, argv, report_help)) return 0;
    refuse_empty(named, output);
    const std::filesystem::path in_its_folder = std::filesystem::path(inputs[0]).replace_filename("report.html");
    write_page(load_records(inputs), output.empty() ? in_its_folder : std::filesystem::path(output));
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
    std::string a;
    std::vector<std::string> others;
    bool as_json = false;
    app.add_option("A", a)->required();
    app.add_option("B", others)->required();
    app.add_flag("--json", as_json);
    if (!parse_options(app, argc, argv, compare_help)) return 0;
    others.insert(others.begin(), a);
    const std::vector<lab::Record> records = load_records(others);
    const lab::Matrix matrix = lab::matrix_of(records);
    std::optional<lab::Comparison> comparison;
    if (records.size() == 2) comparison = lab::compare(records[0], records[1]);
    if (as_json) {
        json out = lab::to_json(matrix);
        if (comparison) add_figures(*comparison, out);
        print_json(out, 1);
        return 0;
    }
    for (std::size_t i = 0; i < records.size(); ++i) {
        const lab::Record& r = records[i];
        fmt::print("{}: {}{}, {}{}, commit {}\n", letters_of(i), r.machine.gpu ? r.machine.gpu->name + " and " : "",
                   r.machine.cpu, r.date.substr(0, 10), r.options.quick ? ", --quick" : "", r.commit.substr(0, 12));
    }
    print(matrix);
    if (comparison) print(*comparison);
    return 0;
}

int run_submit(int argc, char** argv) {
    CLI::App app{"", "warpaes lab submit"};
    std::string input, output;
    app.add_option("RECORD", input)->required();
    const CLI::Option& named = *app.add_option("-o,--output", output);
    if (!parse_options(app, argc, argv, submit_help)) return 0;
    refuse_empty(named, output);
    lab::Record submission;
    try {
        submission = lab::submission_of(load_record(input));
    } catch (const lab::RecordError& error) {
        throw Failure(WARPAES_ERROR_FORMAT, fmt::format("'{}' cannot be submitted: {}", input, error.what()));
    }
    const std::string text = lab::text_of_submission(submission);
    if (output.empty()) output = lab::submission_file_name(submission);
    write_output(output, text);
    if (lab::is_standard_output(output)) return 0;
    fmt::print(
        "'{}' has {:.0f} kB. Add it to the folder bench/results/lab/submitted of warpaes' repository; README.md there "
        "says how to describe it.\n",
        one_line(output), static_cast<double>(text.size()) / 1e3);
    return 0;
}

}  // namespace

RecordCommand record_command(const char* name) {
    constexpr std::pair<std::string_view, RecordCommand> commands[] = {
        {"report", run_report}, {"judge", run_judge}, {"compare", run_compare}, {"submit", run_submit}};
    for (const auto& [own, run] : commands) {
        if (own == name) return run;
    }
    return nullptr;
}

int run_lab(int argc, char** argv) {
    if (argc > 1) {
        if (const RecordCommand run = record_command(argv[1])) return run(argc - 1, argv + 1);
    }
    become("warpaes-lab", argc, argv, "run `make install-lab` in the folder where warpaes was built");
}

}  // namespace cli
