#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>

#include "cuda/kernels/catalogue.hpp"
#include "cuda/launch.hpp"
#include "cuda/run.hpp"

namespace warpaes::cuda {

namespace {

/// Our own pool on the current device, which keeps what it has between calls: the default pool gives it back to the
/// driver at every synchronisation, and fetching it anew takes 0.1 ms (H200, 2026-11); its settings are the
/// application's.
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
        std::uint64_t kept = 1 << 20;
        check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept), "setting up a memory pool");
    }
    return pool;
}

/// Device memory that lives from one point of a stream to another.
class StreamScratch {
public:
    StreamScratch(std::size_t bytes, cudaStream_t stream) : stream_(stream) {
        check(cudaMallocFromPoolAsync(&pointer_, bytes, scratch_pool(), stream), "allocating scratch memory");
    }
    StreamScratch(const StreamScratch&) = delete;
    StreamScratch& operator=(const StreamScratch&) = delete;
    ~StreamScratch() { (void)cudaFreeAsync(pointer_, stream_); }
    [[nodiscard]] void* get() const noexcept { return pointer_; }

private:
    void* pointer_ = nullptr;
    cudaStream_t stream_;
};

std::uint32_t common_alignment(const void* a, const void* b) {
    const auto bits = reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b);
    return bits % 16 == 0 ? 16 : bits % 4 == 0 ? 4 : 1;
}

Secret<Params> params_of(const Run& run) {
    Secret<Params> p;
    p->input = run.input;
    p->output = run.output;
    p->length = run.length;
    std::memcpy(&p->chain, run.chain.data(), block_bytes);
    p->boundaries = nullptr;
    p->alignment = common_alignment(run.input, run.output);
    const RoundKeys& keys = uses_inverse_cipher(run.mode, run.direction) ? run.key->decrypt() : run.key->encrypt();
    static_assert(sizeof p->round_keys == sizeof keys.words);
    std::memcpy(p->round_keys, keys.words.data(), sizeof p->round_keys);
    return p;
}

std::size_t shared_bytes(int tables) {
    return tables == 4 ? 128 * 1024 : 64 * 1024;
}

}  // namespace

bool has_code_for(int major, int minor) {
    // Newest last. What was built for X.Y runs on X.Z, Z >= Y; beyond the newest, its PTX does.
    constexpr int built_for[] = {__CUDA_ARCH_LIST__};
    const int device = 100 * major + 10 * minor;
    for (const int architecture : built_for) {
        if (architecture / 100 == major && architecture <= device) return true;
    }
    return device >= *(std::end(built_for) - 1);
}

void enqueue(const Run& run, const DeviceLimits& device, cudaStream_t stream) {
    if (run.length == 0) return;
    const bool serial = !is_parallel(run.mode, run.direction);
    const bool by_segments = !serial && (run.mode == Mode::cfb8 || run.mode == Mode::cfb1);
    const std::uint64_t bytes = run.mode == Mode::cfb1 ? (run.length + 7) / 8 : run.length;
    const std::uint64_t per_warp = by_segments ? 32 : 32 * block_bytes;
    const LaunchShape shape = launch_shape(device, serial, (bytes + per_warp - 1) / per_warp);
    const int rounds = run.key->rounds();
    Secret<Params> params = params_of(run);

    const auto start = [&](Kernel kernel) {
        launch(kernel, shape.grid, shape.threads, shared_bytes(shape.tables), stream, *params);
    };
    if (serial) {
        start(serial_kernel_for(run.mode, rounds, shape.tables));
    } else if (run.mode == Mode::ctr) {
        start(ctr_kernel_for(rounds, shape.tables, params->alignment == 16));
    } else if (by_segments && run.input == run.output) {
        const StreamScratch copy(bytes, stream);
        check(cudaMemcpyAsync(copy.get(), run.input, bytes, cudaMemcpyDeviceToDevice, stream), "copying ciphertext");
        params->input = static_cast<const std::uint8_t*>(copy.get());
        start(segments_kernel_for(run.mode, rounds, shape.tables));
    } else if (by_segments) {
        start(segments_kernel_for(run.mode, rounds, shape.tables));
    } else if (chains_on_ciphertext(run.mode, run.direction) && run.input == run.output) {
        const auto warps = static_cast<std::uint64_t>(shape.grid * shape.threads / 32);
        const StreamScratch boundaries(warps * block_bytes, stream);
        params->boundaries = static_cast<const uint4*>(boundaries.get());
        launch(save_boundaries_kernel(), static_cast<int>((warps + 255) / 256), 256, 0, stream, params->input,
               params->length, params->alignment, warps, static_cast<uint4*>(boundaries.get()));
        start(blocks_kernel_for(run.mode, run.direction, rounds, shape.tables));
    } else {
        start(blocks_kernel_for(run.mode, run.direction, rounds, shape.tables));
    }
}

}  // namespace warpaes::cuda
