#include "engine/engine.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "cuda/cuda_backend.hpp"

namespace warpaes {

namespace {

/// A chunk stays in the second-level cache. Files on tmpfs, Xeon with 2 MiB of it, 2 cores, 2026-11: 128 KiB to 1 MiB
/// are alike on a quiet machine; on a busy one the larger ones lose less.
constexpr std::uint64_t cpu_chunk_bytes = std::uint64_t{512} << 10;

/// Chunks for a GPU: large enough that a copy's fixed cost vanishes, small enough that the first and the last copy,
/// which overlap with nothing, do not count: a 32nd of the message, within limits.
/// H200, 2026-11, page-locked 1 GiB, CTR-128, chunks of 8 / 12 / 16 MiB: 3 lanes 48.6 / 49.0 / 49.1, 4 lanes 48.2
/// / 48.6 / 48.8, 5 lanes 48.3 / 48.5 / 48.4 GB/s, where copies alone made 49.9 both ways.
constexpr std::uint64_t gpu_chunk_page_locked_least = std::uint64_t{1} << 20;
constexpr std::uint64_t gpu_chunk_page_locked_most = std::uint64_t{16} << 20;
constexpr unsigned gpu_lanes_page_locked = 3;
/// Pageable memory and files need more host threads, because they copy to and from page-locked staging; the chunks are
/// smaller for the sake of the first call, which allocates that staging. The same machine, 16 cores: 8, 12, 16 lanes of
/// 2 MiB: 22, 30, 32 GB/s.
constexpr std::uint64_t gpu_chunk_pageable = std::uint64_t{2} << 20;
constexpr unsigned gpu_lanes_pageable = 16;

std::uint64_t gpu_chunk_page_locked(std::uint64_t bytes) {
    const std::uint64_t share = (bytes / 32 + 4095) / 4096 * 4096;
    return std::clamp(share, gpu_chunk_page_locked_least, gpu_chunk_page_locked_most);
}

unsigned available_processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
}

std::string names_of_backends() {
    std::string names;
    for (const Backend* b : all_backends()) names += (names.empty() ? "" : ", ") + std::string(b->name());
    return names;
}

Backend& find_backend(const std::string& name) {
    for (Backend* b : all_backends()) {
        if (b->name() != name) continue;
        if (!b->usable()) {
            throw Error(WARPAES_ERROR_BACKEND, "backend: '" + name + "' cannot run here: " + b->info().front().reason);
        }
        return *b;
    }
    throw Error(WARPAES_ERROR_BACKEND, "backend: there is no '" + name + "'; choose auto, " + names_of_backends());
}

Backend& best_cpu_backend() {
    const auto& backends = all_backends();
    for (auto it = backends.rbegin(); it != backends.rend(); ++it) {
        if ((*it)->name() != "cuda" && (*it)->usable()) return **it;
    }
    return libcrypto_backend();
}

constexpr int no_device[] = {-1};

std::vector<int> cuda_devices(int wanted) {
    std::vector<int> devices;
    for (const BackendInfo& info : cuda_backend().info()) {
        if (info.usable() && (wanted < 0 || info.device == wanted)) devices.push_back(info.device);
    }
    return devices;
}

}  // namespace

const std::vector<Backend*>& all_backends() {
    static const std::vector<Backend*> backends{&libcrypto_backend(), &aesni_backend(), &vaes_backend(),
                                                &cuda_backend()};
    return backends;
}

Engine::Engine(const EngineOptions& options) : options_(options) {
    if (options_.backend.empty()) {
        const char* environment = std::getenv("WARPAES_BACKEND");
        options_.backend = environment != nullptr ? environment : "";
    }
    if (!options_.backend.empty() && options_.backend != "auto") forced_ = &find_backend(options_.backend);
    if (options_.chunk_bytes % 4096 != 0) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "chunk_bytes: must be a multiple of 4096, got " + std::to_string(options_.chunk_bytes));
    }
    constexpr std::uint64_t largest_chunk = std::uint64_t{1} << 30;
    if (options_.chunk_bytes > largest_chunk) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "chunk_bytes: must be at most 1 GiB, got " + std::to_string(options_.chunk_bytes));
    }
    if (options_.threads > 1024 || options_.depth > 1024) {
        throw Error(WARPAES_ERROR_ARGUMENT, "threads, depth: must be at most 1024");
    }
    if (options_.device >= 0 && (forced_ == nullptr || forced_ == &cuda_backend()) &&
        cuda_devices(options_.device).empty()) {
        throw Error(WARPAES_ERROR_BACKEND,
                    "device: there is no usable CUDA device " + std::to_string(options_.device) + " here");
    }
    if (options_.threads == 0) options_.threads = available_processors();
}

