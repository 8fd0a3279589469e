// Tests the arithmetic of the cost model.
#include "engine/cost_model.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace warpaes {
namespace {

TEST(Cost, ABytePaysForTheSpanItLiesIn) {
    Cost cost;
    for (std::size_t i = 0; i < Cost::spans; ++i) cost.byte[i] = static_cast<double>(i + 1);
    EXPECT_EQ(cost.of_bytes(0), 0);
    EXPECT_EQ(cost.of_bytes(1), 1);
    double sum = 0;
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < Cost::ends.size(); ++i) {
        const auto span = static_cast<double>(Cost::ends[i] - begin);
        sum += span * static_cast<double>(i + 1);
        begin = Cost::ends[i];
        EXPECT_DOUBLE_EQ(cost.of_bytes(begin), sum);
        EXPECT_DOUBLE_EQ(cost.of_bytes(begin - 1), sum - static_cast<double>(i + 1));
        EXPECT_DOUBLE_EQ(cost.of_bytes(begin + 1), sum + static_cast<double>(i + 2));
    }
    EXPECT_DOUBLE_EQ(cost.of_bytes(begin + 1000), sum + 1000.0 * Cost::spans);
}

TEST(Cost, TheSlowerOfChainAndThroughputCounts) {
    Cost cost{.fixed = 10, .message = 2, .key = 3, .serial_byte = 5};
    cost.byte.fill(1);
    // 4 messages of 100 bytes and 2 keys cost 4 * 2 + 2 * 3 + 400 = 414, but a chain of 100 bytes costs 500.
    EXPECT_DOUBLE_EQ(cost.seconds(400, 4, 100, 2), 10 + 500);
    EXPECT_DOUBLE_EQ(cost.seconds(400, 40, 10, 2), 10 + 80 + 6 + 400);
    EXPECT_DOUBLE_EQ(Cost{}.seconds(1 << 30, 5, 5, 5), 0);
}

TEST(Cost, ChainsThatDoNotFitWaitForTheOthers) {
    Cost cost{.serial_byte = 2, .in_flight = 1000};
    EXPECT_DOUBLE_EQ(cost.of_chains(500, 100), 200);
    EXPECT_DOUBLE_EQ(cost.of_chains(1000, 100), 200);
    EXPECT_DOUBLE_EQ(cost.of_chains(4000, 100), 800);
    EXPECT_DOUBLE_EQ(cost.seconds(4000, 40, 100, 1), 800);
    cost.in_flight = 0;
    EXPECT_DOUBLE_EQ(cost.of_chains(4000, 100), 200);
}

TEST(Cost, ValidIsFiniteAndNotNegative) {
    EXPECT_TRUE(Cost{}.valid());
    for (const double bad :
         {-1e-9, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
        for (double Cost::*parameter :
             {&Cost::fixed, &Cost::message, &Cost::key, &Cost::serial_byte, &Cost::in_flight}) {
            Cost cost;
            cost.*parameter = bad;
            EXPECT_FALSE(cost.valid());
        }
        Cost cost;
        cost.byte.back() = bad;
        EXPECT_FALSE(cost.valid());
    }
}

TEST(Cost, EveryModeHasAClass) {
    const auto of = [](Mode mode, Direction direction) { return name_of(class_of(mode, direction)); };
    EXPECT_EQ(of(Mode::cbc, Direction::encrypt), "cbc-encrypt");
    EXPECT_EQ(of(Mode::cbc, Direction::decrypt), "cbc-decrypt");
    EXPECT_EQ(of(Mode::ofb, Direction::decrypt), "cbc-encrypt");
    EXPECT_EQ(of(Mode::gcm, Direction::decrypt), "gcm-decrypt");
    for (const Mode mode : {Mode::ecb, Mode::cbc, Mode::cfb128, Mode::cfb8, Mode::cfb1, Mode::ofb, Mode::ctr, Mode::xts,
                            Mode::gcm, Mode::ccm, Mode::cmac}) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            const WorkClass work_class = class_of(mode, direction);
            // Only a chain cannot be divided.
            const bool chain = work_class >= WorkClass::chained;
            EXPECT_EQ(chain, !is_parallel(mode, direction)) << static_cast<int>(mode);
        }
    }
}

TEST(CostTable, KnowsWhatItWasTold) {
    CostTable table;
    EXPECT_EQ(table.find(WorkClass::ctr, Way::device, 128), nullptr);
    table.set(WorkClass::ctr, Way::device, 256, {.fixed = 1});
    EXPECT_EQ(table.find(WorkClass::ctr, Way::device, 128), nullptr);
    ASSERT_NE(table.find(WorkClass::ctr, Way::device, 256), nullptr);
    int seen = 0;
    table.each([&](WorkClass work_class, Way way, unsigned key_bits, const Cost& cost) {
        ++seen;
        EXPECT_EQ(work_class, WorkClass::ctr);
        EXPECT_EQ(way, Way::device);
        EXPECT_EQ(key_bits, 256U);
        EXPECT_EQ(cost.fixed, 1);
    });
    EXPECT_EQ(seen, 1);
}

