// The part of CUDA C++ that code inside a kernel uses: indices, barriers, warp functions, atomics and integer
// intrinsics.
//
// Each function follows CUDA's definition. If CUDA leaves a use undefined and the executor can detect the use, it
// aborts the process with a message that names the source location.
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <concepts>
#include <cstring>
#include <type_traits>
#include <version>
#if defined(__cpp_lib_source_location)
#include <source_location>
#endif

#include "simt_types.h"

inline constexpr int warpSize = 32;

// The executor sets these before a thread runs.
extern constinit thread_local uint3 threadIdx;
extern constinit thread_local uint3 blockIdx;
extern constinit thread_local dim3 blockDim;
extern constinit thread_local dim3 gridDim;

namespace simt {

#if defined(__cpp_lib_source_location)
using Where = std::source_location;
#else
/// Replaces std::source_location for clang 14, which compiles the fuzzers.
class Where {
public:
    static constexpr Where current(const char* file = __builtin_FILE(), const char* function = __builtin_FUNCTION(),
                                   unsigned line = __builtin_LINE()) {
        return {file, function, line};
    }
    constexpr Where() = default;
    [[nodiscard]] constexpr const char* file_name() const { return file_; }
    [[nodiscard]] constexpr const char* function_name() const { return function_; }
    [[nodiscard]] constexpr unsigned line() const { return line_; }

private:
    constexpr Where(const char* file, const char* function, unsigned line)
        : file_(file), function_(function), line_(line) {}
    const char* file_ = "";
    const char* function_ = "";
    unsigned line_ = 0;
};
#endif

/// Returns the block's dynamic shared memory. It is aligned to 128 bytes, and poisoned when the block starts.
[[nodiscard]] unsigned char* dynamic_shared();
/// Returns the size of the dynamic shared memory in bytes.
[[nodiscard]] std::size_t dynamic_shared_bytes();

enum class WarpFunction { sync, shfl, shfl_up, shfl_down, shfl_xor, ballot, any, all, mma };

/// Waits for every thread of the block. Returns the number of threads whose `predicate` is true.
unsigned block_barrier(bool predicate, const Where& where);
/// Waits for the lanes in `mask`. Shuffles return `value` from lane `source`. Votes return the lanes whose `value` is
/// not zero. For mma, `value` is the address of a BinaryProduct.
std::uint64_t warp_barrier(WarpFunction function, unsigned mask, std::uint64_t value, unsigned source,
                           const Where& where);
/// Returns the number of the lane that is running.
[[nodiscard]] unsigned lane();
/// Lets the other threads of the block run.
void yield();
/// Returns the address of element `index` of a texture, or null if the texture does not contain this element. Aborts
/// the process if the texture does not exist or its elements have a different size.
const void* texel(cudaTextureObject_t object, int index, std::size_t bytes, const Where& where);
/// Aborts the process with a message that names the thread.
[[noreturn]] void fail(const char* what, const Where& where);

/// A lane's registers for mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc (PTX ISA, 9.7.14): d += a * b,
/// where the product of a row and a column is the number of bits that are set in both.
struct BinaryProduct {
    unsigned a[4];
    unsigned b[2];
    unsigned d[4];
};
inline void binary_mma(BinaryProduct& operands, const Where& where = Where::current()) {
    warp_barrier(WarpFunction::mma, 0xffffffff, reinterpret_cast<std::uintptr_t>(&operands), 0, where);
}

/// Returns the lane that shfl.sync (PTX ISA) reads from. A lane that would read outside its segment reads its own
/// value.
[[nodiscard]] constexpr unsigned shuffle_source(WarpFunction function, unsigned lane, unsigned operand,
                                                unsigned width) {
    const unsigned segment = 32 - width;  // these bits of a lane's number identify its segment
    const unsigned first = lane & segment;
    const unsigned last = first | (31 & ~segment);
    const unsigned b = operand & 31;
    switch (function) {
    case WarpFunction::shfl_up:
        return lane >= first + b ? lane - b : lane;
    case WarpFunction::shfl_down:
        return lane + b <= last ? lane + b : lane;
    case WarpFunction::shfl_xor:
        return (lane ^ b) <= last ? lane ^ b : lane;
    default:
        return first | (b & ~segment);
    }
}

template <typename T>
concept Shuffled = (std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));

