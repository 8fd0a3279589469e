// GCM batches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "aes/ghash.hpp"
#include "aes/types.hpp"
#include "cuda/tuning/ghash.hpp"

namespace warpaes::cuda {

/// GCM batches (batch_gcm.cu).
struct GcmBatch {
    static constexpr int ghash_threads = 256, ghash_blocks_each = 2;   ///< thread blocks per multiprocessor
    static constexpr int other_threads = 128, other_blocks_each = 16;  ///< for kernels with one thread per message
    static constexpr int most_j0_threads = 256;                        ///< the limit of the kernel
    /// The kernels for one message, with tensor cores, hash a group under one key if its messages have at least
    /// `least_long` bytes and the group has at least `least_bytes`. A single message in a larger batch must have
    /// `least_alone` bytes. Associated data may have at most `most_aad` bytes, because one thread hashes the associated
    /// data of a message.
    static constexpr std::uint64_t least_long = 8192, least_bytes = 1 << 20, least_alone = 16 << 20, most_aad = 1024;

    /// One lane is used if its time is at most this many tenths of the time of four lanes.
    static constexpr std::uint64_t one_lane_tenths = 12;

    /// The number of lanes per message: few, because each lane computes powers of H, but enough to keep most lanes busy
    /// in the last round. The limits are multiplications (one per lane every two cycles) and logic instructions, which
    /// are slower when they run together on an SM than separately.
    static constexpr int lanes(const DeviceLimits& device, std::uint64_t messages) {
        const std::uint64_t at_once =
            static_cast<std::uint64_t>(device.multiprocessors) * ghash_blocks_each * ghash_threads;
        if (4 * messages < at_once) return 32;
        const std::uint64_t by_one = (messages + at_once - 1) / at_once,
                            by_four = (4 * messages + at_once - 1) / at_once;
        return 10 * 4 * by_one <= one_lane_tenths * by_four ? 1 : 4;
    }
};

/// Groups of long messages under the same key that are processed by the kernels for one message: the batch kernels are
/// designed for many short messages, and take 60 us longer.
struct OwnLaunches {
    static constexpr std::uint64_t long_message = 64 << 10;
    static constexpr std::uint64_t message = 4 << 10,
                                   few_bytes = 128 << 20;  ///< minimum message length in groups of at most few_bytes
                                                           ///< bytes

    static constexpr bool take(std::uint64_t messages, std::uint64_t bytes) {
        return bytes >= long_message || (bytes >= message && messages * bytes <= few_bytes);
    }
};

/// GHASH of many messages under one key or a few keys; each message is a row (ghash_messages.cu).
struct GcmRows {
    static constexpr int threads = 256, blocks_each = 2;  ///< thread blocks per multiprocessor
    static constexpr int batch = 4, depth = 2;          ///< number of steps of 32 blocks between two waits, and number
                                                        ///< of batches in flight
    static constexpr int tile_rows = threads / 32 * 8;  ///< messages that a thread block hashes at a time
    /// Blocks of a message that are not whole blocks of text: associated data, a partial block, lengths.
    static constexpr unsigned most_edges = 8;
    static constexpr std::uint64_t most_aad = 16 * (most_edges - 2);
    /// Shared memory of a warp: the ring, the edges of the warp's eight rows, and E(J0) of two tiles.
    static constexpr unsigned warp_bytes = (depth * batch * 32 + 8 * most_edges + 2 * 8) * block_bytes;
    static constexpr std::uint64_t least_bytes = 128, most_bytes = 16384;
    static constexpr std::uint64_t least_messages = 1024;
    /// The minimum number of rows for each of several keys. For a thread block, the powers and matrices of a key cost
    /// about as much as 10 rows.
    static constexpr std::uint64_t least_of_key = 16;
    /// The number of messages per group from which sorting by key is worthwhile. Sorting costs the host about 60 ns per
    /// group.
    static constexpr std::uint64_t least_of_group = 32;
    /// The cost, in blocks of a row, of the launches that combine the digests of a message's rows.
    static constexpr std::uint64_t combining = 75;

