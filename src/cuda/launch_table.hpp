// Every number that decides how a kernel is launched, with the place and date of its measurement. Numbers that may
// differ on another GPU are in its LaunchTable, which is its architecture's (architectures.hpp) or a tuned one.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "aes/types.hpp"
#include "backend/launch_table.hpp"

namespace warpaes::cuda {

/// Groups of 32 blocks per unit of work of the CTR kernel (see ctr.cuh). More groups share one B(g), but take more
/// registers and instruction cache. H200, 2026-11, AES-128, 1 GiB, GB/s: for any alignment, width 1: 804, 2: 896, 4:
/// 913, 8: 876 (spills); the aligned kernel, 2: 919, 4: 922.
inline constexpr int ctr_width = 4;
/// The same for GCM's key stream (see gcm_ctr.cuh). H200, 2026-11, AES-128, GB/s: one segment of 1 GiB, width 2: 903,
/// 4: 911; 1,024 of 1 MiB, 875 and 883; 65,536 of 16 KiB, 764 and 808.
inline constexpr int gcm_ctr_width = 4;
/// The same for random numbers. H200, 2026-11, AES-128, 1 GiB, GB/s of bits, of float32 uniform and of normal: width
/// 2 with 1,024 threads 954, 950, 855, with 512 955, 945, 813; width 4 with 768 976, 947, 789, with 512 961, 945, 770.
inline constexpr int numbers_width = 2;

/// The properties of a device that shape kernel launches.
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
    int threads;                   ///< per thread block
    std::size_t shared_bytes = 0;  ///< dynamic shared memory per thread block
    int tables = 0;                ///< T-tables in shared memory: 4, 2 or 1; 0: the kernel uses none

    [[nodiscard]] constexpr std::uint64_t warps() const { return static_cast<std::uint64_t>(grid * threads / 32); }
};

/// One thread for each of `count` items, in at most `most` thread blocks per multiprocessor.
constexpr LaunchShape thread_each(const DeviceLimits& device, std::uint64_t count, int threads, int most) {
    const auto in_block = static_cast<std::uint64_t>(threads);
    const auto blocks = static_cast<std::uint64_t>(most * device.multiprocessors);
    return {static_cast<int>(std::min((count + in_block - 1) / in_block, blocks)), threads};
}

/// The launch table's number of T-tables, or two if that many do not fit beside `beside` bytes of other shared memory.
constexpr int tables_for(const DeviceLimits& device, std::size_t beside = 0) {
    const std::size_t bytes = device.table.tables * table_bytes_each + beside;
    return bytes <= static_cast<std::size_t>(device.shared_bytes_per_block) ? static_cast<int>(device.table.tables) : 2;
}

/// Threads of a thread block with T-tables.
constexpr int threads_of(const DeviceLimits& device) {
    return static_cast<int>(device.table.threads);
}
constexpr std::uint64_t warps_of(const DeviceLimits& device) {
    return static_cast<std::uint64_t>(device.multiprocessors * threads_of(device) / 32);
}

/// Persistent thread blocks with T-tables, at most one per multiprocessor. `units`: pieces of work that each occupy a
/// warp. H200, 2026-11, AES-128, 1 GiB, GB/s: 1024 threads: ECB 770, CTR 922; 768 threads: ECB 770, CTR 914.
constexpr LaunchShape launch_shape(const DeviceLimits& device, std::uint64_t units, int threads) {
    const auto most = static_cast<std::uint64_t>(device.multiprocessors);
    const int tables = tables_for(device);
    return {static_cast<int>(std::clamp<std::uint64_t>(units, 1, most)), threads, tables * table_bytes_each, tables};
}
constexpr LaunchShape launch_shape(const DeviceLimits& device, std::uint64_t units) {
    return launch_shape(device, units, threads_of(device));
}

/// Of kernels that read or write page-locked memory where it lies: few, so that some threads write while others read.
/// H200, 2026-11, ECB, AES-128, 1 / 2 / 8 MiB, GB/s: 1024 threads 19.8 / 23.2 / 34.8, 512: 20.5 / 26.9 / 36.4,
/// 256: 23.0 / 29.7 / 37.4, 64: 23.1 / 30.5 / 37.9.
inline constexpr int zero_copy_threads = 256;

