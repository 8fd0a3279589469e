// The qualifiers and built-in types of CUDA C++.
#pragma once

#include <cstddef>
#include <cstdint>

#define __global__
#define __device__
#define __host__
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))
/// Marks variables at namespace scope, which are written with cudaMemcpyToSymbol.
#define __constant__
/// All threads of a block run on the same host thread, one block after the other, so the threads of a block share a
/// thread_local variable. Unlike dynamic shared memory, such a variable is neither poisoned nor counted. Compilers
/// already support `__restrict__`.
#define __shared__ static thread_local

// NOLINTBEGIN: these are CUDA's names and layouts
#define SIMT_VECTORS(Scalar, prefix, align2, align4)                               \
    struct prefix##1 {                                                             \
        Scalar x;                                                                  \
    };                                                                             \
    struct alignas(align2) prefix##2 {                                             \
        Scalar x, y;                                                               \
    };                                                                             \
    struct prefix##3 {                                                             \
        Scalar x, y, z;                                                            \
    };                                                                             \
    struct alignas(align4) prefix##4 {                                             \
        Scalar x, y, z, w;                                                         \
    };                                                                             \
    constexpr prefix##1 make_##prefix##1(Scalar x) {                               \
        return {x};                                                                \
    }                                                                              \
    constexpr prefix##2 make_##prefix##2(Scalar x, Scalar y) {                     \
        return {x, y};                                                             \
    }                                                                              \
    constexpr prefix##3 make_##prefix##3(Scalar x, Scalar y, Scalar z) {           \
        return {x, y, z};                                                          \
    }                                                                              \
    constexpr prefix##4 make_##prefix##4(Scalar x, Scalar y, Scalar z, Scalar w) { \
        return {x, y, z, w};                                                       \
    }

SIMT_VECTORS(signed char, char, 2, 4)
SIMT_VECTORS(unsigned char, uchar, 2, 4)
SIMT_VECTORS(short, short, 4, 8)
SIMT_VECTORS(unsigned short, ushort, 4, 8)
SIMT_VECTORS(int, int, 8, 16)
SIMT_VECTORS(unsigned int, uint, 8, 16)
SIMT_VECTORS(long long, longlong, 16, 16)
SIMT_VECTORS(unsigned long long, ulonglong, 16, 16)
#undef SIMT_VECTORS

/// A handle for a texture over linear memory. 0 is not a texture.
typedef unsigned long long cudaTextureObject_t;

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1) : x(vx), y(vy), z(vz) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};
// NOLINTEND
