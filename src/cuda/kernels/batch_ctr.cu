// Counter modes for many messages, each with its own counter: CTR and the GCM key stream.
//
// Counter caching (ctr.cuh) takes 22 lookups for the first fourteen bytes of a counter and five for each value of j and
// of g, in addition to the 16 lookups of every further round. Short messages: 2^lanes threads share a message and
// process its blocks in turn. A thread computes the prefix once and B(g) usually once, so with four blocks per thread,
// rounds one and two take 12 lookups per block instead of 32. A thread finds its message by its number among all
// threads of the launch, so warps are full regardless of the lengths of the messages. E(J0) of GCM is computed after
// all text, by one thread per message: as the first block of a message, it would shift the other blocks off cache line
// boundaries.
//
// Long messages: a task is the same share of several successive windows of 256 blocks, and is processed by one warp.
// Windows begin at the beginning of the message and not where j is zero, so only the last 32 blocks of a message can be
// incomplete. Lane l's block 32 i + l then has the same j in every window, and A(j) stays in registers. For large i, j
// may have wrapped; g is then greater by one.
#include "cuda/kernels/batch_lookup.cuh"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/ctr.cuh"
#include "cuda/tuning/counters.hpp"

namespace warpaes::cuda {

/// Returns the first counter block: the IV, or J0 for GCM.
__device__ inline uint4 first_counter(const CounterParams& p, const BatchGroup& group, std::uint64_t message) {
    if (p.gcm == 0 || group.iv_length != 12) return load_iv(group, message);
    return nonce_block(group, message, 1);
}

/// Returns the counter block of the first block of text.
__device__ __forceinline__ uint4 text_counter(const CounterParams& p, const BatchGroup& group, std::uint64_t message) {
    uint4 block = first_counter(p, group, message);
    if (p.gcm != 0) block.w = byte_swap(byte_swap(block.w) + 1);
    return block;
}

/// Returns `initial` with its last 16 bits set to zero, plus `steps` times 65,536. For GCM, only the last 32 bits are
/// counted.
__device__ __forceinline__ uint4 prefix_after(bool gcm, uint4 initial, std::uint64_t steps) {
    if (!gcm) return counter_prefix(initial, steps);
    initial.w = byte_swap((byte_swap(initial.w) & 0xffff0000u) + (static_cast<std::uint32_t>(steps) << 16));
    return initial;
}

template <int Tables, typename Key>
__device__ __forceinline__ void set_prefix(CounterPrefix<Tables>& prefix, const SharedTables<Tables>& tables,
                                           uint4 counter, const Key& key) {
    if constexpr (std::is_same_v<Key, SharedKey>) {
        prefix.set(tables, counter, key.words);
    } else {
        std::uint32_t k[12];
#pragma unroll
        for (int r = 0; r < 3; ++r) {
            std::uint32_t buffer[4];
            const std::uint32_t* words = key.round(r, buffer);
#pragma unroll
            for (int i = 0; i < 4; ++i) k[4 * r + i] = words[i];
        }
        prefix.set(tables, counter, k);
    }
}

/// A message's text: whole blocks and a remainder.
struct CounterText {
    const std::uint8_t* in;
    std::uint8_t* out;
    std::uint64_t whole;
    std::uint32_t rest;
    std::uint32_t alignment;

    __device__ __forceinline__ CounterText(const BatchGroup& group, std::uint64_t message)
        : in(global(group.input) + message * group.input_stride),
          out(global(group.output) + message * group.output_stride),
          whole(group.length / block_bytes),
          rest(static_cast<std::uint32_t>(group.length % block_bytes)),
          alignment(alignment_of(in, out)) {}