/// One thread does the work; the others help to fill the tables.
constexpr LaunchShape serial_shape(const DeviceLimits& device) {
    const int tables = tables_for(device);
    return {1, 256, tables * table_bytes_each, tables};
}

/// A short message in a mode whose blocks are independent (short.cuh), one block per thread.
struct ShortMessage {
    static constexpr int threads = 256;
    static constexpr std::uint32_t least_share = 128;  ///< blocks per thread block

    static constexpr bool takes(const DeviceLimits& device, std::uint64_t bytes) {
        return bytes <= static_cast<std::uint64_t>(device.multiprocessors) * threads * block_bytes;
    }
};

/// The same for XTS: whole blocks, in pieces of data units. The host computes a tweak for each piece.
struct ShortXts : ShortMessage {
    static constexpr std::uint32_t piece_blocks = 256, most_pieces = 32;  // longer parameters delay the launch
};

struct ShortShape {
    LaunchShape launch;
    std::uint32_t share;  ///< blocks per thread block
};

/// `blocks`: at least one; includes a partial block.
constexpr ShortShape short_shape(const DeviceLimits& device, std::uint64_t blocks) {
    const auto most = static_cast<std::uint64_t>(device.multiprocessors);
    const std::uint64_t wanted = std::clamp<std::uint64_t>(blocks / ShortMessage::least_share, 1, most);
    const std::uint64_t share = (blocks + wanted - 1) / wanted;
    return {{static_cast<int>((blocks + share - 1) / share), ShortMessage::threads, table_bytes_each, 1},
            static_cast<std::uint32_t>(share)};
}

/// How XTS cuts data units into pieces, which are distributed among the warps (see xts.cuh).
struct PieceShape {
    int tables;  ///< 4, 2 or 1; decryption has one table of the cipher in addition
    std::uint32_t blocks;
    std::uint32_t per_unit;
    std::size_t shared_bytes;
};

/// `unit_blocks`: at least one. A piece is a whole unit, or a part of one if multiprocessors would otherwise have
/// unequal shares. Every piece costs a tweak, so pieces are shorter than four groups of 32 blocks only if most warps
/// would otherwise have no work. H200, 2026-11, XTS-128 encryption, units of 4 KiB, microseconds a call with
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

/// How the windows of 256 counters of GCM segments are distributed among warps (see gcm_ctr.cuh). A round is one task
/// for every warp. The shape minimizes the estimated time: few rounds, and tasks as short as these rounds allow. The
/// start of a task costs about as much as half a window.
struct WindowShape {
    std::uint64_t parts;    ///< parts into which the windows of a segment are divided
    std::uint64_t windows;  ///< per part
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

/// How GHASH divides segments into rows.
struct RowShape {
    bool tensor_cores;
    std::uint64_t rows;    ///< per segment
    std::uint64_t blocks;  ///< per row
    LaunchShape launch;
};

constexpr std::uint64_t rounded_up(std::uint64_t n, std::uint64_t step) {
    return (n + step - 1) / step * step;
}

/// By integer products: one warp per row, in steps of 32 blocks. H200, 2026-11, 1 GiB: 445 GB/s.
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
/// 4 * 4: 3676; data in the L2 cache, 512 threads, 2 * 4: 5424. By binary_mma, 512 threads, 8 * 1: 2502; 384
/// threads, 2 * 4: 2412.
struct GhashMma {
    static constexpr int slots = 16;  ///< groups of four blocks in a chunk
    static constexpr int stages = 2;  ///< batches of loads in flight
    static constexpr int batch = 4;   ///< groups per batch
    static constexpr int threads = 512;
    static constexpr std::uint64_t row_overhead = 32;  ///< cost of a row besides its blocks, in blocks; estimated
    static constexpr std::uint64_t least_row = 64;     ///< in blocks: one chunk
    /// H200, 2026-11, one segment, GHASH alone, µs, without and with tensor cores: 16 KiB: 17.4 and 14.8, 64 KiB: 22.4
    /// and 15.3, 1 MiB: 29.8 and 26.1, 64 MiB: 179 and 49. At 4 KiB a warp's 256 products take 10.1.
    static constexpr bool takes(const DeviceLimits& device, std::uint64_t blocks) {
        return device.table.tensor_blocks != never && blocks >= device.table.tensor_blocks;
    }

