// XTS (IEEE 1619), written once for every vector type and key length. aes/xts.hpp describes the field.
//
// The tweaks of many data units are encrypted at once, before the units themselves. Within a unit, a step of N vectors
// keeps its N vectors of tweaks in registers. The tweaks of the next step are the current tweaks times a power of x,
// which in a little-endian field is a shift by whole bytes and one carry-less multiplication for the bits that are
// shifted out.
#pragma once

#include "cpu/simd.hpp"
#include "cpu/simd_vector.hpp"

namespace warpaes::cpu {

/// The reduction polynomial without its term x^128.
inline constexpr std::uint32_t xts_polynomial = 0x87;

/// Returns every lane multiplied by x^(8 * Bytes). `Bytes` is at most 7.
template <class V, int Bytes>
WARPAES_INLINE typename V::Reg times_power_of_x(typename V::Reg t) {
    const auto polynomial = V::splat(make128(0, xts_polynomial));
    const auto out = V::template shift_right_bytes<16 - Bytes>(t);
    return V::bxor(V::template shift_left_bytes<Bytes>(t), V::template multiply<0x00>(out, polynomial));
}

/// Sets lane l of vector i to t * x^(lanes * i + l); `t` is in every lane. Exponents are below 64, so a product with
/// x^n consists of two carry-less multiplications of 64 bits, and the part beyond x^127 has fewer than 64 bits.
template <class V, std::size_t N>
WARPAES_INLINE void first_tweaks(typename V::Reg (&tweaks)[N], typename V::Reg t) {
    constexpr std::size_t lanes = V::bytes / 16;
    static_assert(N * lanes <= 64);
    const auto polynomial = V::splat(make128(0, xts_polynomial));
    WARPAES_UNROLL
    for (std::size_t i = 0; i < N; ++i) {
        const auto powers = V::powers_of_two(i * lanes);
        const auto low = V::template multiply<0x00>(t, powers), high = V::template multiply<0x01>(t, powers);
        const auto reduced = V::template multiply<0x01>(high, polynomial);
        tweaks[i] = V::bxor(V::bxor(low, reduced), V::template shift_left_bytes<8>(high));
    }
}

/// Returns t * x for a single block.
WARPAES_INLINE Reg128 next_tweak(Reg128 t) {
    return times_x(t, xts_polynomial);
}

/// Computes the tweaks of data units by encrypting little-endian numbers that are `step` apart. walk() runs this class
/// over an output of 16 bytes per unit. No number may carry into its upper half.
template <class V, int Rounds>
class UnitTweaks {
public:
    UnitTweaks(const std::uint8_t* keys, std::uint64_t high, std::uint64_t low, std::uint64_t step)
        : keys_(keys),
          numbers_(V::add64(V::splat(make128(high, low)), V::lane_multiples(static_cast<std::uint32_t>(step)))),
          next_(V::splat(make128(0, step * (V::bytes / 16)))) {}

    template <std::size_t N, class Access>
    WARPAES_INLINE void step(const std::uint8_t* /*input*/, std::uint8_t* output, Access access) {
        typename V::State s[N];
        const auto k0 = round_key<V>(keys_, 0);
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) {
            s[i] = V::sum(numbers_, k0);
            numbers_ = V::add64(numbers_, next_);
        }
        all_rounds<V, false, 1, Rounds>(s, keys_);
        store_all<V>(output, s, access);
    }

private:
    const std::uint8_t* keys_;
    typename V::Reg numbers_, next_;
};

/// With 16 registers, the tweaks are kept in memory. Otherwise the compiler keeps them in registers and spills a state,
/// so that each round of that state waits for the spill (AES-256, AES-NI: 6.3 instead of 8.4 GB/s).
template <class V>
inline constexpr bool tweaks_in_memory = V::registers < 2 * V::unroll + 2;

/// The tweaks of one step.
template <class V>
using StepTweaks = typename V::Reg[V::unroll];

/// Processes the blocks of one data unit. Steps may become smaller, but not larger again.
template <class V, int Rounds, bool Inverse>
class XtsUnit {
public:
    XtsUnit(const std::uint8_t* keys, const std::uint8_t* tweak, StepTweaks<V>& tweaks) : keys_(keys), tweaks_(tweaks) {
        first_tweaks<V>(tweaks_, V::splat(load128(tweak)));
    }

