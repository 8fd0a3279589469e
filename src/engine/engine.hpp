// The engine: chooses the backend for each piece of work, and keeps a pool of lanes.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cuda_backend.hpp"
#include "base/process.hpp"
#include "engine/cost_model.hpp"
#include "engine/memory.hpp"
#include "engine/planner.hpp"
#include "engine/short_ways.hpp"

namespace warpaes {

struct EngineOptions {
    std::string backend;            ///< empty: WARPAES_BACKEND if set, otherwise chosen by the engine
    int device = -1;                ///< CUDA device number; -1: all devices
    unsigned threads = 0;           ///< 0: the number of processors that this process may run on
    unsigned depth = 0;             ///< number of lanes of a call; 0: chosen by the engine
    std::uint64_t chunk_bytes = 0;  ///< a multiple of 4096; 0: chosen by the engine
    /// Costs to use instead of this machine's calibration.
    std::shared_ptr<const CostModel> costs = nullptr;
    /// The time for which batches keep expanded keys for later batches: at least this time, and at most about twice as
    /// long.
    std::chrono::milliseconds keys_kept{5000};
    /// If a GPU fails and the data is in host memory, the CPU continues even if the GPU was requested by name.
    bool cpu_takes_over = false;
};

/// The backend and device that did some work.
struct Outcome {
    std::string_view backend;
    int device = -1;          ///< CUDA device number (the first if there are several), or -1
    std::uint32_t notes = 0;  ///< WARPAES_NOTE_*

    /// Merges the outcome of a later step.
    void merge(const Outcome& next) noexcept { *this = {next.backend, next.device, notes | next.notes}; }
};

/// The plan for a call. `reason` is a human-readable sentence.
struct Plan {
    Backend* backend = nullptr;
    std::span<const int> devices;   ///< CUDA device numbers to use, or only -1; the engine owns the memory
    unsigned lanes = 1;             ///< number of workers, each with one chunk at a time
    std::uint64_t chunk_bytes = 0;  ///< a multiple of 4096
    std::string_view reason;
    /// Whether the CPU may take over if a GPU fails: the GPU was not requested by name, and the data is in host memory.
    bool replaceable = false;
};

/// A plan with its predictions, for display.
struct Explanation {
    Plan plan;
    Backend* beside = nullptr;  ///< a CPU backend that shares a batch with the GPUs
    double seconds = 0;         ///< predicted, including the time to wake the GPU if necessary
    bool calibrated = false;
    std::string reason;  ///< a sentence without a full stop
};

/// Returns the best CPU backend on this machine, regardless of an engine's options. Used for single blocks.
[[nodiscard]] Backend& best_cpu_backend();

/// Maximum number of workers per GPU for a batch.
inline constexpr unsigned most_gpu_lanes = 16;

/// The processors for a batch's messages in host memory: CPU, GPUs or both. Messages in device memory are always
/// processed by the device that contains them.
struct Crew {
    Backend* cpu = nullptr;       ///< null: the CPU does not participate
    std::span<const int> gpus{};  ///< CUDA device numbers; the engine owns the memory
    double seconds = 0;           ///< predicted time; 0: not predicted
    // The predictions that were compared:
    std::string_view cpu_name{};  ///< the best CPU backend; empty: a backend was requested
    std::string_view gpu_name{};
    double cpu_seconds = 0;
    double gpu_seconds = 0;  ///< 0: not predicted
    bool calibrated = false;
    unsigned gpu_lanes = 4;  ///< number of workers per GPU
    std::uint64_t cpu_task_bytes = std::uint64_t{256}
                                   << 10;  ///< maximum number of bytes that a CPU worker processes at a time
    std::uint64_t gpu_task_bytes = std::uint64_t{16} << 20;  ///< bytes that a GPU worker processes at a time

    /// Returns the reason for the choice, as a sentence; empty if no choice was made. Most callers never read it, and
    /// formatting it takes longer than the choice.
    [[nodiscard]] std::string reason() const;
};

class Engine;

/// A lane borrowed from the engine. The destructor wipes the staging buffers and returns the lane.
class LaneLease {
public:
    /// Records that the first `bytes` bytes of both staging buffers have been used.
    void used(std::size_t bytes) noexcept { used_ = std::max(used_, bytes); }
    /// Marks the lane as failed, so that it is closed instead of being returned.
    void discard() noexcept { discarded_ = true; }

    LaneLease(Engine& engine, Backend& backend, int device, std::size_t staging_bytes, std::unique_ptr<Lane> lane);
    LaneLease(LaneLease&&) noexcept = default;
    LaneLease& operator=(LaneLease&&) = delete;
    ~LaneLease();
    Lane& operator*() const noexcept { return *lane_; }
    Lane* operator->() const noexcept { return lane_.get(); }

private:
    Engine* engine_;
    Backend* backend_;
    int device_;
    std::size_t staging_bytes_;
    std::size_t used_ = 0;
    bool discarded_ = false;
    std::unique_ptr<Lane> lane_;
};

class Engine {
public:
    /// Throws Error{BACKEND} if the requested backend does not exist or cannot run here.
    explicit Engine(const EngineOptions& options);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Returns the plan for messages in memory. `work.memory` is the slower kind of memory of input and output;
    /// Memory::device means that at least one of them is on a device, and then only `cuda` can do the work.
    /// Thread-safe. Throws Error{BACKEND}.
    [[nodiscard]] Plan plan(const Work& work) const;
    /// Returns the plan for a message of `bytes` bytes (unknown_length for a stream) between files or streams. The plan
    /// uses all workers, because reading and writing keeps them busy.
    [[nodiscard]] Plan plan(Mode mode, Direction direction, std::uint64_t bytes,
                            Memory memory = Memory::pageable) const;
    /// Returns the plan for work that only CPUs can do, on data in host memory. Throws Error{BACKEND} if a GPU was
    /// requested; the error message begins with `what`.
    [[nodiscard]] Plan plan_on_cpu(const Work& work, const char* what) const;
    /// Checks that data in device memory can be processed. Thread-safe. Throws Error{BACKEND} if there is no GPU or if
    /// another backend was requested.
    void require_gpu() const;
    /// Chooses the processors for a batch with these parts, which are in host memory. `counts` means that the work will
    /// be executed, so its time on the CPU counts towards the decision to wake a GPU. Thread-safe.
    [[nodiscard]] Crew crew(std::span<const Work> parts, bool counts = true) const;
    /// Returns the plan that plan() would return, with the reason. Unlike plan(), this function also considers GPUs for
    /// short messages, but it does not wake them. Throws Error{BACKEND}.
    [[nodiscard]] Explanation explain(const Work& work) const;
    /// Returns the predicted time on one backend or GPU; nothing if the backend or GPU cannot run here or cannot reach
    /// the data. `info` is an entry of a backend's list.
    [[nodiscard]] std::optional<Prediction> predict(const Work& work, const BackendInfo& info) const;

