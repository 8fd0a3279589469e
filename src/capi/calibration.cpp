// Entry points for calibrating and tuning.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <mutex>

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "engine/calibration/calibrate.hpp"
#include "engine/calibration/file.hpp"
#include "engine/calibration/tune.hpp"
#include "message/measure.hpp"
#include "warpaes/planning.h"

namespace {

using namespace warpaes;
using namespace warpaes::capi;

CalibrationReport measure(CudaBackend& gpu, const warpaes_calibration& c) {
    std::function<bool(std::uint64_t, std::uint64_t)> progress;
    if (c.progress != nullptr) {
        progress = [&c](std::uint64_t done, std::uint64_t total) {
            return call_back([&] { return c.progress(c.progress_user, done, total); }) == 0;
        };
    }
    return calibrate_here(gpu, (c.flags & WARPAES_CALIBRATE_QUICK) != 0, (c.flags & WARPAES_CALIBRATE_CPU_ONLY) == 0,
                          progress);
}

/// Returns the requested GPU, or the first GPU by default.
int gpu_of(const Engine& engine, std::int32_t wanted) {
    const auto gpus = engine.gpus();
    if (std::find(gpus.begin(), gpus.end(), wanted) != gpus.end()) return wanted;
    if (wanted < 0 && !gpus.empty()) return gpus.front();
    throw Error(WARPAES_ERROR_BACKEND,
                "device: " + (gpus.empty() ? "no GPU can be used on this machine: " + engine.gpu().info().front().reason
                                           : "this engine has no CUDA device " + std::to_string(wanted)));
}

}  // namespace

extern "C" {

warpaes_status warpaes_engine_calibrate(warpaes_engine* engine, const warpaes_calibration* calibration,
                                        warpaes_calibration_result* result) {
    return guarded([&] {
        require(engine, "engine");
        if (result != nullptr) check_size(*result, "result");
        const auto c = read_struct(calibration, "calibration");
        constexpr std::uint32_t known = WARPAES_CALIBRATE_QUICK | WARPAES_CALIBRATE_CPU_ONLY | WARPAES_CALIBRATE_KEEP;
        refuse_unknown_flags(c.flags, known);
        const auto start = std::chrono::steady_clock::now();
        CalibrationReport report = measure(engine->impl.gpu(), c);
        report.model.keep_gpus(engine->impl.costs());
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        write_result(warpaes_calibration_result{0, 0, report.trials, report.median_error, seconds}, result);
        engine->impl.use_costs(std::make_shared<const CostModel>(report.model));
        const std::string path = calibration_path();
        if ((c.flags & WARPAES_CALIBRATE_KEEP) == 0 && !path.empty()) store_calibration(report.model, path);
    });
}

size_t warpaes_launch_figure_count(void) {
    return launch_figures().size();
}

warpaes_status warpaes_engine_launch_figure(warpaes_engine* engine, int32_t device, size_t index,
                                            warpaes_launch_figure* figure) {
    return guarded([&] {
        require(engine, "engine");
        auto out = read_struct(figure, "figure");
        if (index >= launch_figures().size()) {
            throw Error(WARPAES_ERROR_ARGUMENT, "index: there are " + std::to_string(launch_figures().size()) +
                                                    " figures, got " + std::to_string(index));
        }
        const LaunchFigure& its = launch_figures()[index];
        const GpuLaunches launches = engine->impl.gpu().launches(gpu_of(engine->impl, device));
        out.value = launches.used.*its.value;
        out.built_in = launches.built_in.*its.value;
        out.name = its.name;
        out.meaning = its.meaning;
        std::snprintf(out.note, sizeof out.note, "%s", launches.note.c_str());
        write_struct(out, figure, out.struct_size);
    });
}

warpaes_status warpaes_engine_tune(warpaes_engine* engine, const warpaes_tuning* tuning,
                                   warpaes_tuning_result* result) {
    return guarded([&] {
        require(engine, "engine");
        if (result != nullptr) check_size(*result, "result");
        const auto t = read_struct(tuning, "tuning");
        refuse_unknown_flags(t.flags, WARPAES_CALIBRATE_QUICK | WARPAES_CALIBRATE_KEEP);
        TuningOptions options{.device = gpu_of(engine->impl, t.device),
                              .quick = (t.flags & WARPAES_CALIBRATE_QUICK) != 0,
                              .progress = nullptr};
        if (t.progress != nullptr) {
            options.progress = [&t](const TuningStep& s) {
                const warpaes_tuning_step step{sizeof step, s.value, s.figure, s.works, s.relative, s.done, s.total};
                return call_back([&] { return t.progress(t.progress_user, &step); }) == 0;
            };
        }
        static std::mutex one_at_a_time;
        const std::lock_guard lock(one_at_a_time);
        const auto start = std::chrono::steady_clock::now();
        const TuningReport report = tune(engine->impl.gpu(), options);
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        write_result(warpaes_tuning_result{0, options.device, report.changed(), 0, report.measurements, seconds},
                     result);
        engine->impl.gpu().use_launches(options.device, report.launches.used);
        const std::string path = calibration_path();
        if ((t.flags & WARPAES_CALIBRATE_KEEP) == 0 && !path.empty()) store_launches(report.launches, path);
    });
}

warpaes_status warpaes_calibration_path(char* path, size_t capacity) {
    return guarded([&] {
        require(path, "path");
        const std::string where = calibration_path();
        if (where.size() >= capacity) {
            throw Error(WARPAES_ERROR_BUFFER_TOO_SMALL,
                        "capacity: the path needs " + std::to_string(where.size() + 1) + " bytes");
        }
        std::snprintf(path, capacity, "%s", where.c_str());
    });
}

}  // extern "C"
