// The kernel of a variant.
#pragma once

#include "lab/gpu/catalogue.hpp"
#include "lab/gpu/rounds.cuh"

namespace lab::gpu {

/// Reads `Words` words at `at`, as words or byte by byte.
template <Access A, int Words>
__device__ __forceinline__ void read_text(const std::uint8_t* at, std::uint32_t (&to)[Words]) {
    if constexpr (A == Access::bytes) {
#pragma unroll
        for (int i = 0; i < Words; ++i) {
            to[i] = 0;
#pragma unroll
            for (int b = 0; b < 4; ++b) to[i] |= static_cast<std::uint32_t>(at[4 * i + b]) << (8 * b);
        }
    } else if constexpr (Words == 4) {
        const uint4 v = *reinterpret_cast<const uint4*>(at);
        to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
    } else if constexpr (Words == 2) {
        const uint2 v = *reinterpret_cast<const uint2*>(at);
        to[0] = v.x, to[1] = v.y;
    } else {
        to[0] = *reinterpret_cast<const std::uint32_t*>(at);
    }
}

/// Reads block `block` of the text through the variant's read path.
template <TextMemory M>
__device__ __forceinline__ uint4 read_block(const Params& p, std::uint64_t block) {
    static_assert(M != TextMemory::global);
    if constexpr (M == TextMemory::texture) return tex1Dfetch<uint4>(p.text, static_cast<int>(block));
    return __ldg(reinterpret_cast<const uint4*>(p.input) + block);
}

template <Access A, int Words>
__device__ __forceinline__ void write_text(std::uint8_t* at, const std::uint32_t (&from)[Words]) {
    if constexpr (A == Access::bytes) {
#pragma unroll
        for (int i = 0; i < Words; ++i) {
#pragma unroll
            for (int b = 0; b < 4; ++b) at[4 * i + b] = static_cast<std::uint8_t>(from[i] >> (8 * b));
        }
    } else if constexpr (Words == 4) {
        *reinterpret_cast<uint4*>(at) = make_uint4(from[0], from[1], from[2], from[3]);
    } else if constexpr (Words == 2) {
        *reinterpret_cast<uint2*>(at) = make_uint2(from[0], from[1]);
    } else {
        *reinterpret_cast<std::uint32_t*>(at) = from[0];
    }
}

/// Returns word `i` of counter block `block`, a big-endian number (SP 800-38A, B.1).
__device__ __forceinline__ std::uint32_t counter_word(const Params& p, std::uint64_t block, unsigned i) {
    const std::uint64_t low = p.counter_low + block, high = p.counter_high + (low < block);
    const std::uint64_t half = i < 2 ? high : low;
    return __byte_perm(static_cast<std::uint32_t>(i % 2 == 0 ? half >> 32 : half), 0, 0x0123);
}

/// Copies a part's text between device memory and the staging buffer in shared memory. All threads of the thread block
/// call it.
template <bool In>
__device__ __forceinline__ void move_together(const Params& p, std::uint64_t first_block, std::uint32_t* staging) {
    const std::uint64_t first = first_block * 4, last = p.blocks * 4;
    for (unsigned i = threadIdx.x; i < 4 * blockDim.x; i += blockDim.x) {
        if (first + i >= last) break;
        if constexpr (In) {
            staging[i] = reinterpret_cast<const std::uint32_t*>(p.input)[first + i];
        } else {
            reinterpret_cast<std::uint32_t*>(p.output)[first + i] = staging[i];
        }
    }
    __syncthreads();
}

/// Processes part `part` of `parts`. A part has as many blocks as the thread block has teams.
template <Entry E>
__device__ __forceinline__ void run_part(const Params& p, const Lookup<E.variant, E.cipher.inverse>& tables,
                                         const Keys<E.variant>& keys, std::uint64_t part, std::uint64_t parts) {
    constexpr Variant v = E.variant;
    constexpr unsigned threads = team(v), bytes = static_cast<unsigned>(v.bytes);
    std::uint64_t first = (v.order == Order::reversed ? parts - 1 - part : part) * (blockDim.x / threads);
    std::uint64_t block = first + threadIdx.x / threads;
    if constexpr (v.order == Order::striped) {
        block = (threadIdx.x / 32 * parts + part) * (32 / threads) + threadIdx.x % 32 / threads;
    }
    const bool mine = block < p.blocks;
    if (v.exchange == Exchange::none && !v.staged && !mine) return;

    const unsigned share = threadIdx.x % threads;
    const std::uint64_t at = block * 16 + share * bytes;
    if constexpr (v.bytes == 1) {
        const std::uint32_t text = mine ? p.input[at] : 0;
        const std::uint32_t in = E.cipher.counter ? counter_word(p, block, share / 4) >> (share % 4 * 8) & 0xff : text;
        const std::uint32_t out = run_rounds<E>(tables, keys, in);
        if (mine) p.output[at] = static_cast<std::uint8_t>(E.cipher.counter ? out ^ text : out);
    } else {
        constexpr int words = v.bytes / 4;
        auto* const staging = reinterpret_cast<std::uint32_t*>(state_memory<v>());
        std::uint32_t text[words] = {}, state[words];
        if constexpr (v.staged) {
            move_together<true>(p, first, staging);
            read_text<v.access>(reinterpret_cast<std::uint8_t*>(staging + 4 * threadIdx.x), text);
        } else if constexpr (v.text != TextMemory::global) {
            const uint4 b = read_block<v.text>(p, block);
            text[0] = b.x, text[1] = b.y, text[2] = b.z, text[3] = b.w;
        } else if (mine) {
            read_text<v.access>(p.input + at, text);
        }
#pragma unroll
        for (unsigned i = 0; i < words; ++i) {
            state[i] = E.cipher.counter ? counter_word(p, block, share * words + i) : text[i];
        }
        run_rounds<E>(tables, keys, state);
        if constexpr (E.cipher.counter) {
#pragma unroll
            for (unsigned i = 0; i < words; ++i) state[i] ^= text[i];
        }
        if constexpr (v.staged) {
            write_text<v.access>(reinterpret_cast<std::uint8_t*>(staging + 4 * threadIdx.x), state);
            __syncthreads();
            move_together<false>(p, first, staging);
        } else if (mine) {
            write_text<v.access>(p.output + at, state);
        }
    }
}

/// Does the work of a thread. Thread blocks have a multiple of 32 threads. The grid has one thread block per part or,
/// for persistent variants, any number of thread blocks.
template <Entry E>
requires(valid(E)) __device__ __forceinline__ void run_variant(const Params& p) {
    constexpr Variant v = E.variant;
    const Lookup<v, E.cipher.inverse> tables(p);
    const Keys<v> keys(p);
    tables.load();
    keys.load(4 * (E.cipher.rounds + 1));
    if constexpr (table_bytes(v) + key_bytes(v) != 0) __syncthreads();

    const unsigned blocks_at_once = blockDim.x / team(v);
    const std::uint64_t parts = (p.blocks + blocks_at_once - 1) / blocks_at_once;
    if constexpr (v.persistent) {
        for (std::uint64_t part = blockIdx.x; part < parts; part += gridDim.x)
            run_part<E>(p, tables, keys, part, parts);
    } else {
        run_part<E>(p, tables, keys, blockIdx.x, parts);
    }
}

/// The kernel of catalogue entry `I`. The template argument is a number, because the stubs that nvcc 13.0 writes for
/// other template arguments do not compile with its host compiler.
template <std::size_t I>
__global__ void __launch_bounds__(1024) variant_kernel(const __grid_constant__ Params p) {
    run_variant<catalogue[I]>(p);
}

}  // namespace lab::gpu