    static constexpr bool fits(std::uint64_t bytes, std::uint64_t aad) {
        return bytes >= least_bytes && bytes <= most_bytes && aad <= most_aad;
    }
    /// Whether messages under several keys may be rows.
    static constexpr bool takes_keys(const DeviceLimits& device, std::uint64_t messages) {
        return messages >= least_messages && GhashMma::takes(device, messages * (least_bytes / block_bytes));
    }
    static constexpr bool sorts(std::uint64_t messages, std::uint64_t groups) {
        return messages >= least_of_group * groups;
    }
    /// `messages` counts all messages of the batch, not only those of this length. All use one key.
    static constexpr bool takes(const DeviceLimits& device, std::uint64_t messages, std::uint64_t bytes,
                                std::uint64_t aad) {
        const std::uint64_t blocks = bytes / 16 + 4;
        if (!fits(bytes, aad) || messages < least_messages) return false;
        if (!GhashMma::takes(device, messages * blocks)) return false;
        const std::uint64_t round = static_cast<std::uint64_t>(device.multiprocessors) * blocks_each * tile_rows;
        const RowShape cut = mma_row_shape(device, messages, blocks);
        const auto time = [&](std::uint64_t rows, std::uint64_t of) {
            return (rows + round - 1) / round * (of + GhashMma::row_overhead);
        };
        return time(messages, blocks) <= time(messages * cut.rows, cut.blocks) + combining;
    }
    static constexpr std::uint64_t tiles_of(std::uint64_t messages) { return (messages + tile_rows - 1) / tile_rows; }
    static constexpr LaunchShape shape(const DeviceLimits& device, std::uint64_t tiles) {
        const auto most = static_cast<std::uint64_t>(device.multiprocessors * blocks_each);
        return {static_cast<int>(std::min(tiles, most)), threads,
                GhashMma::shared_bytes(device) + threads / 32 * warp_bytes};
    }
    static constexpr std::uint64_t turns = 8, most_tiles = 16;
    /// The number of consecutive tiles that a thread block claims at a time: several, so that its key rarely changes,
    /// but few enough that it claims several times.
    static constexpr std::uint32_t tiles_at_once(std::uint64_t tiles, std::uint64_t runs, int grid) {
        const std::uint64_t of_run = tiles / runs, of_turn = tiles / (turns * static_cast<std::uint64_t>(grid));
        if (runs == 1) return 1;
        return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(std::min(of_run, of_turn), 1, most_tiles));
    }
};

/// The facts about messages from which the time of one pass is estimated. Lengths are in blocks.
struct GcmPassWork {
    std::uint64_t messages = 0, blocks = 0;  ///< number of messages, and of the blocks of their texts
    std::uint64_t longest = 0, aad = 0;      ///< the longest text, and the longest associated data
    bool equal = true;                       ///< all texts have the same length
    bool equal_ends = true;                  ///< the lengths of all texts are equal modulo four
    bool aligned = true;                     ///< all texts are aligned to 16 bytes
    std::uint64_t keys = 1;
    bool decrypts = false;

    /// Adds `count` messages with texts of `text` blocks.
    constexpr void add(std::uint64_t count, std::uint64_t text, std::uint64_t aad_blocks) {
        const bool begins = messages == 0;
        messages += count;
        blocks += count * text;
        equal = equal && (begins || text == longest);
        equal_ends = equal_ends && (begins || text % 4 == longest % 4);
        longest = std::max(longest, text);
        aad = std::max(aad, aad_blocks);
    }
};

struct GcmPassShape {
    std::uint32_t log_rows = 0;   ///< log2 of the rows of a message
    std::uint32_t aad_steps = 0;  ///< steps for the longest associated data
    bool weighted = true;         ///< rows have weights; otherwise the powers account for positions after the text
    bool equal = true;            ///< as GcmPassWork::equal
    double time = 0;              ///< estimated time, in steps of all warps
};

