#include <cstdint>
#include <exception>
#include <map>
#include <mutex>

#include "cuda/resources.hpp"

namespace warpaes::cuda {

namespace {

/// Our own memory pool on the current device, which keeps its memory between calls. The default pool returns it to the
/// driver at every synchronisation, and allocating it again takes 0.1 ms (H200, 2026-11); its settings also belong to
/// the application. A pool takes memory from the driver in blocks of 32 MiB, so a threshold below that would keep
/// nothing.
cudaMemPool_t scratch_pool() {
    static std::mutex mutex;
    static std::map<int, cudaMemPool_t> pools;
    int device = 0;
    check(cudaGetDevice(&device), "asking for the current device");
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

void StreamScratch::keep_some(cudaStream_t stream) noexcept {
    try {
        const StreamScratch some(1, stream);  // the pool takes a block for it, and keeps that
    } catch (const std::exception&) {
        // Calls that need scratch memory will say so.
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