template <Shuffled T>
T shuffle(WarpFunction function, unsigned mask, T value, unsigned operand, int width, const Where& where) {
    if (width < 1 || width > 32 || !std::has_single_bit(static_cast<unsigned>(width))) {
        fail("shuffle: width is not a power of two from 1 to 32", where);
    }
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    bits = warp_barrier(function, mask, bits, shuffle_source(function, lane(), operand, static_cast<unsigned>(width)),
                        where);
    std::memcpy(&value, &bits, sizeof(T));
    return value;
}

/// The integer types for which CUDA declares atomics. `unsigned long` is not one of them.
template <typename T>
concept Atomic = std::same_as<T, int> || std::same_as<T, unsigned int> || std::same_as<T, unsigned long long>;
template <typename T>
using Same = std::type_identity_t<T>;

template <Atomic T, typename Change>
T atomic_update(T* address, Change change) {
    T old = __atomic_load_n(address, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(address, &old, change(old), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return old;
}

}  // namespace simt

// NOLINTBEGIN: these are CUDA's names

// Barriers.
inline void __syncthreads(const simt::Where& where = simt::Where::current()) {
    simt::block_barrier(false, where);
}
inline int __syncthreads_count(int predicate, const simt::Where& where = simt::Where::current()) {
    return static_cast<int>(simt::block_barrier(predicate != 0, where));
}
inline int __syncthreads_and(int predicate, const simt::Where& where = simt::Where::current()) {
    return simt::block_barrier(predicate == 0, where) == 0;
}
inline int __syncthreads_or(int predicate, const simt::Where& where = simt::Where::current()) {
    return simt::block_barrier(predicate != 0, where) != 0;
}
inline void __syncwarp(unsigned mask = 0xffffffff, const simt::Where& where = simt::Where::current()) {
    simt::warp_barrier(simt::WarpFunction::sync, mask, 0, 0, where);
}

// Shuffles and votes.
template <simt::Shuffled T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, const simt::Where& where = simt::Where::current()) {
    return simt::shuffle(simt::WarpFunction::shfl, mask, value, static_cast<unsigned>(source), width, where);
}
template <simt::Shuffled T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 const simt::Where& where = simt::Where::current()) {
    return simt::shuffle(simt::WarpFunction::shfl_up, mask, value, delta, width, where);
}
template <simt::Shuffled T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   const simt::Where& where = simt::Where::current()) {
    return simt::shuffle(simt::WarpFunction::shfl_down, mask, value, delta, width, where);
}
template <simt::Shuffled T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32,
                  const simt::Where& where = simt::Where::current()) {
    return simt::shuffle(simt::WarpFunction::shfl_xor, mask, value, static_cast<unsigned>(lanes), width, where);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, const simt::Where& where = simt::Where::current()) {
    return static_cast<unsigned>(simt::warp_barrier(simt::WarpFunction::ballot, mask, predicate != 0, 0, where));
}
inline int __any_sync(unsigned mask, int predicate, const simt::Where& where = simt::Where::current()) {
    return simt::warp_barrier(simt::WarpFunction::any, mask, predicate != 0, 0, where) != 0;
}
inline int __all_sync(unsigned mask, int predicate, const simt::Where& where = simt::Where::current()) {
    return simt::warp_barrier(simt::WarpFunction::all, mask, predicate == 0, 0, where) == 0;
}
/// CUDA only guarantees that the mask contains the calling lane. Here, the mask contains no other lane, so that code
/// that relies on other lanes fails.
inline unsigned __activemask() {
    return 1u << simt::lane();
}

