#include "engine/planner.hpp"

#include <algorithm>
#include <cmath>

#include "engine/engine.hpp"

namespace warpaes {

namespace {

/// Returns the factor that converts a mode's bytes to bytes of its class: CFB8 runs the cipher once per byte, and CFB1
/// once per bit.
std::uint64_t cost_factor(Mode mode) {
    return mode == Mode::cfb8 ? 16 : mode == Mode::cfb1 ? 128 : 1;
}

/// Another CPU backend replaces the backend with the widest registers only if its predicted time is clearly shorter.
/// Predictions are uncertain: on shared hosts, two calibrations of the same backend within minutes differ by a factor
/// of up to 1.8 for short calls. The backend with the widest registers is rarely wrong: in only 11 of 892 measured
/// choices, 9 of them in chained modes, it was more than 10 % slower than the fastest backend.
constexpr double doubtful = 0.65;

/// Returns the seconds of all parts together; `seconds(work)` predicts one part. The fixed cost of a call counts only
/// once.
template <typename Seconds>
double together(std::span<const Work> parts, const Seconds& seconds) {
    double sum = 0;
    bool first = true;
    for (Work part : parts) {
        sum += seconds(part);
        part.bytes = part.messages = part.longest = part.keys = 0;
        if (!first) sum -= seconds(part);
        first = false;
    }
    return sum;
}

}  // namespace

Planner::Planner(std::shared_ptr<const CostModel> model, unsigned threads, std::uint64_t longest_short)
    : model_(std::move(model)),
      threads_(std::max(1U, threads)),
      cpus_(find_cpus()),
      short_ways_([&](Mode mode, Direction direction, int rounds) {
          return short_way(mode, direction, rounds, longest_short);
      }) {}

std::vector<Planner::Cpu> Planner::find_cpus() const {
    std::vector<Cpu> cpus;
    const auto& backends = all_backends();
    for (auto it = backends.rbegin(); it != backends.rend(); ++it) {
        if ((*it)->is_gpu() || !(*it)->usable()) continue;
        const BackendInfo& info = (*it)->info().front();
        cpus.push_back({*it, {model_->find(CostModel::table_name(info)), default_costs(info, threads_)}});
    }
    return cpus;
}

ShortWay Planner::short_way(Mode mode, Direction direction, int rounds, std::uint64_t longest_short) const {
    ShortWay way;
    // Within a span (see Cost::ends), costs are linear, so a backend that is best at both ends of a span is best within
    // it. Below the first end, the backend that is best at that end is used, because the short path avoids most of a
    // call's fixed cost.
    const std::uint64_t factor = cost_factor(mode);
    const auto extend = [&](std::uint64_t bytes) {
        const Work work{.mode = mode,
                        .direction = direction,
                        .key_bits = static_cast<unsigned>(32 * (rounds - 6)),
                        .bytes = std::min(bytes, longest_short) / factor};
        const Best best = best_cpu(work);
        const ShortFunction function = best.backend->short_function(mode, direction, rounds);
        if (best.prediction.seconds >= least_gpu_seconds || function == nullptr) return false;
        if (way.function != nullptr && best.backend->name() != way.backend) return false;
        way = {function, work.bytes, best.backend->name()};
        return true;
    };
    if (!extend(Cost::ends[0])) return way;
    for (std::uint64_t bytes = Cost::ends[1]; bytes > Cost::ends[0] && !extend(bytes);) bytes -= Cost::ends[0];
    return way;
}

const Planner::Costs& Planner::costs_of(const Backend& backend) const {
    for (const Cpu& cpu : cpus_) {
        if (cpu.backend == &backend) return cpu.costs;
    }
    return cpus_.back().costs;
}

const Planner::Costs& Planner::costs_of(const BackendInfo& gpu) const {
    const std::lock_guard lock(mutex_);
    const std::string name = CostModel::table_name(gpu);
    for (const auto& known : gpus_) {
        if (known->name == name) return known->costs;
    }
    gpus_.push_back(std::make_unique<const Gpu>(Gpu{name, {model_->find(name), default_costs(gpu, threads_)}}));
    return gpus_.back()->costs;
}

Planner::Reckoned Planner::reckon(const Costs& costs, Way way, const Work& work) {
    const WorkClass work_class = class_of(work.mode, work.direction);
    const std::uint64_t factor = cost_factor(work.mode);
    Reckoned sum;
    const auto add = [&](unsigned key_bits, double weight) {
        const Cost* cost = costs.measured != nullptr ? costs.measured->find(work_class, way, key_bits) : nullptr;
        sum.calibrated = cost != nullptr;
        if (cost == nullptr) cost = costs.usual.find(work_class, way, key_bits);
        if (cost == nullptr) return;
        sum.fixed += weight * cost->fixed;
        sum.shared +=
            weight * (cost->of_bytes(work.bytes * factor) + cost->message * static_cast<double>(work.messages) +
                      cost->key * static_cast<double>(work.keys));
        sum.serial += weight * cost->of_chains(work.bytes * factor, work.longest_message() * factor);
    };
    if (work.key_bits == 192) {  // 12 rounds are the mean of 10 and 14
        add(128, 0.5);
        add(256, 0.5);
    } else {
        add(work.key_bits, 1);
    }
    return sum;
}

Prediction Planner::of_message(const Costs& costs, const Work& work) const {
    const Reckoned one = reckon(costs, Way::one_lane, work);
    const std::uint64_t chunk = std::max<std::uint64_t>(cpu_chunk_bytes, work.whole);
    const std::uint64_t chunks = work.bytes / chunk + (work.bytes % chunk != 0);
    const auto most = static_cast<unsigned>(std::min<std::uint64_t>(threads_, chunks));
    if (most <= 1 || !is_parallel(work.mode, work.direction)) return {one.seconds(), 1, one.calibrated};
    // shared / n + thread * (n - 1) is smallest at n = sqrt(shared / thread).
    const double thread = model_->thread > 0 ? model_->thread : default_thread_seconds;
    const double wanted = std::sqrt(one.shared / thread);
    const auto lanes = static_cast<unsigned>(std::clamp(wanted, 1.0, static_cast<double>(most)));
    if (lanes <= 1) return {one.seconds(), 1, one.calibrated};
    // All workers together are limited by their shared memory bandwidth.
    const Reckoned all = reckon(costs, Way::all_lanes, work);
    const double shared = std::max(one.shared / lanes, all.shared);
    const double seconds = one.fixed + thread * (lanes - 1) + shared;
    if (seconds >= one.seconds()) return {one.seconds(), 1, one.calibrated};
    return {seconds, lanes, one.calibrated && all.calibrated};
}

Prediction Planner::of_batch(const Costs& costs, const Work& work) const {
    Reckoned all = reckon(costs, Way::batch, work);
    if (all.calibrated && model_->threads > threads_) {
        all.shared *= static_cast<double>(model_->threads) / threads_;
    }
    return {all.seconds(), threads_, all.calibrated};
}

Prediction Planner::on_cpu(const Backend& backend, const Work& work) const {
    const Costs& costs = costs_of(backend);
    return work.batch ? of_batch(costs, work) : of_message(costs, work);
}

Prediction Planner::on_gpu(const BackendInfo& gpu, unsigned gpus, const Work& work) const {
    Reckoned one = reckon(costs_of(gpu), gpu_way(work.memory, work.batch), work);
    const bool divisible = work.batch || is_parallel(work.mode, work.direction);
    if (divisible && !is_on_device(work.memory)) one.shared /= std::max(1U, gpus);
    return {one.seconds(), 1, one.calibrated};
}

Planner::Best Planner::best_cpu(const Work& work) const {
    Best best{cpus_.front().backend, on_cpu(*cpus_.front().backend, work)};
    for (std::size_t i = 1; i < cpus_.size(); ++i) {
        const Prediction other = on_cpu(*cpus_[i].backend, work);
        if (other.seconds < doubtful * best.prediction.seconds) best = {cpus_[i].backend, other};
    }
    return best;
}

Planner::Best Planner::best_cpu(std::span<const Work> parts) const {
    Best best;
    for (const Cpu& cpu : cpus_) {
        bool calibrated = true;
        const double seconds = together(parts, [&](const Work& work) {
            const Prediction one = on_cpu(*cpu.backend, work);
            calibrated = calibrated && one.calibrated;
            return one.seconds;
        });
        if (best.backend == nullptr || seconds < doubtful * best.prediction.seconds) {
            best = {cpu.backend, {seconds, threads_, calibrated}};
        }
    }
    return best;
}

bool Planner::gpu_pays(CudaBackend& gpu, Waited& waited, Memory memory, double cpu_seconds, bool counts,
                       const std::function<double()>& gpu_seconds) const {
    if (cpu_seconds < least_gpu_seconds) return false;
    const auto enough = [&](std::atomic<double>& sum, double more) {
        const double before =
            counts ? sum.fetch_add(more, std::memory_order_relaxed) : sum.load(std::memory_order_relaxed);
        return before + more > cold_seconds();
    };
    // Page-locked memory shows that this process already uses a GPU.
    const bool awake = is_direct(memory) || gpu.is_awake();
    if (!awake && counts && !gpu.is_loaded() && !enough(waited.cpu_seconds, cpu_seconds)) return false;
    if (!gpu.usable()) return false;
    const double seconds = gpu_seconds();
    if (awake || !is_faster(seconds, cpu_seconds)) return is_faster(seconds, cpu_seconds);
    // Waking the GPU is worthwhile if this call alone justifies it, or once it would have saved as much time over the
    // calls so far. The total cost is then at most twice the cost of the best decision in hindsight.
    return enough(waited.missed_seconds, cpu_seconds - seconds);
}

double Planner::on_gpu(const BackendInfo& gpu, unsigned gpus, std::span<const Work> parts) const {
    return together(parts, [&](const Work& work) { return on_gpu(gpu, gpus, work).seconds; });
}

}  // namespace warpaes
