// Every number that decides how a kernel is launched, with where and when it was measured. What another GPU may want
// otherwise stands in its LaunchTable: of its architecture (architectures.hpp), or tuned.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "aes/types.hpp"
#include "backend/launch_table.hpp"

namespace warpaes::cuda {

/// Groups of 32 blocks per unit of work of the CTR kernel (see ctr.cuh): more share B(g), and take registers and
/// instruction cache. H200, 2026-11, AES-128, 1 GiB, GB/s: for any alignment, width 1: 804, 2: 896, 4: 913, 8: 876
/// (spills); the aligned kernel, 2: 919, 4: 922.
inline constexpr int ctr_width = 4;
/// The same of GCM's key stream (see gcm_ctr.cuh). H200, 2026-11, AES-128, GB/s: one segment of 1 GiB, width 2: 903,
/// 4: 911; 1,024 of 1 MiB, 875 and 883; 65,536 of 16 KiB, 764 and 808.
inline constexpr int gcm_ctr_width = 4;
/// And of the kernel that makes numbers. H200, 2026-11, AES-128, 1 GiB, GB/s of bits, float32 uniform and normal: width
/// 2 with 1,024 threads 954, 950, 855, with 512 955, 945, 813; width 4 with 768 976, 947, 789, with 512 961, 945, 770.
inline constexpr int numbers_width = 2;

/// What a kernel launch needs to know about a device.
struct DeviceLimits {
    int multiprocessors;
    int shared_bytes_per_block;  ///< opt-in limit
    int compute_capability;      ///< 90 for 9.0
    std::size_t l2_bytes;
    BitProducts bit_products;
    LaunchTable table;
};

struct LaunchShape {
    int grid;                      ///< thread blocks
    int threads;                   ///< of each
    std::size_t shared_bytes = 0;  ///< of each
    int tables = 0;                ///< T-tables stored in shared memory: 4 or 2, or the kernel has none

    [[nodiscard]] constexpr std::uint64_t warps() const { return static_cast<std::uint64_t>(grid * threads / 32); }
};

/// A thread for each of `count` things, in at most `most` thread blocks a multiprocessor.
constexpr LaunchShape thread_each(const DeviceLimits& device, std::uint64_t count, int threads, int most) {
    const auto in_block = static_cast<std::uint64_t>(threads);
    const auto blocks = static_cast<std::uint64_t>(most * device.multiprocessors);
    return {static_cast<int>(std::min((count + in_block - 1) / in_block, blocks)), threads};
}

/// What the table says, or two if there is no room for it, `beside` being taken otherwise.
constexpr int tables_for(const DeviceLimits& device, std::size_t beside = 0) {
    const std::size_t bytes = device.table.tables * table_bytes_each + beside;
    return bytes <= static_cast<std::size_t>(device.shared_bytes_per_block) ? static_cast<int>(device.table.tables) : 2;
}

/// Of a thread block with tables.
constexpr int threads_of(const DeviceLimits& device) {
    return static_cast<int>(device.table.threads);
}
constexpr std::uint64_t warps_of(const DeviceLimits& device) {
    return static_cast<std::uint64_t>(device.multiprocessors * threads_of(device) / 32);
}

/// Persistent thread blocks with tables, one a multiprocessor at most. `units`: pieces of work that a warp takes on its
/// own. H200, 2026-11, AES-128, 1 GiB, GB/s: 1024 threads: ECB 770, CTR 922; 768 threads: ECB 770, CTR 914.
constexpr LaunchShape launch_shape(const DeviceLimits& device, std::uint64_t units, int threads) {
    const auto most = static_cast<std::uint64_t>(device.multiprocessors);
    const int tables = tables_for(device);
    return {static_cast<int>(std::clamp<std::uint64_t>(units, 1, most)), threads, tables * table_bytes_each, tables};
}
constexpr LaunchShape launch_shape(const DeviceLimits& device, std::uint64_t units) {
    return launch_shape(device, units, threads_of(device));
}

/// One working thread; the others help to fill the tables.
constexpr LaunchShape serial_shape(const DeviceLimits& device) {
    const int tables = tables_for(device);
    return {1, 256, tables * table_bytes_each, tables};
}

/// A short message of a mode in which each block is for itself (short.cuh), a block a thread.
struct ShortMessage {
    static constexpr int threads = 256;
    static constexpr std::uint32_t least_share = 128;  ///< blocks of a thread block

