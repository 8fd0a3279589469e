#include <type_traits>
#include <utility>
#include <warpaes/device.cuh>

#include "launch.cuh"

namespace device_test {

namespace aes = warpaes::device;

namespace {

/// Wraps a number in a type, so that a lambda can use it as a constant.
template <int Value>
using Constant = std::integral_constant<int, Value>;

template <typename Do>
Bytes with_key_bits(std::size_t key_bytes, Do run) {
    switch (key_bytes) {
    case 16:
        return run(Constant<128>{});
    case 24:
        return run(Constant<192>{});
    default:
        return run(Constant<256>{});
    }
}

template <typename Do>
Bytes with_tables(int tables, Do run) {
    return tables == 4 ? run(Constant<4>{}) : tables == 2 ? run(Constant<2>{}) : run(Constant<1>{});
}

template <typename Do>
Bytes with_both(int tables, std::size_t key_bytes, Do run) {
    return with_key_bits(key_bytes,
                         [&](auto bits) { return with_tables(tables, [&](auto count) { return run(bits, count); }); });
}

template <int KeyBits>
aes::key_schedule<KeyBits> schedule_of(const Bytes& key) {
    return aes::expand_key(aes::make_key<KeyBits>(key.data()));
}

uint4 block_of(const Bytes& bytes) {
    uint4 block;
    std::memcpy(&block, bytes.data(), sizeof block);
    return block;
}

__device__ __forceinline__ unsigned thread_of_grid() {
    return blockIdx.x * blockDim.x * blockDim.y * blockDim.z + aes::detail::thread_number();
}
__device__ __forceinline__ unsigned threads_of_grid() {
    return gridDim.x * blockDim.x * blockDim.y * blockDim.z;
}

template <int KeyBits, int Count>
__global__ void encrypt_kernel(const __grid_constant__ aes::key_schedule<KeyBits> keys, const uint4* in, uint4* out,
                               unsigned n, unsigned tables_at) {
    const aes::tables<Count> t(dynamic_shared() + tables_at);
    t.load();
    for (unsigned i = thread_of_grid(); i < n; i += threads_of_grid()) out[i] = aes::encrypt_block(t, keys, in[i]);
}

template <int KeyBits, int Count>
__global__ void decrypt_kernel(const __grid_constant__ aes::inverse_key_schedule<KeyBits> keys, const uint4* in,
                               uint4* out, unsigned n, unsigned tables_at) {
    const aes::inverse_tables<Count> t(dynamic_shared() + tables_at);
    t.load();
    for (unsigned i = thread_of_grid(); i < n; i += threads_of_grid()) out[i] = aes::decrypt_block(t, keys, in[i]);
}

template <int KeyBits>
__global__ void encrypt_fresh_kernel(const unsigned char* keys, const uint4* in, uint4* out, unsigned n) {
    const aes::tables<1> t(dynamic_shared());
    t.load();
    for (unsigned i = thread_of_grid(); i < n; i += threads_of_grid()) {
        out[i] = aes::encrypt_block(t, aes::expand_key(t, aes::make_key<KeyBits>(keys + i * (KeyBits / 8))), in[i]);
    }
}

template <int KeyBits>
__global__ void decrypt_fresh_kernel(const unsigned char* keys, const uint4* in, uint4* out, unsigned n) {
    const aes::inverse_tables<1> t(dynamic_shared());
    t.load();
    for (unsigned i = thread_of_grid(); i < n; i += threads_of_grid()) {
        const auto key = aes::make_key<KeyBits>(keys + i * (KeyBits / 8));
        out[i] = aes::decrypt_block(t, aes::invert(aes::expand_key(key)), in[i]);
    }
}

template <int KeyBits, int Count>  // Count is 0 if there are no tables
__global__ void schedule_kernel(const unsigned char* keys, std::uint32_t* out, unsigned n, bool inverse) {
    for (unsigned i = thread_of_grid(); i < n; i += threads_of_grid()) {
        const auto key = aes::make_key<KeyBits>(keys + i * (KeyBits / 8));
        constexpr unsigned words = sizeof(aes::key_schedule<KeyBits>) / 4;
        aes::key_schedule<KeyBits> schedule;
        if constexpr (Count == 0) {
            schedule = aes::expand_key(key);
        } else {
            const aes::tables<Count> t(dynamic_shared());
            if (i == thread_of_grid()) t.load();
            schedule = aes::expand_key(t, key);
        }
        const aes::inverse_key_schedule<KeyBits> inverted = aes::invert(schedule);
        for (unsigned k = 0; k < words; ++k) out[i * words + k] = inverse ? inverted.words[k] : schedule.words[k];
    }
}

template <int KeyBits, int Count, int Blocks>
__global__ void prg_kernel(const unsigned char* keys, uint4 counter, uint4* out, unsigned n) {
    const aes::tables<Count> t(dynamic_shared());
    t.load();
    for (unsigned i = thread_of_grid(); i < n; i += threads_of_grid()) {
        uint4 blocks[Blocks];
        aes::counter_prg(t, aes::make_key<KeyBits>(keys + i * (KeyBits / 8)), counter, blocks);
#pragma unroll
        for (unsigned j = 0; j < Blocks; ++j) out[Blocks * i + j] = blocks[j];
    }
}

template <int KeyBits, int Count>
__global__ void hash_kernel(const __grid_constant__ aes::key_schedule<KeyBits> fixed, Hash kind,
                            const unsigned char* keys, const uint4* in, const uint4* tweaks, uint4* out, unsigned n) {
    const aes::tables<Count> t(dynamic_shared());
    t.load();
    for (unsigned i = thread_of_grid(); i < n; i += threads_of_grid()) {
        if (kind == Hash::cr) out[i] = aes::hash_cr(t, fixed, in[i]);
        if (kind == Hash::ccr) out[i] = aes::hash_ccr(t, fixed, in[i]);
        if (kind == Hash::tccr) out[i] = aes::hash_tccr(t, fixed, in[i], tweaks[i]);
        if (kind == Hash::matyas_meyer_oseas) {
            out[i] = aes::matyas_meyer_oseas(t, aes::make_key<KeyBits>(keys + i * (KeyBits / 8)), in[i]);
        }
    }
}

template <int KeyBits>
__global__ void ctr_kernel(const __grid_constant__ aes::key_schedule<KeyBits> keys, uint4 counter,
                           unsigned long long first, unsigned long long apart, unsigned long long stride, uint4* out,
                           unsigned each) {
    const aes::tables<1> t(dynamic_shared());
    t.load();
    const unsigned thread = thread_of_grid();
    aes::ctr_stream<KeyBits, 1> stream(t, keys, counter, first + thread * apart, stride);
    for (unsigned k = 0; k < each; ++k) out[k * threads_of_grid() + thread] = stream.next();
}

template <int KeyBits>
__global__ void __launch_bounds__(256)
    planes_kernel(const __grid_constant__ aes::bitsliced_key<KeyBits> key, const uint4* in, uint4* out) {
    const unsigned base = thread_of_grid() / 32 * 1024 + threadIdx.x % 32;
    uint4 blocks[32];
    std::uint32_t planes[128];
#pragma unroll
    for (unsigned j = 0; j < 32; ++j) blocks[j] = in[base + 32 * j];
    aes::to_planes(blocks, planes);
    aes::encrypt_planes(key, planes);
    aes::from_planes(planes, blocks);
#pragma unroll
    for (unsigned j = 0; j < 32; ++j) out[base + 32 * j] = blocks[j];
}

template <int KeyBits>
__global__ void __launch_bounds__(256)
    planes_per_warp_kernel(const aes::key_schedule<KeyBits>* schedules, const uint4* in, uint4* out) {
    auto& key = reinterpret_cast<aes::bitsliced_key<KeyBits>*>(dynamic_shared())[threadIdx.x / 32];
    const unsigned warp = thread_of_grid() / 32, lane = threadIdx.x % 32, base = warp * 1024 + lane;
    key.load(schedules[warp], lane, 32);
    __syncwarp();
    uint4 blocks[32];
    std::uint32_t planes[128];
#pragma unroll
    for (unsigned j = 0; j < 32; ++j) blocks[j] = in[base + 32 * j];
    aes::to_planes(blocks, planes);
    aes::encrypt_planes(key, planes);
    aes::from_planes(planes, blocks);
#pragma unroll
    for (unsigned j = 0; j < 32; ++j) out[base + 32 * j] = blocks[j];
}

template <int KeyBits>
__global__ void __launch_bounds__(256)
    ctr_planes_kernel(const __grid_constant__ aes::bitsliced_key<KeyBits> key, uint4 counter, uint4* out) {
    const unsigned warp = thread_of_grid() / 32, lane = threadIdx.x % 32;
    // Adds 1,024 for each earlier warp to the last 32 bits.
    counter.w = __byte_perm(__byte_perm(counter.w, 0, 0x0123) + 1024 * warp, 0, 0x0123);
    uint4 blocks[32];
    std::uint32_t planes[128];
    aes::counter_planes(counter, lane, planes);
    aes::encrypt_planes(key, planes);
    aes::from_planes(planes, blocks);
#pragma unroll
    for (unsigned j = 0; j < 32; ++j) out[warp * 1024 + 32 * j + lane] = blocks[j];
}

template <int Count, bool Inverse>
__global__ void tables_kernel(unsigned char* out, unsigned tables_at) {
    using Tables = aes::tables<Count, Inverse>;
    const Tables t(dynamic_shared() + tables_at);
    t.load();
    const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    for (unsigned i = aes::detail::thread_number(); i < Tables::bytes; i += threads) {
        out[blockIdx.x * Tables::bytes + i] = dynamic_shared()[tables_at + i];
    }
}

template <int KeyBits>
aes::bitsliced_key<KeyBits> masks_of(const Bytes& key) {
    aes::bitsliced_key<KeyBits> masks;
    masks.load(schedule_of<KeyBits>(key));
    return masks;
}

unsigned blocks_in(const Bytes& bytes) {
    return static_cast<unsigned>(bytes.size() / 16);
}

/// Launches one warp per 1,024 blocks, and two warps per thread block if their number is even.
Shape warps(unsigned groups) {
    return groups % 2 == 0 ? Shape{groups / 2, {64, 1, 1}} : Shape{groups, {32, 1, 1}};
}

}  // namespace

const char* no_gpu() {
    int devices = 0;
    const cudaError_t error = cudaGetDeviceCount(&devices);
    if (error != cudaSuccess) return cudaGetErrorString(error);
    return devices == 0 ? "no device" : nullptr;
}

unsigned shared_memory() {
    int bytes = 0;
    check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0), "cudaDeviceGetAttribute");
    return static_cast<unsigned>(bytes);
}

