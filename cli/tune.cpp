// `warpaes tune`: finds the fastest launch parameters of a GPU's kernels.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <vector>

#include "interrupt.hpp"
#include "predictions.hpp"
#include "record.hpp"

namespace cli {

namespace {

using nlohmann::json;

constexpr const char* tune_help = R"(Usage: warpaes tune [--device N] [--quick] [--dry-run] [--json]
       warpaes tune --show [--device N] [--json]

Finds the fastest launch parameters of this GPU's kernels: threads, tables and
the sizes at which the library changes kernels. Before a value is measured, the
GPU's output is compared with the CPU's. The best values are stored for this GPU
in the file of `warpaes calibrate` (WARPAES_CALIBRATION), and later processes
use them. They do not change the output of any call. A run takes half a minute
on an idle GPU. Run `warpaes calibrate` afterwards, because the costs change.

  --device N   the GPU's number (see `warpaes devices`); default: the first GPU
  --quick      measure each value fewer times
  --dry-run    measure and print, but do not store the values
  --show       print the values in use without measuring
  --json       print a JSON record

Without stored values, the library uses default values for the GPU's
architecture. Only the values for architecture 9.0 (H100, H200) were measured.

Examples
  warpaes tune
  warpaes tune --device 1 --dry-run
  warpaes tune --show
  WARPAES_CALIBRATION=./h100.json warpaes tune
)";

json json_of(std::uint32_t value) {
    return value == WARPAES_NEVER ? json(nullptr) : json(value);
}

std::vector<warpaes_launch_figure> figures_of(warpaes_engine* engine, int device) {
    std::vector<warpaes_launch_figure> figures(warpaes_launch_figure_count());
    for (std::size_t i = 0; i < figures.size(); ++i) {
        figures[i] = WARPAES_LAUNCH_FIGURE_INIT;
        check(warpaes_engine_launch_figure(engine, device, i, &figures[i]));
    }
    return figures;
}

/// Callback for tuning. Stores each step under the figure's name in `user`, a JSON object.
int keep(void* user, const warpaes_tuning_step* step) {
    json& values = *static_cast<json*>(user);
    values[step->name]["measured"] = step->works;
    values[step->name]["values"].push_back(
        {{"value", json_of(step->value)}, {"relative", step->relative > 0 ? json(step->relative) : json(nullptr)}});
    if (isatty(STDERR_FILENO) != 0) say(fmt::format("\r{} of {}: {} \033[K", step->done, step->total, step->name));
    return caught_signal();
}

/// Returns the values tried and their relative times, for example "1024 1.000  768 1.013".
std::string tried(const json& values) {
    std::string out;
    for (const json& v : values) {
        out += fmt::format("{}{} {}", out.empty() ? "" : "  ", v["value"].is_null() ? "never" : v["value"].dump(),
                           v["relative"].is_null() ? "refused" : fmt::format("{:.3f}", v["relative"].get<double>()));
    }
    return out;
}

void print_tuning(const json& record) {
    const json& gpu = record["gpu"];
    fmt::print("cuda[{}], {}\n\n", gpu["device"].get<int>(), gpu["description"].get<std::string>());
    const bool measured = record.contains("measurements");
    fmt::print("{:<22}{:>10}{:>10}  {}\n", "figure", "built in", measured ? "best" : "in use",
               measured ? "values tried, and their times" : "description");
    for (const json& f : record["figures"]) {
        const auto value = [&](const char* name) { return f[name].is_null() ? "never" : f[name].dump(); };
        fmt::print("{:<22}{:>10}{:>10}  {}\n", f["name"].get<std::string>(), value("built_in"), value("value"),
                   f.contains("values") ? tried(f["values"]) : f["meaning"].get<std::string>());
    }
}

}  // namespace

int run_tune(int argc, char** argv) {
    CLI::App app{"", "warpaes tune"};
    int device = -1;
    bool quick = false, dry_run = false, show = false, as_json = false;
    app.add_option("--device", device)->check(CLI::Range(0, 1 << 16));
    app.add_flag("--quick", quick);
    app.add_flag("--dry-run", dry_run);
    app.add_flag("--show", show);
    app.add_flag("--json", as_json);
    if (!parse_options(app, argc, argv, tune_help)) return 0;
    if (show && (quick || dry_run)) throw UsageError("--show: measures nothing; omit --quick and --dry-run");

    const Engine engine = create_engine("auto", -1);
    std::vector<warpaes_launch_figure> figures = figures_of(engine.get(), device);
    const std::string note = figures.front().note;
    if (!note.empty()) warn(note);

    json record;
    json values = json::object();
    warpaes_tuning_result result = WARPAES_TUNING_RESULT_INIT;
    if (!show) {
        warpaes_tuning tuning = WARPAES_TUNING_INIT;
        if (quick) tuning.flags |= WARPAES_CALIBRATE_QUICK;
        if (dry_run) tuning.flags |= WARPAES_CALIBRATE_KEEP;
        tuning.device = device;
        tuning.progress = keep;
        tuning.progress_user = &values;
        const warpaes_status status = warpaes_engine_tune(engine.get(), &tuning, &result);
        if (isatty(STDERR_FILENO) != 0) say("\r\033[K");
        check(status);
        figures = figures_of(engine.get(), device);
        record["measurements"] = result.measurements;
        record["changed"] = result.changed;
        record["seconds"] = result.seconds;
        char path[4096];
        check(warpaes_calibration_path(path, sizeof path));
        if (!dry_run && *path != '\0') put_name(record, "path", path);
    }
    for (const warpaes_backend_info& info : list_backends()) {
        const bool chosen = show ? device < 0 || info.device == device : info.device == result.device;
        if (info.device < 0 || !chosen || record.contains("gpu")) continue;
        record["gpu"] = {{"device", info.device}, {"description", info.description}};
    }
    for (const warpaes_launch_figure& f : figures) {
        json figure{
            {"name", f.name}, {"value", json_of(f.value)}, {"built_in", json_of(f.built_in)}, {"meaning", f.meaning}};
        if (values.contains(f.name)) figure.update(values[f.name]);
        record["figures"].push_back(figure);
    }
    if (as_json) {
        print_json(record, 2);
        return 0;
    }
    print_tuning(record);
    if (show) return 0;
    fmt::print("\n{} measurements in {:.1f} s; {} of {} values differ from the architecture's\n", result.measurements,
               result.seconds, result.changed, figures.size());
    fmt::print("{}\n", record.contains("path")
                           ? fmt::format("stored in {}; run `warpaes calibrate` to measure the new costs",
                                         one_line(record["path"].get<std::string>()))
                           : "not stored");
    return 0;
}

}  // namespace cli