TEST(DefaultCosts, AreThereForEveryClassAndWay) {
    const BackendInfo gpu{
        .name = "cuda", .description = "NVIDIA H200", .reason = "", .device = 0, .multiprocessors = 132, .gpu = true};
    for (const char* name : {"libcrypto", "aesni", "vaes", "armv8", "cuda"}) {
        const BackendInfo cpu{.name = name, .description = "", .reason = ""};
        const bool is_gpu = std::string(name) == "cuda";
        const CostTable table = default_costs(is_gpu ? gpu : cpu, 8);
        std::size_t count = 0;
        table.each([&](WorkClass, Way way, unsigned, const Cost& cost) {
            ++count;
            EXPECT_EQ(way >= Way::pageable, is_gpu);
            EXPECT_TRUE(cost.valid());
            EXPECT_GT(cost.seconds(std::uint64_t{1} << 30, 1, 1 << 20, 1), 1e-4);
        });
        EXPECT_EQ(count, work_classes * 2 * (is_gpu ? 6 : 3)) << name;
    }
}

/// Estimates for GPUs without measurements follow from their nominal properties.
TEST(DefaultCosts, OfAGpuFollowFromItsProperties) {
    const auto seconds = [](const GpuSpeed& speed, WorkClass work_class, int multiprocessors = 132) {
        const CostTable table = default_costs({.name = "cuda",
                                               .description = "a GPU",
                                               .reason = "",
                                               .device = 0,
                                               .multiprocessors = multiprocessors,
                                               .speed = speed,
                                               .gpu = true},
                                              8);
        return table.find(work_class, Way::device, 128)->byte.back();
    };
    const GpuSpeed h200{.compute_capability = 90, .clock = 1.98e9, .memory = 4.8e12};
    const auto differs = [&](auto change) {
        GpuSpeed speed = h200;
        change(speed);
        return seconds(speed, WorkClass::ctr) / seconds(h200, WorkClass::ctr);
    };
    EXPECT_DOUBLE_EQ(seconds(h200, WorkClass::ctr), seconds({}, WorkClass::ctr)) << "unknown properties";
    EXPECT_DOUBLE_EQ(seconds(h200, WorkClass::ctr, 33), 4 * seconds(h200, WorkClass::ctr));
    EXPECT_DOUBLE_EQ(differs([](GpuSpeed& s) { s.clock /= 2; }), 2);
    EXPECT_DOUBLE_EQ(differs([](GpuSpeed& s) { s.compute_capability = 75; }), 2) << "half the load-store units";
    EXPECT_DOUBLE_EQ(differs([](GpuSpeed& s) { s.tensor_cores = false; }), 1);
    // Memory limits the speed: the text is read and written and, without tensor cores, read again for GHASH.
    const GpuSpeed slow{.compute_capability = 75, .clock = 1.98e9, .memory = 6e11, .tensor_cores = false};
    GpuSpeed with_tensor_cores = slow;
    with_tensor_cores.tensor_cores = true;
    EXPECT_DOUBLE_EQ(seconds(slow, WorkClass::ctr), 2 / 6e11);
    EXPECT_DOUBLE_EQ(seconds(with_tensor_cores, WorkClass::gcm_encrypt), 2 / 6e11);
    EXPECT_GE(seconds(slow, WorkClass::gcm_encrypt), 3 / 6e11);
    GpuSpeed by_products = h200;
    by_products.tensor_cores = false;
    EXPECT_GT(seconds(by_products, WorkClass::gcm_encrypt), 2 * seconds(h200, WorkClass::gcm_encrypt));
}

/// A chained block takes 1.4 times as long with AES-256, which has 14 rounds, as with AES-128, which has 10.
TEST(DefaultCosts, AChainWaitsLongerUnderALongerKey) {
    const CostTable table = default_costs(
        {.name = "cuda", .description = "NVIDIA H200", .reason = "", .device = 0, .multiprocessors = 132, .gpu = true},
        8);
    for (const WorkClass chained : {WorkClass::chained, WorkClass::cmac, WorkClass::ccm}) {
        const double shorter = table.find(chained, Way::device, 128)->serial_byte;
        const double longer = table.find(chained, Way::device, 256)->serial_byte;
        EXPECT_NEAR(longer / shorter, 1.4, 0.05);
    }
}

/// Sixteen threads encrypt short messages in pageable memory faster than a GPU, which receives a copy of each.
TEST(DefaultCosts, ShortMessagesInPageableMemoryStayOnTheCpu) {
    BackendInfo gpu;
    gpu.name = "cuda";
    gpu.gpu = true;
    gpu.multiprocessors = 132;
    BackendInfo cpu;
    cpu.name = "vaes";
    const CostTable on_gpu = default_costs(gpu, 16), on_cpu = default_costs(cpu, 16);
    for (const WorkClass work_class : {WorkClass::ctr, WorkClass::gcm_encrypt, WorkClass::gcm_decrypt}) {
        for (const std::uint64_t bytes : {16, 64, 256, 1500}) {
            const std::uint64_t messages = (256 << 20) / bytes;
            for (const std::uint64_t keys : {std::uint64_t{1}, std::uint64_t{64}, messages}) {
                EXPECT_LT(on_cpu.find(work_class, Way::batch, 128)->seconds(256 << 20, messages, bytes, keys),
                          on_gpu.find(work_class, Way::pageable_batch, 128)->seconds(256 << 20, messages, bytes, keys))
                    << bytes << " bytes, " << keys << " keys";
            }
        }
    }
}

}  // namespace
}  // namespace warpaes
