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

void* StreamPieces::take(cudaStream_t stream) noexcept {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (!try_to(cudaStreamIsCapturing(stream, &status)) || status != cudaStreamCaptureStatusNone) return nullptr;
    try {
        const RelaxedCapture relaxed;
        const std::lock_guard lock(mutex_);
        std::uint8_t* const memory = memory_.reserve(count * bytes);
        for (unsigned tries = 0; tries < 2; ++tries) {
            auto& piece = pieces_[next_];
            if (piece == nullptr) piece = std::make_unique<Piece>();
            std::uint8_t* const here = memory + bytes * next_;
            next_ = (next_ + 1) % count;
            if (piece->taken || (piece->left && !try_to(cudaEventQuery(piece->done.get())))) continue;
            piece->taken = true;
            piece->left = false;
            return here;
        }
    } catch (const std::exception&) {
        // Other scratch memory is available.
    }
    return nullptr;
}

void StreamPieces::leave(void* piece, cudaStream_t stream) noexcept {
    const std::lock_guard lock(mutex_);
    Piece& its = *pieces_[static_cast<std::size_t>(static_cast<std::uint8_t*>(piece) - memory_.get()) / bytes];
    its.left = try_to(cudaEventRecord(its.done.get(), stream));
    // If the stream has failed, the device has also failed, and the piece is no longer needed.
    its.taken = !its.left;
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
