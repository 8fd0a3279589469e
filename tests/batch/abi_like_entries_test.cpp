// Tests adjacent entries that differ only in addresses, keys and counts, which a batch checks and prepares faster than
// other entries, and faults in one of them.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <functional>

#include "abi_batch_fixture.hpp"

namespace warpaes::test {
namespace {

using E = warpaes_batch_entry;

class AbiLikeEntries : public AbiBatchFixture {
protected:
    static constexpr unsigned count = 8, spoiled = 4;

    void SetUp() override {
        AbiBatchFixture::SetUp();
        for (unsigned n = 0; n < count; ++n) keys_.push_back(make_key(Bytes(16, static_cast<std::uint8_t>(n + 1))));
        long_key_ = make_key(Bytes(32, 9));
    }
    void fill() {
        for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i] = static_cast<std::uint8_t>(i * 2654435761U >> 13);
    }
    std::vector<E> entries(warpaes_mode mode, warpaes_direction direction, std::uint64_t messages, bool raw) {
        std::vector<E> all;
        for (unsigned n = 0; n < count; ++n) {
            E e = entry(mode, direction, n, messages);
            e.key = keys_[n].get();
            if (raw) {
                e.key = nullptr;
                e.keys = e.input;
                e.keys.at.pointer = memory_.data() + 1024 * n + 896;
                e.keys.stride = 16;
                e.key_len = 16;
            }
            all.push_back(e);
        }
        return all;
    }
    /// Runs the entries in one batch and each entry in a separate batch, and compares statuses and memory.
    void compare(const std::vector<E>& all, const std::vector<warpaes_status>& expected) {
        fill();
        const Bytes before = memory_;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (expected[i] == WARPAES_ERROR_OVERLAP) continue;  // the overlap may be with another entry
            std::vector<E> one{all[i]};
            EXPECT_EQ(run(one)[0], expected[i]) << i;
        }
        const Bytes after = memory_;
        memory_ = before;
        // The entries have statuses in the first run, and none in the second.
        std::vector<E> together = all;
        EXPECT_EQ(run(together), expected);
        EXPECT_EQ(memory_, after);
        memory_ = before;
        warpaes_batch* handle = nullptr;
        ASSERT_EQ(warpaes_batch_submit(engine_.get(), nullptr, all.data(), all.size(), &handle), WARPAES_OK);
        const AbiBatchHandle batch(handle);
        (void)warpaes_batch_wait(handle, WARPAES_UNKNOWN);
        const std::vector<warpaes_entry_result> results = results_of(handle, all.size());
        for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(results[i].status, expected[i]) << i;
        EXPECT_EQ(memory_, after);
    }

    std::vector<AbiKey> keys_;
    AbiKey long_key_;
};

struct Change {
    const char* name;
    warpaes_status status;
    std::function<void(E&)> make;
};

