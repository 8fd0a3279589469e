// Shapes of launches, on GPUs of every size.
#include "cuda/launch_table.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace warpaes::cuda
