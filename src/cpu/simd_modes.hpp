// The parallel modes (SP 800-38A, section 6), each written once for every vector type and key length.
#pragma once

#include "cpu/counter_cache.hpp"
#include "cpu/simd.hpp"
#include "cpu/simd_vector.hpp"
#include "cpu/xts_modes.hpp"

namespace warpaes::cpu {

template <class V, int Rounds, bool Inverse>
struct Ecb {
    const std::uint8_t* keys;

    template <std::size_t N, class Access>
    WARPAES_INLINE void step(const std::uint8_t* input, std::uint8_t* output, Access access) {
        typename V::State s[N];
        const auto k0 = round_key<V>(keys, 0);
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) s[i] = V::sum(k0, V::load(input + i * V::bytes, access));
        all_rounds<V, Inverse, 1, Rounds>(s, keys);
        store_all<V>(output, s, access);
    }
};

// CBC and CFB128 decryption combine each block of ciphertext with the previous block. Within a step, the previous
// blocks are the same memory read 16 bytes earlier. When working in place, only the block before the first vector has
// already been overwritten, so the last vector of a step's ciphertext is kept for the next step.

template <class V, int Rounds>
struct CbcDecrypt {
    const std::uint8_t* keys;
    typename V::Reg kept;  ///< its last lane is the block of ciphertext before the step

    template <std::size_t N, class Access>
    WARPAES_INLINE void step(const std::uint8_t* input, std::uint8_t* output, Access access) {
        typename V::State s[N];
        const auto k0 = round_key<V>(keys, 0);
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) s[i] = V::sum(k0, V::load(input + i * V::bytes, access));
        const auto before = V::shift_in(kept, V::load(input, access));
        kept = V::load(input + (N - 1) * V::bytes, access);
        middle_rounds<V, true, 1, Rounds>(s, keys);
        const auto last = round_key<V>(keys, Rounds);
        s[0] = V::aesdeclast(s[0], V::bxor(last, before));
        WARPAES_UNROLL
        for (std::size_t i = 1; i < N; ++i) {
            s[i] = V::aesdeclast(s[i], V::bxor(last, V::load(input + i * V::bytes - 16, Whole{})));
        }
        store_all<V>(output, s, access);
    }
};

template <class V, int Rounds>
struct Cfb128Decrypt {
    const std::uint8_t* keys;
    typename V::Reg kept;  ///< as in CbcDecrypt

    template <std::size_t N, class Access>
    WARPAES_INLINE void step(const std::uint8_t* input, std::uint8_t* output, Access access) {
        typename V::State s[N];
        const auto k0 = round_key<V>(keys, 0);
        s[0] = V::sum(k0, V::shift_in(kept, V::load(input, access)));
        WARPAES_UNROLL
        for (std::size_t i = 1; i < N; ++i) s[i] = V::sum(k0, V::load(input + i * V::bytes - 16, Whole{}));
        kept = V::load(input + (N - 1) * V::bytes, access);
        add_key_stream<V, 1, Rounds>(s, keys, input, output, access);
    }
};

/// Moves byte 0 of lane l of t[v] to byte v of lane l.
template <class V>
WARPAES_INLINE typename V::Reg gather_first_bytes(const typename V::Reg (&t)[16]) {
    typename V::Reg q[8];
    WARPAES_UNROLL
    for (int i = 0; i < 8; ++i) q[i] = V::unpack8(t[2 * i], t[2 * i + 1]);
    WARPAES_UNROLL
    for (int i = 0; i < 4; ++i) q[i] = V::unpack16(q[2 * i], q[2 * i + 1]);
    WARPAES_UNROLL
    for (int i = 0; i < 2; ++i) q[i] = V::unpack32(q[2 * i], q[2 * i + 1]);
    return V::unpack64(q[0], q[1]);
}