TEST_P(AbiLikeEntries, OneOfThemDiffers) {
    const auto moved = [](const warpaes_elements& e, std::ptrdiff_t bytes) {
        warpaes_elements other = e;
        other.at.pointer = static_cast<std::uint8_t*>(e.at.pointer) + bytes;
        return other;
    };
    const Change changes[] = {
        {"nothing", WARPAES_OK, [](E&) {}},
        {"no input", WARPAES_ERROR_ARGUMENT, [](E& e) { e.input.at.pointer = nullptr; }},
        {"no output", WARPAES_ERROR_ARGUMENT, [](E& e) { e.output.at.pointer = nullptr; }},
        {"no IV", WARPAES_ERROR_ARGUMENT, [](E& e) { e.iv.at.pointer = nullptr; }},
        {"beyond memory", WARPAES_ERROR_RANGE,
         [](E& e) { e.iv.at.pointer = reinterpret_cast<void*>(UINTPTR_MAX - 2); }},
        {"output and input overlap", WARPAES_ERROR_OVERLAP, [&](E& e) { e.output = moved(e.input, 1); }},
        {"output and IV overlap", WARPAES_ERROR_OVERLAP, [&](E& e) { e.iv = moved(e.output, 8); }},
        {"in place", WARPAES_OK, [](E& e) { e.output = e.input; }},
        {"another count", WARPAES_OK, [](E& e) { e.count = 1; }},
        {"more messages", WARPAES_OK, [](E& e) { e.count = 3; }},
        {"more messages than there is room", WARPAES_ERROR_OVERLAP, [](E& e) { e.count = 5; }},
        {"another length", WARPAES_OK, [](E& e) { e.length = 48; }},
        {"another stride", WARPAES_OK, [](E& e) { e.input.stride = 32; }},
        {"IV in between", WARPAES_OK, [&](E& e) { e.iv = moved(e.iv, 64); }},
        {"another direction", WARPAES_OK,
         [](E& e) { e.direction = e.direction == WARPAES_ENCRYPT ? WARPAES_DECRYPT : WARPAES_ENCRYPT; }},
    };
    for (const warpaes_mode mode : {WARPAES_CTR, WARPAES_CBC, WARPAES_CFB128}) {
        for (const warpaes_direction direction : {WARPAES_ENCRYPT, WARPAES_DECRYPT}) {
            for (const std::uint64_t messages : {1U, 2U}) {
                for (const bool raw : {false, true}) {
                    for (const Change& change : changes) {
                        SCOPED_TRACE(std::string(change.name) + (raw ? ", raw keys" : "") + ", mode " +
                                     std::to_string(mode) + ", messages " + std::to_string(messages));
                        std::vector<E> all = entries(mode, direction, messages, raw);
                        change.make(all[spoiled]);
                        std::vector<warpaes_status> expected(count, WARPAES_OK);
                        expected[spoiled] = change.status;
                        compare(all, expected);
                    }
                }
            }
        }
    }
}

TEST_P(AbiLikeEntries, Tags) {
    const Change changes[] = {
        {"nothing", WARPAES_OK, [](E&) {}},
        {"no tag", WARPAES_ERROR_ARGUMENT, [](E& e) { e.tag.at.pointer = nullptr; }},
        {"tag in the output", WARPAES_ERROR_OVERLAP, [](E& e) { e.tag = e.output; }},
        {"associated data", WARPAES_OK,
         [](E& e) {
             e.aad = e.iv;
             e.aad_len = 9;
         }},
    };
    for (const warpaes_mode mode : {WARPAES_GCM, WARPAES_CCM, WARPAES_CMAC}) {
        for (const std::uint64_t messages : {1U, 2U}) {
            for (const bool raw : {false, true}) {
                for (const Change& change : changes) {
                    if (mode == WARPAES_CMAC && change.status == WARPAES_ERROR_OVERLAP) continue;  // has no output
                    SCOPED_TRACE(std::string(change.name) + (raw ? ", raw keys" : "") + ", mode " +
                                 std::to_string(mode) + ", messages " + std::to_string(messages));
                    std::vector<E> all = entries(mode, WARPAES_ENCRYPT, messages, raw);
                    if (mode != WARPAES_CMAC || change.status != WARPAES_OK) change.make(all[spoiled]);
                    std::vector<warpaes_status> expected(count, WARPAES_OK);
                    expected[spoiled] = change.status;
                    compare(all, expected);
                }
            }
        }
    }
}

TEST_P(AbiLikeEntries, WrongTags) {
    fill();
    std::vector<E> all = entries(WARPAES_GCM, WARPAES_ENCRYPT, 2, false);
    all[spoiled - 1].count = 3;
    EXPECT_EQ(run(all), std::vector<warpaes_status>(count, WARPAES_OK));
    for (E& e : all) {
        e.direction = WARPAES_DECRYPT;
        std::swap(e.input, e.output);
    }
    *static_cast<std::uint8_t*>(all[spoiled].tag.at.pointer) ^= 1;
    std::vector<warpaes_status> expected(count, WARPAES_OK);
    expected[spoiled] = WARPAES_ERROR_AUTHENTICATION;
    EXPECT_EQ(run(all), expected);
}