    [[nodiscard]] __device__ __forceinline__ std::uint64_t blocks() const { return whole + (rest != 0); }
};

__device__ __forceinline__ void finish_partial(const BatchGroup& group, std::uint64_t message, uint4 key_stream) {
    const CounterText text(group, message);
    const std::uint64_t at = text.whole * block_bytes;
    xor_partial_block(text.out + at, text.in + at, key_stream, text.rest, text.alignment);
}

/// Stores the encryption of J0, which is needed for the tag.
__device__ __forceinline__ void finish_pad(const CounterParams& p, const BatchGroup& group, std::uint64_t message,
                                           uint4 key_stream) {
    if (p.pads != nullptr) global(p.pads)[group.first_message + message] = key_stream;
}

/// Encrypts or decrypts a thread's blocks of a short message.
template <int Rounds, int Tables, typename Keys>
__device__ __forceinline__ void share_of_message(const SharedTables<Tables>& tables, const CounterParams& p,
                                                 const Keys& keys, const BatchGroup& group, std::uint64_t thread) {
    const std::uint64_t message = thread >> group.lanes;
    const std::uint32_t step = 1u << group.lanes, first = static_cast<std::uint32_t>(thread) & (step - 1);
    const CounterText text(group, message);
    const auto whole = static_cast<std::uint32_t>(text.whole);
    const auto blocks = static_cast<std::uint32_t>(text.blocks());
    std::uint32_t at = first;
    const std::uint8_t* in = text.in + first * block_bytes;
    std::uint8_t* out = text.out + first * block_bytes;
    // Threads that keep keys in registers load each block while the previous block is encrypted or decrypted. Otherwise
    // there are twice as many threads, which have no registers for a second block.
    constexpr bool early = Keys::in_registers;
    const auto load = [&](std::uint32_t block, const std::uint8_t* from) {
        return block < whole ? load_block_early(from, text.alignment) : uint4{};
    };
    uint4 next = early ? load(at, in) : uint4{};

    const auto key = keys.at(group, message);
    const auto later_key = at_hand<Rounds, 3>(key);
    const uint4 counter = first_counter(p, group, message);
    // With GCM, position 0 is J0, and the text begins at position 1.
    const std::uint32_t low = (byte_swap(counter.w) & 0xffffu) + (p.gcm != 0 ? 1 : 0);
    std::uint32_t buffer[4];
    const std::uint32_t k[4] = {0, 0, 0, key.round(0, buffer)[3]};
    CounterPrefix<Tables> prefix;
    uint4 b{};
    std::uint32_t prefix_of = ~0u, b_of = ~0u;
    for (; at < blocks; at += step, in += step * block_bytes, out += step * block_bytes) {
        const uint4 loaded = early ? next : load(at, in);
        if constexpr (early) next = load(at + step, in + step * block_bytes);
        const std::uint32_t place = low + at;
        if ((place >> 8) != b_of) {
            b_of = place >> 8;
            if ((place >> 16) != prefix_of) {
                prefix_of = place >> 16;
                set_prefix(prefix, tables, prefix_after(p.gcm != 0, counter, prefix_of), key);
            }
            b = prefix.b(tables, b_of & 0xff, k);
        }
        const uint4 key_stream =
            rounds_with<false, Rounds, 3>(tables, prefix.a(tables, place & 0xff, k) ^ b, later_key);
        if (at < whole) {
            store_block(out, loaded ^ key_stream, text.alignment);
        } else {
            finish_partial(group, message, key_stream);
        }
    }
}

/// GCM: computes E(J0) of a message.
template <int Rounds, int Tables, typename Keys>
__device__ __forceinline__ void pad_of_message(const SharedTables<Tables>& tables, const CounterParams& p,
                                               const Keys& keys, std::uint64_t number) {
    const BatchGroup& group = p.batch.groups[find_group<&BatchGroup::first_message>(p.batch, number)];
    const std::uint64_t message = number - group.first_message;
    const auto key = keys.at(group, message);
    std::uint32_t buffer[4];
    const std::uint32_t* const k = key.round(0, buffer);
    uint4 block = first_counter(p, group, message) ^ make_uint4(k[0], k[1], k[2], k[3]);
#pragma unroll 1
    for (int r = 1; r < Rounds; ++r) block = cipher_round<false>(tables, block, key.round(r, buffer));
    finish_pad(p, group, message, last_round<false>(tables, block, key.round(Rounds, buffer)));
}

/// Processes steps of 32 threads for the text, followed, for GCM, by steps of 32 messages for E(J0).
template <int Rounds, int Tables, typename Keys>
__device__ __forceinline__ void process_short(const CounterParams& p, const Keys& keys) {
    const SharedTables<Tables> tables;
    tables.fill(te0_table);
    const unsigned lane = lane_id();
    const std::uint64_t of_text = (p.batch.units + warp_lanes - 1) / warp_lanes,
                        steps = of_text + (p.pads != nullptr ? (p.batch.messages + warp_lanes - 1) / warp_lanes : 0);
    for (;;) {
        unsigned long long step = 0;
        if (lane == 0) step = atomicAdd(p.batch.ticket, p.at_once);
        step = __shfl_sync(full_warp, step, 0);
        if (step >= steps) return;
        const std::uint64_t stop = step + p.at_once < steps ? step + p.at_once : steps;
        std::uint64_t unit = step * warp_lanes + lane;
        std::uint32_t group = find_group<&BatchGroup::first_unit>(p.batch, unit);
        for (; step < stop; ++step, unit += warp_lanes) {
            if (unit < p.batch.units) {
                group = walk_to_group<&BatchGroup::first_unit>(p.batch, group, unit);
                const BatchGroup& its = p.batch.groups[group];
                share_of_message<Rounds, Tables>(tables, p, keys, its, unit - its.first_unit);
            } else if (step >= of_text && unit - of_text * warp_lanes < p.batch.messages) {
                pad_of_message<Rounds, Tables>(tables, p, keys, unit - of_text * warp_lanes);
            }
            __syncwarp();
        }
    }
}

template <int Rounds, int Tables, typename Keys>
__device__ __forceinline__ void process_long(const CounterParams& p, const Keys& keys) {
    constexpr int width = CounterParams::width;
    constexpr std::uint32_t share = width * warp_lanes;
    const SharedTables<Tables> tables;
    tables.fill(te0_table);
    const unsigned lane = lane_id();
    for (;;) {
        unsigned long long task = 0;
        if (lane == 0) task = atomicAdd(p.batch.ticket, 1);
        task = __shfl_sync(full_warp, task, 0);
        if (task >= p.batch.units) return;
        const BatchGroup& group = p.batch.groups[find_group<&BatchGroup::first_unit>(p.batch, task)];
        const std::uint64_t of_group = task - group.first_unit;
        const std::uint64_t tasks = CounterParams::tasks_of(group.length, p.at_once);
        const std::uint64_t message = of_group / tasks, of_message = of_group % tasks;
        const auto key = keys.at(group, message);
        const auto later_key = at_hand<Rounds, 3>(key);
        std::uint32_t buffer[4];
        const std::uint32_t k[4] = {0, 0, 0, key.round(0, buffer)[3]};

        // This lane's blocks of a window are unit_first + lane + 32 i. In the windows before `full_end`, all blocks of
        // this share are whole.
        const std::uint32_t unit_first = static_cast<std::uint32_t>(of_message % CounterParams::shares) * share;
        auto window = static_cast<std::uint32_t>(of_message / CounterParams::shares * p.at_once);
        const std::uint8_t* in;
        std::uint8_t* out;
        std::uint32_t alignment, offset, g, end_window, full_end;
        {
            const CounterText text(group, message);
            const std::uint32_t low = byte_swap(text_counter(p, group, message).w) & 0xffffu;
            const auto windows_of = [&](std::uint64_t blocks, std::uint32_t more) {
                return static_cast<std::uint32_t>((blocks + CounterParams::window - more) / CounterParams::window);
            };
            end_window = window + p.at_once;
            const std::uint32_t windows = windows_of(text.blocks(), unit_first + 1);
            if (end_window > windows) end_window = windows;
            full_end = windows_of(text.whole, unit_first + share);
            // For the first block of the share in this window, `offset` is the last byte of its counter, and `g` is the
            // number above that byte, counted from the counter with its last 16 bits set to zero.
            offset = ((low & 0xff) + unit_first) & 0xff;
            g = (low + unit_first) / CounterParams::window + window;
            const std::uint64_t shift =
                (static_cast<std::uint64_t>(window) * CounterParams::window + unit_first + lane) * block_bytes;
            in = text.in + shift;
            out = text.out + shift;
            alignment = text.alignment;
        }
        const bool crosses = offset + share > 256;

        std::uint32_t prefix_of = ~0u;
        CounterPrefix<Tables> prefix;
        uint4 a[width];
        uint4 b{}, b_next{};
        for (; window < end_window;
             ++window, ++g, in += CounterParams::window * block_bytes, out += CounterParams::window * block_bytes) {
            if (g >> 8 != prefix_of) {
                prefix_of = g >> 8;
                set_prefix(prefix, tables, prefix_after(p.gcm != 0, text_counter(p, group, message), prefix_of), key);
#pragma unroll
                for (int i = 0; i < width; ++i) {
                    a[i] = prefix.a(tables, (offset + i * warp_lanes + lane) & 0xff, k);
                }
                b_next = prefix.b(tables, g & 0xff, k);
            }
            // If j wraps within the share, B(g) and B(g + 1) are needed, and B(g + 1) is used again for the next
            // window. Beyond the last value of g, B(g + 1) is wrong, but it is not used.
            if (crosses) b = b_next;
            b_next = prefix.b(tables, (crosses ? g + 1 : g) & 0xff, k);
            if (!crosses) b = b_next;
            if (window < full_end && !(crosses && (g & 0xff) == 0xff)) {
#pragma unroll
                for (int i = 0; i < width; ++i) {
                    constexpr int group_bytes = warp_lanes * static_cast<int>(block_bytes);
                    const uint4 loaded = load_block(in + i * group_bytes, alignment);
                    const bool wrapped = offset + i * warp_lanes + lane > 0xff;
                    const uint4 key_stream =
                        rounds_with<false, Rounds, 3>(tables, a[i] ^ (wrapped ? b_next : b), later_key);
                    store_block(out + i * group_bytes, key_stream ^ loaded, alignment);
                }
                continue;
            }
            // The end of the message, or an overflow of the counter's last 16 bits within the share.
            const CounterText text(group, message);
            const uint4 counter = text_counter(p, group, message);
            const std::uint64_t first = static_cast<std::uint64_t>(window) * CounterParams::window + unit_first;
#pragma unroll 1
            for (std::uint32_t i = 0; i < share && first + i < text.blocks(); i += warp_lanes) {
                const std::uint64_t at = first + i + lane, place = (byte_swap(counter.w) & 0xffffu) + at;
                uint4 block = prefix_after(p.gcm != 0, counter, place >> 16);
                block.w |= byte_swap(static_cast<std::uint32_t>(place) & 0xffffu);
                uint4 loaded{};
                if (at < text.whole) loaded = load_block(text.in + at * block_bytes, text.alignment);
                const uint4 key_stream = cipher_with<false, Rounds>(tables, block, key);
                if (at < text.whole) {
                    store_block(text.out + at * block_bytes, key_stream ^ loaded, text.alignment);
                } else if (at < text.blocks()) {
                    finish_partial(group, message, key_stream);
                }
            }
        }
        if (p.gcm != 0 && of_message == 0 && lane == 0) {
            finish_pad(p, group, message, cipher_with<false, Rounds>(tables, first_counter(p, group, message), key));
        }
        __syncwarp();
    }
}

template <int Rounds, int Tables, bool Long, bool OneKey>
__global__ void __launch_bounds__(BatchCounters::most_threads(OneKey), 1)
    batch_ctr_kernel(const __grid_constant__ CounterParams p) {
    const auto keys = keys_of<OneKey>(p.batch);
    if constexpr (Long) {
        process_long<Rounds, Tables>(p, keys);
    } else {
        process_short<Rounds, Tables>(p, keys);
    }
}

template <int Rounds, int Tables, bool Long>
__global__ void __launch_bounds__(BatchCounters::most_threads(true), 1)
    batch_ctr_few_kernel(const __grid_constant__ CounterParams p, const __grid_constant__ FewKeys few) {
    if constexpr (Long) {
        process_long<Rounds, Tables>(p, FromFewKeys{few});
    } else {
        process_short<Rounds, Tables>(p, FromFewKeys{few});
    }
}

Kernel<CounterParams> batch_ctr_kernel_for(int rounds, int tables, bool one_key, bool long_messages) {
    const auto choose = [&]<int Rounds, int Tables, bool OneKey>() -> Kernel<CounterParams> {
        if (long_messages) return &batch_ctr_kernel<Rounds, Tables, true, OneKey>;
        return &batch_ctr_kernel<Rounds, Tables, false, OneKey>;
    };
    return with_rounds_and_tables(rounds, tables, one_key, choose);
}

Kernel<CounterParams, FewKeys> batch_ctr_few_kernel_for(int rounds, int tables, bool long_messages) {
    const auto choose = [&]<int Rounds, int Tables, bool Long>() -> Kernel<CounterParams, FewKeys> {
        return &batch_ctr_few_kernel<Rounds, Tables, Long>;
    };
    return with_rounds_and_tables(rounds, tables, long_messages, choose);
}

}  // namespace warpaes::cuda
