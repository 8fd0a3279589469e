// GCM-SIV's key stream (RFC 8452, 4): CTR whose counter is the first 32 bits of the block, a little-endian number that
// wraps around.
#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/ctr.cuh"
#include "cuda/tuning/counters.hpp"

namespace warpaes::cuda {

/// As in ctr.cuh, but j is byte 0 (row 0 of column 0) and g is byte 1 (row 1 of column 0): ShiftRows leaves j in column
/// 0 and moves g to column 3.
///
///     t0(j) = c0 ^ T0[j ^ k],  t3(g) = c3 ^ T1[g ^ k'],  t1 and t2 fixed.
template <int Tables>
struct SivPrefix {
    std::uint32_t c0{}, c3{};  ///< t0 without j, t3 without g
    uint4 c{};                 ///< round 2 without t0 and t3

    /// `counter` is a counter block whose first two bytes are zero. `k` contains the round keys.
    __device__ __forceinline__ void set(const SharedTables<Tables>& t, uint4 counter, const std::uint32_t* k) {
        const uint4 s = counter ^ make_uint4(k[0], k[1], k[2], k[3]);
        c0 = t.template lookup<1, 1>(s.y) ^ t.template lookup<2, 2>(s.z) ^ t.template lookup<3, 3>(s.w) ^ k[4];
        const std::uint32_t t1 = t.template lookup<0, 0>(s.y) ^ t.template lookup<1, 1>(s.z) ^
                                 t.template lookup<2, 2>(s.w) ^ t.template lookup<3, 3>(s.x) ^ k[5];
        const std::uint32_t t2 = t.template lookup<0, 0>(s.z) ^ t.template lookup<1, 1>(s.w) ^
                                 t.template lookup<2, 2>(s.x) ^ t.template lookup<3, 3>(s.y) ^ k[6];
        c3 = t.template lookup<0, 0>(s.w) ^ t.template lookup<2, 2>(s.y) ^ t.template lookup<3, 3>(s.z) ^ k[7];
        c = make_uint4(t.template lookup<1, 1>(t1) ^ t.template lookup<2, 2>(t2) ^ k[8],
                       t.template lookup<0, 0>(t1) ^ t.template lookup<1, 1>(t2) ^ k[9],
                       t.template lookup<0, 0>(t2) ^ t.template lookup<3, 3>(t1) ^ k[10],
                       t.template lookup<2, 2>(t1) ^ t.template lookup<3, 3>(t2) ^ k[11]);
    }

    __device__ __forceinline__ uint4 a(const SharedTables<Tables>& t, std::uint32_t j, const std::uint32_t* k) const {
        const std::uint32_t t0 = c0 ^ t.template lookup<0, 0>(k[0] ^ j);
        return make_uint4(t.template lookup<0, 0>(t0), t.template lookup<3, 3>(t0), t.template lookup<2, 2>(t0),
                          t.template lookup<1, 1>(t0));
    }

    __device__ __forceinline__ uint4 b(const SharedTables<Tables>& t, std::uint32_t g, const std::uint32_t* k) const {
        const std::uint32_t t3 = c3 ^ t.template lookup<1, 1>(k[0] ^ (g << 8));
        return c ^ make_uint4(t.template lookup<3, 3>(t3), t.template lookup<2, 2>(t3), t.template lookup<1, 1>(t3),
                              t.template lookup<0, 0>(t3));
    }
};

struct SivCounter {
    template <int Tables>
    using Prefix = SivPrefix<Tables>;

    static __device__ __forceinline__ std::uint32_t low_bits(uint4 counter) { return counter.x & 0xffffu; }
    static __device__ __forceinline__ uint4 prefix(uint4 initial, std::uint64_t steps) {
        const std::uint32_t high = (initial.x & 0xffff0000u) + (static_cast<std::uint32_t>(steps) << 16);
        return make_uint4(high, initial.y, initial.z, initial.w);
    }
};

Kernel<Params> siv_ctr_kernel_for(int rounds, int tables, bool aligned) {
    const auto choose = [&]<int Rounds, int Tables, bool Aligned>() -> Kernel<Params> {
        if constexpr (Rounds == 12) {
            return nullptr;  // GCM-SIV does not use AES-192
        } else {
            return &ctr_kernel<Rounds, Tables, ctr_width, Aligned, SivCounter>;
        }
    };
    return with_rounds_and_tables(rounds, tables, aligned, choose);
}

}  // namespace warpaes::cuda
