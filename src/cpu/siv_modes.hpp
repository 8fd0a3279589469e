// GCM-SIV (RFC 8452), built on the kernels of GCM and CTR. POLYVAL is GHASH of blocks with reversed bytes, and counters
// are little-endian, so the byte reversals of GCM are omitted. Decryption hashes its output one step behind the cipher,
// like GCM encryption.
#pragma once

#include "cpu/gcm_modes.hpp"

namespace warpaes::cpu {

/// Counter blocks whose first 32 bits count and wrap without a carry.
template <class V>
class SivCounter {
public:
    static constexpr int first_round = 1;

    WARPAES_INLINE SivCounter(const std::uint8_t* keys, const std::uint8_t* first)
        : k0_(round_key<V>(keys, 0)), counters_(V::add32(V::splat(load128(first)), V::lane_numbers())) {}

    template <std::size_t N>
    WARPAES_INLINE void next(typename V::State (&s)[N]) {
        const auto step = V::splat(word128(V::bytes / 16));
        WARPAES_UNROLL
        for (std::size_t i = 0; i < N; ++i) {
            s[i] = V::sum(counters_, k0_);
            counters_ = V::add32(counters_, step);
        }
    }

private:
    typename V::Reg k0_, counters_;
};

template <class V, int Rounds>
[[gnu::noinline]] void gcm_siv_of_rounds(const SimdGcmSiv& run) {
    note_stack_depth();
    Ghash<V, true> hash(run.powers, zero128(), (run.bytes + 15) / 16);
    if (run.output == nullptr) {
        hash.template add<V::unroll>(run.input, run.bytes);
    } else {
        SivCounter<V> counter(run.keys, run.counter);
        if (run.digest == nullptr) return ctr_walk<V, Rounds>(run.keys, counter, run.input, run.output, run.bytes);
        gcm_stretch<V, Rounds, true>(run.keys, counter, hash, run.input, run.output, run.bytes);
    }
    store128(run.digest, hash.digest());
}

/// GCM-SIV does not allow 192-bit keys.
template <class V>
void gcm_siv(const SimdGcmSiv& run) {
    if (run.rounds == 10) return gcm_siv_of_rounds<V, 10>(run);
    gcm_siv_of_rounds<V, 14>(run);
}

}  // namespace warpaes::cpu
