// Who does the work: every backend's seconds from the cost model, and the choice among them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/cost_model.hpp"
#include "engine/short_ways.hpp"

namespace warpaes {

/// A chunk of the CPU's stays in the second-level cache. Files on tmpfs, Xeon with 2 MiB of it, 2 cores, 2026-11:
/// 128 KiB to 1 MiB are alike on a quiet machine; on a busy one the larger ones lose less.
inline constexpr std::uint64_t cpu_chunk_bytes = std::uint64_t{512} << 10;

/// No GPU does anything in less: the CPU has what takes it no longer.
inline constexpr double least_gpu_seconds = 5e-6;

/// Thread-safe; a prediction takes some ten nanoseconds.
class Planner {
public:
    /// `threads`: the most that one call may use. `longest_short`: no longer message takes the short way.
    Planner(std::shared_ptr<const CostModel> model, unsigned threads,
            std::uint64_t longest_short = longest_short_message);

    /// Of a CPU backend. Data in device memory is beyond it: not for that.
    [[nodiscard]] Prediction on_cpu(const Backend& backend, const Work& work) const;
    /// Of GPUs that share the work, all like `gpu`; without what waking them up costs.
    [[nodiscard]] Prediction on_gpu(const BackendInfo& gpu, unsigned gpus, const Work& work) const;
    /// Until a process's first call has a GPU ready.
    [[nodiscard]] double cold_seconds() const noexcept {
        return model_->cold > 0 ? model_->cold : default_cold_seconds;
    }

    struct Best {
        Backend* backend = nullptr;
        Prediction prediction;
    };
    /// The CPU backend to use; between equals, the one that is the best in general.
    [[nodiscard]] Best best_cpu(const Work& work) const;
    /// The same for short messages, and as a plan would have it.
    [[nodiscard]] const ShortWays& short_ways() const noexcept { return short_ways_; }
    /// The same of several parts of a batch, done side by side.
    [[nodiscard]] Best best_cpu(std::span<const Work> parts) const;
    [[nodiscard]] double on_gpu(const BackendInfo& gpu, unsigned gpus, std::span<const Work> parts) const;
    /// How many workers a message in memory is worth.
    [[nodiscard]] unsigned lanes(const Backend& backend, const Work& work) const { return on_cpu(backend, work).lanes; }

    /// Whether `other` is so much faster than `usual` that a model's error does not matter.
    static bool is_faster(double other, double usual) noexcept { return other < 0.95 * usual; }

    [[nodiscard]] const CostModel& model() const noexcept { return *model_; }

private:
    /// The costs of one backend or GPU: measured ones, where there are any, and the others.
    struct Costs {
        const CostTable* measured = nullptr;
        CostTable usual;
    };
    struct Cpu {
        Backend* backend;
        Costs costs;
    };
    struct Gpu {
        std::string name;
        Costs costs;
    };
    struct Reckoned {
        double fixed = 0, shared = 0, serial = 0;
        bool calibrated = false;
        [[nodiscard]] double seconds() const noexcept { return fixed + std::max(shared, serial); }
    };
    [[nodiscard]] std::vector<Cpu> find_cpus() const;
    static Reckoned reckon(const Costs& costs, Way way, const Work& work);
    [[nodiscard]] const Costs& costs_of(const Backend& backend) const;
    [[nodiscard]] const Costs& costs_of(const BackendInfo& gpu) const;
    [[nodiscard]] Prediction of_message(const Costs& costs, const Work& work) const;
    [[nodiscard]] Prediction of_batch(const Costs& costs, const Work& work) const;

    [[nodiscard]] ShortWay short_way(Mode mode, Direction direction, int rounds, std::uint64_t longest_short) const;

    std::shared_ptr<const CostModel> model_;
    unsigned threads_;
    std::vector<Cpu> cpus_;  ///< usable ones, the best in general first
    ShortWays short_ways_;
    mutable std::mutex mutex_;
    mutable std::vector<std::unique_ptr<const Gpu>> gpus_;  ///< by name, as they are asked for
};

}  // namespace warpaes