Bytes encrypt(int tables, const Bytes& key, const Bytes& blocks, const Shape& shape) {
    return with_both(tables, key.size(), [&](auto bits, auto count) {
        const Buffer in(blocks), out(blocks.size());
        launch(encrypt_kernel<bits, count>, shape, shape.tables_at + aes::tables<count>::bytes, schedule_of<bits>(key),
               in.blocks(), out.blocks(), blocks_in(blocks), shape.tables_at);
        return out.fetch();
    });
}

Bytes decrypt(int tables, const Bytes& key, const Bytes& blocks, const Shape& shape) {
    return with_both(tables, key.size(), [&](auto bits, auto count) {
        const Buffer in(blocks), out(blocks.size());
        launch(decrypt_kernel<bits, count>, shape, shape.tables_at + aes::tables<count>::bytes,
               aes::invert(schedule_of<bits>(key)), in.blocks(), out.blocks(), blocks_in(blocks), shape.tables_at);
        return out.fetch();
    });
}

Bytes encrypt_fresh(int key_bytes, const Bytes& keys, const Bytes& blocks) {
    return with_key_bits(static_cast<std::size_t>(key_bytes), [&](auto bits) {
        const Buffer key(keys), in(blocks), out(blocks.size());
        launch(encrypt_fresh_kernel<bits>, {}, aes::tables<1>::bytes, key.bytes(), in.blocks(), out.blocks(),
               blocks_in(blocks));
        return out.fetch();
    });
}