    static constexpr bool takes(const DeviceLimits& device, std::uint64_t bytes) {
        return bytes <= static_cast<std::uint64_t>(device.multiprocessors) * threads * block_bytes;
    }
};

/// And of XTS: whole blocks, in pieces of data units that have their tweaks from the host.
struct ShortXts : ShortMessage {
    static constexpr std::uint32_t piece_blocks = 256, most_pieces = 32;  // longer parameters take longer to launch
};

struct ShortShape {
    LaunchShape launch;
    std::uint32_t share;  ///< blocks of a thread block
};

/// `blocks`: at least one, also if it is a partial one.
constexpr ShortShape short_shape(const DeviceLimits& device, std::uint64_t blocks) {
    const auto most = static_cast<std::uint64_t>(device.multiprocessors);
    const std::uint64_t wanted = std::clamp<std::uint64_t>(blocks / ShortMessage::least_share, 1, most);
    const std::uint64_t share = (blocks + wanted - 1) / wanted;
    return {{static_cast<int>((blocks + share - 1) / share), ShortMessage::threads, table_bytes_each, 1},
            static_cast<std::uint32_t>(share)};
}

/// How XTS cuts data units into pieces, which warps share out (see xts.cuh).
struct PieceShape {
    int tables;  ///< 4, 2 or 1: decryption has one of the cipher beside those of the inverse cipher
    std::uint32_t blocks;
    std::uint32_t per_unit;
    std::size_t shared_bytes;
};

/// `unit_blocks`: at least one. A piece is a whole unit, or a part of one where the multiprocessors would else have
/// unequal shares. Every piece takes a share in a warp's tweaks, so below four groups of 32 blocks only where most
/// warps would else have nothing to do. H200, 2026-11, XTS-128 encryption, units of 4 KiB, microseconds a call with
/// pieces of one group and of two to four: 1 MiB 9.6, 11.6; 4 MiB 13.7, 16.1; 8 MiB 19.5, 18.7; 16 MiB 31.0, 29.6.
constexpr PieceShape piece_shape(const DeviceLimits& device, Direction direction, std::uint64_t units,
                                 std::uint32_t unit_blocks) {
    constexpr std::size_t table = table_bytes_each;
    constexpr std::uint64_t for_equal_shares = 128, for_most_warps = 24;
    const std::size_t beside = direction == Direction::decrypt ? table : 0;
    auto tables = static_cast<int>(device.table.tables);
    while (tables > 1 && tables * table + beside > static_cast<std::size_t>(device.shared_bytes_per_block)) tables /= 2;
    PieceShape shape{tables, unit_blocks, 1, tables * table + beside};
    const std::uint32_t groups = (unit_blocks + 31) / 32;
    const auto multiprocessors = static_cast<std::uint64_t>(device.multiprocessors);
    std::uint32_t each = 1;
    while (each < groups &&
           2 * each * multiprocessors * (each < 4 ? for_most_warps : for_equal_shares) <= groups * units) {
        each *= 2;
    }
    if (each < groups) {
        shape.blocks = 32 * each;
        shape.per_unit = (groups + each - 1) / each;
    }
    return shape;
}

/// How the windows of 256 counters of GCM segments are shared out among warps: as few rounds of all warps as go, each
/// task as short as it may be then. A task's beginning costs about as much as half a window (see gcm_ctr.cuh).
struct WindowShape {
    std::uint64_t parts;    ///< tasks that share the windows of a segment
    std::uint64_t windows;  ///< of a task
};

constexpr WindowShape window_shape(const DeviceLimits& device, std::uint64_t segments, std::uint64_t windows) {
    const std::uint64_t streams = segments * (8 / gcm_ctr_width);
    const std::uint64_t warps = warps_of(device);
    WindowShape best{1, windows};
    std::uint64_t least = ~std::uint64_t{0};
    for (std::uint64_t rounds = (streams + warps - 1) / warps, tries = 0; tries < 8; ++rounds, ++tries) {
        const std::uint64_t each = (windows + rounds * warps / streams - 1) / (rounds * warps / streams);
        const std::uint64_t time = rounds * (2 * each + 1);
        if (time >= least) continue;
        least = time;
        best = {(windows + each - 1) / each, each};
    }
    return best;
}

/// How GHASH cuts segments into rows.
struct RowShape {
    bool tensor_cores;
    std::uint64_t rows;    ///< of a segment
    std::uint64_t blocks;  ///< of a row
    LaunchShape launch;
};

constexpr std::uint64_t rounded_up(std::uint64_t n, std::uint64_t step) {
    return (n + step - 1) / step * step;
}

/// A warp a row, in steps of 32 blocks. H200, 2026-11, 1 GiB: 445 GB/s.
constexpr RowShape simt_row_shape(const DeviceLimits& device, std::uint64_t segments, std::uint64_t blocks) {
    constexpr std::uint64_t step = 32, least = 8 * step;
    constexpr int warps_per_block = 8;
    const auto blocks_each = static_cast<int>(device.table.product_blocks);
    const auto warps = static_cast<std::uint64_t>(device.multiprocessors * blocks_each * warps_per_block);
    const std::uint64_t wanted = segments >= warps ? 1 : warps / segments;
    std::uint64_t each = (blocks + wanted - 1) / wanted;
    if (each < least) each = blocks < least ? blocks : least;
    each = rounded_up(each, step);
    const std::uint64_t rows = each == 0 ? 1 : (blocks + each - 1) / each;
    return {false, rows, each, thread_each(device, 32 * segments * rows, 32 * warps_per_block, blocks_each)};
}

/// The kernel on tensor cores (ghash_mma.cuh). H200, 2026-11, 1 GiB in one segment, the kernel alone, GB/s: by wide_mma
/// with 512 threads and stages * batch = 2 * 4: 4064, 4 * 2: 4010, 2 * 2: 3524; 384 threads, 2 * 4: 3995, 2 * 8: 3656,
/// 4 * 4: 3676; all of it in the L2 cache, 512 threads, 2 * 4: 5424. By binary_mma, 512 threads, 8 * 1: 2502; 384
/// threads, 2 * 4: 2412.
struct GhashMma {
    static constexpr int slots = 16;  ///< groups of four blocks in a chunk
    static constexpr int stages = 2;  ///< of loads in advance,
    static constexpr int batch = 4;   ///< each so many groups
    static constexpr int threads = 512;
    static constexpr std::uint64_t row_overhead = 32;  ///< what a row costs besides its blocks, in blocks; estimated
    static constexpr std::uint64_t least_row = 64;     ///< blocks: a chunk
    /// H200, 2026-11, one segment, hash alone, µs, without and with tensor cores: 16 KiB: 17.4 and 14.8, 64 KiB: 22.4
    /// and 15.3, 1 MiB: 29.8 and 26.1, 64 MiB: 179 and 49. At 4 KiB a warp's 256 products take 10.1.
    static constexpr bool takes(const DeviceLimits& device, std::uint64_t blocks) {
        return device.table.tensor_blocks != never && blocks >= device.table.tensor_blocks;
    }

