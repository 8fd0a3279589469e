// Implementations of the kernels in update.hpp, for every vector width.
#pragma once

#include "cpu/gcm_message_kernels.hpp"
#include "cpu/gcm_modes.hpp"
#include "cpu/simd_modes.hpp"
#include "cpu/update.hpp"

namespace warpaes::cpu {

template <class V, int Rounds, bool Encrypt, std::size_t Powers>
[[gnu::noinline]] void gcm_update_of(const GcmUpdate& u) {
    note_stack_depth();
    const Reg128 first = swap_block(load128(u.counter));
    Ghash<V> hash(u.powers + 16 * (update_powers - Powers), load128(u.digest), u.blocks, Powers);
    const std::size_t bytes = 16 * u.blocks;
    if (bytes < cached_gcm_bytes || !u.public_counters) {
        PlainCounter<V> counter(u.keys, first);
        gcm_stretch<V, Rounds, Encrypt>(u.keys, counter, hash, u.input, u.output, bytes);
    } else {
        // First process the blocks up to a counter that is a multiple of a step, so that every table ends at the end of
        // a step.
        constexpr std::size_t step_blocks = V::unroll * V::bytes / 16;
        std::uint64_t low, high;
        std::memcpy(&low, &first, 8);
        std::memcpy(&high, reinterpret_cast<const std::uint8_t*>(&first) + 8, 8);
        const std::size_t head = (step_blocks - low % step_blocks) % step_blocks;
        if (head != 0) {
            PlainCounter<V> counter(u.keys, first);
            hash.together(head);
            gcm_rest<V, Rounds, Encrypt, V::unroll / 2>(u.keys, counter, hash, u.input, u.output, 16 * head);
            low = (low & ~std::uint64_t{0xffffffff}) | static_cast<std::uint32_t>(low + head);
        }
        CachedGcmCounter<V, Rounds> cached(u.keys, high, low);
        gcm_stretch<V, Rounds, Encrypt>(u.keys, cached, hash, u.input + 16 * head, u.output + 16 * head,
                                        bytes - 16 * head);
    }
    store128(u.counter, swap_block(add_words(first, word128(static_cast<std::uint32_t>(u.blocks)))));
    store128(u.digest, hash.digest());
}

template <class V>
void gcm_update(const GcmUpdate& u) {
    with_rounds(u.rounds, [&]<int Rounds>() {
        if (u.encrypt) return gcm_update_of<V, Rounds, true, update_powers>(u);
        gcm_update_of<V, Rounds, false, update_powers>(u);
    });
}

template <class V, std::size_t Powers>
void hash_update(const std::uint8_t* powers, std::uint8_t* digest, const std::uint8_t* data, std::size_t blocks) {
    Ghash<V> hash(powers + 16 * (update_powers - Powers), load128(digest), blocks, Powers);
    hash.template add<(Powers * 16 < V::unroll * V::bytes ? 1 : V::unroll)>(data, 16 * blocks);
    store128(digest, hash.digest());
}

/// Computes H^(8 + i) = H^i * H^8. The powers are stored in the order of descending exponents.
template <class V>
void extend_powers(std::uint8_t* powers) {
    note_stack_depth();
    constexpr std::size_t few = 16 * few_powers;
    std::uint8_t* const last = powers + 16 * (update_powers - few_powers);
    const auto factor = V::splat(load128(last));
    for (std::uint8_t* to = last - V::bytes; to >= powers; to -= V::bytes) {
        V::store(to, product<V>(V::load(to + few, Whole{}), factor), Whole{});
    }
}

}  // namespace warpaes::cpu
