// Tests batches on CPUs with too little memory: every allocation of a batch fails in turn. An entry is processed or
// gets WARPAES_ERROR_OUT_OF_MEMORY, and later batches of the engine are complete.
#include <gtest/gtest.h>

#include <array>
#include <tuple>

#include "abi_batch.hpp"
#include "failing_new.hpp"

namespace warpaes::test {
namespace {

/// The parameters are the backend and the number of consecutive allocations that fail.
class BatchOutOfMemory : public testing::TestWithParam<std::tuple<std::string, int>> {};

/// Returns entries in four modes and both directions, some of them in place. Their keys are handles, or one key as
/// bytes, which the engine keeps.
std::vector<GroupSpec> all_modes() {
    std::vector<GroupSpec> specs;
    unsigned n = 0;
    for (const Mode mode : {Mode::ctr, Mode::cbc, Mode::gcm, Mode::ccm}) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            for (const bool raw_keys : {false, true}) {
                specs.push_back(allowed({.mode = mode,
                                         .direction = direction,
                                         .count = 2,
                                         .length = 64,
                                         .iv_length = mode == Mode::gcm || mode == Mode::ccm ? 12U : 16U,
                                         .in_place = n++ % 3 == 0,
                                         .raw_keys = raw_keys,
                                         .shared_key = raw_keys}));
            }
        }
    }
    return specs;
}

TEST_P(BatchOutOfMemory, EveryAllocationFails) {
    const auto& [backend, times] = GetParam();
    const std::vector<GroupSpec> specs = all_modes();
    // The first batch creates everything that is created once per process.
    check_abi_batch(make_engine(backend, 2), specs, 1);
    unsigned refused = 0, failed = 0;
    for (int nth = 0;; ++nth) {
        SCOPED_TRACE(nth);
        ASSERT_LT(nth, 5000);
        const AbiEngine engine = make_engine(backend, 2);
        const BatchCase cases(specs, 2);
        AbiEntries entries(cases);
        warpaes_batch* handle = nullptr;
        fail_new(nth, times);
        const warpaes_status status =
            warpaes_batch_submit(engine.get(), nullptr, entries.entries().data(), specs.size(), &handle);
        const AbiBatchHandle batch(handle);
        if (status == WARPAES_OK) (void)warpaes_batch_wait(handle, WARPAES_UNKNOWN);
        if (!end_failing_new()) break;
        if (status != WARPAES_OK) {
            EXPECT_EQ(status, WARPAES_ERROR_OUT_OF_MEMORY) << warpaes_last_error();
            ++refused;
            continue;
        }
        const unsigned failed_before = failed;
        const auto results = results_of(handle, specs.size());
        EXPECT_EQ(complaints_of_statuses(entries.entries(), results), "");
        for (std::size_t i = 0; i < specs.size(); ++i) {
            if (results[i].status == WARPAES_OK) continue;
            EXPECT_EQ(results[i].status, WARPAES_ERROR_OUT_OF_MEMORY) << warpaes_batch_entry_error(handle, i);
            EXPECT_FALSE(cases.shows_plaintext(i)) << specs[i];
            ++failed;
        }
        if (failed == failed_before) {
            EXPECT_EQ(entries.settle(handle) + cases.complaints(), "");
        }
        check_abi_batch(engine, specs, 3);
    }
    EXPECT_GT(refused, 2U);
    EXPECT_GT(failed, 100U);
}

// LeakSanitizer reports memory that a failed call does not free.
TEST(KeysOutOfMemory, TheListOfKeysGrows) {
    std::vector<AbiKey> keys;
    unsigned failed = 0;
    while (keys.size() < 1000) {
        for (int nth = 0;; ++nth) {
            fail_new(nth);
            warpaes_key* key = nullptr;
            const warpaes_status status = warpaes_key_create(std::array<std::uint8_t, 16>{}.data(), 16, &key);
            const bool has_failed = end_failing_new();
            if (status == WARPAES_OK) keys.emplace_back(key);
            if (!has_failed) break;
            EXPECT_EQ(status, WARPAES_ERROR_OUT_OF_MEMORY);
            EXPECT_EQ(key, nullptr);
            ++failed;
        }
    }
    EXPECT_GT(failed, 0U);
}

INSTANTIATE_TEST_SUITE_P(Backend, BatchOutOfMemory,
                         testing::Combine(testing::ValuesIn(usable_backends()), testing::Values(1, 3, 1000)),
                         [](const auto& info) {
                             return std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace warpaes::test