Bytes decrypt_fresh(int key_bytes, const Bytes& keys, const Bytes& blocks) {
    return with_key_bits(static_cast<std::size_t>(key_bytes), [&](auto bits) {
        const Buffer key(keys), in(blocks), out(blocks.size());
        launch(decrypt_fresh_kernel<bits>, {}, aes::tables<1>::bytes, key.bytes(), in.blocks(), out.blocks(),
               blocks_in(blocks));
        return out.fetch();
    });
}

Bytes schedules(Expansion how, int tables, int key_bytes, const Bytes& keys) {
    return with_both(tables, static_cast<std::size_t>(key_bytes), [&](auto bits, auto count) {
        constexpr std::size_t size = sizeof(aes::key_schedule<bits>);
        const std::size_t n = keys.size() / static_cast<std::size_t>(key_bytes);
        if (how == Expansion::host || how == Expansion::inverse_on_host) {
            Bytes out(n * size);
            for (std::size_t i = 0; i < n; ++i) {
                const auto schedule =
                    aes::expand_key(aes::make_key<bits>(keys.data() + i * static_cast<std::size_t>(key_bytes)));
                const auto inverse = aes::invert(schedule);
                const void* const wanted =
                    how == Expansion::host ? static_cast<const void*>(&schedule) : static_cast<const void*>(&inverse);
                std::memcpy(out.data() + i * size, wanted, size);
            }
            return out;
        }
        const Buffer in(keys), out(n * size);
        // Every thread has a key, because all threads must call load().
        const Shape shape{1, {static_cast<unsigned>(n), 1, 1}};
        if (how == Expansion::tables) {
            launch(schedule_kernel<bits, count>, shape, aes::tables<count>::bytes, in.bytes(), out.words(),
                   static_cast<unsigned>(n), false);
        } else {
            launch(schedule_kernel<bits, 0>, shape, 0, in.bytes(), out.words(), static_cast<unsigned>(n),
                   how == Expansion::inverse);
        }
        return out.fetch();
    });
}

