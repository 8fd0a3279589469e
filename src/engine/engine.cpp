#include "engine/engine.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "base/pool.hpp"
#include "engine/calibration/file.hpp"
#include "engine/planner.hpp"

namespace warpaes {

namespace {

/// Returns the chunk size for page-locked memory. With several GPUs, the minimum is halved, because kernels access
/// chunks of up to 1 MiB in place.
std::uint64_t page_locked_chunk(const GpuTransfers& transfers, std::uint64_t bytes, std::size_t gpus) {
    const std::uint64_t share = (bytes / transfers.chunks + 4095) / 4096 * 4096;
    return std::clamp(share, transfers.least_chunk / (gpus > 1 ? 2 : 1), transfers.most_chunk);
}

Backend& find_backend(const std::string& name) {
    Backend* const b = backend_named(name);
    if (b == nullptr) {
        throw Error(WARPAES_ERROR_BACKEND, "backend: there is no '" + name + "'; choose auto, " + names_of_backends());
    }
    if (!b->usable()) {
        throw Error(WARPAES_ERROR_BACKEND,
                    "backend: '" + name + "' cannot run on this machine: " + b->info().front().reason);
    }
    return *b;
}

constexpr int no_device[] = {-1};

std::vector<int> devices_of(const CudaBackend& gpu, int wanted) {
    std::vector<int> devices;
    for (const BackendInfo& info : gpu.info()) {
        if (info.usable() && (wanted < 0 || info.device == wanted)) devices.push_back(info.device);
    }
    return devices;
}

}  // namespace

Backend& best_cpu_backend() {
    const auto& backends = all_backends();
    for (auto it = backends.rbegin(); it != backends.rend(); ++it) {
        if (!(*it)->is_gpu() && (*it)->usable()) return **it;
    }
    return libcrypto_backend();
}

const std::vector<Backend*>& all_backends() {
    static const std::vector<Backend*> backends{&libcrypto_backend(), &aesni_backend(), &vaes_backend(),
                                                &armv8_backend(), &cuda_backend()};
    return backends;
}

Backend* backend_named(std::string_view name) {
    const auto& backends = all_backends();
    const auto found = std::find_if(backends.begin(), backends.end(), [&](const auto* b) { return b->name() == name; });
    return found != backends.end() ? *found : nullptr;
}

std::string names_of_backends() {
    std::string names;
    for (const Backend* b : all_backends()) names += (names.empty() ? "" : ", ") + std::string(b->name());
    return names;
}

Engine::Engine(const EngineOptions& options) : gpu_(cuda_backend()), options_(options) {
    gpu_.find_launches_by(&stored_launches);
    if (options_.backend.empty()) {
        const char* environment = std::getenv("WARPAES_BACKEND");
        options_.backend = environment != nullptr ? environment : "";
    }
    check_vector_bits();
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
    if (options_.device >= 0 && may_use_gpu() && devices_of(gpu_, options_.device).empty()) {
        throw Error(WARPAES_ERROR_BACKEND,
                    "device: there is no usable CUDA device " + std::to_string(options_.device) + " here");
    }
    if (options_.threads == 0) options_.threads = usable_processors();
    if (forced_ != nullptr) {
        forced_short_ways_ = std::make_unique<const ShortWays>([this](Mode mode, Direction direction, int rounds) {
            return ShortWay{forced_->short_function(mode, direction, rounds), longest_short(), forced_->name()};
        });
        short_ways_ = forced_short_ways_.get();
    }
}

std::span<const int> Engine::gpus() const {
    std::call_once(gpus_known_, [this] { gpus_ = devices_of(gpu_, options_.device); });
    return gpus_;
}

Engine::~Engine() {
    if (!home_.is_here()) (void)new auto(std::move(idle_));  // destroying the lanes of a GPU would call CUDA
}

void Engine::require_gpu_of_this_process() const {
    if (!gpu_.usable()) home_.require("engine", "CUDA does not work on this machine; create an engine for the CPU");
}

/// A short message is processed as one chunk, so a chunk size that the caller sets also limits short messages.
std::uint64_t Engine::longest_short() const noexcept {
    return options_.chunk_bytes == 0 ? longest_short_message : std::min(options_.chunk_bytes, longest_short_message);
}

void Engine::use_planner(std::shared_ptr<const CostModel> costs) const {
    // Older planners are kept, because threads may still be reading them.
    planners_.push_back(std::make_unique<const Planner>(std::move(costs), options_.threads, longest_short()));
    const Planner* const planner = planners_.back().get();
    planner_.store(planner, std::memory_order_release);
    if (forced_ == nullptr) short_ways_.store(&planner->short_ways(), std::memory_order_release);
}

const Planner& Engine::planner() const {
    if (const Planner* known = planner_.load(std::memory_order_acquire)) return *known;
    const std::lock_guard lock(mutex_);
    if (planners_.empty()) use_planner(options_.costs != nullptr ? options_.costs : load_calibration());
    return *planners_.back();
}

const CostModel& Engine::costs() const {
    return planner().model();
}

void Engine::use_costs(std::shared_ptr<const CostModel> costs) {
    const std::lock_guard lock(mutex_);
    use_planner(std::move(costs));
}

const BackendInfo& Engine::gpu_info() const {
    const int device = gpus().front();
    const auto& infos = gpu_.info();
    return *std::find_if(infos.begin(), infos.end(), [&](const BackendInfo& info) { return info.device == device; });
}

void Engine::require_gpu() const {
    if (!may_use_gpu()) {
        throw Error(WARPAES_ERROR_BACKEND,
                    "backend: '" + std::string(forced_->name()) + "' was requested, but the data is in device memory");
    }
    require_gpu_of_this_process();
    if (gpus().empty()) {
        throw Error(WARPAES_ERROR_BACKEND,
                    "place: the data is in device memory, but no GPU can be used on this machine: " +
                        gpu_.info().front().reason);
    }
}

Plan Engine::choose(const Work& work, bool counts) const {
    Plan plan;
    if (is_on_device(work.memory)) {
        require_gpu();
        plan.backend = &gpu_;
        plan.reason = "the data is in device memory";
    } else if (forced_ != nullptr) {
        if (forced_->is_gpu()) require_gpu_of_this_process();
        plan.backend = forced_;
        plan.reason = "requested by name";
    } else if (work.bytes == unknown_length) {
        plan.backend = &best_cpu_backend();
        plan.reason = "best CPU backend, because the length is unknown";
    } else {
        const Planner::Best cpu = planner().best_cpu(work);
        const bool gpu = planner().gpu_pays(gpu_, waited_, work.memory, cpu.prediction.seconds, counts, [&] {
            if (gpus().empty()) return Planner::never;
            return planner().on_gpu(gpu_info(), static_cast<unsigned>(gpus().size()), work).seconds;
        });
        plan.backend = gpu ? &gpu_ : cpu.backend;
        plan.reason = gpu ? "a GPU is predicted to be faster" : "the CPU is predicted to be faster";
    }
    plan.replaceable =
        plan.backend->is_gpu() && (forced_ == nullptr || options_.cpu_takes_over) && !is_on_device(work.memory);
    return plan;
}

void Engine::shape(Plan& plan, std::uint64_t bytes, Memory memory) const {
    if (plan.backend->is_gpu()) {
        const bool fast = is_direct(memory);
        const GpuTransfers& transfers = gpu_.transfers();
        const unsigned per_device = fast ? transfers.lanes : std::min(transfers.pageable_lanes, options_.threads + 2);
        plan.devices = gpus();
        plan.chunk_bytes = fast ? page_locked_chunk(transfers, bytes, plan.devices.size()) : transfers.pageable_chunk;
        plan.lanes = per_device * static_cast<unsigned>(plan.devices.size());
    } else {
        plan.devices = no_device;
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
}

void Engine::shape(Plan& plan, const Work& work) const {
    shape(plan, work.bytes, work.memory);
    if (plan.lanes > 1 && options_.depth == 0 && !plan.backend->is_gpu()) {
        plan.lanes = std::min(plan.lanes, planner().lanes(*plan.backend, work));
    }
}

Plan Engine::plan(Mode mode, Direction direction, std::uint64_t bytes, Memory memory) const {
    Plan plan = choose({.mode = mode, .direction = direction, .bytes = bytes, .memory = memory}, true);
    shape(plan, bytes, memory);
    return plan;
}

Plan Engine::plan(const Work& work) const {
    Plan plan = choose(work, true);
    shape(plan, work);
    return plan;
}

Plan Engine::plan_on_cpu(const Work& work, const char* what) const {
    if (forced_is_gpu()) {
        throw Error(WARPAES_ERROR_BACKEND, "backend: '" + std::string(forced_->name()) + "' was requested, but " +
                                               std::string(what) + " runs only on CPUs; do not request a backend");
    }
    Plan plan;
    plan.backend = forced_ != nullptr ? forced_ : planner().best_cpu(work).backend;
    plan.reason = forced_ != nullptr ? "requested by name" : "only CPUs support this";
    shape(plan, work);
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
    return {*this, *plan.backend, device, staging_bytes, plan.backend->open_lane(device, staging_bytes, &pool_)};
}

void Engine::give_back(const LaneKey& key, std::unique_ptr<Lane> lane) noexcept {
    try {
        const std::lock_guard lock(mutex_);
        idle_.emplace_back(key, std::move(lane));
    } catch (...) {
        // There is no memory for the list, so the lane is closed instead of kept.
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
