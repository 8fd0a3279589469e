// The program warpaes-lab, which `warpaes lab` executes. It runs the published experiments on this machine.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <system_error>

#include "command.hpp"
#include "elsewhere.hpp"
#include "interrupt.hpp"
#include "lab/claims/claim.hpp"
#include "lab/files.hpp"
#include "lab/gpu/device.hpp"
#include "lab/machine.hpp"
#include "lab/names.hpp"
#include "lab/program/records.hpp"
#include "lab/run.hpp"
#include "record.hpp"

namespace cli {

namespace {

using nlohmann::json;

constexpr const char* help = R"(Usage: warpaes lab list [--json]
       warpaes lab run [KEY...] [options]
       warpaes lab report RECORD.json... [-o PAGE.html]
       warpaes lab judge RECORD.json [--json]
       warpaes lab compare A.json B.json... [--json]
       warpaes lab submit RECORD.json [-o FILE]

Runs the experiments of published systems that encrypt with AES on GPUs on this machine, and
compares its figures with the published ones. `warpaes lab COMMAND --help` describes each command.

Examples:
  warpaes lab list
  warpaes lab run --quick
  warpaes lab run N.implementations G -o results
  warpaes lab run -o results --resume
  warpaes lab compare before/record.json after/record.json
)";

constexpr const char* list_help = R"(Usage: warpaes lab list [--json]

Lists the experiments: key, requirement, approximate duration in seconds (--quick in brackets),
title. A key begins with the letter of its paper.
)";

constexpr const char* run_help = R"(Usage: warpaes lab run [KEY...] [options]

Runs the experiments whose key begins with one of KEY, or all, and writes record.json and
report.html to the folder; the record is stored after each experiment. Experiments that cannot run
here are left out, and the record has the reason. A failed experiment does not end the run. After an
interrupt, --resume continues, runs failed experiments again, and those that KEY names; the record has
the commit of the build of each.

  --quick            few points and few samples: two minutes instead of a quarter of an hour; sentences
                     about other sizes are not judged
  --device N         CUDA device to use (default: 0 if there is one)
  --no-gpu           run only experiments that need no GPU
  --threads N        CPU threads to use (default: all processors)
  -o, --output DIR   folder of record and report (default: warpaes-lab)
  -f, --force        replace an existing record
  --resume           continue the record in that folder, with its options
  --seconds N        end after about N seconds; --resume continues
  --disk DIR         for files on a disk (default: /var/tmp, or where there is a disk)
  --memory DIR       for files in memory (default: /dev/shm)
  --json             print the record

Exit status 0 if nothing failed, 1 if an experiment failed; another while experiments remain for --resume.

Examples:
  warpaes lab run --quick
  warpaes lab run D P.encryption --no-gpu -o cpu
  warpaes lab run -o results --seconds 570; warpaes lab run -o results --resume --seconds 570
)";

std::string human_duration(double seconds) {
    const auto whole = static_cast<long>(std::lround(seconds));
    return whole < 60 ? fmt::format("{:.1f} s", seconds) : fmt::format("{}:{:02} min", whole / 60, whole % 60);
}

int run_list(int argc, char** argv) {
    CLI::App app{"", "warpaes lab list"};
    bool as_json = false;
    app.add_flag("--json", as_json);
    if (!parse_options(app, argc, argv, list_help)) return 0;
    json list = json::array();
    for (const lab::Experiment& e : lab::all_experiments()) {
        list.push_back({{"key", e.key},
                        {"paper", lab::letter_of(e.paper)},
                        {"citation", lab::citation_of(e.paper)},
                        {"title", e.title},
                        {"question", e.question},
                        {"needs", lab::needs_names(e.needs)},
                        {"seconds", e.seconds},
                        {"quick_seconds", e.quick_seconds}});
        if (as_json) continue;
        fmt::print("{:<20}{:<8}{:>5.0f} s {:>7}  {}\n", e.key, lab::needs_names(e.needs), e.seconds,
                   fmt::format("({:.1f})", e.quick_seconds), e.title);
    }
    if (as_json) print_json(list, 2);
    return 0;
}

struct RunOptions {
    lab::Options lab;
    std::optional<double> seconds;
    bool no_gpu = false, force = false, resume = false, as_json = false;
    int device = -1;
    std::string output = "warpaes-lab";
};

