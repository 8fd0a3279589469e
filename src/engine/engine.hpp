// The engine: which backend runs what, and the pool of lanes that work runs on.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cuda_backend.hpp"
#include "engine/cost_model.hpp"
#include "engine/short_ways.hpp"

namespace warpaes {

struct EngineOptions {
    std::string backend;  ///< empty: WARPAES_BACKEND, else automatic
    int device = -1;
    unsigned threads = 0;
    unsigned depth = 0;
    std::uint64_t chunk_bytes = 0;
    /// Instead of this machine's calibration.
    std::shared_ptr<const CostModel> costs = nullptr;
    /// So long at least, and about twice as long at most, stays what a batch has made of a key for those to come.
    std::chrono::milliseconds keys_kept{5000};
    /// From a GPU that fails with data in host memory, even if it was asked for by its name.
    bool cpu_takes_over = false;
};

/// What has run something.
struct Outcome {
    std::string_view backend;
    int device = -1;          ///< CUDA device number (the first, if there were several), or -1
    std::uint32_t notes = 0;  ///< WARPAES_NOTE_*

    /// What came after.
    void add(const Outcome& next) noexcept { *this = {next.backend, next.device, notes | next.notes}; }
};

/// How one call will be carried out. `reason` is a sentence for people.
struct Plan {
    Backend* backend = nullptr;
    std::span<const int> devices;   ///< CUDA device numbers to spread over, or -1 alone; the engine's, if not replaced
    unsigned lanes = 1;             ///< workers, each with one chunk in hand
    std::uint64_t chunk_bytes = 0;  ///< a multiple of 4096
    std::string_view reason;
    /// The CPU may take over if a GPU fails: nobody asked for it alone, and the data lies in host memory.
    bool replaceable = false;
};

/// A plan with its figures, for people.
struct Explanation {
    Plan plan;
    Backend* beside = nullptr;  ///< a CPU backend that does its part of a batch beside the GPUs
    double seconds = 0;         ///< predicted, waking the GPU included where that is needed
    bool calibrated = false;
    std::string reason;  ///< a sentence without a full stop
};

/// The best that can run here, whatever an engine was asked for: for single blocks.
[[nodiscard]] Backend& best_cpu_backend();

/// Workers of a GPU at a batch, at most.
inline constexpr unsigned most_gpu_lanes = 16;

/// Who works on a batch's messages in host memory, one of the two at least; those in device memory are their device's
/// in any case.
struct Crew {
    Backend* cpu = nullptr;     ///< null: the CPU takes no part
    std::span<const int> gpus;  ///< CUDA device numbers; the engine's
    double seconds = 0;         ///< predicted; 0: not predicted
    std::string reason;
    unsigned gpu_lanes = 4;                                   ///< workers of each GPU
    std::uint64_t cpu_task_bytes = std::uint64_t{256} << 10;  ///< what is taken at a time
    std::uint64_t gpu_task_bytes = std::uint64_t{16} << 20;
};

class Engine;
class Planner;

/// A lane borrowed from the engine; given back on destruction, its staging wiped.
class LaneLease {
public:
    /// So many bytes of either staging, from its beginning, have held data.
    void used(std::size_t bytes) noexcept { used_ = std::max(used_, bytes); }
    /// The lane has failed: it is closed in the end instead of being given back.
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
    /// Throws Error{BACKEND} if the backend asked for does not exist or cannot run here.
    explicit Engine(const EngineOptions& options);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Decides for a message in memory whose slower end lies in `work.memory`; with Memory::device at least one end
    /// does, and only `cuda` will do. Thread-safe. Throws Error{BACKEND}.
    [[nodiscard]] Plan plan(const Work& work) const;
    /// The same for a message of `bytes` bytes (unknown_length for a stream) between files or streams: their reading
    /// and writing is worth every worker.
    [[nodiscard]] Plan plan(Mode mode, Direction direction, std::uint64_t bytes,
                            Memory memory = Memory::pageable) const;
    /// The same for work that only CPUs do, on data in host memory. Throws Error{BACKEND} if a GPU was asked for;
    /// `what` is the sentence's subject.
    [[nodiscard]] Plan plan_on_cpu(const Work& work, const char* what) const;
    /// For data in device memory, where there is nothing to choose. Thread-safe. Throws Error{BACKEND} if there is no
    /// GPU, or another backend was asked for.
    void require_gpu() const;
    /// Decides who carries out a batch of these parts, which lie in host memory. `counts`: it is going to be done; if
    /// on the CPU, it is one call more that a GPU might have done faster. Thread-safe.
    [[nodiscard]] Crew crew(std::span<const Work> parts, bool counts = true) const;
    /// What plan() would say now, and why. Looks at the GPUs, which plan() avoids for short messages; does not wake
    /// them. Throws Error{BACKEND}.
    [[nodiscard]] Explanation explain(const Work& work) const;
    /// What one backend or one GPU would take; nothing if it cannot run here or reach the data. `info`: an entry of a
    /// backend's list.
    [[nodiscard]] std::optional<Prediction> predict(const Work& work, const BackendInfo& info) const;

