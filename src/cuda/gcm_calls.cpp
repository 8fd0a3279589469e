#include "cuda/gcm_calls.hpp"

#include "cuda/run.hpp"

namespace warpaes::cuda {

GcmSum* GcmMemory::sum_on(cudaStream_t stream) {
    if (sum.get() == nullptr) {
        void* const zeros = sum.reserve(sizeof(GcmSum));
        const cudaError_t error = cudaMemsetAsync(zeros, 0, sizeof(GcmSum), stream);
        if (error != cudaSuccess) sum.release();
        check(error, "clearing scratch memory");
    }
    return reinterpret_cast<GcmSum*>(sum.get());
}

void GcmCalls::run(const GcmRun& run, const DeviceLimits& limits) {
    constexpr cudaStream_t stream = nullptr;
    std::unique_ptr<GcmMemory> memory;
    {
        const std::lock_guard lock(mutex_);
        if (!free_.empty()) {
            memory = std::move(free_.back());
            free_.pop_back();
        }
    }
    if (memory == nullptr) memory = std::make_unique<GcmMemory>();
    auto* const result = reinterpret_cast<Block*>(memory->results.reserve(sizeof(Block)));
    try {
        GcmRun here = run;
        here.results = result;
        const GcmScratch scratch{memory->scratch, memory->sum_on(stream)};
        enqueue(here, limits, stream, &scratch);
        check(cudaStreamSynchronize(stream), "waiting for the device");
    } catch (...) {
        // The memory goes, for nobody knows what is in it; what was enqueued must not touch it then.
        try_to(cudaStreamSynchronize(stream));
        throw;
    }
    *run.results = *result;
    wipe({result->data(), sizeof(Block)});
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(memory));
}

}  // namespace warpaes::cuda