std::span<const int> Engine::gpus() const {
    std::call_once(gpus_known_, [this] { gpus_ = cuda_devices(options_.device); });
    return gpus_;
}

Plan Engine::plan(Mode mode, Direction direction, std::uint64_t bytes, Memory memory) const {
    Plan plan;
    CudaBackend& cuda = cuda_backend();
    const bool parallel = is_parallel(mode, direction);
    if (memory == Memory::device) {
        if (forced_ != nullptr && forced_ != &cuda) {
            throw Error(WARPAES_ERROR_BACKEND, "backend: '" + std::string(forced_->name()) +
                                                   "' was asked for, but the data lies in device memory");
        }
        plan.backend = &cuda;
        plan.reason = "the data lies in device memory";
    } else if (forced_ != nullptr) {
        plan.backend = forced_;
        plan.reason = "asked for";
    } else if (parallel && bytes != unknown_length && bytes >= options_.gpu_least_bytes && cuda.usable()) {
        plan.backend = &cuda;
        plan.reason = "a GPU is here and the message is long and can be cut";
    } else {
        plan.backend = &best_cpu_backend();
        plan.reason = parallel ? "best CPU backend" : "best CPU backend: this mode is serial within a message";
    }

    const bool on_gpu = plan.backend == &cuda;
    plan.replaceable = on_gpu && forced_ == nullptr && memory != Memory::device;
    plan.devices = on_gpu ? gpus() : std::span<const int>(no_device);
    if (on_gpu) {
        const bool fast = memory != Memory::pageable;
        const unsigned per_device = fast ? gpu_lanes_page_locked : std::min(gpu_lanes_pageable, options_.threads + 2);
        plan.chunk_bytes = fast ? gpu_chunk_page_locked(bytes) : gpu_chunk_pageable;
        plan.lanes = per_device * static_cast<unsigned>(plan.devices.size());
    } else {
        plan.chunk_bytes = cpu_chunk_bytes;
        plan.lanes = options_.threads;
    }
    if (options_.chunk_bytes != 0) plan.chunk_bytes = options_.chunk_bytes;
    if (options_.depth != 0) plan.lanes = options_.depth;
    if (bytes != unknown_length) {
        const std::uint64_t chunks =
            std::max<std::uint64_t>(1, bytes / plan.chunk_bytes + (bytes % plan.chunk_bytes != 0));
        plan.lanes = static_cast<unsigned>(std::min<std::uint64_t>(plan.lanes, chunks));
    }
    return plan;
}

Plan Engine::replacement(const Plan& plan) {
    Plan other = plan;
    other.backend = &best_cpu_backend();
    other.devices = no_device;
    other.reason = "a GPU failed";
    other.replaceable = false;
    return other;
}

LaneLease Engine::lease(const Plan& plan, unsigned worker, std::size_t staging_bytes) {
    const int device = plan.devices[worker % plan.devices.size()];
    {
        const std::lock_guard lock(mutex_);
        const LaneKey key{plan.backend, device, staging_bytes};
        const auto it =
            std::find_if(idle_.rbegin(), idle_.rend(), [&](const auto& entry) { return entry.first == key; });
        if (it != idle_.rend()) {
            auto lane = std::move(it->second);
            std::swap(*it, idle_.back());
            idle_.pop_back();
            return {*this, *plan.backend, device, staging_bytes, std::move(lane)};
        }
    }
    return {*this, *plan.backend, device, staging_bytes, plan.backend->open_lane(device, staging_bytes)};
}

void Engine::give_back(const LaneKey& key, std::unique_ptr<Lane> lane) noexcept {
    try {
        const std::lock_guard lock(mutex_);
        idle_.emplace_back(key, std::move(lane));
    } catch (...) {
        // Out of memory for the list: the lane is closed instead of kept, which loses nothing.
    }
}

LaneLease::LaneLease(Engine& engine, Backend& backend, int device, std::size_t staging_bytes,
                     std::unique_ptr<Lane> lane)
    : engine_(&engine), backend_(&backend), device_(device), staging_bytes_(staging_bytes), lane_(std::move(lane)) {}

LaneLease::~LaneLease() {
    if (lane_ == nullptr || discarded_) return;
    lane_->wipe_staging(std::min(used_, staging_bytes_));
    engine_->give_back({backend_, device_, staging_bytes_}, std::move(lane_));
}

}  // namespace warpaes