// Memory. The threads of a block take turns on the same host thread, so a fence has no effect within a block.
inline void __threadfence_block() {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void __threadfence() {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void __threadfence_system() {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
template <typename T>
T __ldg(const T* address) {
    return *address;
}
template <typename T>
T __ldca(const T* address) {
    return *address;
}
template <typename T>
T __ldcg(const T* address) {
    return *address;
}
template <typename T>
T __ldcs(const T* address) {
    return *address;
}
template <typename T>
T __ldlu(const T* address) {
    return *address;
}
template <typename T>
T __ldcv(const T* address) {
    return *address;
}
template <typename T>
void __stwb(T* address, simt::Same<T> value) {
    *address = value;
}
template <typename T>
void __stcg(T* address, simt::Same<T> value) {
    *address = value;
}
template <typename T>
void __stcs(T* address, simt::Same<T> value) {
    *address = value;
}
template <typename T>
void __stwt(T* address, simt::Same<T> value) {
    *address = value;
}

/// Returns zero if the texture does not contain the element.
template <typename T>
T tex1Dfetch(cudaTextureObject_t object, int index, const simt::Where& where = simt::Where::current()) {
    const void* element = simt::texel(object, index, sizeof(T), where);
    T value{};
    if (element != nullptr) std::memcpy(&value, element, sizeof(T));
    return value;
}

// Atomics. Each function returns the old value.
template <simt::Atomic T>
T atomicAdd(T* address, simt::Same<T> value) {
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}
template <simt::Atomic T>
T atomicSub(T* address, simt::Same<T> value) {
    return __atomic_fetch_sub(address, value, __ATOMIC_RELAXED);
}
template <simt::Atomic T>
T atomicAnd(T* address, simt::Same<T> value) {
    return __atomic_fetch_and(address, value, __ATOMIC_RELAXED);
}
template <simt::Atomic T>
T atomicOr(T* address, simt::Same<T> value) {
    return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);
}
template <simt::Atomic T>
T atomicXor(T* address, simt::Same<T> value) {
    return __atomic_fetch_xor(address, value, __ATOMIC_RELAXED);
}
template <simt::Atomic T>
T atomicExch(T* address, simt::Same<T> value) {
    return __atomic_exchange_n(address, value, __ATOMIC_RELAXED);
}
template <simt::Atomic T>
T atomicCAS(T* address, simt::Same<T> compare, simt::Same<T> value) {
    __atomic_compare_exchange_n(address, &compare, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return compare;
}
template <simt::Atomic T>
T atomicMin(T* address, simt::Same<T> value) {
    return simt::atomic_update(address, [value](T old) { return std::min(old, value); });
}
template <simt::Atomic T>
T atomicMax(T* address, simt::Same<T> value) {
    return simt::atomic_update(address, [value](T old) { return std::max(old, value); });
}

// Integer intrinsics.
constexpr int __popc(unsigned x) {
    return std::popcount(x);
}
constexpr int __popcll(unsigned long long x) {
    return std::popcount(x);
}
constexpr int __clz(int x) {
    return std::countl_zero(static_cast<unsigned>(x));
}
constexpr int __clzll(long long x) {
    return std::countl_zero(static_cast<unsigned long long>(x));
}
constexpr int __ffs(int x) {
    return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1;
}
constexpr int __ffsll(long long x) {
    return x == 0 ? 0 : std::countr_zero(static_cast<unsigned long long>(x)) + 1;
}
constexpr unsigned __brev(unsigned x) {
    unsigned reversed = 0;
    for (int bit = 0; bit < 32; ++bit) reversed |= (x >> bit & 1u) << (31 - bit);
    return reversed;
}
constexpr unsigned long long __brevll(unsigned long long x) {
    return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
           __brev(static_cast<unsigned>(x >> 32));
}
/// PRMT without sign replication. nvcc clears bit 3 of each selector for this function.
constexpr unsigned __byte_perm(unsigned x, unsigned y, unsigned selectors) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(y) << 32 | x;
    unsigned permuted = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned selector = selectors >> (4 * i) & 7;
        permuted |= static_cast<unsigned>(bytes >> (8 * selector) & 0xff) << (8 * i);
    }
    return permuted;
}
constexpr unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((static_cast<std::uint64_t>(high) << 32 | low) << (shift & 31) >> 32);
}
constexpr unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((static_cast<std::uint64_t>(high) << 32 | low) >> (shift & 31));
}
constexpr unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
constexpr unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
constexpr unsigned __umulhi(unsigned x, unsigned y) {
    return static_cast<unsigned>(static_cast<std::uint64_t>(x) * y >> 32);
}
constexpr unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    const std::uint64_t x0 = x & 0xffffffff, x1 = x >> 32, y0 = y & 0xffffffff, y1 = y >> 32;
    const std::uint64_t middle = x1 * y0 + (x0 * y0 >> 32), other = x0 * y1 + (middle & 0xffffffff);
    return x1 * y1 + (middle >> 32) + (other >> 32);
}

template <std::integral T>
constexpr T min(T a, T b) {
    return b < a ? b : a;
}
template <std::integral T>
constexpr T max(T a, T b) {
    return a < b ? b : a;
}

// Time and traps.
inline long long clock64() {
    return std::chrono::steady_clock::now().time_since_epoch().count();
}
/// A thread that spins until another thread of its block acts must call this function, which lets the other thread run.
inline void __nanosleep(unsigned) {
    simt::yield();
}
[[noreturn]] inline void __trap(const simt::Where& where = simt::Where::current()) {
    simt::fail("__trap", where);
}
// NOLINTEND
