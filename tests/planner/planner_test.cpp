// Predictions, and the choice among CPU backends.
#include "engine/planner.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/error.hpp"
#include "engine/engine.hpp"

namespace warpaes {
namespace {

const BackendInfo h200{.name = "cuda",
                       .description = "NVIDIA H200, compute capability 9.0",
                       .reason = "",
                       .device = 0,
                       .multiprocessors = 132};
constexpr std::uint64_t gib = std::uint64_t{1} << 30;

std::shared_ptr<const CostModel> nothing() {
    return std::make_shared<const CostModel>();
}

TEST(Planner, PredictsMoreForMore) {
    for (const unsigned threads : {1U, 2U, 16U, 64U}) {
        const Planner planner(nothing(), threads);
        for (const Mode mode : {Mode::ecb, Mode::ctr, Mode::xts, Mode::gcm, Mode::cbc, Mode::cfb8}) {
            for (const Memory memory : {Memory::pageable, Memory::page_locked, Memory::device}) {
                double cpu = 0, gpu = 0;
                for (std::uint64_t bytes = 1; bytes <= 4 * gib; bytes += bytes / 3 + 1) {
                    const Work work{.mode = mode, .bytes = bytes, .memory = memory};
                    const Prediction on_cpu = planner.best_cpu(work).prediction;
                    // Another number of workers may shift the sum by the time that one takes to begin.
                    EXPECT_GE(on_cpu.seconds, cpu - 2 * default_thread_seconds) << bytes;
                    EXPECT_GE(on_cpu.lanes, 1U);
                    EXPECT_LE(on_cpu.lanes, threads);
                    EXPECT_GE(planner.on_gpu(h200, 1, work).seconds, gpu) << bytes;
                    cpu = on_cpu.seconds;
                    gpu = planner.on_gpu(h200, 1, work).seconds;
                }
            }
        }
    }
}

TEST(Planner, LongerKeysTakeLongerAnd192BitsLieBetween) {
    const Planner planner(nothing(), 4);
    for (const std::uint64_t bytes : {std::uint64_t{1024}, std::uint64_t{1} << 20, gib}) {
        const auto of = [&](unsigned bits) {
            return planner.on_gpu(h200, 1, {.key_bits = bits, .bytes = bytes, .memory = Memory::device}).seconds;
        };
        EXPECT_LE(of(128), of(192));
        EXPECT_LE(of(192), of(256));
        EXPECT_NEAR(of(192), (of(128) + of(256)) / 2, 1e-9);
    }
}

TEST(Planner, AShortMessageIsNoWorkForAGpu) {
    const Planner planner(nothing(), 1);
    for (const Mode mode : {Mode::ecb, Mode::ctr, Mode::gcm, Mode::cbc, Mode::cfb8}) {
        for (const Memory memory : {Memory::pageable, Memory::page_locked}) {
            const Work work{.mode = mode, .bytes = 64, .memory = memory};
            EXPECT_LT(planner.best_cpu(work).prediction.seconds, planner.on_gpu(h200, 1, work).seconds);
        }
    }
    // And a chain of blocks never is.
    const Work chain{.mode = Mode::cbc, .bytes = gib, .memory = Memory::page_locked};
    EXPECT_LT(planner.best_cpu(chain).prediction.seconds, planner.on_gpu(h200, 1, chain).seconds);
}

TEST(Planner, ALongPageLockedMessageIs) {
    const Planner planner(nothing(), 2);
    const Work work{.bytes = gib, .memory = Memory::page_locked};
    EXPECT_TRUE(Planner::is_faster(planner.on_gpu(h200, 1, work).seconds, planner.best_cpu(work).prediction.seconds));
    const Work batch{.mode = Mode::cbc, .bytes = gib, .memory = Memory::page_locked, .messages = 65536, .batch = true};
    EXPECT_TRUE(Planner::is_faster(planner.on_gpu(h200, 1, batch).seconds, planner.best_cpu(batch).prediction.seconds));
}

TEST(Planner, AFewLongChainsDependOnTheirLength) {
    const Planner planner(nothing(), 2);
    Work work{.mode = Mode::cbc, .bytes = 64 << 20, .memory = Memory::page_locked, .messages = 4, .batch = true};
    const double few = planner.on_gpu(h200, 1, work).seconds;
    work.messages = 4096;
    EXPECT_LT(planner.on_gpu(h200, 1, work).seconds, few / 10);
    work.longest = 16 << 20;
    EXPECT_DOUBLE_EQ(planner.on_gpu(h200, 1, work).seconds, few);
}

TEST(Planner, GpusShareWhatComesFromTheHost) {
    const Planner planner(nothing(), 2);
    Work work{.bytes = 4 * gib, .memory = Memory::page_locked};
    EXPECT_NEAR(planner.on_gpu(h200, 4, work).seconds / planner.on_gpu(h200, 1, work).seconds, 0.25, 0.01);
    work.memory = Memory::device;
    EXPECT_EQ(planner.on_gpu(h200, 4, work).seconds, planner.on_gpu(h200, 1, work).seconds);
}

/// A machine on which libcrypto is by far the fastest at GCM, and as fast as the others at CTR.
std::shared_ptr<const CostModel> odd_machine() {
    auto model = std::make_shared<CostModel>();
    for (const char* name : {"libcrypto", "aesni", "vaes"}) {
        Cost cost{.fixed = 1e-6};
        cost.byte.fill(std::string(name) == "libcrypto" ? 0.97e-9 : 1e-9);
        model->tables[name].set(WorkClass::ctr, Way::one_lane, 128, cost);
        cost.byte.fill(std::string(name) == "libcrypto" ? 1e-10 : 1e-9);
        model->tables[name].set(WorkClass::gcm_encrypt, Way::one_lane, 128, cost);
    }
    return model;
}

/// The best CPU backend from where bytes count, and nothing that a GPU might be worth.
void expect_ways_as_planned(const Planner& planner, std::uint64_t longest) {
    bool any = false;
    for (const Mode mode : modes) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            for (const int rounds : {10, 12, 14}) {
                const ShortWay& way = planner.short_ways().of(mode, direction, rounds);
                if (way.function == nullptr) continue;
                any = true;
                EXPECT_LE(way.most_bytes, longest);
                for (std::uint64_t bytes = 0; bytes <= way.most_bytes; bytes += bytes / 7 + 1) {
                    const Planner::Best best = planner.best_cpu({.mode = mode,
                                                                 .direction = direction,
                                                                 .key_bits = static_cast<unsigned>(32 * (rounds - 6)),
                                                                 .bytes = bytes});
                    const bool shorter = bytes < std::min(Cost::ends[0], way.most_bytes);
                    EXPECT_TRUE(shorter || best.backend->name() == way.backend)
                        << static_cast<int>(mode) << ", " << bytes;
                    EXPECT_LT(best.prediction.seconds, least_gpu_seconds) << static_cast<int>(mode) << ", " << bytes;
                }
            }
        }
    }
    EXPECT_TRUE(any);
}

