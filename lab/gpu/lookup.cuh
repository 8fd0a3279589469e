// A variant's lookup tables and round keys, in any kind of memory.
#pragma once

#include <cuda_runtime.h>

#include <warpaes/device.cuh>

#include "lab/gpu/launch.hpp"
#include "lab/gpu/params.hpp"
#include "lab/gpu/variant.hpp"

namespace lab::gpu {

static __constant__ const Tables forward_tables = make_tables(false);
static __constant__ const Tables inverse_tables = make_tables(true);

/// Returns the bytes of shared memory per thread block for a variant's tables.
constexpr unsigned table_bytes(const Variant& v) {
    switch (v.tables) {
    case TableMemory::shared:
        return v.table_count == 0 ? 256 : static_cast<unsigned>(v.table_count) * 1024;
    case TableMemory::replicated:
        return static_cast<unsigned>(v.table_count) * 32 * 1024;
    default:
        return 0;
    }
}

__device__ __forceinline__ std::uint32_t rotate_left(std::uint32_t v, unsigned bits) {
    return __funnelshift_l(v, v, bits);
}

/// The tables of one direction. `Row` and `Byte` are compile-time constants: t<Row, Byte> looks up byte `Byte` of a
/// word in T_Row.
template <Variant V, bool Inverse>
class Lookup {
    using Replicated = warpaes::device::tables<V.table_count == 0 ? 1 : V.table_count, Inverse>;

public:
    __device__ __forceinline__ explicit Lookup(const Params& p) : p_(p), replicated_(dynamic_shared()) {}

    /// Copies the tables to shared memory. All threads of the thread block call this, followed by a barrier.
    __device__ __forceinline__ void load() const {
        if constexpr (V.tables == TableMemory::replicated) {
            replicated_.load();
        } else if constexpr (V.tables == TableMemory::shared) {
            const auto* from = V.table_count == 0 ? reinterpret_cast<const std::uint32_t*>(p_.tables->s) : p_.tables->t;
            auto* to = reinterpret_cast<std::uint32_t*>(dynamic_shared());
            for (unsigned i = threadIdx.x; i < table_bytes(V) / 4; i += blockDim.x) to[i] = from[i];
        }
    }

    template <int Row, int Byte>
    __device__ __forceinline__ std::uint32_t t(std::uint32_t word) const {
        if constexpr (V.tables == TableMemory::replicated) {
            return replicated_.template lookup<Row, Byte>(word);
        } else if constexpr (V.table_count == 4) {
            return entry(256 * Row + byte_of<Byte>(word));
        } else {
            return Row == 0 ? entry(byte_of<Byte>(word)) : rotate_left(entry(byte_of<Byte>(word)), 8 * Row);
        }
    }
    /// Like t(), with a row that differs by lane; `x` is a byte.
    __device__ __forceinline__ std::uint32_t t(unsigned row, std::uint32_t x) const {
        return V.table_count == 4 ? entry(256 * row + x) : rotate_left(entry(x), 8 * row);
    }

    /// Returns a column of S-box outputs, from the given byte of each word, without MixColumns.
    template <int B0, int B1, int B2, int B3>
    __device__ __forceinline__ std::uint32_t s(std::uint32_t w0, std::uint32_t w1, std::uint32_t w2,
                                               std::uint32_t w3) const {
        if constexpr (V.table_count == 0) {
            return sbox(byte_of<B0>(w0)) | sbox(byte_of<B1>(w1)) << 8 | sbox(byte_of<B2>(w2)) << 16 |
                   sbox(byte_of<B3>(w3)) << 24;
        } else {
            return warpaes::device::detail::substituted<Inverse>(t<0, B0>(w0), t<0, B1>(w1), t<0, B2>(w2),
                                                                 t<0, B3>(w3));
        }
    }
    __device__ __forceinline__ std::uint32_t s(std::uint32_t x) const {
        const std::uint32_t e = entry(x);
        return (Inverse ? e ^ e >> 8 ^ e >> 16 ^ e >> 24 : e >> 8) & 0xff;
    }

private:
    template <int Byte>
    static __device__ __forceinline__ unsigned byte_of(std::uint32_t word) {
        return word >> (8 * Byte) & 0xff;
    }

    __device__ __forceinline__ std::uint32_t entry(unsigned i) const {
        if constexpr (V.tables == TableMemory::constant) {
            return Inverse ? inverse_tables.t[i] : forward_tables.t[i];
        } else if constexpr (V.tables == TableMemory::shared) {
            return reinterpret_cast<const std::uint32_t*>(dynamic_shared())[i];
        } else if constexpr (V.tables == TableMemory::texture) {
            return tex1Dfetch<unsigned>(p_.words, static_cast<int>(i));
        } else {
            return __ldg(p_.tables->t + i);
        }
    }
    __device__ __forceinline__ std::uint32_t sbox(unsigned x) const {
        if constexpr (V.tables == TableMemory::constant) {
            return Inverse ? inverse_tables.s[x] : forward_tables.s[x];
        } else if constexpr (V.tables == TableMemory::shared) {
            return dynamic_shared()[x];
        } else if constexpr (V.tables == TableMemory::texture) {
            return tex1Dfetch<unsigned char>(p_.bytes, static_cast<int>(x));
        } else {
            return __ldg(p_.tables->s + x);
        }
    }

    const Params& p_;
    Replicated replicated_;
};

/// Returns the bytes of shared memory for round keys, which follow the tables.
constexpr unsigned key_bytes(const Variant& v) {
    return v.keys == KeyMemory::shared ? 256 : 0;
}

template <Variant V>
class Keys {
public:
    __device__ __forceinline__ explicit Keys(const Params& p) : p_(p) {}

    __device__ __forceinline__ void load(unsigned words) const {
        if constexpr (V.keys == KeyMemory::shared) {
            for (unsigned i = threadIdx.x; i < words; i += blockDim.x) shared()[i] = p_.keys[i];
        }
    }
    __device__ __forceinline__ std::uint32_t operator[](unsigned i) const {
        if constexpr (V.keys == KeyMemory::constant) return p_.round_keys[i];
        if constexpr (V.keys == KeyMemory::shared) return shared()[i];
        if constexpr (V.keys == KeyMemory::global) return __ldg(p_.keys + i);
    }

private:
    static __device__ __forceinline__ std::uint32_t* shared() {
        return reinterpret_cast<std::uint32_t*>(dynamic_shared() + table_bytes(V));
    }
    const Params& p_;
};

}  // namespace lab::gpu