/// Returns false if help was requested.
bool parse_run_options(int argc, char** argv, RunOptions& o) {
    CLI::App app{"", "warpaes lab run"};
    app.add_option("KEY", o.lab.keys);
    app.add_flag("--quick", o.lab.quick);
    auto* device = app.add_option("--device", o.device)->check(CLI::Range(0, 1 << 20));
    auto* no_gpu = app.add_flag("--no-gpu", o.no_gpu)->excludes(device);
    o.lab.threads = lab::available_processors();
    auto* threads = app.add_option("--threads", o.lab.threads)->check(CLI::Range(1, 1 << 20));
    app.add_option("-o,--output", o.output);
    auto* force = app.add_flag("-f,--force", o.force);
    app.add_flag("--resume", o.resume)->excludes(device)->excludes(no_gpu)->excludes(threads)->excludes(force);
    app.add_option("--seconds", o.seconds)->check(CLI::PositiveNumber);
    app.add_option("--disk", o.lab.disk)->check(CLI::ExistingDirectory);
    app.add_option("--memory", o.lab.memory)->check(CLI::ExistingDirectory);
    app.add_flag("--json", o.as_json);
    return parse_options(app, argc, argv, run_help);
}

/// Selects the GPU and the folders that the options do not name.
void complete(RunOptions& o) {
    const int gpus = o.no_gpu ? 0 : lab::gpu::count();
    if (o.device >= gpus && !o.no_gpu) {
        throw Failure(WARPAES_ERROR_BACKEND, gpus == 0 ? "--device: there is no GPU; see `warpaes devices`"
                                                       : fmt::format("--device: must be below {}", gpus));
    }
    o.lab.gpu = o.device >= 0 ? o.device : gpus > 0 ? 0 : -1;
    if (o.lab.disk.empty()) o.lab.disk = lab::find_disk(std::filesystem::current_path()).string();
    if (o.lab.memory.empty()) o.lab.memory = lab::find_memory().string();
}

void run_again(lab::Record& record, const std::vector<std::string>& keys) {
    for (const lab::Experiment& again : lab::select(keys)) {
        const auto entry = std::find_if(record.experiments.begin(), record.experiments.end(),
                                        [&](const lab::Entry& e) { return e.key == again.key; });
        if (entry == record.experiments.end()) {
            throw UsageError(fmt::format("KEY: the record has no experiment '{}'", again.key));
        }
        entry->status = lab::Status::not_run;
    }
}

/// Creates a new record, or loads the record to continue.
lab::Record begin(RunOptions& o, const std::filesystem::path& path) {
    if (o.resume) {
        lab::Record record = load_record(path);
        const std::vector<std::string> keys = o.lab.keys;
        record.options.disk = o.lab.disk.empty() ? record.options.disk : o.lab.disk;
        record.options.memory = o.lab.memory.empty() ? record.options.memory : o.lab.memory;
        if (o.lab.quick && !record.options.quick) {
            throw UsageError("--quick: the record was begun without it; -f begins another");
        }
        o.lab = record.options;
        if (o.lab.gpu >= lab::gpu::count()) {
            throw Failure(WARPAES_ERROR_BACKEND, fmt::format("--resume: there is no device {} here", o.lab.gpu));
        }
        const lab::Machine here = lab::look_around(o.lab.gpu);
        const auto name = [](const lab::Machine& m) {
            return fmt::format("{}, {}", m.cpu, m.gpu ? m.gpu->name : "no GPU");
        };
        if (name(here) != name(record.machine)) {
            throw UsageError(fmt::format("--resume: the record is of another machine ({})", name(record.machine)));
        }
        if (!keys.empty()) run_again(record, keys);
        return record;
    }
    if (!o.force && std::filesystem::exists(path)) {
        throw Failure(WARPAES_ERROR_EXISTS,
                      fmt::format("'{}' exists; --resume continues it, -f replaces it", path.string()));
    }
    complete(o);
    const auto experiments = lab::select(o.lab.keys);
    std::error_code error;
    if (!std::filesystem::create_directories(path.parent_path(), error) && error) {
        throw Failure(WARPAES_ERROR_WRITE, fmt::format("--output: cannot make '{}': {}", o.output, error.message()));
    }
    return lab::make_record(experiments, lab::look_around(o.lab.gpu), o.lab);
}

class ProgressOfRun {
public:
    explicit ProgressOfRun(bool shown) : shown_(shown) {}
    ~ProgressOfRun() { clear(); }
    ProgressOfRun(const ProgressOfRun&) = delete;
    ProgressOfRun& operator=(const ProgressOfRun&) = delete;