TEST(Planner, ShortMessagesGoWhereAPlanWouldSendThem) {
    for (const std::uint64_t longest : {longest_short_message, std::uint64_t{4096}}) {
        expect_ways_as_planned(Planner(nothing(), 16, longest), longest);
        expect_ways_as_planned(Planner(odd_machine(), 1, longest), longest);
    }
    const Planner planner(nothing(), 1);
    EXPECT_EQ(planner.short_ways().of(Mode::ccm, Direction::encrypt, 10).function, nullptr);
    EXPECT_GE(planner.short_ways().of(Mode::ctr, Direction::encrypt, 10).most_bytes, Cost::ends[0]);
}

TEST(Planner, GoesByWhatWasMeasured) {
    const Planner planner(odd_machine(), 1);
    const auto best = planner.best_cpu({.mode = Mode::gcm, .bytes = 1 << 20});
    EXPECT_EQ(best.backend->name(), "libcrypto");
    EXPECT_TRUE(best.prediction.calibrated);
    const auto usual = planner.best_cpu({.mode = Mode::ctr, .bytes = 1 << 20});
    EXPECT_EQ(usual.backend, Planner(nothing(), 1).best_cpu({.bytes = 1 << 20}).backend) << "3 % are no reason";
    EXPECT_FALSE(planner.best_cpu({.mode = Mode::ecb, .bytes = 1 << 20}).prediction.calibrated);
}