    static constexpr bool wide(const DeviceLimits& device) { return device.bit_products == BitProducts::wgmma; }
    static constexpr std::size_t shared_bytes(const DeviceLimits& device) {
        return slots * (wide(device) ? 4096 : 1024);
    }
};

/// Minimizes the estimated time: few rounds of all warps, and rows as short as these rounds allow.
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
    // wide_mma takes whole groups of four warps.
    if (needed == 1) best.launch.threads = static_cast<int>(rounded_up(rows * 4, 128));
    return best;
}

constexpr RowShape row_shape(const DeviceLimits& device, std::uint64_t segments, std::uint64_t blocks) {
    if (blocks != 0 && GhashMma::takes(device, segments * blocks)) {
        return mma_row_shape(device, segments, blocks);
    }
    return simt_row_shape(device, segments, blocks);
}

/// Blocks of many messages (batch_blocks.cuh, batch_xts.cuh). Reading the round keys of a block from memory takes a
/// quarter as many passes of the load-store unit as its lookups. So if messages have their own keys, round keys stay in
/// registers, and half as many threads have twice as many registers each.
struct BatchBlocks {
    /// `parameters`: round keys are parameters of the kernel, and not kept in registers.
    static constexpr int most_threads(bool parameters) { return parameters ? 1024 : 512; }
    static constexpr LaunchShape shape(const DeviceLimits& device, bool parameters, std::uint64_t blocks) {
        const auto threads = static_cast<int>(parameters ? device.table.threads : device.table.own_key_threads);
        return launch_shape(device, (blocks + 31) / 32, threads);
    }
};

/// Batches with at most FewKeys::most keys: from so much text on, round keys are parameters of the kernels, so that as
/// many threads run as under one key. Copying them takes the host some 10 µs. H200, 2026-11, AES-128, 256 MiB under 64
/// keys in messages of 8 KiB, GB/s with parameters and with keys in registers: XTS 556 and 481, CBC decryption 589 and
/// 474, ECB 543 and 500, CTR 692 and 700, in messages of 1 MiB 669 and 569. At 16 MiB the two are equal.
struct BatchFewKeys {
#if defined(WARPAES_SIMT)
    static constexpr std::uint64_t least_bytes = 4096;  // which the simulated GPU processes in reasonable time
#else
    static constexpr std::uint64_t least_bytes = 64 << 20;
#endif
};

/// Counters of many messages (batch_ctr.cuh).
struct BatchCounters {
    /// If messages have their own keys, the round keys stay in registers: half as many threads have twice as many
    /// registers each. H200, 2026-11, AES-128, GB/s with keys in registers and with keys read for every block: 1 MiB
    /// 904 and 692, 64 KiB 900 and 655, 1,500 bytes 636 and 617.
    static constexpr int most_threads(bool parameters) { return parameters ? 1024 : 512; }
    static constexpr int threads(const DeviceLimits& device, bool parameters) {
        return static_cast<int>(parameters ? device.table.threads : device.table.own_key_threads);
    }

    /// Whether a warp processes a message in windows and keeps A(j) from one to the next. H200, 2026-11, AES-128, 1
    /// GiB, GB/s: 8 KiB in threads that share a message 895, in windows (of two shares) 837.
    static constexpr bool is_long(const DeviceLimits& device, std::uint64_t bytes) {
        return bytes >= device.table.long_counter_bytes;
    }
    static constexpr std::uint64_t most_short = 65536;  ///< bytes; limits the launch table's figure

    /// log2 of the threads that share a short message of `blocks` blocks, `distance` bytes from the next. The cost is
    /// estimated in passes of a warp through the load-store unit. Each message takes 37 per thread: 27 lookups, and
    /// finding the message. Reading round keys from a slot takes 36 more. A block of AES-128 takes 133. Each load or
    /// store of 32 blocks takes one for each line of 128 bytes, at least four.
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