    static constexpr bool wide(const DeviceLimits& device) { return device.bit_products == BitProducts::wgmma; }
    static constexpr std::size_t shared_bytes(const DeviceLimits& device) {
        return slots * (wide(device) ? 4096 : 1024);
    }
};

/// As few rounds of all warps as go, rows as short as they may be then.
constexpr RowShape mma_row_shape(const DeviceLimits& device, std::uint64_t segments, std::uint64_t blocks) {
    constexpr std::uint64_t step = 4 * GhashMma::stages * GhashMma::batch, rows_per_block = GhashMma::threads / 32 * 8;
    const std::uint64_t round = static_cast<std::uint64_t>(device.multiprocessors) * rows_per_block;
    RowShape best{};
    std::uint64_t least = ~std::uint64_t{0};
    for (std::uint64_t rounds = (segments + round - 1) / round, tries = 0; tries < 8; ++rounds, ++tries) {
        const std::uint64_t wanted = rounds * round / segments;
        const std::uint64_t each = std::max(rounded_up((blocks + wanted - 1) / wanted, step), GhashMma::least_row);
        const std::uint64_t time = rounds * (each + GhashMma::row_overhead);
        if (time >= least) continue;
        least = time;
        best = {true,
                (blocks + each - 1) / each,
                each,
                {device.multiprocessors, GhashMma::threads, GhashMma::shared_bytes(device)}};
    }
    const std::uint64_t rows = segments * best.rows, needed = (rows + rows_per_block - 1) / rows_per_block;
    if (needed < static_cast<std::uint64_t>(best.launch.grid)) best.launch.grid = static_cast<int>(needed);
    // Whole groups of four warps, which wide_mma takes.
    if (needed == 1) best.launch.threads = static_cast<int>(rounded_up(rows * 4, 128));
    return best;
}

constexpr RowShape row_shape(const DeviceLimits& device, std::uint64_t segments, std::uint64_t blocks) {
    if (blocks != 0 && GhashMma::takes(device, segments * blocks)) {
        return mma_row_shape(device, segments, blocks);
    }
    return simt_row_shape(device, segments, blocks);
}

/// Counters of many messages (batch_ctr.cuh).
struct BatchCounters {
    /// Where messages have keys of their own, these lie in registers, which half as many threads have twice as many of.
    /// H200, 2026-11, AES-128, GB/s so and with keys read for every block: 1 MiB 904 and 692, 64 KiB 900 and 655, 1,500
    /// bytes 636 and 617.
    static constexpr int most_threads(bool one_key) { return one_key ? 1024 : 512; }
    static constexpr int threads(const DeviceLimits& device, bool one_key) {
        return static_cast<int>(one_key ? device.table.threads : device.table.own_key_threads);
    }

