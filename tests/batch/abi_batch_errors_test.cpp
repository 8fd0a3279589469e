// Tests entries that a batch refuses, the end of a batch (waiting, callbacks and cancellation), and arenas.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>

#include "abi_batch_fixture.hpp"

namespace warpaes::test {
namespace {

class AbiBatchErrors : public AbiBatchFixture {};

TEST_P(AbiBatchErrors, WhatIsWrongWithAnEntry) {
    using E = warpaes_batch_entry;
    const auto encrypt = WARPAES_ENCRYPT;
    check(WARPAES_CTR, encrypt, WARPAES_ERROR_ARGUMENT, "mode: there is no mode 0", [](E& e) { e.mode = {}; });
    check(WARPAES_CTR, encrypt, WARPAES_ERROR_ARGUMENT, "mode: there is no mode 1000", [](E& e) {
        const std::vector<int> no_mode{1000};  // a constant index would cause a compiler warning
        e.mode = static_cast<warpaes_mode>(no_mode[0]);
    });
    check(WARPAES_CTR, encrypt, WARPAES_ERROR_ARGUMENT, "direction:", [](E& e) { e.direction = {}; });
    check(WARPAES_CTR, encrypt, WARPAES_ERROR_ARGUMENT, "tweak_key, data_unit_len, data_unit_step: apply only to XTS",
          [](E& e) { e.data_unit_step = 8; });
    check(WARPAES_CTR, encrypt, WARPAES_ERROR_ARGUMENT, "key: is null", [](E& e) { e.key = nullptr; });
    check(WARPAES_CTR, encrypt, WARPAES_ERROR_ARGUMENT, "key: is not a key, or was destroyed", [](E& e) {
        e.key = make_key(Bytes(16, 3)).get();  // the key is destroyed at once
    });
    check(WARPAES_CTR, encrypt, WARPAES_ERROR_ARGUMENT, "key, key_len:", [](E& e) { e.key_len = 16; });
    check(WARPAES_CTR, encrypt, WARPAES_ERROR_KEY_LENGTH, "key_len: must be", [](E& e) {
        e.key = nullptr;
        e.keys = e.input;
        e.key_len = 17;
    });
    check(WARPAES_CTR, encrypt, WARPAES_ERROR_ARGUMENT, "keys: is null", [](E& e) {
        e.key = nullptr;
        e.key_len = 16;
    });
    check(WARPAES_CTR, encrypt, WARPAES_ERROR_IV_LENGTH, "iv_len: must be 16", [](E& e) { e.iv_len = 12; });
    check(WARPAES_ECB, encrypt, WARPAES_ERROR_IV_LENGTH, "iv_len: must be 0", [](E& e) { e.iv_len = 16; });
    check(WARPAES_GCM, encrypt, WARPAES_ERROR_IV_LENGTH, "iv_len: must be 1", [](E& e) { e.iv_len = 0; });
    check(WARPAES_CCM, encrypt, WARPAES_ERROR_IV_LENGTH, "iv_len: must be 7 to 13", [](E& e) { e.iv_len = 6; });
    check(WARPAES_CCM, encrypt, WARPAES_ERROR_IV_LENGTH, "iv_len: must be 7 to 13", [](E& e) { e.iv_len = 14; });
    check(WARPAES_CCM, encrypt, WARPAES_ERROR_ARGUMENT, "tag_len:", [](E& e) { e.tag_len = 5; });
    check(WARPAES_GCM, encrypt, WARPAES_ERROR_ARGUMENT, "tag_len:", [](E& e) { e.tag_len = 11; });
    check(WARPAES_CMAC, encrypt, WARPAES_ERROR_ARGUMENT, "tag_len:", [](E& e) { e.tag_len = 17; });
    check(WARPAES_CMAC, encrypt, WARPAES_ERROR_ARGUMENT, "aad_len:", [](E& e) { e.aad_len = 1; });
    check(WARPAES_CBC, encrypt, WARPAES_ERROR_ARGUMENT, "aad, tag: apply only to GCM", [](E& e) { e.tag_len = 16; });
    check(WARPAES_CBC, encrypt, WARPAES_ERROR_DATA_LENGTH, "length: must be a multiple of 16",
          [](E& e) { e.length = 63; });
    check(WARPAES_CTR, encrypt, WARPAES_ERROR_DATA_LENGTH, "length: at most 2^60", [](E& e) { e.length = 1ULL << 61; });
    check(WARPAES_GCM, encrypt, WARPAES_ERROR_DATA_LENGTH, "length: at most 2^36",
          [](E& e) { e.length = (1ULL << 36) - 31; });
    check(WARPAES_CCM, encrypt, WARPAES_ERROR_DATA_LENGTH, "length: at most 65535", [](E& e) {
        e.iv_len = 13;
        e.length = 65536;
    });
    check(WARPAES_CTR, encrypt, WARPAES_ERROR_ARGUMENT, "input: is null", [](E& e) { e.input = {}; });
    check(WARPAES_CTR, encrypt, WARPAES_ERROR_ARGUMENT, "output: is null", [](E& e) { e.output = {}; });
    check(WARPAES_CTR, encrypt, WARPAES_ERROR_ARGUMENT, "iv: is null", [](E& e) { e.iv = {}; });
    check(WARPAES_GCM, encrypt, WARPAES_ERROR_ARGUMENT, "tag: is null", [](E& e) { e.tag = {}; });
    check(WARPAES_GCM, encrypt, WARPAES_ERROR_ARGUMENT, "aad: is null", [](E& e) { e.aad_len = 1; });
    check(WARPAES_CTR, encrypt, WARPAES_ERROR_RANGE, "input: extends past", [](E& e) { e.input.stride = UINT64_MAX; });
    check(WARPAES_CTR, encrypt, WARPAES_ERROR_RANGE, "input: extends past", [](E& e) {
        e.input.stride = UINT64_MAX - 200;
        e.count = 1ULL << 40;
    });
    check(WARPAES_CTR, encrypt, WARPAES_ERROR_ARGUMENT, "count: at most", [](E& e) { e.count = UINT64_MAX; });
    check(WARPAES_CTR, encrypt, WARPAES_ERROR_OVERLAP, "output: a stride of 0", [](E& e) { e.output.stride = 0; });
    check(WARPAES_CTR, encrypt, WARPAES_ERROR_OVERLAP, "output: a stride of 63", [](E& e) { e.output.stride = 63; });
    check(WARPAES_GCM, encrypt, WARPAES_ERROR_OVERLAP, "tag: a stride of 8", [](E& e) { e.tag.stride = 8; });
    const auto behind = [](const warpaes_elements& e, std::size_t bytes) {
        warpaes_elements other = e;
        other.at.pointer = static_cast<std::uint8_t*>(e.at.pointer) + bytes;
        return other;
    };
    check(WARPAES_CTR, encrypt, WARPAES_ERROR_OVERLAP, "output: overlaps input",
          [&](E& e) { e.output = behind(e.input, 1); });
    check(WARPAES_CTR, encrypt, WARPAES_ERROR_OVERLAP, "output: overlaps input", [&](E& e) {
        e.output = e.input;
        e.output.stride = 65;
    });
    check(WARPAES_CTR, encrypt, WARPAES_ERROR_OVERLAP, "output: overlaps iv",
          [&](E& e) { e.iv = behind(e.output, 8); });
    check(WARPAES_GCM, encrypt, WARPAES_ERROR_OVERLAP, "tag: is inside the output",
          [&](E& e) { e.tag = behind(e.output, 60); });
    check(WARPAES_GCM, encrypt, WARPAES_ERROR_OVERLAP, "tag: overlaps input",
          [&](E& e) { e.tag = behind(e.input, 4); });
    check(WARPAES_GCM, encrypt, WARPAES_ERROR_IV_REUSED, "iv: has stride 0", [](E& e) { e.iv.stride = 0; });
    check(WARPAES_CCM, encrypt, WARPAES_ERROR_IV_REUSED, "iv: has stride 0", [](E& e) {
        e.iv.stride = 0;
        e.key = nullptr;
        e.keys = e.input;
        e.keys.stride = 0;
        e.key_len = 16;
    });
    check(WARPAES_XTS, encrypt, WARPAES_ERROR_ARGUMENT, "tweak_key: is null", [](E& e) { e.tweak_key = nullptr; });
    check(WARPAES_XTS, encrypt, WARPAES_ERROR_ARGUMENT, "key, tweak_key:", [](E& e) { e.tweak_key = e.key; });
    check(WARPAES_XTS, encrypt, WARPAES_ERROR_DATA_LENGTH, "length:", [](E& e) { e.length = 15; });
    check(WARPAES_CTR, encrypt, WARPAES_ERROR_ARGUMENT,
          "tweak_key, data_unit_len, data_unit_step:", [](E& e) { e.data_unit_len = 16; });
}

/// A written part that shares one byte with another part of its entry is refused. Adjacent parts are accepted.
TEST_P(AbiBatchErrors, PartsOfAnEntryThatShareAByte) {
    using E = warpaes_batch_entry;
    const struct {
        warpaes_elements E::*kind;
        std::size_t bytes;
        const char* name;
    } parts[] = {{&E::input, 64, "input"}, {&E::output, 64, "output"}, {&E::iv, 12, "iv"},
                 {&E::aad, 16, "aad"},     {&E::tag, 16, "tag"},       {&E::keys, 16, "keys"}};
    for (const auto direction : {WARPAES_ENCRYPT, WARPAES_DECRYPT}) {
        E fine = entry(WARPAES_GCM, direction, 0);
        fine.key = nullptr;
        fine.key_len = 16;
        fine.aad_len = 16;
        for (std::size_t i = 0; i < 6; ++i) {
            (fine.*parts[i].kind).at.pointer = memory_.data() + 4096 * (i + 1);
            (fine.*parts[i].kind).stride = parts[i].bytes;
            for (std::size_t b = 0; b < 32; ++b) memory_[4096 * (i + 1) + b] = static_cast<std::uint8_t>(b);
        }
        const auto begin_of = [&](std::size_t i) {
            return static_cast<std::uint8_t*>((fine.*parts[i].kind).at.pointer);
        };
        for (const std::size_t written : {1U, 4U}) {
            if (written == 4 && direction == WARPAES_DECRYPT) continue;
            for (std::size_t other = 0; other < 6; ++other) {
                if (other == written) continue;
                for (const std::size_t shared : {0U, 1U}) {
                    for (const bool after : {false, true}) {
                        std::vector entries{fine};
                        (entries[0].*parts[other].kind).at.pointer =
                            after ? begin_of(written) + 2 * parts[written].bytes - shared
                                  : begin_of(written) - 2 * parts[other].bytes + shared;
                        const warpaes_status status = run(entries)[0];
                        const bool is_refused = status == WARPAES_ERROR_OVERLAP;
                        EXPECT_EQ(is_refused, shared != 0) << parts[written].name << " " << parts[other].name;
                        if (is_refused) {
                            EXPECT_NE(sentences_[0].find(parts[other].name), std::string::npos) << sentences_[0];
                        }
                    }
                }
            }
        }
    }
}

TEST_P(AbiBatchErrors, EntriesThatWriteTheSameBytes) {
    std::vector<warpaes_batch_entry> entries;
    for (unsigned n = 0; n < 5; ++n) entries.push_back(entry(WARPAES_GCM, WARPAES_ENCRYPT, n));
    entries[1].output = entries[3].output;
    EXPECT_EQ(run(entries),
              (std::vector{WARPAES_OK, WARPAES_ERROR_OVERLAP, WARPAES_OK, WARPAES_ERROR_OVERLAP, WARPAES_OK}));
    entries[1] = entry(WARPAES_GCM, WARPAES_ENCRYPT, 1);
    entries[1].tag = entries[0].output;
    entries[1].tag.stride = 256;
    EXPECT_EQ(run(entries),
              (std::vector{WARPAES_ERROR_OVERLAP, WARPAES_ERROR_OVERLAP, WARPAES_OK, WARPAES_OK, WARPAES_OK}));
}

// Interleaved messages of two entries do not overlap.
TEST_P(AbiBatchErrors, RecordsOfTwoFields) {
    std::vector<warpaes_batch_entry> entries{entry(WARPAES_CTR, WARPAES_ENCRYPT, 0, 4),
                                             entry(WARPAES_CTR, WARPAES_ENCRYPT, 1, 4)};
    for (auto& e : entries) {
        e.length = 32;
        e.input.stride = e.output.stride = 64;
    }
    entries[1].output.at.pointer = static_cast<std::uint8_t*>(entries[0].output.at.pointer) + 32;
    EXPECT_EQ(run(entries), (std::vector{WARPAES_OK, WARPAES_OK}));
    entries[1].length = 33;
    EXPECT_EQ(run(entries), (std::vector{WARPAES_ERROR_OVERLAP, WARPAES_ERROR_OVERLAP}));
}

TEST_P(AbiBatchErrors, NoncesTwice) {
    const auto flags = WARPAES_BATCH_CHECK_NONCES;
    std::vector<warpaes_batch_entry> entries;
    for (unsigned n = 0; n < 6; ++n)
        entries.push_back(entry(n % 2 == 0 ? WARPAES_GCM : WARPAES_CCM, WARPAES_ENCRYPT, n));
    EXPECT_EQ(run(entries, flags), std::vector(6, WARPAES_OK));
    const auto iv = [&](unsigned n, unsigned i) {
        return static_cast<std::uint8_t*>(entries[n].iv.at.pointer) + 16 * i;
    };
    std::memcpy(iv(4, 1), iv(0, 0), 12);  // the same IV in two GCM entries
    std::memcpy(iv(3, 1), iv(2, 0), 12);  // in a CCM and a GCM entry, whose counter blocks differ
    EXPECT_EQ(run(entries, flags), (std::vector{WARPAES_ERROR_IV_REUSED, WARPAES_OK, WARPAES_OK, WARPAES_OK,
                                                WARPAES_ERROR_IV_REUSED, WARPAES_OK}));
    EXPECT_EQ(run(entries), std::vector(6, WARPAES_OK)) << "only on request";
    // The same IV is accepted under a different key, but not under the same key as bytes.
    entries[4].key = other_key_.get();
    EXPECT_EQ(run(entries, flags), std::vector(6, WARPAES_OK));
    Bytes raw(32, 1);
    entries[4].key = nullptr;
    entries[4].keys.at.pointer = raw.data();
    entries[4].keys.stride = 16;
    entries[4].key_len = 16;
    EXPECT_EQ(run(entries, flags)[4], WARPAES_ERROR_IV_REUSED);
    raw[31] = 0;
    EXPECT_EQ(run(entries, flags), std::vector(6, WARPAES_OK));
    // Decryption may repeat a nonce. A repetition within one entry is also detected.
    std::memcpy(iv(5, 1), iv(5, 0), 12);
    EXPECT_EQ(run(entries, flags)[5], WARPAES_ERROR_IV_REUSED);
    entries[5].direction = WARPAES_DECRYPT;
    EXPECT_EQ(run(entries, flags)[5], WARPAES_ERROR_AUTHENTICATION);
    EXPECT_NE(sentences_[5].find("tag: 2 of 2 messages are not authentic, the first is message 0"), std::string::npos);
}

// A wrong tag affects only its own message, even after a refused entry.
TEST_P(AbiBatchErrors, OneOfThreeMessagesIsNotAuthentic) {
    for (const bool refused : {false, true}) {
        std::vector<warpaes_batch_entry> entries{entry(WARPAES_CTR, WARPAES_ENCRYPT, 0),
                                                 entry(WARPAES_GCM, WARPAES_ENCRYPT, 1, 3)};
        ASSERT_EQ(run(entries), std::vector(2, WARPAES_OK));
        if (refused) entries[0].iv_len = 12;
        entries[1].direction = WARPAES_DECRYPT;
        std::swap(entries[1].input, entries[1].output);
        static_cast<std::uint8_t*>(entries[1].tag.at.pointer)[16] ^= 1;
        std::vector<warpaes_status> statuses(3, WARPAES_ERROR_INTERNAL);
        entries[1].statuses = statuses.data();
        EXPECT_EQ(run(entries),
                  (std::vector{refused ? WARPAES_ERROR_IV_LENGTH : WARPAES_OK, WARPAES_ERROR_AUTHENTICATION}));
        EXPECT_EQ(statuses, (std::vector{WARPAES_OK, WARPAES_ERROR_AUTHENTICATION, WARPAES_OK}));
    }
}

// If a divided message is not authentic, it counts for the backend that computed it.
TEST_P(AbiBatchErrors, ALongMessageThatIsNotAuthentic) {
    Bytes text((16 << 20) + 1, 3);
    std::vector<warpaes_batch_entry> entries{entry(WARPAES_GCM, WARPAES_DECRYPT, 0, 1)};
    entries[0].length = text.size();
    entries[0].input.at.pointer = entries[0].output.at.pointer = text.data();
    warpaes_batch* handle = nullptr;
    ASSERT_EQ(warpaes_batch_submit(engine_.get(), nullptr, entries.data(), 1, &handle), WARPAES_OK);
    const AbiBatchHandle batch(handle);
    EXPECT_EQ(warpaes_batch_wait(handle, WARPAES_UNKNOWN), WARPAES_ERROR_AUTHENTICATION);
    EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](std::uint8_t b) { return b == 0; }));
    warpaes_batch_result result = WARPAES_BATCH_RESULT_INIT;
    ASSERT_EQ(warpaes_batch_query(handle, &result), WARPAES_OK);
    EXPECT_EQ(result.messages_on_gpu, GetParam() == "cuda" ? 1U : 0U);
    EXPECT_EQ(result.messages_on_cpu, GetParam() == "cuda" ? 0U : 1U);
    EXPECT_EQ(result.reserved, 0);
}

