// Tests the experiments on kernels on the simulated GPU. Each experiment must run to its end with verified outputs and
// complete results. Only the times are meaningless on the simulated GPU.
#include <gtest/gtest.h>

#include "lab/gpu/catalogue.hpp"
#include "lab/reference.hpp"
#include "lab/trial.hpp"
#include "whole_results.hpp"

namespace lab {
namespace {

const std::vector<std::string> keys{
    "N.implementations", "N.granularity", "N.tables",  "N.layout", "N.persistent", "N.baselines",
    "G.schemes",         "G.tables",      "P.threads", "P.memory", "D.occupancy",  "D.memory",
    "H.tables",          "K.last_round",  "T.designs", "F.dpf",    "W.leakage",    "W.contenders"};

Context context_of(int gpu) {
    Context context;
    context.quick = true;
    context.gpu = gpu;
    context.most_bytes = 2064;
    context.joules = [energy = 0.0]() mutable { return energy += 1; };
    return context;
}

class KernelExperiments : public testing::TestWithParam<std::string> {};

TEST_P(KernelExperiments, YieldWholeResults) {
    expect_whole_result(GetParam(), context_of(0));
}

INSTANTIATE_TEST_SUITE_P(Kernels, KernelExperiments, testing::ValuesIn(keys), [](const auto& info) {
    std::string name = info.param;
    for (char& c : name) {
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    }
    return name;
});

TEST(Trial, FindsWhatIsWrong) {
    use_gpu(context_of(0));
    const Trial trial({}, 1024);
    const Trial::Work right = trial.variant({});
    const auto broken = [&](auto damage) {
        return [&, damage](const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) {
            right(in, out, bytes);
            damage(out, bytes);
        };
    };
    const auto set = [&](std::uint8_t* at) {
        std::uint8_t byte = 0;
        gpu::copy(&byte, at, 1);
        gpu::fill(at, static_cast<std::uint8_t>(byte ^ 1), 1);
    };
    EXPECT_NO_THROW(trial.verify("right", right, 1024));
    EXPECT_NO_THROW(trial.verify("its beginning", right, 16));
    EXPECT_THROW(trial.verify(
                     "nothing", [](auto...) {}, 1024),
                 Mismatch);
    EXPECT_THROW(trial.verify("last byte", broken([&](auto* out, auto bytes) { set(out + bytes - 1); }), 1024),
                 Mismatch);
    EXPECT_THROW(trial.verify("beyond", broken([&](auto* out, auto bytes) { set(out + bytes); }), 1024), Mismatch);
    const Trial other({.inverse = true}, 1024);
    EXPECT_THROW((void)trial.speed(effort(true), "another cipher", other.variant(gpu::Variant{}), 1024), Mismatch);
}

TEST(Trial, EveryKindOfWork) {
    const Context context = context_of(0);
    for (const gpu::Cipher& cipher : {gpu::Cipher{}, gpu::Cipher{.counter = true}}) {
        const Trial trial(cipher, 20'000);
        const gpu::Variant copies{.tables = gpu::TableMemory::replicated, .persistent = true};
        EXPECT_NO_THROW(trial.verify("production", trial.production(context), 20'000));
        EXPECT_NO_THROW(trial.verify("bitsliced", trial.bitsliced(), 20'000));
        EXPECT_NO_THROW(trial.verify("copies", trial.variant(copies), 20'000));
        double last = -1;
        const auto told = [&](double share, const std::string&) {
            EXPECT_GT(share, last);
            EXPECT_LT(share, 1);
            last = share;
        };
        const Trial::Work nothing = [](auto...) {};
        const std::vector<Trial::Subject> subjects{
            {"a", trial.bitsliced()}, {"b", trial.variant(copies)}, {"nothing", nothing, false}};
        const std::vector<Summary> speeds = trial.speeds(effort(true), subjects, 20'000, told);
        ASSERT_EQ(speeds.size(), 3u);
        EXPECT_GT(speeds[1].median, 0);
        last = -1;
        EXPECT_THROW((void)trial.speeds(effort(true), {{"nothing", nothing}}, 20'000, told), Mismatch);
    }
    const Trial decryption({.rounds = 14, .inverse = true}, 160);
    EXPECT_NO_THROW(decryption.verify("production", decryption.production(context), 160));
    EXPECT_THROW((void)decryption.bitsliced(), std::invalid_argument);
}

}  // namespace
}  // namespace lab