    /// From here on a warp keeps A(j) from window to window. H200, 2026-11, AES-128, 1 GiB, GB/s: 8 KiB in threads that
    /// share a message 895, in windows (of two shares) 837.
    static constexpr bool is_long(const DeviceLimits& device, std::uint64_t bytes) {
        return bytes >= device.table.long_counter_bytes;
    }
    static constexpr std::uint64_t most_short = 65536;  ///< bytes, whatever the table says

    /// log2 of the threads that share a short message of `blocks` blocks, `distance` bytes from the next. Reckoned in
    /// passes of the load-store unit for a warp: 27 lookups a message and thread (and what tells where it lies), 133 a
    /// block of AES-128, and for every load or store of 32 blocks a pass for each line of 128 bytes, at least four;
    /// reading round keys from a slot takes 36, once a message and thread.
    static constexpr std::uint32_t log_lanes(std::uint32_t blocks, std::uint64_t distance, bool one_key) {
        std::uint32_t best = 0;
        std::uint64_t least = ~std::uint64_t{0};
        for (std::uint32_t log = 0; log <= 5; ++log) {
            const std::uint64_t lanes = std::uint64_t{1} << log, messages = 32 / lanes;
            const std::uint64_t own = messages * (lanes > 8 ? lanes / 8 : 1);
            const std::uint64_t lines = distance > 4096 ? own : std::min(own, (messages * distance + 127) / 128);
            const std::uint64_t each = 133 + 2 * std::max<std::uint64_t>(lines, 4);
            const std::uint64_t time = lanes * ((one_key ? 37 : 73) + (blocks + lanes - 1) / lanes * each);
            if (time < least) {
                least = time;
                best = log;
            }
        }
        return best;
    }

    /// Steps of 32 threads that a warp takes at a time: a few times each for every warp. H200, 2026-11, 256 bytes,
    /// GB/s: 4: 783, 16: 778, 64: 762.
    static constexpr std::uint32_t steps_at_once(const DeviceLimits& device, std::uint64_t steps) {
        const std::uint64_t each = steps / (warps_of(device) * 8);
        return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(each, 1, 64));
    }
    /// Windows of a long message that a warp takes at a time: a power of two, which long messages are mostly multiples
    /// of. H200, 2026-11, AES-128, 256 KiB, GB/s: 8: 897, 16: 909, 31: 895, 32: 906, 64: 897.
    static constexpr std::uint32_t windows_at_once(const DeviceLimits& device, std::uint64_t windows) {
        const std::uint64_t each = 4 * windows / (warps_of(device) * 8);
        return static_cast<std::uint32_t>(std::bit_floor(std::clamp<std::uint64_t>(each, 1, 16)));
    }
};

/// A message of GCM in one launch.
struct GcmMessage {
    static constexpr int threads = 512;
    static constexpr unsigned warps = threads / 32;
    static constexpr unsigned slots = 16;  ///< of powers, four in each
    static constexpr unsigned radix = 16;  ///< of the number of a thread block