    /// Steps of 32 threads that a warp takes at a time, so that every warp takes several turns. H200, 2026-11, 256
    /// bytes, GB/s: 4: 783, 16: 778, 64: 762.
    static constexpr std::uint32_t steps_at_once(const DeviceLimits& device, std::uint64_t steps) {
        const std::uint64_t each = steps / (warps_of(device) * 8);
        return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(each, 1, 64));
    }
    /// Windows of a long message that a warp takes at a time: a power of two, because the lengths of long messages are
    /// mostly multiples of one. H200, 2026-11, AES-128, 256 KiB, GB/s: 8: 897, 16: 909, 31: 895, 32: 906, 64: 897.
    static constexpr std::uint32_t windows_at_once(const DeviceLimits& device, std::uint64_t windows) {
        const std::uint64_t each = 4 * windows / (warps_of(device) * 8);
        return static_cast<std::uint32_t>(std::bit_floor(std::clamp<std::uint64_t>(each, 1, 16)));
    }
};

/// One message of GCM in one launch.
struct GcmMessage {
    static constexpr int threads = 512;
    static constexpr unsigned warps = threads / 32;
    static constexpr unsigned slots = 16;  ///< each of four powers of H
    static constexpr unsigned radix = 16;  ///< of a thread block's number, which in a large grid has two digits

    /// Shared memory after the tables: the powers, a weight and a sum for each warp, and two more elements.
    static constexpr std::size_t shared_bytes(bool wide) {
        return slots * (wide ? 4096 : 1024) + (2 * warps + 2) * block_bytes;
    }
    /// At most one thread block per multiprocessor.
    static constexpr std::uint64_t grid_limit(const DeviceLimits& device) {
        return std::min<std::uint64_t>(static_cast<std::uint64_t>(device.multiprocessors), radix * radix);
    }
};

/// A short message (gcm_short.cuh). A thread block takes 128 blocks of the message, or 256 if there would otherwise be
/// more thread blocks than multiprocessors. H100, 2026-11, AES-128, the kernel and a polling host, microseconds with
/// 128 and with 256: 4 KiB 11.0, 12.0; 64 KiB 12.5, 13.3.
struct GcmShort {
    static constexpr unsigned least_share = 128, most_share = 256, most_groups = most_share / 32;
    static constexpr int most_threads = 2 * most_share + 32;

    /// `blocks` includes a partial block.
    static constexpr bool takes(const DeviceLimits& device, std::uint64_t blocks) {
        return blocks <= most_share * GcmMessage::grid_limit(device);
    }
    static constexpr unsigned share(const DeviceLimits& device, std::uint64_t blocks) {
        return blocks <= least_share * GcmMessage::grid_limit(device) ? least_share : most_share;
    }
    static constexpr LaunchShape shape(const DeviceLimits& device, std::uint64_t blocks) {
        const unsigned each = share(device, blocks), groups = each / 32;
        const std::uint64_t grid = blocks == 0 ? 1 : (blocks + each - 1) / each;
        // Threads for the text, for E(J0) and for the weights. Shared memory for the weights, for a sum per warp of
        // text and for E(J0).
        return {static_cast<int>(grid), static_cast<int>(2 * each + 32),
                table_bytes_each + (each + groups + 1) * block_bytes, 1};
    }
};

/// A message of medium length (gcm_medium.cuh).
struct GcmMedium : GcmMessage {
    static constexpr unsigned rows = 8 * warps, half_row = 2 * slots;  ///< a row is one or two half rows, in blocks
    static constexpr std::uint64_t least_share = 256, most_share = 2 * rows * half_row;  ///< blocks per thread block
};

struct GcmMediumShape {
    LaunchShape launch;
    std::uint32_t share;       ///< blocks per thread block; the first one has the remainder
    std::uint32_t row_blocks;  ///< blocks per row

    /// `blocks`: whole blocks of the message.
    static constexpr bool takes(const DeviceLimits& device, std::uint64_t blocks) {
        const std::size_t least = 2 * table_bytes_each + GcmMedium::shared_bytes(GhashMma::wide(device));
        const std::uint64_t share = std::min<std::uint64_t>(device.table.one_launch_share, GcmMedium::most_share);
        return share != 0 && least <= static_cast<std::size_t>(device.shared_bytes_per_block) &&
               blocks <= share * GcmMessage::grid_limit(device);
    }
};

