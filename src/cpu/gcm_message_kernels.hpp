// AES-GCM for many short messages whose keys may be used only once: without tables, and with only as many powers of H
// as one step requires.
#pragma once

#include "cpu/gcm_modes.hpp"
#include "cpu/key_kernels.hpp"

namespace warpaes::cpu {

template <class V>
inline constexpr std::size_t gcm_step_blocks = V::unroll* V::bytes / 16;

/// Returns the product of two powers of H. Factors and product are divided by x.
template <class V>
WARPAES_INLINE typename V::Reg product(typename V::Reg a, typename V::Reg b) {
    return reduced<V>(V::template multiply<0x00>(a, b),
                      V::bxor(V::template multiply<0x01>(a, b), V::template multiply<0x10>(a, b)),
                      V::template multiply<0x11>(a, b));
}

/// Returns v / x, which is a left shift in this bit order; the polynomial folds back the bit that is shifted out.
template <class V>
WARPAES_INLINE typename V::Reg divided_by_x(typename V::Reg v) {
    const auto two = V::splat(make128(0, 2));
    const auto low = V::template multiply<0x00>(v, two), high = V::template multiply<0x01>(v, two);
    const auto carry = V::template shift_right_bytes<8>(high);
    const auto polynomial = V::splat(make128(0, 0xc200000000000000u));
    const auto folded = V::template shift_left_bytes<8>(V::template multiply<0x00>(carry, polynomial));
    return V::bxor3(V::bxor(low, V::template shift_left_bytes<8>(high)), folded, carry);
}

/// Computes the powers of one key per lane.
template <class V>
WARPAES_INLINE void powers_of_vector(int rounds, std::size_t powers, const std::uint8_t* const* keys,
                                     std::uint8_t* const* out) {
    auto state = V::state(V::load_each(keys, 0));
    for (int r = 1; r < rounds; ++r) state = V::aesenc(state, V::load_each(keys, 16 * static_cast<std::size_t>(r)));
    const auto h = V::value(V::aesenclast(state, V::load_each(keys, 16 * static_cast<std::size_t>(rounds))));
    typename V::Reg p[SimdGcmMessages::most_powers];
    p[0] = divided_by_x<V>(V::swap_bytes(h));
    V::store_each(out, 16 * (powers - 1), p[0]);
    for (std::size_t n = 1; n < powers; n *= 2) {
        for (std::size_t i = 0; i < n; ++i) {
            p[n + i] = product<V>(p[i], p[n - 1]);
            V::store_each(out, 16 * (powers - 1 - n - i), p[n + i]);
        }
    }
}

template <class V>
void make_powers(const SimdPowers& run) {
    each_lane<V>(
        run.count, run.round_keys, SimdKeys::bytes_each, run.out,
        run.stride, [&](const std::uint8_t* const* keys, std::uint8_t* const* out) __attribute__((always_inline)) {
            powers_of_vector<V>(run.rounds, run.powers, keys, out);
        });
}

/// Returns the pre-counter block J0 (SP 800-38D, 7.1, step 2).
template <class V>
WARPAES_INLINE Reg128 pre_counter(const SimdGcmMessages& run, const std::uint8_t* powers, const std::uint8_t* iv) {
    if (run.iv_length == 12) {
        std::uint8_t block[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
        std::memcpy(block, iv, 12);
        return load128(block);
    }
    Ghash<V> hash(powers, zero128(), (run.iv_length + 15) / 16 + 1, run.power_count);
    hash_before_text(hash, run.power_count, iv, run.iv_length);
    hash.add_lengths(0, 8 * run.iv_length);
    return hash.digest();
}

template <class V, int Rounds, bool Encrypt>
void gcm_messages(const SimdGcmMessages& run) {
    const bool far = run.beyond_caches && run.length >= least_far_gcm;
    for (std::size_t i = 0; i < run.count; ++i) {
        const std::uint8_t* const keys = run.keys + i * run.key_stride;
        const std::uint8_t* const powers = run.powers + i * run.power_stride;
        const Reg128 j0 = pre_counter<V>(run, powers, run.iv + i * run.iv_stride);
        const std::size_t blocks = (run.aad_length + 15) / 16 + (run.length + 15) / 16 + 1;
        Ghash<V> hash(powers, zero128(), blocks, run.power_count);
        hash_before_text(hash, run.power_count, run.aad + i * run.aad_stride, run.aad_length);
        PlainCounter<V> counter(keys, add_words(swap_block(j0), word128(1)));
        const std::uint8_t* const input = run.input + i * run.input_stride;
        std::uint8_t* const output = run.output == nullptr ? nullptr : run.output + i * run.output_stride;
        if (output == nullptr) {
            hash.template add<V::unroll>(input, run.length);
        } else if (far && reinterpret_cast<std::uintptr_t>(output) % 16 == 0) {
            far_gcm_stretch<V, Rounds, Encrypt>(keys, counter, hash, input, output, run.length);
        } else {
            gcm_stretch<V, Rounds, Encrypt>(keys, counter, hash, input, output, run.length);
        }
        hash.add_lengths(8 * run.aad_length, 8 * run.length);
        typename V::State s[1] = {V::sum(V::splat(j0), round_key<V>(keys, 0))};
        const typename V::Reg sum[1] = {V::from_block(hash.digest())};
        encrypt_and_add<V, Rounds, 1, 1>(s, keys, sum);
        store128(run.tags + 16 * i, V::first_block(V::value(s[0])));
    }
    if (far) end_streams();
}

template <class V>
void run_gcm_messages(const SimdGcmMessages& run) {
    with_rounds(run.rounds, [&]<int Rounds>() {
        if (run.encrypt) return gcm_messages<V, Rounds, true>(run);
        gcm_messages<V, Rounds, false>(run);
    });
}

}  // namespace warpaes::cpu