TEST_P(AbiLikeEntries, FewerMessagesOverlap) {
    // Only the last message of the output overlaps another part of the entry.
    const Change changes[] = {
        {"input", WARPAES_ERROR_OVERLAP,
         [](E& e) { e.output.at.pointer = static_cast<std::uint8_t*>(e.input.at.pointer) + 96; }},
        {"IV", WARPAES_ERROR_OVERLAP,
         [](E& e) { e.iv.at.pointer = static_cast<std::uint8_t*>(e.output.at.pointer) + 96; }},
    };
    for (const warpaes_mode mode : {WARPAES_CTR, WARPAES_CBC, WARPAES_GCM}) {
        for (const Change& change : changes) {
            SCOPED_TRACE(std::string(change.name) + ", mode " + std::to_string(mode));
            std::vector<E> all = entries(mode, WARPAES_ENCRYPT, 4, false);
            all[spoiled].count = 2;
            change.make(all[spoiled]);
            std::vector<warpaes_status> expected(count, WARPAES_OK);
            expected[spoiled] = change.status;
            compare(all, expected);
        }
    }
}

TEST_P(AbiLikeEntries, MoreMessagesThanMemory) {
    // Two IVs at this distance fit in the address space, but more IVs do not.
    constexpr std::size_t distance = std::size_t{1} << 36;
    void* const ivs = mmap(nullptr, distance + 16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (ivs == MAP_FAILED) GTEST_SKIP() << "the address space is limited";
    std::vector<E> all = entries(WARPAES_CTR, WARPAES_ENCRYPT, 2, false);
    for (E& e : all) {
        e.length = 1;
        e.input.stride = 1;
        e.output = e.input;
        e.iv.at.pointer = ivs;
        e.iv.stride = distance - 1;
    }
    all[spoiled].count = (1 << 24) - 1;
    std::vector<warpaes_status> expected(count, WARPAES_OK);
    expected[spoiled] = WARPAES_ERROR_RANGE;
    compare(all, expected);
    munmap(ivs, distance + 16);
}

TEST_P(AbiLikeEntries, Keys) {
    for (const warpaes_mode mode : {WARPAES_CTR, WARPAES_CBC, WARPAES_GCM}) {
        std::vector<E> all = entries(mode, WARPAES_ENCRYPT, 1, false);
        all[spoiled].key = long_key_.get();
        compare(all, std::vector<warpaes_status>(count, WARPAES_OK));
        all[spoiled + 1].key = long_key_.get();
        compare(all, std::vector<warpaes_status>(count, WARPAES_OK));
        all[spoiled].key = make_key(Bytes(16, 3)).get();  // the key is destroyed at once
        std::vector<warpaes_status> expected(count, WARPAES_OK);
        expected[spoiled] = WARPAES_ERROR_ARGUMENT;
        compare(all, expected);
    }
}

TEST_P(AbiLikeEntries, TweakKeys) {
    const AbiKey tweak_key = make_key(Bytes(16, 0x55)), another = make_key(Bytes(16, 0x77));
    std::vector<E> all = entries(WARPAES_XTS, WARPAES_ENCRYPT, 2, false);
    for (E& e : all) e.tweak_key = tweak_key.get();
    std::vector<warpaes_status> expected(count, WARPAES_OK);
    compare(all, expected);
    all[spoiled].tweak_key = another.get();
    compare(all, expected);
    all[spoiled].tweak_key = tweak_key.get();
    all[spoiled].key = long_key_.get();
    expected[spoiled] = WARPAES_ERROR_KEY_LENGTH;
    compare(all, expected);
    all[spoiled].key = tweak_key.get();
    expected[spoiled] = WARPAES_ERROR_ARGUMENT;
    compare(all, expected);
}

TEST_P(AbiLikeEntries, TheSameOutput) {
    for (const warpaes_mode mode : {WARPAES_CTR, WARPAES_GCM}) {
        fill();
        std::vector<E> all = entries(mode, WARPAES_ENCRYPT, 1, false);
        all[spoiled].output = all[spoiled + 2].output;
        std::vector<warpaes_status> expected(count, WARPAES_OK);
        expected[spoiled] = expected[spoiled + 2] = WARPAES_ERROR_OVERLAP;
        EXPECT_EQ(run(all), expected);
        // In descending order of addresses, entries are prepared in another order.
        std::reverse(all.begin(), all.end());
        std::reverse(expected.begin(), expected.end());
        EXPECT_EQ(run(all), expected);
    }
}

INSTANTIATE_TEST_SUITE_P(Engine, AbiLikeEntries, testing::ValuesIn(usable_backends()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace warpaes::test