/// `blocks`: whole blocks of the message.
constexpr GcmMediumShape gcm_medium_shape(const DeviceLimits& device, std::uint64_t blocks) {
    const std::uint64_t wanted = std::clamp<std::uint64_t>(
        (blocks + GcmMedium::least_share - 1) / GcmMedium::least_share, 1, GcmMessage::grid_limit(device));
    const std::uint64_t share = (blocks + wanted - 1) / wanted;
    const std::uint64_t grid = share == 0 ? 1 : (blocks + share - 1) / share;
    const std::size_t beside = GcmMedium::shared_bytes(GhashMma::wide(device));
    // For small shares, filling four tables would take longer than four tables save.
    const int tables = share <= device.table.two_tables_share ? 2 : tables_for(device, beside);
    return {{static_cast<int>(grid), GcmMedium::threads, tables * table_bytes_each + beside, tables},
            static_cast<std::uint32_t>(share),
            share <= GcmMedium::rows * GcmMedium::half_row ? GcmMedium::half_row : 2 * GcmMedium::half_row};
}

/// A long message (gcm_long.cuh), on tensor cores that read their matrices from shared memory. H200, 2026-11, AES-128
/// and -256, 1 GiB, the kernel alone, GB/s: 754 and 540. With 384 threads 739 and 534, and with four blocks per thread
/// between two products 758 and 524. Waiting for products one window later: 723 and 519. With 8 slots 730 and with 24
/// slots 741, when 16 slots gave 739. Matrices for `mma.sync`: 726 and 532. Products in four warps that do nothing
/// else: 717 and 511. Products of two windows at once: 732 and 523, when one at a time gave 745 and 537. Products of
/// all windows of a chunk after its key stream, from the L2 cache: 712 and 516, and 647 if the groups do this at
/// different times, because lookups and products that run at the same time slow each other down. Without products 918
/// and 639. In two passes 725 and 524.
struct GcmLong : GcmMessage {
    static constexpr unsigned groups = warps / 4;     ///< each of four warps, which process a window together
    static constexpr unsigned windows = slots / 2;    ///< windows of a group per chunk
    static constexpr unsigned stride = groups * 256;  ///< blocks from a group's window to its next
    static constexpr std::size_t tables = 4;
    /// Blocks per multiprocessor from which on it is better than gcm_medium.cuh. H200, 2026-11, AES-128, from call to
    /// completion, microseconds by gcm_medium.cuh and by this: 2.25 MiB 20.8, 21.8; 3 MiB 22.1, 22.2; 4 MiB 23.4, 23.0;
    /// 8 MiB 30.5, 28.8.
    static constexpr std::uint64_t least_share = 1536;

    /// `blocks`: whole blocks of the message. Its buffers must be aligned to 16 bytes.
    static constexpr bool takes(const DeviceLimits& device, std::uint64_t blocks) {
        return GhashMma::wide(device) && device.table.tensor_blocks != never &&
               tables * table_bytes_each + shared_bytes(true) <=
                   static_cast<std::size_t>(device.shared_bytes_per_block) &&
               blocks >= stride * grid_limit(device) &&
               blocks > std::min<std::uint64_t>(least_share, device.table.one_launch_share) * grid_limit(device);
    }
};

struct GcmLongShape {
    LaunchShape launch;
    std::uint32_t share;  ///< windows of 256 counters per thread block; the first one has the remainder
};

constexpr GcmLongShape gcm_long_shape(const DeviceLimits& device, std::uint64_t windows) {
    const std::uint64_t limit = GcmMessage::grid_limit(device);
    const std::uint64_t share = (windows + limit - 1) / limit;
    return {{static_cast<int>((windows + share - 1) / share), GcmLong::threads,
             GcmLong::tables * table_bytes_each + GcmLong::shared_bytes(true), static_cast<int>(GcmLong::tables)},
            static_cast<std::uint32_t>(share)};
}

/// Combining digests. In a chain of products each one takes a warp 0.75 µs, and a launch takes 3 µs (H200, 2026-11), so
/// there are few levels.
struct GhashCombine {
    static constexpr std::uint64_t most = 256;  ///< digests combined into one
    static constexpr int threads = 128;
};

