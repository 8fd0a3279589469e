// Describes plans in words, and chooses the crew of a batch.
#include <algorithm>
#include <cstdio>

#include "engine/engine.hpp"
#include "engine/planner.hpp"

namespace warpaes {

namespace {

/// CPU and GPU share the host's memory bandwidth: when both work, they are slower by this factor than with separate
/// memories. Measured with an H200 and 16 cores, 2026-11, 1 GiB in page-locked memory: 1.6 to 1.8.
constexpr double shared_loss = 1.7;
/// Smaller batches do not have enough tasks to keep both processors busy until the end.
constexpr std::uint64_t least_split_bytes = std::uint64_t{128} << 20;

std::string in_words(double seconds) {
    const auto [value, unit] = seconds < 1e-6   ? std::pair{seconds * 1e9, "ns"}
                               : seconds < 1e-3 ? std::pair{seconds * 1e6, "µs"}
                               : seconds < 1    ? std::pair{seconds * 1e3, "ms"}
                                                : std::pair{seconds, "s"};
    char text[48];
    (void)std::snprintf(text, sizeof text, value < 99.5 ? "%.2g %s" : "%.0f %s", value, unit);
    return text;
}

}  // namespace

std::optional<Prediction> Engine::predict(const Work& work, const BackendInfo& info) const {
    if (!info.usable()) return std::nullopt;
    if (info.gpu) {
        Prediction on_gpu = planner().on_gpu(info, 1, work);
        const bool awake = is_direct(work.memory) || gpu_.is_awake();
        if (!awake) on_gpu.cold_seconds = planner().cold_seconds();
        return on_gpu;
    }
    if (is_on_device(work.memory)) return std::nullopt;
    for (const Backend* backend : all_backends()) {
        if (backend->name() == info.name) return planner().on_cpu(*backend, work);
    }
    return std::nullopt;
}

Crew Engine::crew(std::span<const Work> parts, bool counts) const {
    const bool pageable = std::any_of(parts.begin(), parts.end(), [](const Work& p) { return !is_direct(p.memory); });
    Crew crew = choose(parts, pageable ? Memory::pageable : Memory::page_locked, counts);
    if (pageable) {
        // A GPU worker itself copies pageable memory to a page-locked staging buffer and back, so there are more
        // workers with less work each.
        crew.gpu_lanes = std::clamp(options_.threads, crew.gpu_lanes, most_gpu_lanes);
        std::uint64_t bytes = 0;
        for (const Work& p : parts) bytes += std::min(p.bytes, std::uint64_t{1} << 40);
        crew.gpu_task_bytes = std::clamp(bytes / most_gpu_lanes, std::uint64_t{2} << 20, crew.gpu_task_bytes);
    }
    return crew;
}

Crew Engine::choose(std::span<const Work> parts, Memory memory, bool counts) const {
    if (forced_ != nullptr) {
        if (forced_->is_gpu()) return {.gpus = gpus()};
        return {.cpu = forced_};
    }
    std::uint64_t bytes = 0;
    for (const Work& part : parts) bytes += part.bytes;
    const Planner::Best cpu = planner().best_cpu(parts);
    const double on_cpu = cpu.prediction.seconds;
    double on_gpu = 0;
    const auto gpu_seconds = [&] {
        if (gpus().empty()) return Planner::never;
        return on_gpu = planner().on_gpu(gpu_info(), static_cast<unsigned>(gpus().size()), parts);
    };
    const bool gpu = planner().gpu_pays(gpu_, waited_, memory, on_cpu, counts, gpu_seconds);
    Crew crew{.cpu = cpu.backend,
              .seconds = on_cpu,
              .cpu_name = cpu.backend->name(),
              .gpu_name = gpu_.name(),
              .cpu_seconds = on_cpu,
              .gpu_seconds = on_gpu,
              .calibrated = cpu.prediction.calibrated};
    if (on_gpu == 0) return crew;
    // Uses both processors if the GPU is used anyway or is awake, and if the work is large enough to be divided evenly.
    const double both = shared_loss / (1 / on_cpu + 1 / on_gpu);
    const bool awake = gpu || is_direct(memory) || gpu_.is_awake();
    if (awake && bytes >= least_split_bytes && Planner::is_faster(both, std::min(on_cpu, on_gpu))) {
        crew.gpus = gpus();
        crew.seconds = both;
        return crew;
    }
    // Creating the CUDA context is part of this call's time, but is ignored when deciding whether the GPU is
    // worthwhile.
    if (gpu && !is_direct(memory) && !gpu_.is_awake()) crew.gpu_seconds += planner().cold_seconds();
    if (gpu) {
        crew.cpu = nullptr;
        crew.gpus = gpus();
        crew.seconds = crew.gpu_seconds;
    }
    return crew;
}

std::string Crew::reason() const {
    if (cpu == nullptr && gpus.empty()) return {};
    if (cpu_name.empty()) return "requested by name";
    const std::string name(cpu_name), gpu(gpu_name), on_cpu = in_words(cpu_seconds), on_gpu = in_words(gpu_seconds);
    std::string text;
    if (gpu_seconds == 0) {
        text = name + ": " + on_cpu + " predicted";
    } else if (gpus.empty()) {
        text = name + ": " + on_cpu + " predicted against " + on_gpu + " by " + gpu;
    } else if (cpu == nullptr) {
        text = gpu + ": " + on_gpu + " predicted against " + on_cpu + " by " + name;
    } else {
        text = gpu + " and " + name + ": " + in_words(seconds) + " predicted for both against " + on_gpu +
               " by cuda and " + on_cpu + " by " + name;
    }
    return text + (calibrated ? " (calibrated)" : " (not calibrated)");
}

Explanation Engine::explain(const Work& work) const {
    Explanation e;
    const bool shared_out = work.batch && !is_on_device(work.memory);
    if (shared_out) {
        const Crew who = crew({&work, 1}, false);
        e.plan.backend = who.gpus.empty() ? who.cpu : &gpu_;
        if (!who.gpus.empty()) e.beside = who.cpu;
        e.seconds = who.seconds;
        e.reason = who.reason();
    } else {
        e.plan = choose(work, false);
    }
    shape(e.plan, work);
    const bool on_gpu = e.plan.backend->is_gpu();
    const BackendInfo& info = on_gpu ? gpu_info() : e.plan.backend->info().front();
    const auto chosen = predict(work, info).value_or(Prediction{});
    if (e.seconds == 0) {
        e.seconds = on_gpu && e.plan.devices.size() > 1
                        ? planner().on_gpu(info, static_cast<unsigned>(e.plan.devices.size()), work).seconds
                        : chosen.seconds;
        e.seconds += chosen.cold_seconds;
    }
    e.calibrated = chosen.calibrated;
    if (shared_out && forced_ == nullptr) {
        if (!costs().note.empty()) e.reason += "; " + costs().note;
        return e;
    }
    const std::string name(e.plan.backend->name());
    e.reason = name + ": " + in_words(e.seconds) + " predicted";
    if (forced_ != nullptr) {
        e.reason += "; it was requested";
    } else if (is_on_device(work.memory)) {
        e.reason += "; the data is in device memory";
    } else {
        // The best other backend for comparison, preferably on the other kind of processor.
        std::optional<Prediction> best;
        std::string_view best_name;
        for (const Backend* backend : all_backends()) {
            const bool is_gpu = backend->is_gpu();
            if (backend == e.plan.backend || (is_gpu && gpus().empty())) continue;
            const auto other = predict(work, is_gpu ? gpu_info() : backend->info().front());
            if (!other) continue;
            const bool of_other_kind = is_gpu != on_gpu;
            const auto total = [](const Prediction& p) { return p.seconds + p.cold_seconds; };
            if (!best || (on_gpu == of_other_kind ? total(*other) < total(*best) : of_other_kind)) {
                best = other;
                best_name = backend->name();
            }
        }
        if (best) {
            e.reason += " against " + in_words(best->seconds + best->cold_seconds) + " by " + std::string(best_name);
            if (best->cold_seconds > 0) {
                e.reason += ", of which " + in_words(best->cold_seconds) + " to create its context";
            }
        }
    }
    e.reason += e.calibrated ? " (calibrated)" : " (not calibrated)";
    if (!costs().note.empty()) e.reason += "; " + costs().note;
    return e;
}

}  // namespace warpaes
