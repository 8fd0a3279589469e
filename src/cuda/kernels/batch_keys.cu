// Expands the keys of messages on the device, one thread per key. S-box bytes are read from conflict-free tables, so
// that the time does not depend on a key.
#include "cuda/kernels/batch_lookup.cuh"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/memory.cuh"
#include "cuda/tuning/keys.hpp"

namespace warpaes::cuda {

template <int Tables>
__device__ __forceinline__ std::uint32_t sub_word(const SharedTables<Tables>& t, std::uint32_t w) {
    // te0[x] = (2s, s, s, 3s).
    const std::uint32_t low = __byte_perm(t.template lookup<0, 0>(w), t.template lookup<0, 1>(w), 0x0051),
                        high = __byte_perm(t.template lookup<0, 2>(w), t.template lookup<0, 3>(w), 0x0051);
    return __byte_perm(low, high, 0x5410);
}

__device__ __forceinline__ std::uint32_t inv_mix_column(std::uint32_t v) {
    const auto twice = [](std::uint32_t x) { return ((x & 0x7f7f7f7fu) << 1) ^ (((x >> 7) & 0x01010101u) * 0x1b); };
    const std::uint32_t v2 = twice(v), v4 = twice(v2), v8 = twice(v4), v9 = v8 ^ v;
    return (v8 ^ v4 ^ v2) ^ rotl(v9 ^ v2, 24) ^ rotl(v9 ^ v4, 16) ^ rotl(v9, 8);
}

/// The location of a thread's key and of its slot; both are null if the thread has no key.
struct KeyPlace {
    const std::uint8_t* raw = nullptr;
    uint4* slot = nullptr;

    __device__ __forceinline__ KeyPlace(const KeyParams& p, std::uint64_t i) {
        if (i >= p.count) return;
        if (p.batch.groups == nullptr) {
            raw = (p.raw != nullptr ? p.raw : p.few) + i * KeyParams::stride;
            slot = p.raw != nullptr ? p.targets[i] : p.few_targets[i];
            return;
        }
        const BatchGroup& g = p.batch.groups[find_group<&BatchGroup::first_message>(p.batch, i)];
        const std::uint64_t message = i - g.first_message;
        // A key that all messages share is expanded by the thread of the first message.
        if (g.raw_keys == nullptr || (g.key_stride == 0 && message != 0)) return;
        raw = g.raw_keys + message * g.raw_key_stride;
        slot = const_cast<uint4*>(g.keys) + message * g.key_stride;
    }
};

/// Stores two adjacent blocks of this thread's slot and of the adjacent thread's slot; both threads must call it. Each
/// instruction writes both blocks of one slot, which form one 32-byte sector of memory.
__device__ __forceinline__ void store_pair(uint4* slot, uint4* neighbours, unsigned at, uint4 first, uint4 second) {
    const bool odd = lane_id() % 2 != 0;
    const uint4 gives = odd ? first : second;
    const uint4 gets = make_uint4(__shfl_xor_sync(full_warp, gives.x, 1), __shfl_xor_sync(full_warp, gives.y, 1),
                                  __shfl_xor_sync(full_warp, gives.z, 1), __shfl_xor_sync(full_warp, gives.w, 1));
    uint4* const of_even = odd ? neighbours : slot;
    uint4* const of_odd = odd ? slot : neighbours;
    if (of_even != nullptr) global(of_even)[at + (odd ? 1 : 0)] = odd ? gets : first;
    if (of_odd != nullptr) global(of_odd)[at + (odd ? 1 : 0)] = odd ? second : gets;
}

/// Key expansion (FIPS 197, 5.2), and for the inverse cipher as in 5.3.5.
template <int Rounds, int Tables>
__global__ void __launch_bounds__(BatchKeysLaunch::threads) batch_keys_kernel(const __grid_constant__ KeyParams p) {
    constexpr unsigned nk = Rounds - 6, words = 4 * (Rounds + 1);
    const SharedTables<Tables> tables;
    tables.fill(te0_table);
    // A slot that outlives the batch is written completely: its key may be used in any mode, and nothing of its
    // previous key may remain. The other slots are only for this mode, and are wiped as a whole.
    const bool whole = p.batch.groups == nullptr;
    const bool hash_key = whole ? p.inverse == 0 : p.hash_key != 0;
    const std::uint64_t step = global_threads();
    for (std::uint64_t first = global_thread() - lane_id(); first < p.count; first += step) {
        const KeyPlace place(p, first + lane_id());
        std::uint32_t w[words] = {};
        if (place.raw != nullptr) {
            const std::uint8_t* const raw = place.raw;  // may be a parameter
            const bool aligned = alignment_of(raw, raw) >= 4;
#pragma unroll
            for (unsigned j = 0; j < nk; ++j) {
                w[j] = aligned ? reinterpret_cast<const std::uint32_t*>(raw)[j] : load_word_bytewise(raw + 4 * j);
            }
        }
        std::uint32_t rcon = 1;
#pragma unroll
        for (unsigned j = nk; j < words; ++j) {
            std::uint32_t temp = w[j - 1];
            if (j % nk == 0) {
                temp = sub_word(tables, rotl(temp, 24)) ^ rcon;
                rcon = (rcon << 1) ^ ((rcon >> 7) * 0x11b);
            } else if (nk > 6 && j % nk == 4) {
                temp = sub_word(tables, temp);
            }
            w[j] = w[j - nk] ^ temp;
        }

        const std::uint64_t address = reinterpret_cast<std::uintptr_t>(place.slot);
        uint4* const neighbours = reinterpret_cast<uint4*>(__shfl_xor_sync(full_warp, address, 1));
        const auto block = [&](unsigned r) {
            if (r > Rounds) return make_uint4(0, 0, 0, 0);
            if (p.inverse == 0) return make_uint4(w[4 * r], w[4 * r + 1], w[4 * r + 2], w[4 * r + 3]);
            const std::uint32_t* k = w + 4 * (Rounds - r);
            if (r == 0 || r == Rounds) return make_uint4(k[0], k[1], k[2], k[3]);
            return make_uint4(inv_mix_column(k[0]), inv_mix_column(k[1]), inv_mix_column(k[2]), inv_mix_column(k[3]));
        };
        const uint4 last = hash_key ? cipher<false, Rounds>(tables, make_uint4(0, 0, 0, 0), w) : make_uint4(0, 0, 0, 0);
#pragma unroll
        for (unsigned r = 0; r < key_slot_blocks; r += 2) {
            if (r <= Rounds || whole || (r == key_slot_h - 1 && hash_key)) {
                store_pair(place.slot, neighbours, r, block(r), r + 1 == key_slot_h ? last : block(r + 1));
            }
        }
    }
}

Kernel<KeyParams> batch_keys_kernel_for(int rounds) {
    constexpr int tables = BatchKeysLaunch::tables;
    if (rounds == 10) return &batch_keys_kernel<10, tables>;
    return rounds == 12 ? &batch_keys_kernel<12, tables> : &batch_keys_kernel<14, tables>;
}

}  // namespace warpaes::cuda