    void update(const lab::Progress& p) {
        if (!shown_) return;
        visible_ = true;
        std::string line = fmt::format("{} of {}  {}  {:.0f} %  {} left  {}", p.index + 1, p.count, p.entry.key,
                                       100 * p.done, human_duration(p.seconds_left), p.next);
        if (line.size() > 100) line.resize(100);
        say("\r\033[K" + line);
    }
    void clear() {
        if (visible_) say("\r\033[K");
        visible_ = false;
    }

private:
    bool shown_, visible_ = false;
};

void print_entry(const lab::Entry& entry) {
    fmt::print("{:<20}{:<9}{:>10}  {}\n", entry.key,
               entry.status == lab::Status::left_out  ? "left out"
               : entry.status == lab::Status::not_run ? "not run"
                                                      : lab::statuses(entry.status),
               human_duration(entry.seconds), entry.reason.empty() ? entry.title : entry.reason);
    for (const lab::Verdict& verdict : entry.result.verdicts) {
        fmt::print("  {:<8}{}: {}\n", lab::holds_names(verdict.holds), lab::claim_of(verdict.claim).says,
                   verdict.sentence);
    }
    flush_output();
}

int run_run(int argc, char** argv) {
    RunOptions o;
    if (!parse_run_options(argc, argv, o)) return 0;
    const std::filesystem::path folder = o.output, path = folder / "record.json";
    lab::Record record;
    try {
        record = begin(o, path);
    } catch (const std::invalid_argument& error) {
        throw UsageError(error.what());
    }

    ProgressOfRun progress(isatty(STDERR_FILENO) != 0);
    const lab::ScratchFolder disk(o.lab.disk), memory(o.lab.memory);
    lab::Conditions conditions;
    conditions.experiments = lab::all_experiments();
    conditions.context.quick = o.lab.quick;
    conditions.context.gpu = o.lab.gpu;
    conditions.context.threads = o.lab.threads;
    conditions.context.disk = disk.path();
    conditions.context.memory = memory.path();
    const std::filesystem::path command = neighbour("warpaes");
    if (std::filesystem::exists(command)) conditions.context.command = command;
    conditions.no_gpu = o.no_gpu ? "it needs a GPU, and --no-gpu was given" : "it needs a GPU, and there is none";
    conditions.state = lab::gpu_reader(o.lab.gpu);
    conditions.path = path;
    conditions.seconds = o.seconds;
    conditions.progress = [&](const lab::Progress& p) { progress.update(p); };
    conditions.finished = [&](const lab::Entry& entry) {
        progress.clear();
        if (!o.as_json) print_entry(entry);
    };
    conditions.interrupted = [] { return caught_signal() != 0; };
    bool complete = false;
    try {
        complete = lab::run(record, conditions);
    } catch (const std::system_error& error) {
        throw Failure(WARPAES_ERROR_WRITE, fmt::format("cannot store the record: {}", error.what()));
    } catch (const lab::RecordError& error) {
        throw Failure(WARPAES_ERROR_FORMAT, fmt::format("'{}': {}", path.string(), error.what()));
    }
    progress.clear();
    write_page(std::span(&record, 1), folder / "report.html");
    if (o.as_json) {
        print_json(lab::to_json(record), 1);
    } else {
        fmt::print("\n");
        print_tally(record);
        fmt::print("\nrecord.json and report.html are in '{}'{}\n", one_line(o.output),
                   complete ? "" : fmt::format("; `warpaes lab run --resume -o {}` goes on", one_line(o.output)));
    }
    if (!complete) return WARPAES_ERROR_CANCELLED;
    for (const lab::Entry& entry : record.experiments) {
        if (entry.status == lab::Status::failed) return WARPAES_ERROR_INTERNAL;
    }
    return 0;
}

int run_command(int argc, char** argv) {
    const std::string name = argc > 1 ? argv[1] : "";
    if (name == "--help" || name == "-h") {
        fmt::print("{}", help);
        return 0;
    }
    if (name == "list") return run_list(argc - 1, argv + 1);
    if (name == "run") return run_run(argc - 1, argv + 1);
    if (const RecordCommand run = record_command(name.c_str())) return run(argc - 1, argv + 1);
    throw UsageError(name.empty() ? "lab: list, run, report, judge, compare or submit? See `warpaes lab --help`"
                                  : fmt::format("lab: there is no '{}'; see `warpaes lab --help`", name));
}

}  // namespace

}  // namespace cli

int main(int argc, char** argv) {
    return cli::run_program(argc, argv, cli::run_command);
}