/// Batches of serial modes (batch_serial.cuh). H200, 2026-11, 65,536 messages of 16 KiB with their own keys, GB/s:
/// CBC-128 668, not staged 403; CBC-256 502; CMAC-128 747; CCM-128 365.
struct SerialBatchShape : LaunchShape {
    int warps;    ///< warps of a thread block that process messages
    bool staged;  ///< whether data goes through shared memory

    static constexpr int most_warps = 16;
    static constexpr std::size_t stage_bytes = 4096;  ///< per warp
    /// A single warp stalls on the latency of its lookups. Two warps take no longer, and leave more multiprocessors to
    /// concurrent kernels. H200, 2026-11, CBC-128, 4,096 messages of 16 KiB, by 1, 2, 3 and 4 warps per thread block,
    /// ms: 0.623, 0.627, 0.632, 0.648.
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
    static constexpr int ghash_threads = 256;  ///< per thread block, of which a multiprocessor runs two
    static constexpr int other_threads = 128;
    /// The kernels for one message, with tensor cores, hash a group under one key if its messages have at least
    /// `least_long` bytes and the group at least `least_bytes`. A single message among others needs `least_alone`
    /// bytes. Associated data of at most `most_aad` bytes, because one thread hashes those of a message.
    static constexpr std::uint64_t least_long = 8192, least_bytes = 1 << 20, least_alone = 16 << 20, most_aad = 1024;

    /// Lanes per message: few, because each computes powers of H, but enough to keep most lanes busy in the last round.
    /// H200, 2026-11, own keys, GB/s by 1, 4 and 32 lanes: 1,000,000 messages of 1,500 bytes: 517, 420, 142; 131,072:
    /// 495, 396; 65,536 of 16 KiB: 528, 472, 406; 1,000,000 of 64 bytes: 278, 83. The limits are multiplications
    /// (one per lane every two cycles) and logic instructions, which together run slower on an SM than either alone.
    static constexpr int lanes(const DeviceLimits& device, std::uint64_t messages) {
        const std::uint64_t at_once = static_cast<std::uint64_t>(device.multiprocessors) * 2 * ghash_threads;
        if (4 * messages < at_once) return 32;
        const std::uint64_t by_one = (messages + at_once - 1) / at_once,
                            by_four = (4 * messages + at_once - 1) / at_once;
        return 10 * 4 * by_one <= 12 * by_four ? 1 : 4;
    }
};

/// GHASH of many messages under one key or a few, of which each is a row (ghash_messages.cuh). H200, 2026-11, AES-128,
/// one batch of 256 MiB with 28 bytes of associated data, whole calls, GB/s as rows and before (carry-less products):
/// 256 bytes 345 and 217, 1 KiB 512 and 278, 1,500 bytes 501 and 276, 4 KiB 564 and 283. An earlier kernel of rows lost
/// at 64 bytes (110 and 136), and at 16 KiB to the kernels for one message (552 and 580).
struct GcmRows {
    static constexpr int threads = 256, blocks_each = 2;  ///< thread blocks per multiprocessor
    static constexpr int batch = 4, depth = 2;          ///< steps of 32 blocks between two waits, and batches in flight
    static constexpr int tile_rows = threads / 32 * 8;  ///< messages that a thread block hashes at a time
    /// Blocks of a message that are no whole blocks of text: associated data, a partial block, lengths.
    static constexpr unsigned most_edges = 8;
    static constexpr std::uint64_t most_aad = 16 * (most_edges - 2);
    /// Shared memory of a warp: the ring, the edges of its eight rows, and E(J0) of two tiles.
    static constexpr unsigned warp_bytes = (depth * batch * 32 + 8 * most_edges + 2 * 8) * block_bytes;
    static constexpr std::uint64_t least_bytes = 128, most_bytes = 16384;
    static constexpr std::uint64_t least_messages = 1024;
    /// Of a key among several. Powers and matrices of a key cost a thread block about as much as 10 rows.
    static constexpr std::uint64_t least_of_key = 16;
    /// Messages per group from which on they are worth being sorted by key, which costs the host some 60 ns a group.
    static constexpr std::uint64_t least_of_group = 32;
    /// What the launches that combine the digests of a message's rows cost, in blocks of a row; estimated.
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
    /// `messages`: of the batch, not only those of this length; all under one key.
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
    /// Tiles that a thread block takes in a row: several, so that it mostly keeps its key, but each takes several
    /// turns.
    static constexpr std::uint32_t tiles_at_once(std::uint64_t tiles, std::uint64_t runs, int grid) {
        const std::uint64_t of_run = tiles / runs, of_turn = tiles / (8 * static_cast<std::uint64_t>(grid));
        if (runs == 1) return 1;
        return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(std::min(of_run, of_turn), 1, 16));
    }
};