    /// Of shared memory, behind the tables: powers, a weight and a sum for each warp, and two elements more.
    static constexpr std::size_t shared_bytes(bool wide) {
        return slots * (wide ? 4096 : 1024) + (2 * warps + 2) * block_bytes;
    }
    static constexpr std::uint64_t grid_limit(const DeviceLimits& device) {
        return std::min<std::uint64_t>(static_cast<std::uint64_t>(device.multiprocessors), radix * radix);
    }
};

/// A short message (gcm_short.cuh). A thread block takes 128 blocks of it, or 256 where there would be more thread
/// blocks than multiprocessors. H100, 2026-11, AES-128, the kernel and a polling host, microseconds with 128 and with
/// 256: 4 KiB 11.0, 12.0; 64 KiB 12.5, 13.3.
struct GcmShort {
    static constexpr unsigned least_share = 128, most_share = 256, most_groups = most_share / 32;
    static constexpr int most_threads = 2 * most_share + 32;

    /// `blocks` includes a partial one.
    static constexpr bool takes(const DeviceLimits& device, std::uint64_t blocks) {
        return blocks <= most_share * GcmMessage::grid_limit(device);
    }
    static constexpr unsigned share(const DeviceLimits& device, std::uint64_t blocks) {
        return blocks <= least_share * GcmMessage::grid_limit(device) ? least_share : most_share;
    }
    static constexpr LaunchShape shape(const DeviceLimits& device, std::uint64_t blocks) {
        const unsigned each = share(device, blocks), groups = each / 32;
        const std::uint64_t grid = blocks == 0 ? 1 : (blocks + each - 1) / each;
        // Threads for the text, for E(J0) and for weights; weights, and a sum for each warp of text and for E(J0).
        return {static_cast<int>(grid), static_cast<int>(2 * each + 32),
                table_bytes_each + (each + groups + 1) * block_bytes, 1};
    }
};

/// Of medium length (gcm_medium.cuh).
struct GcmMedium : GcmMessage {
    static constexpr unsigned rows = 8 * warps, half_row = 2 * slots;  ///< a row is one or two of these, in blocks
    static constexpr std::uint64_t least_share = 256, most_share = 2 * rows * half_row;  ///< blocks of a thread block
};

struct GcmMediumShape {
    LaunchShape launch;
    std::uint32_t share;       ///< blocks of a thread block; of the first what is left
    std::uint32_t row_blocks;  ///< of a row

    /// Whether a message of so many blocks goes this way.
    static constexpr bool takes(const DeviceLimits& device, std::uint64_t blocks) {
        const std::size_t least = 2 * table_bytes_each + GcmMedium::shared_bytes(GhashMma::wide(device));
        const std::uint64_t share = std::min<std::uint64_t>(device.table.one_launch_share, GcmMedium::most_share);
        return share != 0 && least <= static_cast<std::size_t>(device.shared_bytes_per_block) &&
               blocks <= share * GcmMessage::grid_limit(device);
    }
};

/// `blocks`: whole ones.
constexpr GcmMediumShape gcm_medium_shape(const DeviceLimits& device, std::uint64_t blocks) {
    const std::uint64_t wanted = std::clamp<std::uint64_t>(
        (blocks + GcmMedium::least_share - 1) / GcmMedium::least_share, 1, GcmMessage::grid_limit(device));
    const std::uint64_t share = (blocks + wanted - 1) / wanted;
    const std::uint64_t grid = share == 0 ? 1 : (blocks + share - 1) / share;
    const std::size_t beside = GcmMedium::shared_bytes(GhashMma::wide(device));
    // Up to some share filling four takes longer.
    const int tables = share <= device.table.two_tables_share ? 2 : tables_for(device, beside);
    return {{static_cast<int>(grid), GcmMedium::threads, tables * table_bytes_each + beside, tables},
            static_cast<std::uint32_t>(share),
            share <= GcmMedium::rows * GcmMedium::half_row ? GcmMedium::half_row : 2 * GcmMedium::half_row};
}

