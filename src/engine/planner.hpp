// The planner: predicts the time of each backend from the cost model and chooses among the backends.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/cuda_backend.hpp"
#include "engine/cost_model.hpp"
#include "engine/short_ways.hpp"

namespace warpaes {

/// A CPU's chunk should fit in the second-level cache. Measured with files on tmpfs, on a Xeon with 2 MiB of
/// second-level cache and 2 cores (2026-11): 128 KiB to 1 MiB are equally fast on a quiet machine; on a busy machine,
/// larger chunks lose less time.
inline constexpr std::uint64_t cpu_chunk_bytes = std::uint64_t{512} << 10;

/// No GPU call finishes faster than this, so GPUs are not considered for work that the CPU completes within this time.
inline constexpr double least_gpu_seconds = 5e-6;

/// Predicts and chooses. Thread-safe; a prediction takes tens of nanoseconds.
class Planner {
public:
    /// `threads` is the maximum that one call may use. Messages longer than `longest_short` never use the short path.
    Planner(std::shared_ptr<const CostModel> model, unsigned threads,
            std::uint64_t longest_short = longest_short_message);

    /// Returns the prediction for a CPU backend. Must not be used for data in device memory, which a CPU cannot access.
    [[nodiscard]] Prediction on_cpu(const Backend& backend, const Work& work) const;
    /// Returns the prediction for GPUs like `gpu` that share the work, without the time to wake them.
    [[nodiscard]] Prediction on_gpu(const BackendInfo& gpu, unsigned gpus, const Work& work) const;
    /// Returns the time until a process's first call has a usable GPU.
    [[nodiscard]] double cold_seconds() const noexcept {
        return model_->cold > 0 ? model_->cold : default_cold_seconds;
    }

    struct Best {
        Backend* backend = nullptr;
        Prediction prediction;
    };
    /// Returns the CPU backend to use; if predictions are close, the backend that is generally best.
    [[nodiscard]] Best best_cpu(const Work& work) const;
    /// The short path for every mode, direction and key length, consistent with the plans.
    [[nodiscard]] const ShortWays& short_ways() const noexcept { return short_ways_; }
    /// Returns the best CPU backend for several parts of a batch together.
    [[nodiscard]] Best best_cpu(std::span<const Work> parts) const;
    [[nodiscard]] double on_gpu(const BackendInfo& gpu, unsigned gpus, std::span<const Work> parts) const;
    /// Returns the number of workers to use for a message in memory.
    [[nodiscard]] unsigned lanes(const Backend& backend, const Work& work) const { return on_cpu(backend, work).lanes; }

    /// A process's CPU time before its GPU was awake.
    struct Waited {
        std::atomic<double> cpu_seconds{0};     ///< time spent before any GPU was considered
        std::atomic<double> missed_seconds{0};  ///< time that an awake GPU would have saved
    };
    static constexpr double never = std::numeric_limits<double>::infinity();
    /// Whether GPUs should do work on data in `memory` that takes `cpu_seconds` on the CPU. `gpu_seconds()` returns the
    /// predicted time on GPUs that are awake, or `never`; it is called only if CUDA works. If `counts` is true, the
    /// work will be executed, and gpu_pays() updates `waited`.
    [[nodiscard]] bool gpu_pays(CudaBackend& gpu, Waited& waited, Memory memory, double cpu_seconds, bool counts,
                                const std::function<double()>& gpu_seconds) const;

    /// Whether `other` is faster than `usual` by more than the model's error.
    static bool is_faster(double other, double usual) noexcept { return other < 0.95 * usual; }

    [[nodiscard]] const CostModel& model() const noexcept { return *model_; }

private:
    /// The costs of one backend or GPU: measured costs if they exist, and default costs.
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
    /// Returns the parts of a predicted time, from measured costs if possible. For 192-bit keys, the result is the mean
    /// of 128 and 256 bits.
    static Reckoned reckon(const Costs& costs, Way way, const Work& work);
    [[nodiscard]] const Costs& costs_of(const Backend& backend) const;
    [[nodiscard]] const Costs& costs_of(const BackendInfo& gpu) const;
    /// Predicts the time of a message, and chooses the number of lanes.
    [[nodiscard]] Prediction of_message(const Costs& costs, const Work& work) const;
    [[nodiscard]] Prediction of_batch(const Costs& costs, const Work& work) const;

    [[nodiscard]] ShortWay short_way(Mode mode, Direction direction, int rounds, std::uint64_t longest_short) const;

    std::shared_ptr<const CostModel> model_;
    unsigned threads_;
    std::vector<Cpu> cpus_;  ///< usable backends; the generally best backend comes first
    ShortWays short_ways_;
    mutable std::mutex mutex_;
    mutable std::vector<std::unique_ptr<const Gpu>> gpus_;  ///< indexed by name, added when first requested
};

}  // namespace warpaes
