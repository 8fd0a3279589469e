// Shapes of launches, on GPUs of every size.
#include "cuda/launch_table.hpp"

#include <gtest/gtest.h>

#include "cuda/kernels/xts.cuh"

namespace warpaes::cuda {
namespace {

TEST(LaunchTable, SerialBatchesHaveAThreadForEachMessage) {
    for (const int shared : {64 * 1024, 99 * 1024, 163 * 1024, 227 * 1024}) {
        for (const int multiprocessors : {1, 20, 132}) {
            DeviceLimits device{};
            device.shared_bytes_per_block = shared;
            device.multiprocessors = multiprocessors;
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

// Of data units beyond what a test has the time or the memory for.
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
