// Runs small batches with deliberately wrong entries on every backend.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "abi_batch.hpp"

namespace warpaes::test {

using Bytes = std::vector<std::uint8_t>;

/// Provides an engine, a key, and memory for entries.
class AbiBatchFixture : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        engine_ = make_engine(GetParam(), 2);
        ASSERT_NE(engine_, nullptr) << warpaes_last_error();
        key_ = make_key(Bytes(16, 1));
        other_key_ = make_key(Bytes(16, 2));
        memory_.assign(1 << 16, 0);
    }

    /// Returns the n-th of 60 entries, which use separate memory. It has `count` messages of 64 bytes.
    warpaes_batch_entry entry(warpaes_mode mode, warpaes_direction direction, unsigned n, std::uint64_t count = 2) {
        std::uint8_t* const base = memory_.data() + 1024 * std::size_t{n};
        const auto at = [](std::uint8_t* pointer, std::uint64_t stride) {
            warpaes_elements e{};
            e.at.pointer = pointer;
            e.stride = stride;
            return e;
        };
        warpaes_batch_entry e{};
        e.mode = mode;
        e.direction = direction;
        e.count = count;
        e.length = 64;
        e.key = key_.get();
        e.input = at(base, 64);
        e.output = at(base + 256, 64);
        if (mode == WARPAES_XTS) e.tweak_key = other_key_.get();
        const bool tag = mode == WARPAES_GCM || mode == WARPAES_CCM || mode == WARPAES_CMAC;
        if (tag) {
            e.tag = at(base + 512, 16);
            e.tag_len = 16;
        }
        if (mode != WARPAES_ECB && mode != WARPAES_CMAC) {
            e.iv = at(base + 768, 16);
            e.iv_len = mode == WARPAES_GCM || mode == WARPAES_CCM ? 12 : 16;
            for (std::size_t i = 0; i < 4; ++i) base[768 + 16 * i] = static_cast<std::uint8_t>(4 * n + i);
        }
        return e;
    }

    std::vector<warpaes_status> run(std::vector<warpaes_batch_entry>& entries, std::uint32_t flags = 0,
                                    const warpaes_arena* arena = nullptr) {
        warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
        options.flags = flags;
        options.arena = arena;
        // Results are queried or reported, also to a newer client, whose structs are longer.
        struct Longer {
            warpaes_entry_result known;
            std::uint64_t more;
        };
        std::vector<Longer> told(entries.size(), {{WARPAES_ERROR_INTERNAL, 0, 77, 77}, 7});
        if (const bool tell = (++runs_ & 1) != 0; tell && !told.empty()) {
            options.results = &told[0].known;
            options.result_size = sizeof(Longer);
        }
        // Messages have statuses even if the caller did not request them.
        std::vector<std::vector<warpaes_status>> own;
        for (auto& e : entries) {
            const bool asked = e.statuses != nullptr || e.count > memory_.size();
            own.emplace_back(asked ? 0 : e.count, WARPAES_ERROR_INTERNAL);
            if (!asked) e.statuses = own.back().data();
        }
        warpaes_batch* handle = nullptr;
        EXPECT_EQ(warpaes_batch_submit(engine_.get(), &options, entries.data(), entries.size(), &handle), WARPAES_OK)
            << warpaes_last_error();
        const AbiBatchHandle batch(handle);
        if (handle == nullptr) return {};
        const warpaes_status status = warpaes_batch_wait(handle, WARPAES_UNKNOWN);
        EXPECT_EQ(warpaes_batch_poll(handle), 1);
        std::vector<warpaes_status> statuses;
        sentences_.clear();
        const std::vector<warpaes_entry_result> results = results_of(handle, entries.size());
        for (std::size_t i = 0; i < entries.size(); ++i) {
            EXPECT_EQ(told[i].more, 7U);
            if (options.results == nullptr) continue;
            EXPECT_EQ(told[i].known.status, results[i].status);
            EXPECT_EQ(told[i].known.failures, results[i].failures);
            EXPECT_EQ(told[i].known.first_failure, results[i].first_failure);
        }
        std::uint64_t failed = 0, messages = 0;
        warpaes_status first = WARPAES_OK;
        for (std::size_t i = 0; i < entries.size(); ++i) {
            statuses.push_back(results[i].status);
            sentences_.emplace_back(warpaes_batch_entry_error(handle, i));
            EXPECT_EQ(sentences_.back().empty(), results[i].status == WARPAES_OK);
            if (first == WARPAES_OK) first = results[i].status;
            failed += results[i].status != WARPAES_OK;
            messages += entries[i].count;
        }
        EXPECT_EQ(status, first);
        EXPECT_STREQ(warpaes_batch_entry_error(handle, entries.size()), "");
        warpaes_batch_result result = {};
        result.struct_size = sizeof result;
        EXPECT_EQ(warpaes_batch_query(handle, &result), WARPAES_OK);
        EXPECT_EQ(result.failed_entries, failed);
        EXPECT_EQ(result.status, first);
        EXPECT_EQ(result.messages, messages);
        EXPECT_STRNE(result.reason, "");
        EXPECT_EQ(complaints_of_statuses(entries, results), "");
        for (std::size_t i = 0; i < entries.size(); ++i) {
            if (entries[i].statuses == own[i].data()) entries[i].statuses = nullptr;
        }
        return statuses;
    }

    /// Submits a valid entry, an entry that `spoil` makes invalid, and another valid entry. Only the invalid entry must
    /// be refused.
    void check(warpaes_mode mode, warpaes_direction direction, warpaes_status status, const std::string& sentence,
               const std::function<void(warpaes_batch_entry&)>& spoil) {
        SCOPED_TRACE("mode " + std::to_string(mode) + ": " + sentence);
        memory_.assign(memory_.size(), 0);
        std::vector<warpaes_batch_entry> entries{entry(WARPAES_CTR, WARPAES_ENCRYPT, 0), entry(mode, direction, 1),
                                                 entry(WARPAES_CTR, WARPAES_ENCRYPT, 2)};
        spoil(entries[1]);
        const auto statuses = run(entries);
        EXPECT_EQ(statuses, (std::vector{WARPAES_OK, status, WARPAES_OK}));
        EXPECT_EQ(sentences_[1].find(sentence), 0U) << sentences_[1];
        const auto touched = [&](unsigned n) {
            return std::any_of(memory_.begin() + 1024 * n + 256, memory_.begin() + 1024 * n + 768,
                               [](std::uint8_t b) { return b != 0; });
        };
        EXPECT_TRUE(touched(0) && touched(2));
        EXPECT_FALSE(touched(1)) << "a refused entry was partly executed";
    }

    AbiEngine engine_;
    AbiKey key_, other_key_;
    Bytes memory_;
    std::vector<std::string> sentences_;
    unsigned runs_ = 0;
};

}  // namespace warpaes::test