/// GCM of many messages under one key or a few keys in one pass (gcm_pass.cu), with wide_mma.
struct GcmPass {
    static constexpr int threads = 512;
    static constexpr unsigned warps = threads / 32;
    static constexpr unsigned together = 4;       ///< number of warps that execute wide_mma together
    static constexpr unsigned rows_per_warp = 8;  ///< rows of wide_mma's operand; four lanes process a row
    static constexpr unsigned slots = 16;         ///< number of slots, each of which contains four powers of H
    static constexpr int tables = 4;
    static constexpr std::uint64_t most_blocks = 1 << 16;  ///< maximum length of a message
    static constexpr std::uint32_t most_log_rows = 3;
    static constexpr unsigned factors = 2 * HashKey::count;  ///< for each of several keys: powers and weights
    /// The costs of a tile, of its weights, and of a step without text, in steps; and a factor for unaligned texts.
    static constexpr double tile_cost = 0.6, weights_cost = 0.6, edge_cost = 0.3, unaligned = 1.45;
    /// The cost of several keys, in steps: the kernel that computes their powers of H, and the next key's matrices.
    static constexpr double keys_cost = 6.5;
    static constexpr std::size_t shared_bytes() {
        return tables * table_bytes_each + slots * 4096 + warps * 32 * block_bytes;
    }
    static constexpr bool is_possible(const DeviceLimits& device) {
        return GhashMma::wide(device) && device.table.tensor_blocks != never &&
               shared_bytes() <= static_cast<std::size_t>(device.shared_bytes_per_block);
    }
    /// Returns the number of messages of a tile.
    static constexpr std::uint64_t tile_messages(std::uint32_t log_rows) {
        return std::uint64_t{rows_per_warp * warps} >> log_rows;
    }
    static constexpr std::uint64_t tiles_of(std::uint64_t messages, std::uint32_t log_rows) {
        return (messages + tile_messages(log_rows) - 1) / tile_messages(log_rows);
    }
    static constexpr LaunchShape shape(const DeviceLimits& device, std::uint64_t tiles) {
        return {static_cast<int>(std::min(tiles, static_cast<std::uint64_t>(device.multiprocessors))), threads,
                shared_bytes(), tables};
    }
    /// The number of consecutive tiles that a thread block processes under several keys: an equal share, or less if the
    /// lengths of messages differ.
    static constexpr std::uint64_t turns = 8;
    static constexpr std::uint32_t tiles_at_once(std::uint64_t tiles, bool equal, int grid) {
        const std::uint64_t parts = static_cast<std::uint64_t>(grid) * (equal ? 1 : turns);
        return static_cast<std::uint32_t>((tiles + parts - 1) / parts);
    }
    static constexpr GcmPassShape shape_with(const DeviceLimits& device, const GcmPassWork& work,
                                             std::uint32_t log_rows) {
        const std::uint64_t step = std::uint64_t{4} << log_rows;
        GcmPassShape shape;
        shape.log_rows = log_rows;
        shape.aad_steps = static_cast<std::uint32_t>((work.aad + step - 1) / step);
        shape.equal = work.equal;
        shape.weighted = log_rows != 0 || !work.equal_ends || shape.aad_steps + work.longest / step + 1 > slots;
        const auto cost = [&](double blocks) {
            return blocks / static_cast<double>(step) + (shape.aad_steps + 1) * edge_cost + tile_cost +
                   (shape.weighted ? weights_cost : 0);
        };
        const auto multiprocessors = static_cast<std::uint64_t>(device.multiprocessors);
        // As if every key had the same number of messages.
        const std::uint64_t tiles = work.keys * tiles_of((work.messages + work.keys - 1) / work.keys, log_rows);
        const double longest = cost(static_cast<double>((work.longest + step - 1) / step * step));
        const double average = cost(static_cast<double>(work.blocks) / static_cast<double>(work.messages));
        shape.time =
            work.equal
                ? static_cast<double>((tiles + multiprocessors - 1) / multiprocessors) * longest
                : std::max(static_cast<double>(tiles) / static_cast<double>(multiprocessors) * average + average / 2,
                           longest);
        if (!work.aligned) shape.time *= unaligned;
        if (work.keys > 1) shape.time += keys_cost;
        return shape;
    }
    /// Returns the fastest shape, or none if a message is too long.
    static constexpr std::optional<GcmPassShape> choose(const DeviceLimits& device, const GcmPassWork& work) {
        if (!is_possible(device) || work.longest > most_blocks) return std::nullopt;
        GcmPassShape best = shape_with(device, work, 0);
        for (std::uint32_t log_rows = 1; log_rows <= most_log_rows; ++log_rows) {
            const GcmPassShape next = shape_with(device, work, log_rows);
            if (next.time < best.time) best = next;
        }
        return best;
    }
};

