// Tests that the calling thread's current device does not change, on a simulated machine with two GPUs.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <vector>

#include "backend/cuda_backend.hpp"
#include "simt.hpp"

namespace warpaes {
namespace {

TEST(CurrentDevice, IsTheCallersAfterEveryCall) {
    CudaBackend& backend = cuda_backend();
    const int devices = static_cast<int>(backend.info().size());
    const auto current = [] {
        int device = -1;
        EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
        return device;
    };
    const ExpandedKey key(std::vector<std::uint8_t>(16, 1));
    for (int own = 0; own < devices; ++own) {
        for (int other = 0; other < devices; ++other) {
            SCOPED_TRACE(std::to_string(own) + " current, work on " + std::to_string(other));
            ASSERT_EQ(cudaSetDevice(own), cudaSuccess);
            auto* const memory = static_cast<std::uint8_t*>(backend.device_alloc(other, 4096));
            EXPECT_EQ(current(), own) << "device_alloc";
            EXPECT_EQ(backend.place(memory).device, other);
            backend.clear(memory, 4096, other, nullptr);
            EXPECT_EQ(current(), own) << "clear";
            std::vector<std::uint8_t> text(4096, 7);
            backend.copy(memory, text.data(), text.size(), other, nullptr);
            EXPECT_EQ(current(), own) << "copy";
            {
                auto lane = backend.open_lane(other, 4096);
                EXPECT_EQ(current(), own) << "open_lane";
                MessageGroup group;
                group.mode = Mode::ecb;
                group.direction = Direction::encrypt;
                group.length = 4096;
                group.key = &key;
                group.input = {memory, 0};
                group.output = {memory, 0};
                lane->run({&group, 1});
                EXPECT_EQ(current(), own) << "run";
                lane->wipe_staging(4096);
                EXPECT_EQ(current(), own) << "wipe_staging";
            }
            EXPECT_EQ(current(), own) << "the lane's end";
            backend.synchronize(other, nullptr);
            EXPECT_EQ(current(), own) << "synchronize";
            backend.device_free(memory);
            EXPECT_EQ(current(), own) << "device_free";
        }
    }
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
}

}  // namespace
}  // namespace warpaes