    template <std::size_t N, class Access>
    WARPAES_INLINE void step(const std::uint8_t* input, std::uint8_t* output, Access access) {
        typename V::State s[N];
        const auto k0 = round_key<V>(keys_, 0);
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) {
            s[i] = V::sum(V::bxor(tweaks_[i], k0), V::load(input + i * V::bytes, access));
        }
        if constexpr (tweaks_in_memory<V>) asm volatile("" : : "r"(tweaks_) : "memory");
        all_rounds<V, Inverse, 1, Rounds>(s, keys_, [this](std::size_t i) { return tweaks_[i]; });
        store_all<V>(output, s, access);
        if constexpr (N == V::unroll) {
            WARPAES_UNROLL
            for (std::size_t i = 0; i < N; ++i) tweaks_[i] = times_power_of_x<V, step_bits / 8>(tweaks_[i]);
        } else if constexpr (requires { access.bytes; }) {
            blocks_into_vector_ = access.bytes / 16;
        } else {
            WARPAES_UNROLL
            for (std::size_t i = 0; i < V::unroll - N; ++i) tweaks_[i] = tweaks_[i + N];
        }
    }

    /// Ciphertext stealing (IEEE 1619, 5.3.2 and 5.4.2) for the data left after the last step: one whole block and
    /// `rest` bytes (1 to 15). The result of the last whole block provides the final `rest` bytes, and its position
    /// receives the result of the padded rest.
    WARPAES_INLINE void steal(const std::uint8_t* input, std::uint8_t* output, std::size_t rest) {
        alignas(64) std::uint8_t next[V::bytes];
        V::store(next, tweaks_[0], Whole{});
        const Reg128 here = load_aligned128(next + 16 * blocks_into_vector_);
        const Reg128 after = next_tweak(here);

        std::uint8_t stolen[16], shorter[16];
        const Reg128 whole = load128(input);
        store128(stolen, block(whole, Inverse ? after : here));
        std::memcpy(shorter, stolen, 16);
        std::memcpy(shorter, input + 16, rest);
        const Reg128 last = block(load128(shorter), Inverse ? here : after);
        store128(output, last);
        std::memcpy(output + 16, stolen, rest);
    }

private:
    static constexpr int step_bits = static_cast<int>(V::unroll * V::bytes / 16);

    WARPAES_INLINE Reg128 block(Reg128 text, Reg128 tweak) {
        const auto t = V::splat(tweak);
        typename V::State s[1] = {V::sum(V::bxor(t, round_key<V>(keys_, 0)), V::splat(text))};
        all_rounds<V, Inverse, 1, Rounds>(s, keys_, [t](std::size_t) { return t; });
        return V::first_block(V::value(s[0]));
    }

    const std::uint8_t* keys_;
    StepTweaks<V>& tweaks_;
    std::size_t blocks_into_vector_ = 0;
};

/// The number of data units whose tweaks are encrypted together: one step of the widest vectors.
inline constexpr std::size_t xts_units_a_batch = 32;

template <class V, int Rounds, bool Inverse>
[[gnu::noinline]] void xts(const SimdRun& run) {
    note_stack_depth();
    std::uint64_t low = load_little_endian(run.chain), high = load_little_endian(run.chain + 8);
    const std::uint8_t* input = run.input;
    std::uint8_t* output = run.output;
    const std::size_t unit_bytes = run.data_units.bytes;
    alignas(64) std::uint8_t tweaks[16 * xts_units_a_batch];
    StepTweaks<V> step_tweaks;
    for (std::size_t left = run.length; left != 0;) {
        std::size_t units = left / unit_bytes + (left % unit_bytes != 0);
        if (units > xts_units_a_batch) units = xts_units_a_batch;
        const std::uint64_t step = run.data_units.step;
        if (low + units * step < low) units = 1;  // one at a time up to the carry
        UnitTweaks<V, Rounds> numbers(run.tweak_keys, high, low, step);
        walk<V, V::unroll>(numbers, tweaks, tweaks, 16 * units);
        low += units * step;
        if (low < units * step) ++high;

        for (std::size_t i = 0; i < units; ++i) {
            const std::size_t unit = left < unit_bytes ? left : unit_bytes;
            const std::size_t rest = unit % 16;
            const std::size_t steps = rest == 0 ? unit : unit - rest - 16;
            XtsUnit<V, Rounds, Inverse> mode(run.keys, tweaks + 16 * i, step_tweaks);
            walk<V, V::unroll>(mode, input, output, steps);
            if (rest != 0) mode.steal(input + steps, output + steps, rest);
            input += unit;
            output += unit;
            left -= unit;
        }
    }
}

}  // namespace warpaes::cpu