/// GCM of long messages under one key or a few keys in one pass (gcm_windows.cu), with wide_mma.
struct GcmWindows {
    static constexpr int threads = 512;
    static constexpr unsigned together = 4;                               ///< warps that execute wide_mma together
    static constexpr unsigned groups = threads / 32 / together;           ///< groups of a thread block
    static constexpr unsigned slots = 16;                                 ///< slots of four powers of H each
    static constexpr unsigned chunk = slots / 2;                          ///< windows for which there are powers
    static constexpr unsigned window = 256;                               ///< blocks per window
    static constexpr unsigned radix = 65, digits = 3;                     ///< how numbers of windows are written
    static constexpr std::uint64_t most_windows = radix * radix * radix;  ///< maximum per message
    static constexpr int tables = 4;
    static constexpr unsigned part_bytes = 64;  ///< shared memory of each warp, in addition to tables and powers

    /// Returns the number of windows of a message. They extend from its associated data, or from the block before its
    /// text if that comes first (for E(J0)), to its block of lengths.
    static constexpr std::uint64_t windows_of(std::uint64_t bytes, std::uint64_t aad_bytes) {
        const std::uint64_t before = (aad_bytes + 15) / 16;
        return ((bytes + 15) / 16 + 2) / window + 1 + (before > 2 ? (before - 2 + window - 1) / window : 0);
    }
    /// The costs of a window, of a message, and of the launch with its first and last windows, in steps of all warps;
    /// and a factor for unaligned texts.
    static constexpr double window_cost = 2.0, message_cost = 3.0, fixed_cost = 3, unaligned = 1.2;

    static constexpr LaunchShape shape(const DeviceLimits& device, std::uint64_t windows) {
        const std::uint64_t most = (windows + groups - 1) / groups;
        return {static_cast<int>(std::min(most, static_cast<std::uint64_t>(device.multiprocessors))), threads,
                tables * table_bytes_each + slots * 4096 + threads / 32 * part_bytes, tables};
    }
    /// Returns the estimated time, in the unit of GcmPassShape::time.
    static constexpr double time(const DeviceLimits& device, const GcmPassWork& work) {
        const double all_groups = static_cast<double>(device.multiprocessors) * groups;
        const double windows = static_cast<double>(work.blocks + work.messages * (3 + work.aad)) / window;
        const double time =
            (windows * window_cost + static_cast<double>(work.messages) * message_cost) / all_groups + fixed_cost;
        return (work.aligned ? time : unaligned * time) + (work.keys > 1 ? GcmPass::keys_cost : 0);
    }
};

/// The kernel that computes powers of H for several keys (gcm_factors.cu).
struct GcmFactors {
    static constexpr unsigned threads = 64;
    static constexpr unsigned most_bits = 27, negative_bits = 8;  ///< of exponents
    static_assert((GcmWindows::window * (GcmWindows::most_windows - 1)) >> most_bits == 0);