    /// The costs that plans are made of: given, or this machine's calibration, read when first needed. Thread-safe.
    [[nodiscard]] const CostModel& costs() const;
    /// Plans are made of these from now on. Thread-safe.
    void use_costs(std::shared_ptr<const CostModel> costs);

    /// Who does short messages in host memory; null before the first plan was made. Thread-safe.
    [[nodiscard]] const ShortWays* short_ways() const noexcept { return short_ways_.load(std::memory_order_acquire); }

    /// What takes the place of a plan whose GPU has failed: the best CPU backend, the rest alike.
    [[nodiscard]] static Plan replacement(const Plan& plan);

    /// A lane of `plan.backend` on device `plan.devices[worker % size]`, with `staging_bytes` of staging each way
    /// (0 when the caller's own buffers will do). Thread-safe.
    [[nodiscard]] LaneLease lease(const Plan& plan, unsigned worker, std::size_t staging_bytes);

    /// Who helps with work that is for several threads.
    [[nodiscard]] Pool& pool() noexcept { return pool_; }

    static constexpr std::uint64_t unknown_length = ~std::uint64_t{0};

    [[nodiscard]] const EngineOptions& options() const noexcept { return options_; }
    /// The backend asked for, or null if the choice is the engine's.
    [[nodiscard]] Backend* forced() const noexcept { return forced_; }
    /// CUDA device numbers that it may use; none without a usable GPU. Thread-safe.
    [[nodiscard]] std::span<const int> gpus() const;

private:
    friend class LaneLease;
    struct LaneKey {
        Backend* backend;
        int device;
        std::size_t staging_bytes;
        bool operator==(const LaneKey&) const = default;
    };
    [[nodiscard]] const Planner& planner() const;
    /// `counts`: as with crew().
    [[nodiscard]] Plan choose(const Work& work, bool counts) const;
    [[nodiscard]] Crew choose(std::span<const Work> parts, Memory memory, bool counts) const;
    /// `gpu_seconds()`: what it would take GPUs that are awake, asked when there are some.
    [[nodiscard]] bool gpu_pays(Memory memory, double cpu_seconds, bool counts,
                                const std::function<double()>& gpu_seconds) const;
    [[nodiscard]] const BackendInfo& gpu_info() const;
    /// The lock is held.
    void use_planner(std::shared_ptr<const CostModel> costs) const;
    [[nodiscard]] std::uint64_t longest_short() const noexcept;
    void shape(Plan& plan, std::uint64_t bytes, Memory memory) const;
    void shape(Plan& plan, const Work& work) const;
    void give_back(const LaneKey& key, std::unique_ptr<Lane> lane) noexcept;

    Pool pool_;
    EngineOptions options_;
    Backend* forced_ = nullptr;
    mutable std::vector<int> gpus_;  ///< the usable ones among those asked for; filled when first needed
    mutable std::once_flag gpus_known_;
    mutable std::atomic<const Planner*> planner_{nullptr};  ///< the last of:
    mutable std::vector<std::unique_ptr<const Planner>> planners_;
    mutable std::atomic<const ShortWays*> short_ways_{nullptr};  ///< the planner's, or:
    std::unique_ptr<const ShortWays> forced_short_ways_;
    mutable std::atomic<double> cpu_seconds_{0};     ///< spent on the CPU while nobody has looked for a GPU
    mutable std::atomic<double> missed_seconds_{0};  ///< that a GPU would have saved, had it been awake
    mutable std::mutex mutex_;
    std::vector<std::pair<LaneKey, std::unique_ptr<Lane>>> idle_;
};

/// Every backend, portable first, fastest CPU backend last, then cuda.
const std::vector<Backend*>& all_backends();

}  // namespace warpaes
