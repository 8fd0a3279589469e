// Tests the choice between two GPUs, on a simulated machine.
#include <gtest/gtest.h>

#include <vector>

#include "base/error.hpp"
#include "engine/engine.hpp"
#include "engine/pipeline/memory.hpp"
#include "simt.hpp"

namespace warpaes {
namespace {

using Devices = std::vector<int>;

Devices devices_of(std::span<const int> devices) {
    return {devices.begin(), devices.end()};
}

class TwoGpus : public testing::Test {
protected:
    /// The machine must be set up before the backend looks for devices, which it does only once.
    TwoGpus() {
        simt::Machine machine = simt::Machine::from_environment();
        machine.devices = 2;
        simt::reset(machine);
    }

    static EngineOptions on_gpu(int device) {
        return {.backend = "cuda", .device = device, .threads = 2, .chunk_bytes = 4096};
    }
};

TEST_F(TwoGpus, AnEngineHasBothOrTheOneAskedFor) {
    EXPECT_EQ(devices_of(Engine(on_gpu(-1)).gpus()), (Devices{0, 1}));
    for (const int device : {0, 1}) {
        const Engine engine(on_gpu(device));
        EXPECT_EQ(devices_of(engine.gpus()), Devices{device});
        EXPECT_EQ(devices_of(engine.plan({.bytes = 1 << 20}).devices), Devices{device});
    }
    try {
        const Engine engine(on_gpu(2));
        ADD_FAILURE() << "there is no third GPU";
    } catch (const Error& e) {
        EXPECT_EQ(e.status(), WARPAES_ERROR_BACKEND);
        EXPECT_STREQ(e.what(), "device: there is no usable CUDA device 2 here");
    }
}

TEST_F(TwoGpus, WorkersOfAMessageTakeThemInTurn) {
    Engine engine(on_gpu(-1));
    const Plan plan = engine.plan({.bytes = 1 << 20});
    EXPECT_EQ(devices_of(plan.devices), (Devices{0, 1}));
    ASSERT_GE(plan.lanes, 4U);
    Devices taken;
    for (unsigned worker = 0; worker < 4; ++worker) taken.push_back(engine.lease(plan, worker, 4096)->device());
    EXPECT_EQ(taken, (Devices{0, 1, 0, 1}));
}

TEST_F(TwoGpus, AMessageInOnesMemoryIsThatOnesAlone) {
    Engine engine(on_gpu(-1));
    constexpr std::size_t bytes = 1 << 16;
    std::vector<std::uint8_t> host(bytes);
    for (const int device : {0, 1}) {
        auto* const memory = static_cast<std::uint8_t*>(cuda_backend().device_alloc(device, bytes));
        const Ends ends = plan_ends(engine, {.memory = Memory::device}, {memory, bytes}, host, device);
        EXPECT_EQ(devices_of(ends.plan.devices), Devices{device});
        EXPECT_EQ(ends.in.device, device);
        EXPECT_EQ(ends.out.device, -1);
        cuda_backend().device_free(memory);
    }
    const int none = -1;
    EXPECT_EQ(devices_of(plan_ends(engine, {}, host, host, none).plan.devices), (Devices{0, 1}));
}

}  // namespace
}  // namespace warpaes