    /// The costs that plans are based on: the costs in the options, or this machine's calibration, which is read on
    /// first use. Thread-safe.
    [[nodiscard]] const CostModel& costs() const;
    /// Uses these costs for all later plans. Thread-safe.
    void use_costs(std::shared_ptr<const CostModel> costs);

    /// The functions for short messages in host memory; null before the first plan is made. Thread-safe.
    [[nodiscard]] const ShortWays* short_ways() const noexcept { return short_ways_.load(std::memory_order_acquire); }

    /// Returns a plan that replaces a plan whose GPU has failed: it uses the best CPU backend and is otherwise the
    /// same.
    [[nodiscard]] static Plan replacement(const Plan& plan);

    /// Returns a lane of `plan.backend` on device `plan.devices[worker % size]`, with staging buffers of
    /// `staging_bytes` each (0 if the caller's own buffers are sufficient). Thread-safe.
    [[nodiscard]] LaneLease lease(const Plan& plan, unsigned worker, std::size_t staging_bytes);

    /// The threads among which work is shared.
    [[nodiscard]] Pool& pool() noexcept { return pool_; }

    static constexpr std::uint64_t unknown_length = ~std::uint64_t{0};

    /// The process that created the engine. In a child of fork(), the engine works on the CPU, with the child's own
    /// threads.
    [[nodiscard]] const Home& home() const noexcept { return home_; }

    [[nodiscard]] const EngineOptions& options() const noexcept { return options_; }
    /// The requested backend, or null if the engine chooses.
    [[nodiscard]] Backend* forced() const noexcept { return forced_; }
    /// Whether a GPU was requested by name, so that no other backend may be used.
    [[nodiscard]] bool forced_is_gpu() const noexcept { return forced_ != nullptr && forced_->is_gpu(); }
    /// Whether no CPU backend was requested.
    [[nodiscard]] bool may_use_gpu() const noexcept { return forced_ == nullptr || forced_->is_gpu(); }
    /// The backend for GPUs, which exists even if there is no GPU.
    [[nodiscard]] CudaBackend& gpu() const noexcept { return gpu_; }
    /// The CUDA device numbers that the engine may use; empty without a usable GPU. Thread-safe.
    [[nodiscard]] std::span<const int> gpus() const;

private:
    friend class LaneLease;
    struct LaneKey {
        Backend* backend;
        int device;
        std::size_t staging_bytes;
        bool operator==(const LaneKey&) const = default;
    };
    /// Throws Error{STATE} in a child of a process that has used a GPU, because the child cannot use GPUs.
    void require_gpu_of_this_process() const;
    [[nodiscard]] const Planner& planner() const;
    /// `counts` is as for crew().
    [[nodiscard]] Plan choose(const Work& work, bool counts) const;
    [[nodiscard]] Crew choose(std::span<const Work> parts, Memory memory, bool counts) const;
    [[nodiscard]] const BackendInfo& gpu_info() const;
    /// The caller must hold the lock.
    void use_planner(std::shared_ptr<const CostModel> costs) const;
    [[nodiscard]] std::uint64_t longest_short() const noexcept;
    /// Sets the devices, the lanes and the chunk size of a plan after its backend has been chosen.
    void shape(Plan& plan, std::uint64_t bytes, Memory memory) const;
    void shape(Plan& plan, const Work& work) const;
    void give_back(const LaneKey& key, std::unique_ptr<Lane> lane) noexcept;

    const Home home_;
    Pool pool_;
    CudaBackend& gpu_;
    EngineOptions options_;
    Backend* forced_ = nullptr;
    mutable std::vector<int> gpus_;  ///< the requested devices that are usable; filled on first use
    mutable std::once_flag gpus_known_;
    mutable std::atomic<const Planner*> planner_{nullptr};  ///< the last element of planners_
    mutable std::vector<std::unique_ptr<const Planner>> planners_;
    mutable std::atomic<const ShortWays*> short_ways_{nullptr};  ///< the planner's short_ways(), or forced_short_ways_
    std::unique_ptr<const ShortWays> forced_short_ways_;
    mutable Planner::Waited waited_;
    mutable ForkSafe<> mutex_;
    std::vector<std::pair<LaneKey, std::unique_ptr<Lane>>> idle_;
};

/// Returns all backends: the portable backend first, the fastest CPU backend after the other CPU backends, then cuda.
const std::vector<Backend*>& all_backends();
/// Returns null for an unknown name.
Backend* backend_named(std::string_view name);
std::string names_of_backends();

}  // namespace warpaes
