// Tests random sequences (sequence.hpp) on every backend. WARPAES_TEST_SEED=N sets the first seed, and
// WARPAES_TEST_SEQUENCES=N sets the number of sequences, for a long run or to repeat a sequence.
#include "sequence.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "../why_skipped.hpp"
#include "device_memory.hpp"

namespace warpaes::test {
namespace {

std::uint32_t number_from(const char* variable, std::uint32_t otherwise) {
    const char* const value = std::getenv(variable);
    return value == nullptr ? otherwise : static_cast<std::uint32_t>(std::strtoul(value, nullptr, 10));
}

class Sequences : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        engine_ = make_engine(GetParam(), 2);
        ASSERT_NE(engine_, nullptr) << warpaes_last_error();
        const bool gpu = GetParam() == "cuda" || GetParam() == "auto";
        if (gpu && devices() != 0) device_.emplace(engine_, 0);
    }
    /// `keys_of_flood` is the number of other keys that are used in the middle of the sequence.
    void run(std::uint32_t seed, unsigned steps, std::uint32_t keys_of_flood) {
        std::mt19937 generator(seed);
        Sequence sequence(engine_.get(), generator, seed, limits(), device_ ? &*device_ : nullptr);
        for (unsigned step = 0; step < steps; ++step) {
            ASSERT_EQ(sequence.step(), "") << "step " << step << "; WARPAES_TEST_SEED=" << seed << " repeats it";
            if (step == steps / 2 && keys_of_flood != 0) {
                ASSERT_EQ(sequence.flood(keys_of_flood), "");
            }
        }
    }
    AbiEngine engine_;
    std::optional<DeviceMemory> device_;
};

TEST_P(Sequences, AreWhatLibcryptoMakesOfThem) {
    const std::uint32_t first = number_from("WARPAES_TEST_SEED", 1);
    const std::uint32_t many = number_from("WARPAES_TEST_SEQUENCES", simulated() ? 8 : 20);
    for (std::uint32_t seed = first; seed < first + many && !HasFatalFailure(); ++seed) run(seed, 60, 0);
}

// Uses more keys than the tables on the device and on the host hold, which is 4,096 keys each.
TEST_P(Sequences, GoOnAfterTheirKeysWerePushedOut) {
    run(number_from("WARPAES_TEST_SEED", 1000), simulated() ? 40 : 100, 4500);
}

std::vector<std::string> backends_and_auto() {
    auto names = usable_backends();
    names.emplace_back("auto");
    return names;
}

INSTANTIATE_TEST_SUITE_P(Backend, Sequences, testing::ValuesIn(backends_and_auto()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace warpaes::test
