// Tests the choice between CPU and GPU, with a simulated GPU and invented costs.
#include <gtest/gtest.h>

#include "../page_locked.hpp"
#include "backend/cuda_backend.hpp"
#include "base/error.hpp"
#include "engine/engine.hpp"
#include "engine/planner.hpp"
#include "message/message.hpp"

namespace warpaes {
namespace {

constexpr std::uint64_t mib = 1 << 20;

/// Returns costs with which the CPU takes 1 ns per byte, and the GPU a tenth of that and 10 ms to wake up.
std::shared_ptr<const CostModel> costs(double gpu_fixed = 20e-6) {
    auto model = std::make_shared<CostModel>();
    model->cold = 10e-3;
    Cost cpu{.fixed = 1e-6}, gpu{.fixed = gpu_fixed};
    cpu.byte.fill(1e-9);
    gpu.byte.fill(1e-10);
    for (const char* name : {"libcrypto", "aesni", "vaes", "armv8"}) {
        model->tables[name].set(WorkClass::ctr, Way::one_lane, 128, cpu);
        model->tables[name].set(WorkClass::ctr, Way::batch, 128, cpu);
    }
    CostTable& table = model->tables[CostModel::table_name(cuda_backend().info().front())];
    for (const Way way : {Way::pageable, Way::page_locked, Way::device}) table.set(WorkClass::ctr, way, 128, gpu);
    return model;
}

EngineOptions automatic(std::shared_ptr<const CostModel> model) {
    return {.backend = "auto", .threads = 1, .costs = std::move(model)};
}

class Choices : public testing::Test {
protected:
    void SetUp() override { ASSERT_TRUE(cuda_backend().usable()); }
    static std::string choice(const Engine& engine, std::uint64_t bytes, Memory memory, Mode mode = Mode::ctr) {
        return std::string(engine.plan({.mode = mode, .bytes = bytes, .memory = memory}).backend->name());
    }
};

TEST_F(Choices, PageLockedDataGoesWhereItIsFaster) {
    const Engine engine(automatic(costs()));
    EXPECT_NE(choice(engine, 64, Memory::page_locked), "cuda");
    EXPECT_NE(choice(engine, 16 << 10, Memory::page_locked), "cuda");
    EXPECT_EQ(choice(engine, 64 << 10, Memory::page_locked), "cuda");
    EXPECT_EQ(choice(engine, 1 << 30, Memory::page_locked), "cuda");
    EXPECT_NE(choice(engine, 1 << 30, Memory::page_locked, Mode::cbc), "cuda") << "by the default costs";
    // The choice changes once, from the CPU to the GPU.
    bool on_gpu = false;
    for (std::uint64_t bytes = 16; bytes <= 256 * mib; bytes += bytes / 4) {
        const bool now = choice(engine, bytes, Memory::page_locked) == "cuda";
        EXPECT_TRUE(now || !on_gpu) << bytes;
        on_gpu = now;
    }
}

TEST_F(Choices, AGpuThatIsNoFasterIsNotUsed) {
    const Engine engine(automatic(costs(10)));
    EXPECT_NE(choice(engine, 1 << 30, Memory::page_locked), "cuda");
    EXPECT_EQ(choice(engine, 1 << 30, Memory::device), "cuda") << "but no other backend can access its memory";
}

/// Only this test needs a GPU that has not been used, so it is the first test in this program.
TEST(AChoicesFirst, WakesTheGpuWhenItPays) {
    ASSERT_FALSE(cuda_backend().is_awake());
    const Engine engine(automatic(costs()));
    const auto on_gpu = [&](std::uint64_t bytes) { return engine.plan({.bytes = bytes}).backend == &cuda_backend(); };
    EXPECT_FALSE(on_gpu(1 * mib));
    const Explanation e = engine.explain({.bytes = 1 * mib});
    EXPECT_NE(e.plan.backend, &cuda_backend());
    EXPECT_EQ(e.reason,
              std::string(e.plan.backend->name()) +
                  ": 1 ms predicted against 10 ms by cuda, of which 10 ms to create its context (calibrated)");
    // A batch also does not wake the GPU, even if only a part of it would use the GPU.
    EXPECT_NE(engine.explain({.bytes = 1 * mib, .messages = 8, .batch = true}).plan.backend, &cuda_backend());
    const Work parts[] = {{.bytes = mib / 2, .memory = Memory::page_locked, .messages = 4, .batch = true},
                          {.bytes = mib / 2, .messages = 4, .batch = true},
                          {.bytes = mib / 2, .memory = Memory::page_locked, .messages = 4, .batch = true}};
    EXPECT_TRUE(engine.crew(parts, false).gpus.empty());
    EXPECT_FALSE(engine.crew({parts, 1}, false).gpus.empty()) << "page-locked memory requires an awake GPU";
    EXPECT_TRUE(on_gpu(64 * mib)) << "67 ms instead of 7 and 10";
    auto of_batches = std::make_shared<CostModel>(*costs());
    CostTable& table = of_batches->tables[CostModel::table_name(cuda_backend().info().front())];
    table.set(WorkClass::ctr, Way::pageable_batch, 128, *table.find(WorkClass::ctr, Way::pageable, 128));
    const Explanation batch = Engine(automatic(of_batches)).explain({.bytes = 64 * mib, .messages = 8, .batch = true});
    EXPECT_EQ(batch.reason,
              "cuda: 17 ms predicted against 67 ms by " + std::string(e.plan.backend->name()) + " (calibrated)");
    EXPECT_NEAR(batch.seconds, 20e-6 + 1e-10 * 64 * mib + 10e-3, 1e-9);

    // Many calls that are faster on the GPU make it worthwhile to wake the GPU: each call saves 1 ms - 0.12 ms.
    const Engine patient(automatic(costs()));
    int calls = 0;
    while (calls < 100 && patient.plan({.bytes = mib}).backend != &cuda_backend()) ++calls;
    EXPECT_GE(calls, 9);
    EXPECT_LE(calls, 12);
    // A query is not counted as a call.
    const Engine asked(automatic(costs()));
    for (int i = 0; i < 100; ++i) EXPECT_NE(asked.explain({.bytes = mib}).plan.backend, &cuda_backend());
    EXPECT_FALSE(cuda_backend().is_awake());

    // Once the GPU is awake, every call that is faster on the GPU runs there.
    (void)cuda_backend().open_lane(cuda_backend().info().front().device, 0);
    EXPECT_TRUE(cuda_backend().is_awake());
    EXPECT_EQ(asked.plan({.bytes = mib}).backend, &cuda_backend());
    EXPECT_EQ(asked.explain({.bytes = mib}).reason.find("context"), std::string::npos);
}

TEST_F(Choices, StreamsOfUnknownLengthStayOnTheCpu) {
    const Engine engine(automatic(costs()));
    EXPECT_NE(engine.plan(Mode::ctr, Direction::encrypt, Engine::unknown_length).backend, &cuda_backend());
}

TEST_F(Choices, ForcedIsForced) {
    const Engine gpu({.backend = "cuda", .threads = 1, .costs = costs()});
    EXPECT_EQ(choice(gpu, 1, Memory::pageable), "cuda");
    EXPECT_FALSE(gpu.plan({.bytes = 1}).replaceable);
    const Engine cpu({.backend = "libcrypto", .threads = 1, .costs = costs()});
    EXPECT_EQ(choice(cpu, 1 << 30, Memory::page_locked), "libcrypto");
    EXPECT_THROW((void)choice(cpu, 1, Memory::device), Error);
    EXPECT_THROW((void)cpu.explain({.bytes = 1, .memory = Memory::device}), Error);
}

TEST_F(Choices, PredictionsAreOfWhatIsPossible) {
    const Engine engine(automatic(costs()));
    const Work on_device{.bytes = mib, .memory = Memory::device};
    EXPECT_FALSE(engine.predict(on_device, libcrypto_backend().info().front()));
    const auto gpu = engine.predict(on_device, cuda_backend().info().front());
    ASSERT_TRUE(gpu);
    EXPECT_TRUE(gpu->calibrated);
    EXPECT_NEAR(gpu->seconds, 20e-6 + 1e-10 * mib, 1e-9);
    BackendInfo missing = cuda_backend().info().front();
    missing.reason = "broken";
    EXPECT_FALSE(engine.predict(on_device, missing));
}

/// Tests that need an awake GPU, so they run after the other tests.
class ExplainedChoices : public Choices {
protected:
    ExplainedChoices() { (void)cuda_backend().open_lane(cuda_backend().info().front().device, 0); }
};

/// The planner uses the kind of memory that the driver reports for a pointer.
TEST_F(ExplainedChoices, AMessageGoesByWhereItLies) {
    auto model = std::make_shared<CostModel>(*costs());
    CostTable& table = model->tables[CostModel::table_name(cuda_backend().info().front())];
    table.set(WorkClass::ctr, Way::pageable, 128, Cost{.fixed = 10});
    Engine engine(automatic(model));
    const ExpandedKey key(std::vector<std::uint8_t>(16, 1));
    constexpr std::size_t bytes = 256 << 10;
    std::vector<std::uint8_t> pageable(bytes);
    std::uint8_t* const locked[] = {test::allocate_page_locked(bytes), test::allocate_page_locked(bytes)};
    const auto backend_of = [&](std::uint8_t* input, std::uint8_t* output) {
        const Block iv{2};
        MessageResult result;
        crypt(engine,
              {.message = stretch_of(Mode::ctr, Direction::encrypt, key, iv, input, output, bytes),
               .output_capacity = bytes},
              result);
        return result.backend;
    };
    EXPECT_EQ(backend_of(locked[0], locked[1]), "cuda");
    EXPECT_NE(backend_of(pageable.data(), pageable.data()), "cuda");
    EXPECT_NE(backend_of(locked[0], pageable.data()), "cuda") << "the slower memory counts";
    EXPECT_NE(backend_of(pageable.data(), locked[1]), "cuda");
    for (std::uint8_t* const memory : locked) test::free_page_locked(memory);
}

/// The explanation contains the predicted times in readable units, the slower backend, and the origin of the costs. If
/// there was only one choice, it contains the reason instead of the slower backend.
TEST_F(ExplainedChoices, OfMessages) {
    const Engine engine(automatic(costs()));
    const std::string best(engine.plan({.bytes = 1}).backend->name());
    const auto reason = [&](const Engine& its, const Work& work) { return its.explain(work).reason; };
    EXPECT_EQ(reason(engine, {.bytes = mib, .memory = Memory::page_locked}),
              "cuda: 125 µs predicted against 1 ms by libcrypto (calibrated)");
    EXPECT_EQ(reason(engine, {.bytes = 4096}), best + ": 5.1 µs predicted against 20 µs by cuda (calibrated)");
    EXPECT_EQ(reason(engine, {.bytes = 0}), best + ": 1 µs predicted against 20 µs by cuda (calibrated)");
    EXPECT_EQ(reason(engine, {.bytes = std::uint64_t{1} << 40, .memory = Memory::page_locked}),
              "cuda: 110 s predicted against 1100 s by libcrypto (calibrated)");
    EXPECT_EQ(reason(engine, {.bytes = mib, .memory = Memory::device}),
              "cuda: 125 µs predicted; the data is in device memory (calibrated)");
    const Engine gpu({.backend = "cuda", .threads = 1, .costs = costs()});
    EXPECT_EQ(reason(gpu, {.bytes = 10 * mib}), "cuda: 1.1 ms predicted; it was requested (calibrated)");
    const Engine cpu({.backend = "libcrypto", .threads = 1, .costs = costs()});
    EXPECT_EQ(reason(cpu, {.bytes = 100 * mib}), "libcrypto: 105 ms predicted; it was requested (calibrated)");
    EXPECT_EQ(reason(cpu, {.bytes = 98'600}), "libcrypto: 100 µs predicted; it was requested (calibrated)");
    auto noted = std::make_shared<CostModel>(*costs());
    noted->note = "a note";
    EXPECT_EQ(reason(Engine(automatic(noted)), {.bytes = mib, .memory = Memory::page_locked}),
              "cuda: 125 µs predicted against 1 ms by libcrypto (calibrated); a note");
    auto tiny = std::make_shared<CostModel>(*costs());
    Cost nothing;
    nothing.fixed = 25e-9;
    for (const char* name : {"libcrypto", "aesni", "vaes"})
        tiny->tables[name].set(WorkClass::ctr, Way::one_lane, 128, nothing);
    EXPECT_EQ(reason(Engine(automatic(tiny)), {.bytes = 16}),
              best + ": 25 ns predicted against 20 µs by cuda (calibrated)");
}

TEST_F(ExplainedChoices, OfBatches) {
    auto model = std::make_shared<CostModel>(*costs());
    CostTable& table = model->tables[CostModel::table_name(cuda_backend().info().front())];
    Cost gpu{.fixed = 20e-6}, slow{.fixed = 1};
    gpu.byte.fill(1e-9);
    for (const Way way : {Way::pageable_batch, Way::page_locked_batch}) table.set(WorkClass::ctr, way, 128, gpu);
    for (const Way way : {Way::pageable_batch, Way::page_locked_batch}) table.set(WorkClass::ctr, way, 256, slow);
    model->note = "a note";
    const Engine engine(automatic(model));
    const std::string best(engine.plan({.bytes = 1}).backend->name());
    const auto explain = [&](std::uint64_t bytes, unsigned key_bits, Memory memory) {
        return engine.explain({.key_bits = key_bits, .bytes = bytes, .memory = memory, .messages = 8, .batch = true});
    };
    // The CPU and the GPU are equally fast, and the work is large enough to be shared. Together, they need 1.7 / 2 of
    // the time that one backend needs.
    const Explanation both = explain(256 * mib, 128, Memory::page_locked);
    EXPECT_EQ(both.reason, "cuda and " + best + ": 228 ms predicted for both against 268 ms by cuda and 268 ms by " +
                               best + " (calibrated); a note");
    EXPECT_EQ(both.plan.backend, &cuda_backend());
    ASSERT_NE(both.beside, nullptr);
    EXPECT_EQ(both.beside->name(), best);
    EXPECT_NEAR(both.seconds, 0.85 * 0.26845, 1e-4);
    // Work below 128 MiB is not shared. It runs on the CPU, because the GPU is not faster.
    EXPECT_NE(explain(128 * mib, 128, Memory::page_locked).beside, nullptr);
    const Explanation one = explain(128 * mib - 1, 128, Memory::page_locked);
    EXPECT_EQ(one.reason, best + ": 134 ms predicted against 134 ms by cuda (calibrated); a note");
    EXPECT_EQ(one.beside, nullptr);
    EXPECT_EQ(one.plan.backend->name(), best);
    EXPECT_EQ(explain(mib, 256, Memory::pageable).reason.find(best + ": "), 0U);
    EXPECT_NE(explain(mib, 256, Memory::pageable).reason.find(" by cuda (not calibrated); a note"), std::string::npos);
    const Engine forced({.backend = "libcrypto", .threads = 1, .costs = model});
    EXPECT_EQ(forced.explain({.bytes = mib, .batch = true}).reason,
              "libcrypto: 1 ms predicted; it was requested (calibrated); a note");
    const Explanation on_gpu =
        Engine({.backend = "cuda", .threads = 1, .costs = model}).explain({.bytes = mib, .batch = true});
    EXPECT_EQ(on_gpu.reason, "cuda: 1.1 ms predicted; it was requested (calibrated); a note");
    EXPECT_EQ(on_gpu.beside, nullptr);
}

}  // namespace
}  // namespace warpaes