/// Wiping what is not authentic (wipe.cuh): parts that warps share, so that all multiprocessors have some even if they
/// are few.
struct WipeShape {
    static constexpr int threads = 128, blocks_each = 16;  ///< thread blocks per multiprocessor
    static constexpr std::uint64_t part_bytes = 4096, most_parts = 16384;

    /// Parts of a row of `bytes` bytes.
    static constexpr std::uint64_t parts(std::uint64_t bytes) {
        return std::clamp<std::uint64_t>(bytes / part_bytes, 1, most_parts);
    }
    /// Parts that a warp takes at a time: one per lane where there are many.
    static constexpr std::uint32_t at_once(const DeviceLimits& device, std::uint64_t parts) {
        const auto warps = static_cast<std::uint64_t>(device.multiprocessors * blocks_each * threads / 32);
        return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(parts / warps, 1, 32));
    }
    static constexpr LaunchShape shape(const DeviceLimits& device, std::uint64_t parts) {
        const std::uint64_t each = at_once(device, parts);
        return thread_each(device, 32 * ((parts + each - 1) / each), threads, blocks_each);
    }
};

/// The same for one message, whose tag every thread block looks at first.
struct WipeIfWrong {
    static constexpr int threads = 512;
    /// From this length on the kernel is launched before the tag is known. For less, the launch would delay authentic
    /// messages.
    static constexpr std::uint64_t least_ahead = 32 << 10;

    static constexpr LaunchShape shape(const DeviceLimits& device, std::uint64_t parts) {
        return thread_each(device, 32 * parts, threads, 2);
    }
};

/// GHASH of long messages under their own keys (ghash_keys.cuh). H200, 2026-11, GCM-128, GB/s with this and with
/// integer products: 64 KiB 640 and 273, 1 MiB 688 and 258; 16 KiB 492.
struct GhashKeys {
    static constexpr int threads = 128, blocks_each = 3;  ///< thread blocks per multiprocessor
    static constexpr std::uint32_t rows_of_block = 32;

    static constexpr bool takes(const DeviceLimits& device, std::uint64_t bytes) {
        return device.table.own_key_tensor_bytes != never && bytes >= device.table.own_key_tensor_bytes;
    }
    /// Limit for the scratch memory of the messages that are processed at once, so that it stays in the L2 cache.
    static constexpr std::size_t scratch_bytes(const DeviceLimits& device) { return device.l2_bytes / 2; }
    /// Powers stored for a message: H^1 …, one for each block of a row or of a chunk, and H^row_blocks.
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

/// `blocks`: whole blocks of the longest message. Besides its blocks, a row costs a product and its share of the
/// matrices: estimated as 20 blocks with matrices of 32 powers, and 32 blocks with matrices of 64.
constexpr GhashKeysShape ghash_keys_shape(const DeviceLimits& device, std::uint64_t messages, std::uint64_t blocks) {
    const std::uint64_t at_once = static_cast<std::uint64_t>(device.multiprocessors) * GhashKeys::blocks_each;
    GhashKeysShape best{};
    std::uint64_t least = ~std::uint64_t{0};
    for (const std::uint32_t row : {32u, 64u, 128u, 192u, 256u}) {
        const std::uint64_t of_block = std::uint64_t{GhashKeys::rows_of_block} * row;
        const std::uint64_t parts = (blocks + of_block - 1) / of_block;
        // The last, incomplete round of thread blocks matters only if there are few rounds.
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