TEST(Planner, WorkersAreWorthTheirBeginning) {
    auto model = std::make_shared<CostModel>();
    model->thread = 1e-3;
    const Planner dear(model, 16);
    const Work work{.bytes = 8 << 20};
    EXPECT_EQ(dear.best_cpu(work).prediction.lanes, 1U);
    auto cheap = std::make_shared<CostModel>();
    cheap->thread = 1e-7;
    EXPECT_EQ(Planner(cheap, 16).best_cpu(work).prediction.lanes, 16U);
    EXPECT_EQ(Planner(cheap, 16).best_cpu({.mode = Mode::cbc, .bytes = 8 << 20}).prediction.lanes, 1U) << "a chain";
    EXPECT_EQ(Planner(cheap, 16).best_cpu({.bytes = 2 * cpu_chunk_bytes}).prediction.lanes, 2U);
}

TEST(EnginePlans, FollowTheCostsGiven) {
    Engine engine({.backend = "auto", .threads = 1, .costs = odd_machine()});
    EXPECT_EQ(engine.plan({.mode = Mode::gcm, .bytes = 1 << 20}).backend->name(), "libcrypto");
    const Explanation e = engine.explain({.mode = Mode::gcm, .bytes = 1 << 20});
    EXPECT_EQ(e.plan.backend->name(), "libcrypto");
    EXPECT_TRUE(e.calibrated);
    EXPECT_NE(e.reason.find("libcrypto: "), std::string::npos) << e.reason;
    EXPECT_NE(e.reason.find("(calibrated)"), std::string::npos) << e.reason;
    engine.use_costs(nothing());
    EXPECT_FALSE(engine.explain({.mode = Mode::gcm, .bytes = 1 << 20}).calibrated);
    EXPECT_FALSE(engine.costs().calibrated());
}

TEST(EnginePlans, AForcedBackendStays) {
    for (const char* name : {"libcrypto", "aesni", "vaes"}) {
        try {
            const Engine engine({.backend = name, .threads = 3, .costs = odd_machine()});
            for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{64}, gib}) {
                const Plan plan = engine.plan({.mode = Mode::gcm, .bytes = bytes});
                EXPECT_EQ(plan.backend->name(), name);
                EXPECT_FALSE(plan.replaceable);
                EXPECT_LE(plan.lanes, 3U);
                EXPECT_NE(engine.explain({.bytes = bytes}).reason.find("asked for"), std::string::npos);
            }
            EXPECT_THROW((void)engine.plan({.bytes = 1, .memory = Memory::device}), Error);
        } catch (const Error& e) {
            EXPECT_EQ(e.status(), WARPAES_ERROR_BACKEND) << "a CPU without it";
        }
    }
}

TEST(EnginePlans, OptionsAreStrongerThanTheModel) {
    const Engine engine({.backend = "libcrypto", .threads = 16, .depth = 5, .chunk_bytes = 8192, .costs = nothing()});
    const Plan plan = engine.plan({.bytes = 1 << 20});
    EXPECT_EQ(plan.lanes, 5U);
    EXPECT_EQ(plan.chunk_bytes, 8192U);
}

TEST(EnginePlans, AreMadeByManyThreadsWhileCostsChange) {
    Engine engine({.backend = "auto", .threads = 2, .costs = nothing()});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 2000; ++i) {
                if (t == 0 && i % 100 == 0) engine.use_costs(i % 200 == 0 ? odd_machine() : nothing());
                const Plan plan = engine.plan({.mode = Mode::gcm, .bytes = static_cast<std::uint64_t>(i) << 10});
                EXPECT_NE(plan.backend, nullptr);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace warpaes
