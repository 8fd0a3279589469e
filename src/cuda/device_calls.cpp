#include "cuda/device_calls.hpp"

#include <atomic>

namespace warpaes::cuda {

namespace {

/// Called between two polls of a word that a GPU will write.
void relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
}

}  // namespace

GcmSum* GcmMemory::sum_on(cudaStream_t stream) {
    if (sum.get() == nullptr) {
        void* const zeros = sum.reserve(sizeof(GcmSum));
        const cudaError_t error = cudaMemsetAsync(zeros, 0, sizeof(GcmSum), stream);
        if (error != cudaSuccess) sum.release();
        check(error, "clearing scratch memory");
    }
    return reinterpret_cast<GcmSum*>(sum.get());
}

/// Page-locked memory holds a result, followed by the word that says that it is there.
struct DeviceCalls::Memory {
    GcmMemory gcm;
    unsigned turn = 0;

    Block* result() { return reinterpret_cast<Block*>(gcm.results.reserve(2 * sizeof(Block))); }
    unsigned* word() { return reinterpret_cast<unsigned*>(result() + 1); }

    Notice next_notice(cudaStream_t stream) {
        if (turn == 0) *word() = 0;
        return {&gcm.sum_on(stream)->arrived, word(), ++turn};
    }

    /// Polls for as long as a short kernel may take. A kernel that fails never writes the word.
    bool hear() {
        constexpr int looks = 2000;
        for (int i = 0; i < looks; ++i) {
            if (std::atomic_ref<unsigned>(*word()).load(std::memory_order_acquire) == turn) return true;
            relax();
        }
        return false;
    }
};

DeviceCalls::DeviceCalls() = default;
DeviceCalls::~DeviceCalls() = default;

template <typename Enqueue, typename Done>
void DeviceCalls::wait_for(const Enqueue& enqueue, const Done& done) {
    constexpr cudaStream_t stream = nullptr;
    std::unique_ptr<Memory> memory;
    {
        const std::lock_guard lock(mutex_);
        if (!free_.empty()) {
            memory = std::move(free_.back());
            free_.pop_back();
        }
    }
    if (memory == nullptr) memory = std::make_unique<Memory>();
    try {
        const bool tells = enqueue(*memory, memory->next_notice(stream));
        if (!tells || !memory->hear()) check(cudaStreamSynchronize(stream), "waiting for the device");
    } catch (...) {
        // The memory is freed, because its contents are unknown. What was enqueued must not touch it afterwards.
        try_to(cudaStreamSynchronize(stream));
        throw;
    }
    done(*memory);
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(memory));
}

void DeviceCalls::run(const Run& run, const DeviceLimits& limits) {
    wait_for([&](Memory&, const Notice& notice) { return enqueue(run, limits, nullptr, notice); }, [](Memory&) {});
}

void DeviceCalls::run(const GcmRun& run, const DeviceLimits& limits) {
    wait_for(
        [&](Memory& memory, const Notice& notice) {
            GcmRun here = run;
            here.results = memory.result();
            const GcmScratch scratch{memory.gcm.scratch, memory.gcm.sum_on(nullptr), notice};
            return enqueue(here, limits, nullptr, &scratch);
        },
        [&](Memory& memory) {
            *run.results = *memory.result();
            wipe({memory.result()->data(), sizeof(Block)});
        });
}

}  // namespace warpaes::cuda
