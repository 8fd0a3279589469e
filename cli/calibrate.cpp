// `warpaes calibrate`: measures this machine for the library's planner.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "interrupt.hpp"
#include "predictions.hpp"
#include "record.hpp"

namespace cli {

namespace {

constexpr const char* calibrate_help = R"(Usage: warpaes calibrate [--quick] [--cpu-only] [--json]

Measures every backend and GPU of this machine. The library uses the results to
choose backends. They are stored in the file that WARPAES_CALIBRATION names, or
below $XDG_CACHE_HOME or ~/.cache. A run takes half a minute, or a minute with a
GPU. Other programs that run at the same time distort the results.

  --quick      take a few seconds: measure fewer sizes, and estimate AES-256
               from AES-128
  --cpu-only   do not measure GPUs, and keep their stored results
  --json       print a JSON record
)";

int show(void*, std::uint64_t done, std::uint64_t total) {
    if (isatty(STDERR_FILENO) != 0) say(fmt::format("\r{} of {} ", done, total));
    return caught_signal();
}

}  // namespace

int run_calibrate(int argc, char** argv) {
    CLI::App app{"", "warpaes calibrate"};
    bool quick = false, cpu_only = false, as_json = false;
    app.add_flag("--quick", quick);
    app.add_flag("--cpu-only", cpu_only);
    app.add_flag("--json", as_json);
    if (!parse_options(app, argc, argv, calibrate_help)) return 0;

    const Engine engine = create_engine("auto", -1);
    warpaes_calibration calibration = WARPAES_CALIBRATION_INIT;
    if (quick) calibration.flags |= WARPAES_CALIBRATE_QUICK;
    if (cpu_only) calibration.flags |= WARPAES_CALIBRATE_CPU_ONLY;
    calibration.progress = show;
    warpaes_calibration_result result = WARPAES_CALIBRATION_RESULT_INIT;
    const warpaes_status status = warpaes_engine_calibrate(engine.get(), &calibration, &result);
    if (isatty(STDERR_FILENO) != 0) say("\r\033[K");
    check(status);
    char path[4096];
    check(warpaes_calibration_path(path, sizeof path));
    if (as_json) {
        nlohmann::json record{
            {"measurements", result.measurements}, {"median_error", result.median_error}, {"seconds", result.seconds}};
        put_name(record, "path", path);
        print_json(record, 2);
    } else {
        fmt::print("{} measurements in {:.1f} s; median error of the predictions: {:.1f} %\n", result.measurements,
                   result.seconds, 100 * result.median_error);
        fmt::print("{}\n", *path != '\0' ? fmt::format("stored in {}", one_line(path)) : "not stored");
    }
    return 0;
}

}  // namespace cli
