// The engine: which backend runs what, and the pool of lanes that work runs on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.hpp"

namespace warpaes {

struct EngineOptions {
    std::string backend;  ///< empty: WARPAES_BACKEND, else automatic
    int device = -1;
    unsigned threads = 0;
    unsigned depth = 0;
    std::uint64_t chunk_bytes = 0;
    /// Host data below this, and streams whose length nobody knows, go to the CPU when the choice is the engine's:
    /// creating a CUDA context takes a few tenths of a second.
    std::uint64_t gpu_least_bytes = std::uint64_t{64} << 20;
};

/// How one call will be carried out. `reason` is a sentence for people.
struct Plan {
    Backend* backend = nullptr;
    std::span<const int> devices;   ///< CUDA device numbers to spread over, or -1 alone; the engine's, if not replaced
    unsigned lanes = 1;             ///< workers, each with one chunk in hand
    std::uint64_t chunk_bytes = 0;  ///< a multiple of 4096
    std::string_view reason;
    /// The CPU may take over if a GPU fails: nobody asked for it, and the data lies in host memory.
    bool replaceable = false;
};

class Engine;

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
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Decides for a message of `bytes` bytes (unknown_length for a stream) whose slower end lies in `memory`; with
    /// Memory::device at least one end does, and only `cuda` will do. Thread-safe. Throws Error{BACKEND}.
    [[nodiscard]] Plan plan(Mode mode, Direction direction, std::uint64_t bytes,
                            Memory memory = Memory::pageable) const;

    /// What takes the place of a plan whose GPU has failed: the best CPU backend, the rest alike.
    [[nodiscard]] static Plan replacement(const Plan& plan);

    /// A lane of `plan.backend` on device `plan.devices[worker % size]`, with `staging_bytes` of staging each way
    /// (0 when the caller's own buffers will do). Thread-safe.
    [[nodiscard]] LaneLease lease(const Plan& plan, unsigned worker, std::size_t staging_bytes);

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
    void give_back(const LaneKey& key, std::unique_ptr<Lane> lane) noexcept;

    EngineOptions options_;
    Backend* forced_ = nullptr;
    mutable std::vector<int> gpus_;  ///< the usable ones among those asked for; filled when first needed
    mutable std::once_flag gpus_known_;
    std::mutex mutex_;
    std::vector<std::pair<LaneKey, std::unique_ptr<Lane>>> idle_;
};

/// Every backend, portable first, fastest CPU backend last, then cuda.
const std::vector<Backend*>& all_backends();

}  // namespace warpaes