/// A long one (gcm_long.cuh), on tensor cores that take their matrices from shared memory. H200, 2026-11, AES-128 and
/// -256, 1 GiB, the kernel alone, GB/s: 754 and 540; with 384 threads 739 and 534, and with four blocks a thread
/// between two products, 758 and 524; products awaited one window later 723 and 519; 8 slots 730, 24 slots 741 where 16
/// were 739; matrices for `mma.sync` 726 and 532; products by four warps that do nothing else 717 and 511; of two
/// windows at once 732 and 523 where it did 745 and 537 itself; of a chunk's windows behind its key stream, out of the
/// L2 cache, 712 and 516, and 647 if the groups do so at different times: lookups and products beside each other hold
/// each other up. Without products 918 and 639. In two passes 725 and 524.
struct GcmLong : GcmMessage {
    static constexpr unsigned groups = warps / 4;     ///< of four warps, which take a window together
    static constexpr unsigned windows = slots / 2;    ///< of a group in a chunk
    static constexpr unsigned stride = groups * 256;  ///< blocks from a group's window to its next
    static constexpr std::size_t tables = 4;

    /// A message of so many blocks; its buffers lie on 16 bytes.
    static constexpr bool takes(const DeviceLimits& device, std::uint64_t blocks) {
        return GhashMma::wide(device) && device.table.tensor_blocks != never &&
               tables * table_bytes_each + shared_bytes(true) <=
                   static_cast<std::size_t>(device.shared_bytes_per_block) &&
               blocks >= stride * grid_limit(device);
    }
};

/// A thread block's share in windows of 256 counters; of the first what is left.
struct GcmLongShape {
    LaunchShape launch;
    std::uint32_t share;
};

constexpr GcmLongShape gcm_long_shape(const DeviceLimits& device, std::uint64_t windows) {
    const std::uint64_t limit = GcmMessage::grid_limit(device);
    const std::uint64_t share = (windows + limit - 1) / limit;
    return {{static_cast<int>((windows + share - 1) / share), GcmLong::threads,
             GcmLong::tables * table_bytes_each + GcmLong::shared_bytes(true), static_cast<int>(GcmLong::tables)},
            static_cast<std::uint32_t>(share)};
}

/// Putting digests together: a product after the other takes a warp 0.75 µs, a launch 3 (H200, 2026-11), so few levels.
struct GhashCombine {
    static constexpr std::uint64_t most = 256;  ///< digests that become one
    static constexpr int threads = 128;
};

/// Batches of serial modes (batch_serial.cuh). H200, 2026-11, a key each, 65,536 messages of 16 KiB, GB/s: CBC-128 668,
/// not staged 403; CBC-256 502; CMAC-128 747; CCM-128 365.
struct SerialBatchShape : LaunchShape {
    int warps;  ///< of a thread block that take messages
    bool staged;

    static constexpr int most_warps = 16;
    static constexpr std::size_t stage_bytes = 4096;  ///< of a warp
    /// A warp alone waits for its lookups; two take no longer, and leave multiprocessors to what runs beside them.
    /// H200, 2026-11, CBC-128, 4,096 messages of 16 KiB, by 1, 2, 3 and 4 warps a block, ms: 0.623, 0.627, 0.632,
    /// 0.648.
    static constexpr std::uint64_t least_warps(const DeviceLimits& device) { return device.table.serial_warps; }
};

constexpr SerialBatchShape serial_batch_shape(const DeviceLimits& device, std::uint64_t messages) {
    const int tables = tables_for(device);
    const std::size_t table_bytes = tables * table_bytes_each;
    const std::size_t left = static_cast<std::size_t>(device.shared_bytes_per_block) - table_bytes;
    const std::uint64_t least = SerialBatchShape::least_warps(device);
    const bool staged = left >= least * SerialBatchShape::stage_bytes;
    const std::uint64_t all = (messages + 31) / 32,
                        multiprocessors = static_cast<std::uint64_t>(device.multiprocessors);
    const std::uint64_t most =
        staged ? std::min<std::uint64_t>(SerialBatchShape::most_warps, left / SerialBatchShape::stage_bytes)
               : SerialBatchShape::most_warps;
    const std::uint64_t warps = std::clamp((all + multiprocessors - 1) / multiprocessors, least, most);
    const std::uint64_t grid = std::clamp<std::uint64_t>((all + warps - 1) / warps, 1, multiprocessors);
    const std::size_t shared_bytes = table_bytes + (staged ? warps * SerialBatchShape::stage_bytes : 0);
    return {{static_cast<int>(grid), 32 * SerialBatchShape::most_warps, shared_bytes, tables},
            static_cast<int>(warps),
            staged};
}