TEST_P(AbiBatchErrors, NothingToDo) {
    std::vector<warpaes_batch_entry> none;
    EXPECT_TRUE(run(none).empty());
    std::vector<warpaes_batch_entry> entries{entry(WARPAES_CTR, WARPAES_ENCRYPT, 0, 0),
                                             entry(WARPAES_CBC, WARPAES_ENCRYPT, 1),
                                             entry(WARPAES_GCM, WARPAES_ENCRYPT, 2)};
    entries[1].length = entries[2].length = 0;
    entries[1].input = entries[1].output = entries[2].input = entries[2].output = {};
    EXPECT_EQ(run(entries), std::vector(3, WARPAES_OK));
    EXPECT_TRUE(std::any_of(memory_.begin() + 2048 + 512, memory_.begin() + 2048 + 528, [](auto b) { return b != 0; }))
        << "a tag of an empty message";
}

TEST_P(AbiBatchErrors, ArgumentsOfTheCalls) {
    warpaes_batch* batch = nullptr;
    auto e = entry(WARPAES_CTR, WARPAES_ENCRYPT, 0);
    EXPECT_EQ(warpaes_batch_submit(nullptr, nullptr, &e, 1, &batch), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(warpaes_batch_submit(engine_.get(), nullptr, nullptr, 1, &batch), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(warpaes_batch_submit(engine_.get(), nullptr, &e, 1, nullptr), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(warpaes_batch_submit(engine_.get(), nullptr, &e, UINT64_MAX, &batch), WARPAES_ERROR_ARGUMENT);
    warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
    options.flags = WARPAES_BATCH_OFFSETS;
    EXPECT_EQ(warpaes_batch_submit(engine_.get(), &options, &e, 1, &batch), WARPAES_ERROR_ARGUMENT);
    options = WARPAES_BATCH_OPTIONS_INIT;
    options.flags = 1u << 9;
    EXPECT_EQ(warpaes_batch_submit(engine_.get(), &options, &e, 1, &batch), WARPAES_ERROR_ARGUMENT);
    options = WARPAES_BATCH_OPTIONS_INIT;
    options.entry_size = 8;
    EXPECT_EQ(warpaes_batch_submit(engine_.get(), &options, &e, 1, &batch), WARPAES_ERROR_ARGUMENT);
    warpaes_entry_result entry_result = {};
    for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{16}, sizeof entry_result + 4}) {
        options = WARPAES_BATCH_OPTIONS_INIT;
        options.result_size = size;
        options.results = &entry_result;
        EXPECT_EQ(warpaes_batch_submit(engine_.get(), &options, &e, 1, &batch), WARPAES_ERROR_ARGUMENT);
        EXPECT_EQ(std::string(warpaes_last_error()).find("result_size: is " + std::to_string(size)), 0U);
    }
    EXPECT_EQ(batch, nullptr);
    EXPECT_EQ(warpaes_batch_wait(nullptr, 0), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(warpaes_batch_query(nullptr, nullptr), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(warpaes_batch_query_entry(nullptr, 0, &entry_result), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(warpaes_batch_poll(nullptr), 0);
    EXPECT_STREQ(warpaes_batch_entry_error(nullptr, 0), "");
    warpaes_batch_cancel(nullptr);
    warpaes_batch_destroy(nullptr);
    EXPECT_EQ(warpaes_batch_submit(engine_.get(), nullptr, &e, 1, &batch), WARPAES_OK);
    EXPECT_EQ(warpaes_batch_wait(batch, WARPAES_UNKNOWN), WARPAES_OK);
    EXPECT_EQ(warpaes_batch_query_entry(batch, 0, nullptr), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(warpaes_batch_query_entry(batch, 1, &entry_result), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(warpaes_batch_query_entry(batch, UINT64_MAX, &entry_result), WARPAES_ERROR_ARGUMENT);
    warpaes_batch_destroy(batch);
}

// A newer client's entries are longer. As in a message, the fields that this library does not support must be 0.
TEST_P(AbiBatchErrors, LongerEntries) {
    struct Longer {
        warpaes_batch_entry entry;
        std::uint64_t more[3];
    };
    std::vector<Longer> entries;
    for (unsigned n = 0; n < 5; ++n) entries.push_back({entry(WARPAES_CTR, WARPAES_ENCRYPT, n), {0, 0, 0}});
    warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
    options.entry_size = sizeof(Longer);
    warpaes_batch* batch = nullptr;
    ASSERT_EQ(warpaes_batch_submit(engine_.get(), &options, &entries[0].entry, 5, &batch), WARPAES_OK);
    EXPECT_EQ(warpaes_batch_wait(batch, WARPAES_UNKNOWN), WARPAES_OK);
    warpaes_batch_destroy(batch);
    for (unsigned n = 0; n < 5; ++n) EXPECT_NE(memory_[1024 * n + 256 + 70], 0);

    // Sets each byte of the unsupported fields in one entry. The other entries are not affected.
    for (std::size_t byte = 0; byte < sizeof entries[0].more; ++byte) {
        std::fill(memory_.begin(), memory_.end(), std::uint8_t{0});
        reinterpret_cast<std::uint8_t*>(entries[3].more)[byte] = 0x80;
        ASSERT_EQ(warpaes_batch_submit(engine_.get(), &options, &entries[0].entry, 5, &batch), WARPAES_OK);
        EXPECT_EQ(warpaes_batch_wait(batch, WARPAES_UNKNOWN), WARPAES_ERROR_ARGUMENT);
        for (unsigned n = 0; n < 5; ++n) {
            warpaes_entry_result result = {};
            ASSERT_EQ(warpaes_batch_query_entry(batch, n, &result), WARPAES_OK);
            EXPECT_EQ(result.status, n == 3 ? WARPAES_ERROR_ARGUMENT : WARPAES_OK) << n;
            EXPECT_EQ(memory_[1024 * n + 256 + 70] == 0, n == 3) << n;
        }
        EXPECT_STREQ(warpaes_batch_entry_error(batch, 3), "entry: uses fields that this version does not support");
        warpaes_batch_destroy(batch);
        reinterpret_cast<std::uint8_t*>(entries[3].more)[byte] = 0;
    }
}

// Fields that an entry's mode does not use must be 0, as in messages (MessageErrors.FieldsOfOtherModes).
TEST_P(AbiBatchErrors, FieldsOfOtherModes) {
    using E = warpaes_batch_entry;
    for (const warpaes_mode mode : {WARPAES_ECB, WARPAES_CBC, WARPAES_CFB128, WARPAES_CFB8, WARPAES_CFB1, WARPAES_OFB,
                                    WARPAES_CTR, WARPAES_XTS, WARPAES_GCM, WARPAES_CCM, WARPAES_CMAC}) {
        for (const warpaes_direction direction : {WARPAES_ENCRYPT, WARPAES_DECRYPT}) {
            const std::string units = "tweak_key, data_unit_len, data_unit_step: apply only to XTS";
            if (mode != WARPAES_XTS) {
                check(mode, direction, WARPAES_ERROR_ARGUMENT, units, [](E& e) { e.data_unit_len = 16; });
                check(mode, direction, WARPAES_ERROR_ARGUMENT, units, [](E& e) { e.data_unit_step = 1; });
                check(mode, direction, WARPAES_ERROR_ARGUMENT, units, [](E& e) { e.tweak_key = e.key; });
            }
            if (mode == WARPAES_GCM || mode == WARPAES_CCM || mode == WARPAES_CMAC) continue;
            check(mode, direction, WARPAES_ERROR_ARGUMENT, "aad, tag: apply only to", [](E& e) { e.tag_len = 16; });
            check(mode, direction, WARPAES_ERROR_ARGUMENT, "aad, tag: apply only to", [](E& e) { e.aad_len = 1; });
        }
    }
}

struct Call {
    std::atomic<int> calls{0};
    std::atomic<bool> queried{false};
};

TEST_P(AbiBatchErrors, CallsBackOnce) {
    Call call;
    warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
    options.user = &call;
    options.finished = [](void* user, warpaes_batch* batch) {
        auto& its = *static_cast<Call*>(user);
        warpaes_batch_result result = {};
        result.struct_size = sizeof result;
        its.queried =
            warpaes_batch_query(batch, &result) == WARPAES_OK && result.messages == 8 && warpaes_batch_poll(batch) == 0;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        ++its.calls;
    };
    for (int round = 0; round < 10; ++round) {
        call.calls = 0;
        std::vector<warpaes_batch_entry> entries;
        for (unsigned n = 0; n < 4; ++n) entries.push_back(entry(WARPAES_CTR, WARPAES_ENCRYPT, n));
        warpaes_batch* batch = nullptr;
        ASSERT_EQ(warpaes_batch_submit(engine_.get(), &options, entries.data(), entries.size(), &batch), WARPAES_OK);
        if (round % 2 == 0) {
            EXPECT_EQ(warpaes_batch_wait(batch, WARPAES_UNKNOWN), WARPAES_OK);
            EXPECT_EQ(call.calls, 1);
        }
        warpaes_batch_destroy(batch);
        EXPECT_EQ(call.calls, 1);
        EXPECT_TRUE(call.queried);
    }
}

/// Blocks the engine's workers in a callback until they are released.
class Gate {
public:
    static void hold(void* user, warpaes_batch*) {
        auto& gate = *static_cast<Gate*>(user);
        ++gate.held;
        while (!gate.open) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::atomic<int> held{0};
    std::atomic<bool> open{false};
};

TEST_P(AbiBatchErrors, WaitsForATimeAndIsCancelled) {
    const AbiEngine engine = make_engine(GetParam(), 1);
    Gate gate;
    warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
    options.finished = Gate::hold;
    options.user = &gate;
    warpaes_batch *first = nullptr, *second = nullptr;
    ASSERT_EQ(warpaes_batch_submit(engine.get(), &options, nullptr, 0, &first), WARPAES_OK);
    while (gate.held == 0) std::this_thread::yield();
    // The engine's only worker is blocked.
    std::vector<warpaes_batch_entry> entries{entry(WARPAES_CTR, WARPAES_ENCRYPT, 0),
                                             entry(WARPAES_CTR, WARPAES_ENCRYPT, 1)};
    std::vector<warpaes_status> each(4);
    entries[0].statuses = each.data();
    entries[1].statuses = each.data() + 2;
    entries[1].length = 1 << 20;  // this entry is refused
    entries[1].output.stride = 5;
    ASSERT_EQ(warpaes_batch_submit(engine.get(), nullptr, entries.data(), 2, &second), WARPAES_OK);
    EXPECT_EQ(warpaes_batch_wait(second, 0), WARPAES_ERROR_TIMEOUT);
    EXPECT_EQ(warpaes_batch_wait(second, 30), WARPAES_ERROR_TIMEOUT);
    EXPECT_EQ(warpaes_batch_poll(second), 0);
    warpaes_batch_result result = {};
    result.struct_size = sizeof result;
    EXPECT_EQ(warpaes_batch_query(second, &result), WARPAES_ERROR_STATE);
    EXPECT_STREQ(warpaes_last_error(), "batch: is not finished");
    warpaes_entry_result early = {};
    EXPECT_EQ(warpaes_batch_query_entry(second, 0, &early), WARPAES_ERROR_STATE);
    EXPECT_STREQ(warpaes_last_error(), "batch: is not finished");
    EXPECT_EQ(warpaes_batch_query_entry(second, 2, &early), WARPAES_ERROR_ARGUMENT);
    EXPECT_STREQ(warpaes_batch_entry_error(second, 0), "");
    warpaes_batch_cancel(second);
    gate.open = true;
    EXPECT_EQ(warpaes_batch_wait(second, WARPAES_UNKNOWN), WARPAES_ERROR_CANCELLED);
    const auto results = results_of(second, 2);
    EXPECT_EQ(results[0].status, WARPAES_ERROR_CANCELLED);
    EXPECT_EQ(results[1].status, WARPAES_ERROR_OVERLAP);
    EXPECT_EQ(complaints_of_statuses(entries, results), "");
    EXPECT_TRUE(std::all_of(memory_.begin() + 256, memory_.begin() + 512, [](auto b) { return b == 0; }));
    warpaes_batch_destroy(second);
    warpaes_batch_destroy(first);
}

TEST_P(AbiBatchErrors, TheEngineFinishesWhatItHas) {
    AbiEngine engine = make_engine(GetParam(), 2);
    std::vector<std::vector<warpaes_batch_entry>> entries(20);
    std::vector<warpaes_batch*> batches;
    for (unsigned n = 0; n < entries.size(); ++n) {
        entries[n] = {entry(WARPAES_CTR, WARPAES_ENCRYPT, n)};
        batches.emplace_back();
        ASSERT_EQ(warpaes_batch_submit(engine.get(), nullptr, entries[n].data(), 1, &batches.back()), WARPAES_OK);
    }
    engine.reset();
    for (warpaes_batch* batch : batches) {
        EXPECT_EQ(warpaes_batch_poll(batch), 1);
        EXPECT_EQ(warpaes_batch_wait(batch, 0), WARPAES_OK);
        warpaes_batch_destroy(batch);
    }
}

// The waiting clients execute tasks themselves while another thread destroys the engine.
TEST_P(AbiBatchErrors, TheEngineIsDestroyedWhileClientsWait) {
    for (unsigned round = 0; round < (simulated() ? 4U : 40U); ++round) {
        AbiEngine engine = make_engine(GetParam(), 1 + round % 2);
        std::vector<std::vector<warpaes_batch_entry>> entries(4);
        std::vector<warpaes_batch*> batches(entries.size());
        for (unsigned n = 0; n < entries.size(); ++n) {
            for (unsigned i = 0; i < 5; ++i) entries[n].push_back(entry(WARPAES_CTR, WARPAES_ENCRYPT, 5 * n + i));
            ASSERT_EQ(warpaes_batch_submit(engine.get(), nullptr, entries[n].data(), entries[n].size(), &batches[n]),
                      WARPAES_OK);
        }
        std::vector<std::thread> clients;
        for (warpaes_batch* batch : batches) {
            clients.emplace_back([batch] {
                EXPECT_EQ(warpaes_batch_wait(batch, WARPAES_UNKNOWN), WARPAES_OK);
                EXPECT_EQ(warpaes_batch_poll(batch), 1);
                EXPECT_EQ(warpaes_batch_wait(batch, WARPAES_UNKNOWN), WARPAES_OK);
            });
        }
        engine.reset();
        for (std::thread& client : clients) client.join();
        for (unsigned n = 0; n < entries.size(); ++n) {
            for (const auto& r : results_of(batches[n], entries[n].size())) EXPECT_EQ(r.status, WARPAES_OK);
            warpaes_batch_destroy(batches[n]);
        }
    }
}

TEST_P(AbiBatchErrors, Arenas) {
    for (const warpaes_memory kind : {WARPAES_MEMORY_PAGEABLE, WARPAES_MEMORY_PAGE_LOCKED, WARPAES_MEMORY_SHARED}) {
        const AbiArena arena = make_arena(engine_, 10000, kind);
        auto* data = static_cast<std::uint8_t*>(warpaes_arena_data(arena.get()));
        ASSERT_NE(data, nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 4096, 0U);
        EXPECT_EQ(warpaes_arena_size(arena.get()), 10000U);
        EXPECT_TRUE(std::all_of(data, data + 10000, [](auto b) { return b == 0; }));
        EXPECT_EQ(warpaes_arena_fd(arena.get()) >= 0, kind == WARPAES_MEMORY_SHARED);
    }
    warpaes_arena* arena = nullptr;
    EXPECT_EQ(warpaes_arena_create(engine_.get(), WARPAES_MEMORY_PAGE_LOCKED, 0, 0, &arena), WARPAES_ERROR_ARGUMENT);
    for (const int kind : {-1, 4}) {
        EXPECT_EQ(warpaes_arena_create(engine_.get(), static_cast<warpaes_memory>(kind), 0, 1, &arena),
                  WARPAES_ERROR_ARGUMENT);
    }
    EXPECT_EQ(warpaes_arena_create(engine_.get(), WARPAES_MEMORY_PAGE_LOCKED, 0, UINT64_MAX, &arena),
              WARPAES_ERROR_ARGUMENT);
    const auto descriptors = [] {
        const std::filesystem::directory_iterator all("/proc/self/fd");
        return std::distance(begin(all), end(all));
    };
    const auto before = descriptors();
    for (const std::uint64_t bytes : {std::uint64_t{1} << 50, std::uint64_t{1} << 60, UINT64_MAX / 2}) {
        EXPECT_NE(warpaes_arena_create(engine_.get(), WARPAES_MEMORY_SHARED, 0, bytes, &arena), WARPAES_OK);
        EXPECT_EQ(descriptors(), before) << bytes << " bytes: the memory's descriptor stays open";
    }
    {
        // The system refuses the requested amount of memory.
        rlimit usual{};
        ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &usual), 0);
        const rlimit little{4096, usual.rlim_max};
        const auto handler = signal(SIGXFSZ, SIG_IGN);
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
        EXPECT_EQ(warpaes_arena_create(engine_.get(), WARPAES_MEMORY_SHARED, 0, 10000, &arena),
                  WARPAES_ERROR_OUT_OF_MEMORY);
        EXPECT_STREQ(warpaes_last_error(), "bytes: cannot allocate shared memory: File too large");
        EXPECT_EQ(descriptors(), before) << "the descriptor of memory that is too short stays open";
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &usual), 0);
        signal(SIGXFSZ, handler);
    }
    {
        const AbiArena shared = make_arena(engine_, 10000, WARPAES_MEMORY_SHARED);
        EXPECT_EQ(descriptors(), before + 1);
        EXPECT_EQ(fcntl(warpaes_arena_fd(shared.get()), F_GETFD), FD_CLOEXEC) << "executed programs inherit it";
    }
    EXPECT_EQ(descriptors(), before) << "the descriptor of a destroyed arena stays open";
    EXPECT_EQ(warpaes_arena_create(engine_.get(), WARPAES_MEMORY_SHARED, 0, 1ULL << 60, &arena),
              WARPAES_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(arena, nullptr);
    EXPECT_EQ(warpaes_arena_create(engine_.get(), WARPAES_MEMORY_PAGE_LOCKED, 0, 1, nullptr), WARPAES_ERROR_ARGUMENT);
    EXPECT_STREQ(warpaes_last_error(), "arena: is null");
    EXPECT_EQ(warpaes_arena_create(nullptr, WARPAES_MEMORY_PAGE_LOCKED, 0, 1, &arena), WARPAES_ERROR_ARGUMENT);
    EXPECT_STREQ(warpaes_last_error(), "engine: is null");
    warpaes_arena_destroy(nullptr);
    EXPECT_EQ(warpaes_arena_fd(nullptr), -1);
}

TEST_P(AbiBatchErrors, OffsetsInASharedArena) {
    const AbiArena arena = make_arena(engine_, 1000, WARPAES_MEMORY_SHARED);
    // A holder of the descriptor may write but not truncate, because truncation would cause a bus error in this
    // process.
    const int fd = warpaes_arena_fd(arena.get());
    ASSERT_NE(ftruncate(fd, 0), 0);
    EXPECT_EQ(errno, EPERM);
    EXPECT_NE(ftruncate(fd, 1 << 20), 0);
    EXPECT_NE(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0) << "nor may it prevent writing";
    // Another process would map the arena in the same way.
    auto* mapped = static_cast<std::uint8_t*>(
        mmap(nullptr, 1000, PROT_READ | PROT_WRITE, MAP_SHARED, warpaes_arena_fd(arena.get()), 0));
    ASSERT_NE(mapped, MAP_FAILED);
    mapped[0] = 1;  // the key, 16 bytes; IV at 16; message at 32
    warpaes_batch_entry e{};
    e.mode = WARPAES_CTR;
    e.direction = WARPAES_ENCRYPT;
    e.count = 1;
    e.length = 100;
    e.key_len = 16;
    e.iv.at.offset = 16;
    e.iv_len = 16;
    e.input.at.offset = e.output.at.offset = 32;
    const auto with = [&](const std::function<void(warpaes_batch_entry&)>& change) {
        std::vector<warpaes_batch_entry> entries{e};
        change(entries[0]);
        return run(entries, WARPAES_BATCH_OFFSETS, arena.get())[0];
    };
    EXPECT_EQ(with([](auto&) {}), WARPAES_OK);
    EXPECT_TRUE(std::any_of(mapped + 32, mapped + 132, [](auto b) { return b != 0; }));
    EXPECT_TRUE(std::all_of(mapped + 132, mapped + 1000, [](auto b) { return b == 0; }));
    EXPECT_EQ(with([](auto&) {}), WARPAES_OK);
    EXPECT_TRUE(std::all_of(mapped + 32, mapped + 132, [](auto b) { return b == 0; })) << "there and back";
    EXPECT_EQ(with([](auto& x) { x.output.at.offset = x.input.at.offset = 900; }), WARPAES_OK);
    EXPECT_EQ(with([](auto& x) { x.output.at.offset = x.input.at.offset = 901; }), WARPAES_ERROR_RANGE);
    EXPECT_NE(sentences_[0].find("offset 901, 1 times 100 bytes at a stride of 0 extend past the arena of 1000 bytes"),
              std::string::npos)
        << sentences_[0];
    EXPECT_EQ(with([](auto& x) { x.output.at.offset = 1000; }), WARPAES_ERROR_RANGE);
    EXPECT_EQ(with([](auto& x) { x.output.at.offset = UINT64_MAX; }), WARPAES_ERROR_RANGE);
    EXPECT_EQ(with([](auto& x) { x.iv.at.offset = 985; }), WARPAES_ERROR_RANGE);
    EXPECT_EQ(with([](auto& x) { x.keys.at.offset = 990; }), WARPAES_ERROR_RANGE);
    EXPECT_EQ(with([](auto& x) {
                  x.count = 3;
                  x.input.stride = x.output.stride = UINT64_MAX / 2;
              }),
              WARPAES_ERROR_RANGE);
    EXPECT_EQ(with([](auto& x) {
                  x.count = 9;
                  x.input.stride = x.output.stride = 100;
              }),
              WARPAES_OK);
    EXPECT_EQ(with([](auto& x) {
                  x.count = 10;
                  x.input.stride = x.output.stride = 100;
              }),
              WARPAES_ERROR_RANGE);
    munmap(mapped, 1000);
}

TEST_P(AbiBatchErrors, AMillionMessagesOfAByte) {
    const std::uint64_t n = simulated() ? 2000 : 1000000;
    Bytes text(n), ivs(16 * n);
    for (std::uint64_t i = 0; i < n; ++i) std::memcpy(ivs.data() + 16 * i, &i, sizeof i);
    std::vector<warpaes_batch_entry> entries{entry(WARPAES_CTR, WARPAES_ENCRYPT, 0, n)};
    entries[0].length = 1;
    entries[0].input.at.pointer = entries[0].output.at.pointer = text.data();
    entries[0].input.stride = entries[0].output.stride = 1;
    entries[0].iv.at.pointer = ivs.data();
    ASSERT_EQ(run(entries)[0], WARPAES_OK);
    const Bytes once = text;
    EXPECT_GT(std::count_if(text.begin(), text.end(), [](auto b) { return b != 0; }),
              static_cast<std::ptrdiff_t>(n / 2));
    // These are the messages of the test above, with one entry per message.
    std::vector<warpaes_batch_entry> many(n, entries[0]);
    for (std::uint64_t i = 0; i < n; ++i) {
        many[i].count = 1;
        many[i].input.at.pointer = many[i].output.at.pointer = text.data() + i;
        many[i].iv.at.pointer = ivs.data() + 16 * i;
    }
    std::swap(many[3], many[4]);  // the entries are not in memory order
    warpaes_batch* batch = nullptr;
    ASSERT_EQ(warpaes_batch_submit(engine_.get(), nullptr, many.data(), n, &batch), WARPAES_OK);
    EXPECT_EQ(warpaes_batch_wait(batch, WARPAES_UNKNOWN), WARPAES_OK) << warpaes_last_error();
    warpaes_batch_destroy(batch);
    EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](auto b) { return b == 0; }));
}

INSTANTIATE_TEST_SUITE_P(Backend, AbiBatchErrors, testing::ValuesIn(usable_backends()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace warpaes::test