Bytes prg(int tables, int key_bytes, int blocks, const Bytes& keys, const Bytes& counter) {
    return with_both(tables, static_cast<std::size_t>(key_bytes), [&](auto bits, auto count) {
        const std::size_t n = keys.size() / static_cast<std::size_t>(key_bytes);
        const Buffer in(keys), out(n * static_cast<std::size_t>(blocks) * 16);
        const auto run = [&](auto kernel) {
            launch(kernel, {}, aes::tables<count>::bytes, in.bytes(), block_of(counter), out.blocks(),
                   static_cast<unsigned>(n));
        };
        if (blocks == 1) run(prg_kernel<bits, count, 1>);
        if (blocks == 2) run(prg_kernel<bits, count, 2>);
        if (blocks == 4) run(prg_kernel<bits, count, 4>);
        return out.fetch();
    });
}

Bytes hash(Hash kind, int tables, int key_bytes, const Bytes& keys, const Bytes& blocks, const Bytes& tweaks) {
    return with_both(tables, static_cast<std::size_t>(key_bytes), [&](auto bits, auto count) {
        const Buffer key(keys), in(blocks), tweak(tweaks), out(blocks.size());
        launch(hash_kernel<bits, count>, {}, aes::tables<count>::bytes, schedule_of<bits>(keys), kind, key.bytes(),
               in.blocks(), tweak.blocks(), out.blocks(), blocks_in(blocks));
        return out.fetch();
    });
}

Bytes ctr(const Bytes& key, const Bytes& counter, std::uint64_t first, std::uint64_t apart, std::uint64_t stride,
          unsigned each, const Shape& shape) {
    return with_key_bits(key.size(), [&](auto bits) {
        const unsigned threads = shape.grid * shape.threads[0] * shape.threads[1] * shape.threads[2];
        const Buffer out(std::size_t{16} * threads * each);
        launch(ctr_kernel<bits>, shape, aes::tables<1>::bytes, schedule_of<bits>(key), block_of(counter),
               static_cast<unsigned long long>(first), static_cast<unsigned long long>(apart),
               static_cast<unsigned long long>(stride), out.blocks(), each);
        return out.fetch();
    });
}

Bytes encrypt_planes(const Bytes& key, const Bytes& blocks) {
    return with_key_bits(key.size(), [&](auto bits) {
        const Buffer in(blocks), out(blocks.size());
        launch(planes_kernel<bits>, warps(blocks_in(blocks) / 1024), 0, masks_of<bits>(key), in.blocks(), out.blocks());
        return out.fetch();
    });
}

Bytes encrypt_planes_per_warp(int key_bytes, const Bytes& keys, const Bytes& blocks) {
    return with_key_bits(static_cast<std::size_t>(key_bytes), [&](auto bits) {
        const Buffer schedule(schedules(Expansion::host, 1, key_bytes, keys)), in(blocks), out(blocks.size());
        const Shape shape = warps(blocks_in(blocks) / 1024);
        launch(planes_per_warp_kernel<bits>, shape,
               shape.threads[0] / 32 * static_cast<unsigned>(sizeof(aes::bitsliced_key<bits>)),
               reinterpret_cast<const aes::key_schedule<bits>*>(schedule.bytes()), in.blocks(), out.blocks());
        return out.fetch();
    });
}

Bytes ctr_planes(const Bytes& key, const Bytes& counter, unsigned groups) {
    return with_key_bits(key.size(), [&](auto bits) {
        const Buffer out(std::size_t{16} * 1024 * groups);
        launch(ctr_planes_kernel<bits>, warps(groups), 0, masks_of<bits>(key), block_of(counter), out.blocks());
        return out.fetch();
    });
}

Bytes table_bytes(int tables, bool inverse, const Shape& shape) {
    return with_tables(tables, [&](auto count) {
        constexpr unsigned bytes = aes::tables<count>::bytes;
        const Buffer out(std::size_t{bytes} * shape.grid);
        const auto kernel = inverse ? tables_kernel<count, true> : tables_kernel<count, false>;
        launch(kernel, shape, shape.tables_at + bytes, out.bytes(), shape.tables_at);
        return out.fetch();
    });
}

}  // namespace device_test