/// CFB8 (`SegmentBits` = 8) and CFB1 (`SegmentBits` = 1) decryption; `bits` is the length.
///
/// Segment i is added to the first bits of E(the preceding 128 bits of ciphertext). Byte 16 l + v of a vector of
/// ciphertext therefore needs the window that begins 16 bytes before it: in lane l, the vector read at v - 16. Sixteen
/// reads are enough for a whole vector. For CFB1, the windows of a byte's eight bits are that window shifted left by 0
/// to 7 bits; the bits that are shifted in are taken from the read one byte later.
template <class V, int Rounds, int SegmentBits>
[[gnu::noinline]] void cfb_segments_decrypt(const std::uint8_t* keys, const std::uint8_t* chain,
                                            const std::uint8_t* input, std::uint8_t* output, std::size_t bits) {
    note_stack_depth();
    using Reg = typename V::Reg;
    // The 16 bytes before the vector, the vector, and padding for the reads that begin inside the vector.
    alignas(64) std::uint8_t window[16 + V::bytes + 16] = {};
    alignas(64) Reg t[16];
    std::memcpy(window, chain, 16);
    const auto k0 = round_key<V>(keys, 0);
    const auto last = round_key<V>(keys, Rounds);

    for (std::size_t left = (bits + 7) / 8; left != 0;) {
        const std::size_t n = left < V::bytes ? left : V::bytes;
        std::memcpy(window + 16, input, n);
        if constexpr (SegmentBits == 8) {
            for (int first = 0; first < 16; first += 8) {
                typename V::State s[8];
                WARPAES_UNROLL
                for (int i = 0; i < 8; ++i) s[i] = V::sum(k0, V::load(window + first + i, Whole{}));
                middle_rounds<V, false, 1, Rounds>(s, keys);
                WARPAES_UNROLL
                for (int i = 0; i < 8; ++i) t[first + i] = V::value(V::aesenclast(s[i], last));
            }
        } else {
            for (int v = 0; v < 16; ++v) {
                typename V::State s[8];
                const auto here = V::load(window + v, Whole{}), next = V::load(window + v + 1, Whole{});
                WARPAES_UNROLL
                for (int i = 0; i < 8; ++i) s[i] = V::sum(k0, V::shift_left_bits(here, next, i));
                middle_rounds<V, false, 1, Rounds>(s, keys);
                t[v] = V::first_bit(V::value(V::aesenclast(s[0], last)), 0);
                WARPAES_UNROLL
                for (int i = 1; i < 8; ++i) {
                    t[v] = V::bxor(t[v], V::first_bit(V::value(V::aesenclast(s[i], last)), i));
                }
            }
        }
        const auto plaintext = V::bxor(gather_first_bytes<V>(t), V::load(window + 16, Whole{}));
        V::store(output, plaintext, Part{n});
        std::memcpy(window, window + V::bytes, 16);
        input += n;
        output += n;
        left -= n;
    }
    if (bits % 8 != 0) output[-1] = static_cast<std::uint8_t>(output[-1] & (0xff00u >> (bits % 8)));
}

template <class V, class ModeKernel>
WARPAES_INLINE void walk_run(ModeKernel mode, const SimdRun& run) {
    walk<V, V::unroll>(mode, run.input, run.output, run.length);
}

template <class V, int Rounds>
void run_rounds(const SimdRun& run) {
    note_stack_depth();
    const auto chain = [&] { return V::splat(load128(run.chain)); };
    switch (run.mode) {
    case Mode::ecb:
        if (run.direction == Direction::encrypt) return walk_run<V>(Ecb<V, Rounds, false>{run.keys}, run);
        return walk_run<V>(Ecb<V, Rounds, true>{run.keys}, run);
    case Mode::cbc:
        return walk_run<V>(CbcDecrypt<V, Rounds>{run.keys, chain()}, run);
    case Mode::cfb128:
        return walk_run<V>(Cfb128Decrypt<V, Rounds>{run.keys, chain()}, run);
    case Mode::cfb8:
        return cfb_segments_decrypt<V, Rounds, 8>(run.keys, run.chain, run.input, run.output, 8 * run.length);
    case Mode::cfb1:
        return cfb_segments_decrypt<V, Rounds, 1>(run.keys, run.chain, run.input, run.output, run.length);
    case Mode::ctr:
        if (run.beyond_caches) return far_ctr<V, Rounds>(run.keys, run.chain, run.input, run.output, run.length);
        return ctr<V, Rounds>(run.keys, run.chain, run.input, run.output, run.length);
    case Mode::xts:
        if constexpr (Rounds != 12) {  // IEEE 1619 has no AES-192
            if (run.direction == Direction::encrypt) return xts<V, Rounds, false>(run);
            return xts<V, Rounds, true>(run);
        }
        return;
    default:  // modes that are serial in both directions, or that are not processed as runs
        return;
    }
}

template <class V>
void run_vectors(const SimdRun& run) {
    with_rounds(run.rounds, [&]<int Rounds>() { run_rounds<V, Rounds>(run); });
}

}  // namespace warpaes::cpu
