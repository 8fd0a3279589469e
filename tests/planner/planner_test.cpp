// Tests predictions and the choice among CPU backends.
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
                       .multiprocessors = 132,
                       .gpu = true};
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
                    // With a different number of workers, the sum may differ by the start time of one worker.
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
    // A chain of blocks is never faster on the GPU.
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

TEST(Planner, ADataUnitIsOneThreads) {
    const Planner planner(nothing(), 16);
    Work work{.mode = Mode::xts, .key_bits = 256, .bytes = 16 << 20, .memory = Memory::page_locked};
    const Prediction units = planner.best_cpu(work).prediction;
    EXPECT_GT(units.lanes, 1U);
    work.whole = 4096;
    EXPECT_EQ(planner.best_cpu(work).prediction.seconds, units.seconds);
    work.whole = work.bytes / 2;
    EXPECT_EQ(planner.best_cpu(work).prediction.lanes, 2U);
    work.whole = work.bytes;
    const Prediction one = planner.best_cpu(work).prediction;
    EXPECT_EQ(one.lanes, 1U);
    EXPECT_TRUE(Planner::is_faster(planner.on_gpu(h200, 1, work).seconds, one.seconds));
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

/// Returns the costs of a machine where libcrypto is by far the fastest for GCM, and as fast as the other backends for
/// CTR.
std::shared_ptr<const CostModel> odd_machine() {
    auto model = std::make_shared<CostModel>();
    for (const char* name : {"libcrypto", "aesni", "vaes", "armv8"}) {
        Cost cost{.fixed = 1e-6};
        cost.byte.fill(std::string(name) == "libcrypto" ? 0.7e-9 : 1e-9);
        model->tables[name].set(WorkClass::ctr, Way::one_lane, 128, cost);
        cost.byte.fill(std::string(name) == "libcrypto" ? 1e-10 : 1e-9);
        model->tables[name].set(WorkClass::gcm_encrypt, Way::one_lane, 128, cost);
    }
    return model;
}

/// Checks the choice of CPU backend for sizes where bytes matter but that are too small for a GPU.
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
    EXPECT_EQ(usual.backend, Planner(nothing(), 1).best_cpu({.bytes = 1 << 20}).backend)
        << "a difference of 30 % is not enough";
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

TEST(Planner, WakingAGpuTakesWhatWasMeasuredOrElseWhatIsUsual) {
    EXPECT_EQ(Planner(nothing(), 1).cold_seconds(), default_cold_seconds);
    auto model = std::make_shared<CostModel>();
    model->cold = 2.5;
    EXPECT_EQ(Planner(model, 1).cold_seconds(), 2.5);
}

/// Returns distinct values for all parameters of all costs.
double marked(std::size_t parameter, WorkClass work_class, Way way, unsigned key_bits) {
    const std::size_t cost = (static_cast<std::size_t>(work_class) * ways + static_cast<std::size_t>(way)) * 2;
    return 1 + static_cast<double>((cost + key_bits / 256) * 16 + parameter) / 4096;
}

std::shared_ptr<CostModel> marked_model() {
    auto model = std::make_shared<CostModel>();
    for (const char* name : {"libcrypto", "aesni", "vaes", "cuda NVIDIA H200, compute capability 9.0"}) {
        CostTable& table = model->tables[name];
        for (std::size_t c = 0; c < work_classes; ++c) {
            for (std::size_t w = 0; w < ways; ++w) {
                for (const unsigned bits : {128U, 256U}) {
                    const auto work_class = static_cast<WorkClass>(c);
                    const auto way = static_cast<Way>(w);
                    const auto of = [&](std::size_t parameter) { return marked(parameter, work_class, way, bits); };
                    Cost cost{.fixed = 1e-6 * of(0), .message = 1e-8 * of(1), .key = 1e-7 * of(2)};
                    // With the larger value, a chain takes longer than the rest of the work.
                    cost.serial_byte = c % 2 == 0 ? 1e-10 * of(3) : 1e-7 * of(3);
                    // With a limit, not all messages are in flight at the same time.
                    cost.in_flight = w % 2 == 0 ? 0 : 65536 * of(12);
                    for (std::size_t i = 0; i < Cost::spans; ++i) {
                        cost.byte[i] = 1e-9 * of(4 + i);
                    }
                    table.set(work_class, way, bits, cost);
                }
            }
        }
    }
    model->thread = 1;  // too expensive for any additional worker
    model->threads = 12;
    return model;
}

/// Returns the expected prediction. Bytes of CFB8 and CFB1 count as cipher blocks, and the costs for 192-bit keys lie
/// between those for the other key lengths.
double reckoned(const CostModel& model, const char* name, Way way, const Work& work, double share = 1) {
    const WorkClass work_class = class_of(work.mode, work.direction);
    const std::uint64_t factor = work.mode == Mode::cfb8 ? 16 : work.mode == Mode::cfb1 ? 128 : 1;
    double fixed = 0, shared = 0, serial = 0;
    for (const unsigned bits : {128U, 256U}) {
        if (work.key_bits != 192 && work.key_bits != bits) continue;
        const double weight = work.key_bits == 192 ? 0.5 : 1;
        const Cost& cost = *model.find(name)->find(work_class, way, bits);
        fixed += weight * cost.fixed;
        shared += weight * (cost.of_bytes(factor * work.bytes) + cost.message * static_cast<double>(work.messages) +
                            cost.key * static_cast<double>(work.keys));
        const double rounds = cost.in_flight > 0 ? static_cast<double>(factor * work.bytes) / cost.in_flight : 1;
        serial +=
            weight * cost.serial_byte * static_cast<double>(factor * work.longest_message()) * std::max(1.0, rounds);
    }
    return fixed + std::max(share * shared, serial);
}

TEST(Planner, PredictsByTheFormula) {
    const auto model = marked_model();
    const char* const gpu_name = "cuda NVIDIA H200, compute capability 9.0";
    const Planner planner(model, 4);
    for (const Mode mode : modes) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            for (const unsigned key_bits : {128U, 192U, 256U}) {
                for (const std::uint64_t bytes : {std::uint64_t{48}, std::uint64_t{100000}, std::uint64_t{9} << 20}) {
                    SCOPED_TRACE(std::to_string(static_cast<int>(mode)) + ", " + std::to_string(key_bits) + " bits, " +
                                 std::to_string(bytes) + " bytes");
                    Work work{.mode = mode, .direction = direction, .key_bits = key_bits, .bytes = bytes};
                    for (Backend* const backend : all_backends()) {
                        const std::string name(backend->name());
                        if (name == "cuda" || !backend->usable()) continue;
                        work.batch = false;
                        work.messages = work.keys = 1;
                        const Prediction one = planner.on_cpu(*backend, work);
                        EXPECT_DOUBLE_EQ(one.seconds, reckoned(*model, name.c_str(), Way::one_lane, work));
                        EXPECT_EQ(one.lanes, 1U);
                        EXPECT_TRUE(one.calibrated);
                        work.batch = true;
                        work.messages = 6;
                        work.keys = 5;
                        // The calibration used three times as many threads as this planner.
                        const Prediction many = planner.on_cpu(*backend, work);
                        EXPECT_DOUBLE_EQ(many.seconds, reckoned(*model, name.c_str(), Way::batch, work, 3));
                        EXPECT_EQ(many.lanes, 4U);
                        EXPECT_TRUE(many.calibrated);
                    }
                    for (const bool batch : {false, true}) {
                        const std::pair<Memory, Way> places[] = {
                            {Memory::pageable, batch ? Way::pageable_batch : Way::pageable},
                            {Memory::page_locked, batch ? Way::page_locked_batch : Way::page_locked},
                            {Memory::device, batch ? Way::device_batch : Way::device}};
                        for (const auto& [memory, way] : places) {
                            work.batch = batch;
                            work.memory = memory;
                            work.messages = work.keys = batch ? 7 : 1;
                            const bool divisible = memory != Memory::device && (batch || is_parallel(mode, direction));
                            for (const unsigned gpus : {0U, 1U, 4U}) {
                                const Prediction p = planner.on_gpu(h200, gpus, work);
                                const double share = divisible && gpus == 4 ? 0.25 : 1;
                                EXPECT_DOUBLE_EQ(p.seconds, reckoned(*model, gpu_name, way, work, share)) << gpus;
                                EXPECT_TRUE(p.calibrated);
                                EXPECT_EQ(p.lanes, 1U);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Parts of a batch run at the same time, so the cost of the call itself counts only once.
TEST(Planner, PartsOfABatchArePredictedTogether) {
    const auto model = marked_model();
    const Planner planner(model, 12);
    const Work parts[] = {
        {.bytes = 1 << 20, .messages = 3, .batch = true},
        {.mode = Mode::gcm, .bytes = 1 << 16, .messages = 9, .longest = 1 << 15, .keys = 2, .batch = true},
        {.mode = Mode::cbc, .key_bits = 256, .bytes = 4096, .messages = 2, .batch = true}};
    const auto fixed = [&](const char* name, Way way, const Work& work) {
        return model->find(name)->find(class_of(work.mode, work.direction), way, work.key_bits)->fixed;
    };
    const auto sum = [&](const char* name, Way way) {
        double all = fixed(name, way, parts[0]);
        for (const Work& part : parts) all += reckoned(*model, name, way, part) - fixed(name, way, part);
        return all;
    };
    const Planner::Best best = planner.best_cpu(parts);
    ASSERT_NE(best.backend, nullptr);
    EXPECT_EQ(best.backend, planner.best_cpu({.bytes = 1}).backend)
        << "all backends cost the same, so the generally best one is chosen";
    EXPECT_NEAR(best.prediction.seconds, sum("libcrypto", Way::batch), 1e-12);
    EXPECT_EQ(best.prediction.lanes, 12U);
    EXPECT_TRUE(best.prediction.calibrated);
    const char* const gpu_name = "cuda NVIDIA H200, compute capability 9.0";
    EXPECT_NEAR(planner.on_gpu(h200, 1, parts), sum(gpu_name, Way::pageable_batch), 1e-12);
    // If one part is not calibrated, the whole batch is not calibrated.
    auto without = std::make_shared<CostModel>(*model);
    for (auto& [name, table] : without->tables) {
        CostTable fewer;
        table.each([&](WorkClass work_class, Way way, unsigned key_bits, const Cost& cost) {
            if (work_class != WorkClass::gcm_encrypt) fewer.set(work_class, way, key_bits, cost);
        });
        table = fewer;
    }
    EXPECT_FALSE(Planner(without, 12).best_cpu(parts).prediction.calibrated);
}

/// If there are more workers than a message needs, the plan uses the fastest number of workers.
TEST(Planner, WorkersOfAMessage) {
    auto model = std::make_shared<CostModel>();
    model->thread = 1e-5;
    for (const char* name : {"libcrypto", "aesni", "vaes"}) {
        Cost one{.fixed = 1e-6}, all{.fixed = 1e-6};
        one.byte.fill(1e-10);
        all.byte.fill(2e-11);
        model->tables[name].set(WorkClass::ctr, Way::one_lane, 128, one);
        model->tables[name].set(WorkClass::ctr, Way::all_lanes, 128, all);
    }
    const auto of = [&](unsigned threads, std::uint64_t bytes) {
        return Planner(model, threads).best_cpu({.bytes = bytes}).prediction;
    };
    // 1e-10 * 16 MiB = 1.68 ms, and sqrt(1.68 ms / 10 us) = 12.9 workers. However, all workers together need at least
    // 0.336 ms.
    const double bytes = 16 << 20;
    EXPECT_EQ(of(64, 16 << 20).lanes, 12U);
    EXPECT_DOUBLE_EQ(of(64, 16 << 20).seconds, 1e-6 + 11e-5 + 2e-11 * bytes);
    EXPECT_EQ(of(3, 16 << 20).lanes, 3U);
    EXPECT_DOUBLE_EQ(of(3, 16 << 20).seconds, 1e-6 + 2e-5 + 1e-10 * bytes / 3);
    EXPECT_EQ(of(1, 16 << 20).lanes, 1U);
    EXPECT_DOUBLE_EQ(of(1, 16 << 20).seconds, 1e-6 + 1e-10 * bytes);
    // There are two chunks. The second chunk is one byte.
    EXPECT_EQ(of(64, cpu_chunk_bytes).lanes, 1U);
    EXPECT_EQ(of(64, cpu_chunk_bytes + 1).lanes, 2U);
    EXPECT_TRUE(of(64, 16 << 20).calibrated);
    // If all workers together are not faster than one worker, the plan uses one worker.
    for (const char* name : {"libcrypto", "aesni", "vaes"}) {
        Cost slow{.fixed = 1e-6};
        slow.byte.fill(1e-10);
        model->tables[name].set(WorkClass::ctr, Way::all_lanes, 128, slow);
    }
    EXPECT_EQ(of(64, 16 << 20).lanes, 1U);
    EXPECT_DOUBLE_EQ(of(64, 16 << 20).seconds, 1e-6 + 1e-10 * bytes);
}

TEST(EnginePlans, FollowTheCostsGiven) {
    Engine engine({.backend = "auto", .threads = 1, .costs = odd_machine()});
    EXPECT_EQ(engine.plan({.mode = Mode::gcm, .bytes = 1 << 20}).backend->name(), "libcrypto");
    const Explanation e = engine.explain({.mode = Mode::gcm, .bytes = 1 << 20});
    EXPECT_EQ(e.plan.backend->name(), "libcrypto");
    EXPECT_TRUE(e.calibrated);
    // Compares with a GPU or, if there is none, with the best of the other CPU backends.
    const bool gpu = cuda_backend().usable(), aesni = aesni_backend().usable(), vaes = vaes_backend().usable();
    EXPECT_EQ(e.reason, std::string("libcrypto: 106 µs predicted") +
                            (gpu     ? " against 301 ms by cuda, of which 300 ms to create its context"
                             : aesni ? " against 1 ms by aesni"
                             : vaes  ? " against 1 ms by vaes"
                                     : "") +
                            " (calibrated)");
    engine.use_costs(nothing());
    EXPECT_FALSE(engine.explain({.mode = Mode::gcm, .bytes = 1 << 20}).calibrated);
    EXPECT_FALSE(engine.costs().calibrated());
}

TEST(EnginePlans, AForcedBackendStays) {
    for (const char* name : {"libcrypto", "aesni", "vaes", "armv8"}) {
        try {
            const Engine engine({.backend = name, .threads = 3, .costs = odd_machine()});
            for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{64}, gib}) {
                const Plan plan = engine.plan({.mode = Mode::gcm, .bytes = bytes});
                EXPECT_EQ(plan.backend->name(), name);
                EXPECT_FALSE(plan.replaceable);
                EXPECT_LE(plan.lanes, 3U);
                EXPECT_NE(engine.explain({.bytes = bytes}).reason.find("requested"), std::string::npos);
            }
            EXPECT_THROW((void)engine.plan({.bytes = 1, .memory = Memory::device}), Error);
        } catch (const Error& e) {
            EXPECT_EQ(e.status(), WARPAES_ERROR_BACKEND) << "a CPU without it";
        }
    }
}

TEST(EnginePlans, OptionsAreStrongerThanTheModel) {
    for (const unsigned depth : {1U, 5U, 40U}) {
        const Engine engine(
            {.backend = "libcrypto", .threads = 16, .depth = depth, .chunk_bytes = 8192, .costs = nothing()});
        const Plan plan = engine.plan({.bytes = 1 << 20});
        EXPECT_EQ(plan.lanes, depth);
        EXPECT_EQ(plan.chunk_bytes, 8192U);
        EXPECT_EQ(engine.plan(Mode::ctr, Direction::encrypt, 1 << 20).lanes, depth) << "between files";
    }
}

TEST(EnginePlans, TakeTheGpuThatWasAskedForOrAreRefused) {
    const auto& infos = cuda_backend().info();
    for (const int device : {0, 1, 2, 64}) {
        const bool there = std::any_of(infos.begin(), infos.end(),
                                       [&](const BackendInfo& i) { return i.device == device && i.usable(); });
        try {
            const Engine engine({.backend = "auto", .device = device, .threads = 1, .costs = nothing()});
            EXPECT_TRUE(there) << device;
            EXPECT_EQ(std::vector<int>(engine.gpus().begin(), engine.gpus().end()), std::vector<int>{device});
        } catch (const Error& e) {
            EXPECT_FALSE(there) << device;
            EXPECT_EQ(e.status(), WARPAES_ERROR_BACKEND);
            EXPECT_EQ(std::string(e.what()),
                      "device: there is no usable CUDA device " + std::to_string(device) + " here");
        }
    }
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