/// Batches of GCM (batch_gcm.cuh).
struct GcmBatch {
    static constexpr int ghash_threads = 256;  ///< a block; two of them a multiprocessor
    static constexpr int other_threads = 128;
    /// A group of so many bytes under one key, in messages of so many, is hashed by the tensor cores; but a thread
    /// takes the associated data of a message.
    static constexpr std::uint64_t least_long = 8192, least_bytes = 1 << 20, least_alone = 16 << 20, most_aad = 1024;

    /// Lanes a message: few, as each has powers of H to make, but so that the last round of all lanes is not too empty.
    /// H200, 2026-11, own keys, GB/s by 1, 4 and 32 lanes: 1,000,000 messages of 1,500 bytes: 517, 420, 142; 131,072:
    /// 495, 396; 65,536 of 16 KiB: 528, 472, 406; 1,000,000 of 64 bytes: 278, 83. What limits it are multiplications
    /// (half a lane's a cycle) and logic, of which the SM does not do as much at once as of each alone.
    static constexpr int lanes(const DeviceLimits& device, std::uint64_t messages) {
        const std::uint64_t at_once = static_cast<std::uint64_t>(device.multiprocessors) * 2 * ghash_threads;
        if (4 * messages < at_once) return 32;
        const std::uint64_t by_one = (messages + at_once - 1) / at_once,
                            by_four = (4 * messages + at_once - 1) / at_once;
        return 10 * 4 * by_one <= 12 * by_four ? 1 : 4;
    }
};

/// GHASH of long messages under keys of their own (ghash_keys.cuh). H200, 2026-11, GCM-128, GB/s so and by products:
/// 64 KiB 640 and 273, 1 MiB 688 and 258; 16 KiB 492.
struct GhashKeys {
    static constexpr int threads = 128, blocks_each = 3;  ///< thread blocks of a multiprocessor
    static constexpr std::uint32_t rows_of_block = 32;

    static constexpr bool takes(const DeviceLimits& device, std::uint64_t bytes) {
        return device.table.own_key_tensor_bytes != never && bytes >= device.table.own_key_tensor_bytes;
    }
    /// Up to which messages are done at once, so that it stays in the cache.
    static constexpr std::size_t scratch_bytes(const DeviceLimits& device) { return device.l2_bytes / 2; }
    /// What is stored of a message: H^1 …, as many as a row or a chunk of it has blocks, and H^row_blocks.
    static constexpr std::uint32_t powers_of(std::uint32_t row_blocks) {
        return std::min<std::uint32_t>(row_blocks, 4 * GhashMma::slots) + 1;
    }
    static constexpr std::size_t message_bytes(std::uint32_t rows, std::uint32_t row_blocks) {
        return (powers_of(row_blocks) + std::size_t{rows}) * block_bytes;
    }
    static constexpr int lanes(std::uint64_t messages) { return messages >= 4096 ? 4 : 32; }
};

struct GhashKeysShape {
    std::uint32_t rows;
    std::uint32_t row_blocks;  ///< 32, or a multiple of 64
};

/// `blocks`: whole ones of the longest message. A row costs a product and its share of the matrices besides, about as
/// much as 20 blocks of it if they are of 32 powers, 32 if of 64; estimated.
constexpr GhashKeysShape ghash_keys_shape(const DeviceLimits& device, std::uint64_t messages, std::uint64_t blocks) {
    const std::uint64_t at_once = static_cast<std::uint64_t>(device.multiprocessors) * GhashKeys::blocks_each;
    GhashKeysShape best{};
    std::uint64_t least = ~std::uint64_t{0};
    for (const std::uint32_t row : {32u, 64u, 128u, 192u, 256u}) {
        const std::uint64_t of_block = std::uint64_t{GhashKeys::rows_of_block} * row;
        const std::uint64_t parts = (blocks + of_block - 1) / of_block;
        // Whole rounds of all thread blocks matter only while there are few.
        const std::uint64_t all = parts * messages;
        const std::uint64_t rounds8 = all < 8 * at_once ? 8 * ((all + at_once - 1) / at_once) : 8 * all / at_once;
        const std::uint64_t time = rounds8 * (row + (row == 32 ? 20 : 32));
        if (time >= least) continue;
        least = time;
        best = {static_cast<std::uint32_t>(parts) * GhashKeys::rows_of_block, row};
    }
    return best;
}

}  // namespace warpaes::cuda
