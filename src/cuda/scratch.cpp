#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>

#include "cuda/resources.hpp"

namespace warpaes::cuda {

namespace {

/// The library's own memory pool on the current device, which keeps its memory between calls. The default pool returns
/// its memory to the driver at every synchronisation, and allocating memory again takes 0.1 ms (H200, 2026-11); its
/// settings also belong to the application. A pool requests memory from the driver in blocks of 32 MiB, so a lower
/// threshold would keep nothing.
cudaMemPool_t scratch_pool() {
    static std::mutex mutex;
    static std::map<int, cudaMemPool_t> pools;
    int device = 0;
    check(cudaGetDevice(&device), "querying the current device");
    const std::lock_guard lock(mutex);
    cudaMemPool_t& pool = pools[device];
    if (pool == nullptr) {
        cudaMemPoolProps properties{};
        properties.allocType = cudaMemAllocationTypePinned;
        properties.location.type = cudaMemLocationTypeDevice;
        properties.location.id = device;
        check(cudaMemPoolCreate(&pool, &properties), "creating a memory pool");
        std::uint64_t kept = 128 << 20;
        check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept), "setting up a memory pool");
    }
    return pool;
}

}  // namespace

StreamPieces::Piece StreamPieces::take(cudaStream_t stream) noexcept {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (!try_to(cudaStreamIsCapturing(stream, &status)) || status != cudaStreamCaptureStatusNone) return {};
    try {
        const std::lock_guard lock(mutex_);
        if (!is_ready_) {
            const RelaxedCapture relaxed;
            const Stream clearing;
            wipe({states_.reserve(count * sizeof(unsigned)), count * sizeof(unsigned)});
            check(cudaMemsetAsync(memory_.reserve(count * bytes), 0, count * bytes, clearing.get()), "clearing memory");
            check(cudaStreamSynchronize(clearing.get()), "waiting for the device");
            is_ready_ = true;
        }
        for (unsigned tries = 0; tries < count; ++tries) {
            const unsigned number = next_;
            next_ = (next_ + 1) % count;
            unsigned* const word = reinterpret_cast<unsigned*>(states_.get()) + number;
            const std::atomic_ref state(*word);
            if (state.load(std::memory_order_acquire) != is_free) continue;
            state.store(is_taken, std::memory_order_relaxed);
            return {memory_.get() + bytes * number, {.word = word, .value = is_free}};
        }
    } catch (const std::exception&) {
        // Other scratch memory is available.
    }
    return {};
}

void StreamScratch::keep_some(cudaStream_t stream) noexcept {
    try {
        const StreamScratch some(1, stream);  // the pool allocates a memory block for this object and keeps the block
    } catch (const std::exception&) {
        // Calls that need scratch memory will report the failure.
    }
}

StreamScratch::StreamScratch(std::size_t bytes, cudaStream_t stream) : stream_(stream) {
    if (bytes == 0) return;
    check(cudaMallocFromPoolAsync(&pointer_, bytes, scratch_pool(), stream), "allocating scratch memory");
}

StreamScratch::~StreamScratch() {
    if (pointer_ != nullptr) try_to(cudaFreeAsync(pointer_, stream_));
}

}  // namespace warpaes::cuda
