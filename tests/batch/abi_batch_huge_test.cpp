// Tests sizes that exceed all memory, and entries with more messages than any machine can process in a reasonable time.
#include <sys/resource.h>

#include <random>

#include "abi_batch_fixture.hpp"

namespace warpaes::test {
namespace {

class AbiBatchHuge : public AbiBatchFixture {
protected:
    Bytes shared_ = Bytes(1 << 14);

    /// Returns an entry whose messages have no output; their tags are compared. Any number of such messages fits in any
    /// memory. The messages are so long that processing only a few of them is already too slow.
    warpaes_batch_entry endless(warpaes_mode mode, unsigned n) {
        auto e = entry(mode, WARPAES_DECRYPT, n, std::uint64_t{1} << 48);
        for (warpaes_elements* of : {&e.input, &e.iv, &e.tag}) of->stride = 0;
        e.length = mode == WARPAES_CMAC ? 1 << 14 : 0;
        if (mode != WARPAES_CMAC) e.aad_len = 1 << 14;
        e.input.at.pointer = e.aad.at.pointer = shared_.data();
        return e;
    }
};

// Anything larger than the address space is refused. No sum or product wraps around to a small number.
TEST_P(AbiBatchHuge, NumbersAreRefused) {
    std::mt19937_64 random(4);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    const auto huge = [&]() -> std::uint64_t {
        switch (below(4)) {
        case 0:
            return UINT64_MAX - below(1 << below(30));
        case 1:
            return (std::uint64_t{1} << (47 + below(17))) + below(3);
        case 2:
            return (std::uint64_t{1} << (47 + below(17))) - 1 - below(3);
        default:
            return random() | std::uint64_t{1} << 63;
        }
    };
    for (int round = 0; round < (simulated() ? 300 : 3000); ++round) {
        memory_.assign(memory_.size(), 0);
        const bool open = below(2) == 0;
        const warpaes_mode mode =
            std::array{WARPAES_CTR, WARPAES_GCM, WARPAES_CMAC, WARPAES_ECB, WARPAES_XTS}[below(5)];
        std::vector<warpaes_batch_entry> entries{entry(mode, open ? WARPAES_DECRYPT : WARPAES_ENCRYPT, 1)};
        warpaes_batch_entry& e = entries[0];
        const bool raw = mode != WARPAES_XTS && below(2) == 0;
        if (raw) {
            e.key = nullptr;
            e.keys = e.input;
            e.keys.stride = 16;
            e.key_len = 16;
        }
        const auto is_used = [&](std::size_t part) {
            return part == 0 || (part == 1 && mode != WARPAES_CMAC) || (part == 2 && e.iv_len != 0) ||
                   (part == 3 && e.tag_len != 0) || (part == 4 && raw);
        };
        warpaes_elements* const parts[] = {&e.input, &e.output, &e.iv, &e.tag, &e.keys};
        std::size_t part = below(5);
        while (!is_used(part)) part = below(5);
        const std::uint64_t what = below(3);
        if (what == 0) e.count = huge();
        if (what == 1) e.length = huge() / 16 * 16 | std::uint64_t{1} << 58;
        if (what == 2) parts[part]->stride = huge() | std::uint64_t{1} << 56;
        if (below(2) == 0) e.aad_len = huge();
        if (what == 0) {
            // A large stride, because any number of messages would fit if they shared all their data.
            for (std::size_t i = 0; i < 5; ++i) parts[i]->stride = std::max<std::uint64_t>(parts[i]->stride, 4096);
        }
        const auto statuses = run(entries);
        ASSERT_NE(statuses[0], WARPAES_OK) << "round " << round;
        ASSERT_NE(statuses[0], WARPAES_ERROR_AUTHENTICATION) << "round " << round;
        ASSERT_TRUE(std::all_of(memory_.begin() + 1024 + 256, memory_.begin() + 1024 + 768,
                                [](std::uint8_t b) { return b == 0; }))
            << "round " << round;
    }
}

// Statuses that would extend past the end of memory are refused. The statuses of an entry with too many messages are
// not written either.
TEST_P(AbiBatchHuge, StatusesBeyondTheEndOfMemory) {
    std::vector<warpaes_batch_entry> entries{entry(WARPAES_CTR, WARPAES_ENCRYPT, 0), endless(WARPAES_CMAC, 1)};
    warpaes_status one = WARPAES_ERROR_STATE;
    entries[0].statuses = reinterpret_cast<warpaes_status*>(UINTPTR_MAX - 7);
    entries[1].statuses = &one;
    entries[1].count = UINT64_MAX;
    warpaes_batch* handle = nullptr;
    ASSERT_EQ(warpaes_batch_submit(engine_.get(), nullptr, entries.data(), 2, &handle), WARPAES_OK);
    const AbiBatchHandle batch(handle);
    EXPECT_EQ(warpaes_batch_wait(handle, WARPAES_UNKNOWN), WARPAES_ERROR_RANGE);
    EXPECT_EQ(std::string(warpaes_batch_entry_error(handle, 0)).find("statuses: extends past"), 0U);
    EXPECT_EQ(results_of(handle, 2)[1].status, WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(one, WARPAES_ERROR_STATE);
}

// An entry that would take years ends when its batch is cancelled, with or without other entries, on every backend.
TEST_P(AbiBatchHuge, AnEntryWithoutEndIsCancelled) {
    for (const warpaes_mode mode : {WARPAES_CMAC, WARPAES_GCM}) {
        for (const bool at_once : {true, false}) {
            std::vector<warpaes_batch_entry> entries{entry(WARPAES_CTR, WARPAES_ENCRYPT, 0), endless(mode, 1),
                                                     entry(WARPAES_CBC, WARPAES_ENCRYPT, 2), endless(mode, 3)};
            warpaes_batch* handle = nullptr;
            ASSERT_EQ(warpaes_batch_submit(engine_.get(), nullptr, entries.data(), entries.size(), &handle),
                      WARPAES_OK);
            const AbiBatchHandle batch(handle);
            if (!at_once) {
                EXPECT_EQ(warpaes_batch_wait(handle, 500), WARPAES_ERROR_TIMEOUT);
            }
            warpaes_batch_cancel(handle);
            (void)warpaes_batch_wait(handle, WARPAES_UNKNOWN);
            const auto results = results_of(handle, entries.size());
            for (const unsigned i : {1U, 3U}) EXPECT_EQ(results[i].status, WARPAES_ERROR_CANCELLED) << i;
        }
    }
}

// Many such entries do not cause memory to be allocated for tasks that never run.
TEST_P(AbiBatchHuge, ManyEntriesWithoutEndAreCancelled) {
    std::vector<warpaes_batch_entry> entries;
    for (unsigned i = 0; i < 64; ++i) entries.push_back(endless(WARPAES_CMAC, 1));
    warpaes_batch* handle = nullptr;
    ASSERT_EQ(warpaes_batch_submit(engine_.get(), nullptr, entries.data(), entries.size(), &handle), WARPAES_OK);
    const AbiBatchHandle batch(handle);
    EXPECT_EQ(warpaes_batch_wait(handle, 500), WARPAES_ERROR_TIMEOUT);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // the statuses need separate memory
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    EXPECT_LT(used.ru_maxrss, 1L << 20) << "KiB";
#endif
    warpaes_batch_cancel(handle);
    (void)warpaes_batch_wait(handle, WARPAES_UNKNOWN);
    for (const auto& r : results_of(handle, entries.size())) EXPECT_EQ(r.status, WARPAES_ERROR_CANCELLED);
}

INSTANTIATE_TEST_SUITE_P(Backend, AbiBatchHuge, testing::ValuesIn(usable_backends()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace warpaes::test
