#include "provider/bulk.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>

#include "backend/cuda_backend.hpp"
#include "base/clean_stack.hpp"
#include "base/error.hpp"
#include "engine/engine.hpp"
#include "engine/run/executor.hpp"
#include "provider/key.hpp"
#include "provider/settings.hpp"

namespace warpaes::provider {

namespace {

std::atomic<std::uint64_t> forked{0};

/// Returns the number of fork() calls between the process that first called this function and this process. The module
/// is never unloaded, so the handler stays valid.
std::uint64_t forks() noexcept {
    static const int registered = ::pthread_atfork(nullptr, nullptr, [] { forked.fetch_add(1); });
    (void)registered;
    return forked.load(std::memory_order_relaxed);
}

/// Returns the name of the CPU backend that the planner would choose.
std::string best_on_cpu() {
    std::string best = "libcrypto";
    for (const Backend* const backend : all_backends()) {
        if (!backend->is_gpu() && backend->usable()) best = backend->name();
    }
    return best;
}

}  // namespace

bool Bulk::wants(std::uint64_t bytes) const noexcept {
    return bytes >= settings_.threshold;
}

bool Bulk::on_device(const void* in, const void* out) const noexcept {
    // device_of() calls CUDA, which a process created by fork() must not do.
    if (!settings_.device_memory || forks() != 0 || all_memory_is_the_hosts()) return false;
    const auto lies_there = [](const void* p) { return p != nullptr && device_of(p) >= 0; };
    return lies_there(in) || lies_there(out);
}

Engine* Bulk::engine(Slot& slot, bool cpus, bool waits) noexcept {
    const std::uint64_t here = forks();
    const auto found = [&]() -> const Made* {
        const Made* const made = slot.made.load(std::memory_order_acquire);
        return made != nullptr && made->forks == here ? made : nullptr;
    };
    if (const Made* const made = found()) return made->engine;
    std::uint64_t before = slot.making.load(std::memory_order_relaxed);
    if (before == here + 1 || !slot.making.compare_exchange_strong(before, here + 1)) {
        // Waits only for threads of this process, because a child process has a different fork count.
        while (waits && found() == nullptr && slot.making.load() == here + 1) ::sched_yield();
        const Made* const made = found();
        return made != nullptr ? made->engine : nullptr;
    }
    Engine* engine = nullptr;
    try {
        clean_stack([&] {
            EngineOptions options;
            options.backend = settings_.backend == "auto" ? "" : settings_.backend;
            if (here == 0) options.device = settings_.device;
            if (here != 0 || cpus) {
                options.backend = best_on_cpu();
                options.device = -1;
            }
            options.threads = settings_.threads;
            options.cpu_takes_over = true;
            engine = std::make_unique<Engine>(options).release();
        });
    } catch (...) {
        // The provider works without an engine. `warpaes provider check` reports a missing backend.
    }
    // The parent's engine is not freed: its threads do not exist in this process, and its locks may be held.
    if (const Made* const next = new (std::nothrow) Made{here, engine}) {
        slot.made.store(next, std::memory_order_release);
    } else {
        delete engine;
        engine = nullptr;
        slot.making.store(0);
    }
    return engine;
}

Engine* Bulk::engine_of_cpus() noexcept {
    return engine(cpus_, true, true);
}

Bulked Bulk::run(Kind kind, const BulkRun& r) noexcept {
    const bool here = !on_device(r.input, r.output);
    if (here && r.bytes < settings_.threshold) return Bulked::untouched;
    // CPU kernels cannot access device memory, so an update in device memory fails without the engine.
    Bulked outcome = here ? Bulked::untouched : Bulked::failed;
    Engine* const engine = this->engine(any_, false, false);
    if (engine == nullptr) return outcome;
    try {
        // The query for the buffers' memory calls CUDA, which a process created by fork() must not do.
        Executor executor = forks() == 0 ? Executor(*engine, r.input, r.output) : Executor(*engine);
        if (here) {
            const Plan plan = engine->plan({.mode = r.mode,
                                            .direction = r.direction,
                                            .key_bits = 8 * r.key->length,
                                            .bytes = r.bytes,
                                            .memory = executor.memory(),
                                            .whole = r.mode == Mode::xts ? r.bytes : 0});
            if (plan.devices.front() < 0 && plan.lanes <= 1) return outcome;
        }
        clean_stack([&] {
            const ExpandedKey key({r.key->bytes, r.key->length});
            std::unique_ptr<const ExpandedKey> tweak_key;
            if (r.tweak_key != nullptr) {
                tweak_key = std::make_unique<ExpandedKey>(
                    std::span<const std::uint8_t>(r.tweak_key->bytes, r.tweak_key->length));
            }
            Secret<Block> chain, digest;
            std::copy_n(r.chain, block_bytes, chain->begin());
            MessageGroup stretch = stretch_of(r.mode, r.direction, key, *chain, r.input, r.output, r.bytes);
            stretch.tweak_key = tweak_key.get();
            if (r.mode == Mode::xts) stretch.data_units = {.bytes = r.bytes};
            if (r.mode == Mode::gcm) {
                stretch.j0 = &*chain;
                stretch.digest = &*digest;
                stretch.first_block = r.first_block;
            }
            outcome = Bulked::failed;  // from this point on, in-place input may be overwritten
            executor.run(stretch);
            const bool on_gpu = executor.ran().device >= 0 && (executor.ran().notes & WARPAES_NOTE_DEVICE_FAILED) == 0;
            outcome = Bulked::done;
            if (r.digest != nullptr) std::copy(digest->begin(), digest->end(), r.digest);
            count(kind, on_gpu ? Where::gpu : Where::engine, 1, r.bytes);
        });
    } catch (...) {
    }
    return outcome;
}

}  // namespace warpaes::provider
