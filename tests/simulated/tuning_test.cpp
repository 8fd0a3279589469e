// Tests launch shapes and tuned figures for GPUs of every size.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "backend/launch_figures.hpp"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/xts.cuh"
#include "cuda/tuning/architectures.hpp"
#include "cuda/tuning/batch_gcm.hpp"
#include "cuda/tuning/blocks.hpp"
#include "cuda/tuning/counters.hpp"
#include "cuda/tuning/gcm.hpp"
#include "cuda/tuning/ghash.hpp"
#include "cuda/tuning/keys.hpp"
#include "cuda/tuning/serial.hpp"
#include "cuda/tuning/shapes.hpp"
#include "cuda/tuning/xts.hpp"

namespace warpaes::cuda {
namespace {

TEST(LaunchTable, SerialBatchesHaveAThreadForEachMessage) {
    for (const int shared : {64 * 1024, 99 * 1024, 163 * 1024, 227 * 1024}) {
        for (const int multiprocessors : {1, 20, 132}) {
            const DeviceLimits device = limits_of(multiprocessors, shared, 90);
            for (std::uint64_t messages = 1; messages < std::uint64_t{1} << 32; messages *= 3) {
                const SerialBatchShape shape = serial_batch_shape(device, messages);
                EXPECT_GE(shape.warps, 1);
                EXPECT_LE(32 * shape.warps, shape.threads) << messages;
                EXPECT_GE(shape.grid, 1);
                EXPECT_LE(shape.grid, multiprocessors);
                EXPECT_LE(shape.shared_bytes, static_cast<std::size_t>(shared));
            }
        }
    }
}

TEST(GcmOnePass, IsChosenByGpuAndLengths) {
    using enum GcmOnePass::Kernels;
    const auto kernels_for = [](const DeviceLimits& device, const GcmPassWork& work) {
        return GcmOnePass::choose(device, work).kernels;
    };
    const GcmPassWork packets{.messages = 1 << 16, .blocks = 16 << 16, .longest = 16, .aad = 2},
        pages{.messages = 256, .blocks = 256 << 16, .longest = 1 << 16, .aad = 2};
    for (const int capability : {75, 80, 86, 100, 120}) {
        EXPECT_EQ(kernels_for(limits_of(132, 227 << 10, capability), packets), several) << capability;
        EXPECT_EQ(kernels_for(limits_of(132, 227 << 10, capability), pages), several) << capability;
    }
    const DeviceLimits device = limits_of(132, 227 << 10, 90), small = limits_of(132, 199 << 10, 90);
    EXPECT_EQ(kernels_for(device, packets), pass);
    EXPECT_EQ(kernels_for(device, pages), windows);
    EXPECT_EQ(kernels_for(small, packets), several) << "its shared memory is too small";
    EXPECT_EQ(kernels_for(small, pages), several) << "its shared memory is too small";
    EXPECT_EQ(kernels_for(device, {.messages = 1, .blocks = 8, .longest = 8}), several);
    // Texts at any address, and two long messages, which occupy all multiprocessors.
    EXPECT_EQ(kernels_for(device, {.messages = 4096, .blocks = 4096 << 12, .longest = 1 << 12, .aligned = false}),
              windows);
    EXPECT_EQ(kernels_for(device, {.messages = 2, .blocks = 2 << 19, .longest = 1 << 19}), windows);
}

TEST(GcmOnePass, IsChosenUnderSeveralKeys) {
    using enum GcmOnePass::Kernels;
    const DeviceLimits device = limits_of(132, 227 << 10, 90);
    GcmPassWork packets{.messages = 1 << 18, .blocks = 16 << 18, .longest = 16, .aad = 2, .keys = 64},
        pages{.messages = 256, .blocks = 256 << 16, .longest = 1 << 16, .aad = 2, .keys = 64};
    EXPECT_EQ(GcmOnePass::choose(device, packets).kernels, pass);
    EXPECT_EQ(GcmOnePass::choose(device, pages).kernels, windows);
    // For messages of medium length, several kernels are as fast, and faster for decryption of longer ones.
    GcmPassWork medium{.messages = 1 << 16, .blocks = 256 << 16, .longest = 256, .aad = 2, .keys = 64},
        longer{.messages = 1 << 14, .blocks = 1024 << 14, .longest = 1024, .aad = 2, .keys = 64};
    EXPECT_NE(GcmOnePass::choose(device, medium).kernels, pass);
    EXPECT_EQ(GcmOnePass::choose(device, longer).kernels, pass);
    longer.decrypts = true;
    EXPECT_NE(GcmOnePass::choose(device, longer).kernels, pass);
    // Every key begins a tile, so the estimate grows with the number of keys.
    const double few = GcmPass::choose(device, packets)->time;
    packets.keys = 1;
    EXPECT_LT(GcmPass::choose(device, packets)->time, few);
    EXPECT_FALSE(GcmOnePass::sorts(1000, 1000));
    EXPECT_TRUE(GcmOnePass::sorts(std::uint64_t{1} << 40, 1000));
}

TEST(GcmPass, AssignsConsecutiveTiles) {
    for (const std::uint64_t tiles : {1U, 131U, 132U, 133U, 1408U}) {
        const int grid = GcmPass::shape(limits_of(132, 227 << 10, 90), tiles).grid;
        const std::uint64_t all = GcmPass::tiles_at_once(tiles, true, grid);
        EXPECT_GE(all * static_cast<std::uint64_t>(grid), tiles);
        EXPECT_LT((all - 1) * static_cast<std::uint64_t>(grid), tiles);
        EXPECT_LE(GcmPass::tiles_at_once(tiles, false, grid), all);
    }
}

TEST(GcmPass, HasRowsByLengths) {
    const DeviceLimits device = limits_of(132, 227 << 10, 90);
    // If there are few messages, each needs several rows to occupy all multiprocessors. Many messages do not.
    EXPECT_EQ(GcmPass::choose(device, {.messages = 8448, .blocks = 8448 * 256, .longest = 256})->log_rows, 1U);
    EXPECT_EQ(GcmPass::choose(device, {.messages = 2112, .blocks = 2112 * 256, .longest = 256})->log_rows, 3U);
    // Rows need no weights only if the messages fit in one chunk of powers and all end at the same position.
    GcmPassWork packets{.messages = 1 << 20, .blocks = 16 << 20, .longest = 16};
    EXPECT_FALSE(GcmPass::choose(device, packets)->weighted);
    packets.equal_ends = false;
    EXPECT_TRUE(GcmPass::choose(device, packets)->weighted);
    EXPECT_TRUE(GcmPass::shape_with(device, {.messages = 1, .blocks = 64, .longest = 64}, 0).weighted);
}

TEST(GcmWindows, CountsTheBlocksOfAMessage) {
    EXPECT_EQ(GcmWindows::windows_of(0, 0), 1U);
    // One window has 256 blocks: two blocks before the text, 253 blocks of text and a block of lengths.
    EXPECT_EQ(GcmWindows::windows_of(253 * 16, 32), 1U);
    EXPECT_EQ(GcmWindows::windows_of(253 * 16 + 1, 0), 2U);
    EXPECT_EQ(GcmWindows::windows_of(253 * 16, 33), 2U);
    EXPECT_EQ(GcmWindows::windows_of(0, 258 * 16), 2U);
    EXPECT_EQ(GcmWindows::windows_of(0, 258 * 16 + 1), 3U);
    EXPECT_EQ(GcmWindows::windows_of(1 << 30, 0), (1U << 18) + 1);
}

TEST(LaunchFigures, SayWhatTheyAre) {
    std::set<std::string> names, meanings;
    for (const LaunchFigure& figure : launch_figures()) {
        EXPECT_GT(std::string(figure.meaning).size(), 10U) << figure.name;
        names.insert(figure.name);
        meanings.insert(figure.meaning);
    }
    EXPECT_EQ(names.size(), launch_figures().size());
    EXPECT_EQ(meanings.size(), launch_figures().size());
}

struct Hardware {
    int compute_capability, shared_bytes;
};
/// The shared memory of a thread block according to CUDA's tables. The last row is hypothetical. For architectures that
/// are not in this list, the smallest size since 8.0 is used.
std::vector<Hardware> every_gpu() {
    std::vector<Hardware> gpus{{75, 64 << 10},   {80, 163 << 10}, {86, 99 << 10},   {87, 163 << 10},
                               {89, 99 << 10},   {90, 227 << 10}, {100, 227 << 10}, {103, 227 << 10},
                               {110, 227 << 10}, {120, 99 << 10}, {121, 99 << 10},  {990, 100 << 10}};
    for (const Architecture& row : architectures) {
        const auto same = [&](const Hardware& gpu) { return gpu.compute_capability == row.compute_capability; };
        if (std::none_of(gpus.begin(), gpus.end(), same)) gpus.push_back({row.compute_capability, 99 << 10});
    }
    return gpus;
}

GpuShape shape_of(const DeviceLimits& device) {
    return {"", static_cast<std::uint32_t>(device.compute_capability), 1,
            static_cast<std::uint32_t>(device.shared_bytes_per_block), device.bit_products};
}

void expect_to_fit(const DeviceLimits& device) {
    const auto fits = [&](const LaunchShape& shape) {
        EXPECT_LE(shape.shared_bytes, static_cast<std::size_t>(device.shared_bytes_per_block));
        EXPECT_GE(shape.threads, 32);
        EXPECT_LE(shape.threads, 1024);
        EXPECT_GE(shape.grid, 1);
        EXPECT_TRUE(shape.tables == 0 || shape.tables == 1 || shape.tables == 2 || shape.tables == 4) << shape.tables;
    };
    const bool has_bits = device.bit_products != BitProducts::none;
    for (std::uint64_t n = 1; n < std::uint64_t{1} << 40; n *= 5) {
        fits(launch_shape(device, n));
        fits(launch_shape(device, n, BatchCounters::threads(device, false)));
        fits(serial_batch_shape(device, n));
        if (GcmShort::takes(device, n)) fits(GcmShort::shape(device, n));
        if (ShortMessage::takes(device, n * block_bytes)) fits(short_shape(device, n).launch);
        if (GcmMediumShape::takes(device, n)) {
            EXPECT_TRUE(has_bits);
            fits(gcm_medium_shape(device, n).launch);
        }
        if (GcmLong::takes(device, n)) fits(gcm_long_shape(device, n).launch);
        for (const std::uint64_t segments : {std::uint64_t{1}, n}) {
            const RowShape rows = row_shape(device, segments, n);
            EXPECT_TRUE(has_bits || !rows.tensor_cores);
            fits(rows.launch);
        }
        EXPECT_TRUE(has_bits || !GhashKeys::takes(device, n));
        EXPECT_GT(BatchCounters::steps_at_once(device, n), 0U);
        EXPECT_GT(BatchCounters::windows_at_once(device, n), 0U);
    }
    fits(serial_shape(device));
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        EXPECT_LE(piece_shape(device, direction, 100, 256).shared_bytes,
                  static_cast<std::size_t>(device.shared_bytes_per_block));
    }
    EXPECT_LE(BatchKeysLaunch::tables * table_bytes_each, static_cast<std::size_t>(device.shared_bytes_per_block));
    EXPECT_LE(GhashMma::shared_bytes(device), static_cast<std::size_t>(device.shared_bytes_per_block));
}

TEST(LaunchTable, EveryArchitectureHasRoomForItsLaunches) {
    for (const auto [capability, shared] : every_gpu()) {
        SCOPED_TRACE(capability);
        const DeviceLimits device = limits_of(2, shared, capability);
        EXPECT_EQ(objection(device.table, shape_of(device)), "");
        EXPECT_EQ(device.bit_products == BitProducts::wgmma, capability == 90)
            << "which machine code for 9.0a contains";
        expect_to_fit(device);
    }
    EXPECT_EQ(architecture_of(103).compute_capability, 100);
    EXPECT_EQ(architecture_of(121).compute_capability, 120);
    EXPECT_EQ(architecture_of(990).compute_capability, 0) << "what follows";
    EXPECT_EQ(limits_of(1, 227 << 10, 990).table.tables, 4U);
    EXPECT_EQ(limits_of(1, 100 << 10, 990).table.tables, 2U);
}

// The parts of a segment cover its windows, and none is empty.
TEST(LaunchTable, PartsCoverTheWindowsOfASegment) {
    for (const std::uint64_t segments : {1, 3, 100, 100000}) {
        for (const std::uint64_t windows : {1, 2, 100, 100000}) {
            SCOPED_TRACE(std::to_string(segments) + " segments of " + std::to_string(windows));
            const WindowShape shape = window_shape(limits_of(132, 227 << 10, 90), segments, windows);
            EXPECT_LE(shape.windows, windows);
            EXPECT_GE(shape.parts * shape.windows, windows);
            EXPECT_LT((shape.parts - 1) * shape.windows, windows);
        }
    }
}

// Unless a value that tuning tries is refused before the launch, every GPU can run the launch.
TEST(LaunchTable, EveryValueThatIsWorthTryingFits) {
    for (const auto [capability, shared] : every_gpu()) {
        for (const LaunchFigure& figure : launch_figures()) {
            for (const std::uint32_t value : figure.worth_trying()) {
                SCOPED_TRACE(std::string(figure.name) + " " + std::to_string(value));
                DeviceLimits device = limits_of(3, shared, capability);
                device.table.*figure.value = value;
                if (objection(device.table, shape_of(device)).empty()) expect_to_fit(device);
            }
        }
    }
}

TEST(LaunchTable, ObjectionsNameTheFigure) {
    const DeviceLimits small = limits_of(2, 99 << 10, 89), old = limits_of(2, 64 << 10, 75);
    const auto refused = [](const DeviceLimits& device, std::uint32_t LaunchTable::*figure, std::uint32_t value) {
        LaunchTable table = device.table;
        table.*figure = value;
        return objection(table, shape_of(device));
    };
    EXPECT_EQ(refused(small, &LaunchTable::tables, 4),
              "tables: 4 take 128 KiB of shared memory, and a thread block of this GPU has 99");
    EXPECT_EQ(refused(small, &LaunchTable::threads, 0), "threads: 0 is not a multiple of 128 from 128 to 1024");
    EXPECT_EQ(refused(small, &LaunchTable::serial_warps, 17), "serial_warps: 17 is not from 1 to 16");
    EXPECT_EQ(refused(small, &LaunchTable::threads, never), "threads: never is not a multiple of 128 from 128 to 1024");
    for (auto figure :
         {&LaunchTable::tensor_blocks, &LaunchTable::own_key_tensor_bytes, &LaunchTable::one_launch_share}) {
        EXPECT_EQ(refused(old, figure, 4096),
                  "tensor_blocks, own_key_tensor_bytes, one_launch_share: must be never, because this GPU's tensor "
                  "cores do not multiply bits");
    }
    // Checks every limit of every parameter.
    const DeviceLimits large = limits_of(2, 227 << 10, 90);
    for (const LaunchFigure& figure : launch_figures()) {
        for (const std::uint64_t value :
             {std::uint64_t{figure.least} - figure.step, std::uint64_t{figure.most} + figure.step}) {
            if (value > never) continue;
            const std::string why = refused(large, figure.value, static_cast<std::uint32_t>(value));
            EXPECT_EQ(why.find(std::string(figure.name) + ": "), 0U) << value << ": " << why;
        }
        for (const std::uint32_t value : {figure.least, figure.most}) {
            EXPECT_EQ(refused(large, figure.value, value), "") << figure.name;
        }
        EXPECT_EQ(refused(large, figure.value, never).empty(), figure.or_never) << figure.name;
    }
}

// Tests data units that would need too much memory or time for a test with data.
TEST(XtsKernel, FindsTheUnitOfEveryPiece) {
    constexpr std::uint64_t border = std::uint64_t{1} << 32;
    for (const std::uint32_t per_unit : {1u, 2u, 3u, 1023u, 0xffffffffu}) {
        for (const std::uint64_t near : {std::uint64_t{0}, border, border * per_unit, std::uint64_t{1} << 60}) {
            for (std::uint64_t piece = near < 5 ? 0 : near - 5; piece < near + 5; ++piece) {
                EXPECT_EQ(unit_of_piece(piece, per_unit), piece / per_unit) << piece << " / " << per_unit;
            }
        }
    }
}

}  // namespace
}  // namespace warpaes::cuda