    /// Thread blocks of a key.
    static constexpr std::uint32_t parts(std::uint32_t count) { return (count + threads - 1) / threads; }
    static constexpr LaunchShape shape(std::uint32_t keys, std::uint32_t count) {
        return {static_cast<int>(keys * parts(count)), static_cast<int>(threads),
                (most_bits + negative_bits) * block_bytes};
    }
};

/// How a batch of GCM under one key or a few keys is processed.
struct GcmOnePass {
    static constexpr std::uint64_t most_aad = 1024, most_bytes = 1 << 30;
#if defined(WARPAES_SIMT)
    static constexpr std::uint64_t least_blocks = 256, least_blocks_of_group = 2;  // which the simulated GPU processes
                                                                                   // in reasonable time
    static constexpr double several_kernels_fixed = 1e6;
#else
    static constexpr std::uint64_t least_blocks = 32768;  ///< minimum for all texts of the batch together
    /// The amount of text per group from which sorting groups by key is worthwhile. Sorting costs the host about 60 ns
    /// per group.
    static constexpr std::uint64_t least_blocks_of_group = 8192;
    static constexpr double several_kernels_fixed = 17;  ///< fixed part of the time of several kernels, in steps
#endif
    /// The other part of the time of several kernels, as a multiple of the steps that the text fills. It depends on the
    /// average length of the messages in blocks and, for long messages, on whether they have the same length.
    static constexpr std::uint64_t short_blocks = 64, long_blocks = 256, long_keys_blocks = 1024;
    static constexpr double several_kernels_short = 1.4, several_kernels = 1.05, several_kernels_long = 1.0,
                            several_kernels_unequal = 1.25, several_kernels_unaligned = 1.4, several_kernels_keys = 1.2;

    static_assert(GcmWindows::windows_of(most_bytes, most_aad) <= GcmWindows::most_windows);
    static constexpr bool sorts(std::uint64_t blocks, std::uint64_t groups) {
        return blocks >= least_blocks_of_group * groups;
    }
    static constexpr bool fits(std::uint64_t bytes, std::uint64_t aad, std::size_t iv_bytes) {
        return bytes <= most_bytes && aad <= most_aad && iv_bytes == gcm_nonce_bytes;
    }

    enum class Kernels { several, pass, windows };
    Kernels kernels = Kernels::several;
    GcmPassShape pass;    ///< set for Kernels::pass
    bool aligned = true;  ///< all texts are aligned to 16 bytes

    /// Returns the kernels with the shortest estimated time.
    static constexpr GcmOnePass choose(const DeviceLimits& device, const GcmPassWork& work) {
        if (!GcmPass::is_possible(device) || work.blocks < least_blocks) return {};
        const double steps =
            static_cast<double>(work.blocks) / (static_cast<double>(device.multiprocessors) * GcmPass::threads);
        const double factor = work.blocks < short_blocks * work.messages  ? several_kernels_short
                              : work.blocks < long_blocks * work.messages ? several_kernels
                              : work.equal                                ? several_kernels_long
                                                                          : several_kernels_unequal;
        double least = (work.aligned ? 1 : several_kernels_unaligned) * (work.keys > 1 ? several_kernels_keys : 1) *
                           factor * steps +
                       several_kernels_fixed;
        GcmOnePass best;
        // Under several keys, GcmPass is not faster for other messages (H200, 2026-11).
        const bool may_pass = work.keys == 1 || work.blocks <= short_blocks * work.messages ||
                              (!work.decrypts && work.blocks >= long_keys_blocks * work.messages);
        if (const auto pass = GcmPass::choose(device, work); pass && may_pass && pass->time <= least) {
            best = {Kernels::pass, *pass, work.aligned};
            least = pass->time;
        }
        if (GcmWindows::time(device, work) < least) best = {Kernels::windows, {}, work.aligned};
        return best;
    }
};

}  // namespace warpaes::cuda
