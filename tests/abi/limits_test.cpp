// Tests the lengths of IVs, tags, associated data and texts in every mode: the limit minus one, the limit, and the
// limit plus one. For a wrong length, the error message names the argument. With a valid length, the call is refused
// because of its next argument, which is invalid.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "support.hpp"

namespace abi_tests {
namespace {

constexpr std::uint64_t power(unsigned exponent) {
    return std::uint64_t{1} << exponent;
}

using Allowed = std::function<bool(std::uint64_t)>;

Allowed none() {
    return [](std::uint64_t n) { return n == 0; };
}
Allowed any_of(std::set<std::uint64_t> values) {
    return [values](std::uint64_t n) { return values.contains(n); };
}
Allowed between(std::uint64_t least, std::uint64_t most, std::uint64_t unit = 1) {
    return [=](std::uint64_t n) { return n >= least && n <= most && n % unit == 0; };
}

/// The limits in the standards. Where the standards allow any length, the library's limit of 2^60 bytes applies.
struct Rules {
    warpaes_mode mode;
    Allowed iv, tag, aad, text;
    Allowed sealed;  ///< texts in decryption
    std::uint64_t some_iv = 16, some_tag = 0, some_text = 64;
};

std::vector<Rules> all_rules() {
    const Allowed any = between(0, power(60)), blocks = between(0, power(60), 16), block = any_of({16});
    const Allowed long_aad = between(0, power(61) - 1);
    std::vector<Rules> rules{{WARPAES_ECB, none(), none(), none(), blocks, blocks, 0},
                             {WARPAES_CBC, block, none(), none(), blocks, blocks}};
    for (const warpaes_mode mode : {WARPAES_CFB128, WARPAES_CFB8, WARPAES_CFB1, WARPAES_OFB, WARPAES_CTR}) {
        rules.push_back({mode, block, none(), none(), any, any});
    }
    const Allowed gcm_text = between(0, power(36) - 32), unit = between(16, power(24));
    rules.push_back({WARPAES_XTS, block, none(), none(), unit, unit});
    rules.push_back({WARPAES_GCM, between(1, power(61) - 1), any_of({4, 8, 12, 13, 14, 15, 16}), long_aad, gcm_text,
                     gcm_text, 12, 16});
    for (std::uint64_t iv = 7; iv <= 13; ++iv) {
        const Allowed text = between(0, iv == 7 ? power(60) : std::min(power(60), power(8 * (15 - unsigned(iv))) - 1));
        rules.push_back({WARPAES_CCM, between(7, 13), any_of({4, 6, 8, 10, 12, 14, 16}), long_aad, text, text, iv, 4});
    }
    rules.push_back({WARPAES_CMAC, none(), between(4, 16), none(), any, any, 0, 16});
    rules.push_back(
        {WARPAES_KW, any_of({0, 8}), none(), none(), between(16, power(57) - 8, 8), between(24, power(57), 8), 0});
    rules.push_back(
        {WARPAES_KWP, any_of({0, 4}), none(), none(), between(1, power(32) - 1), between(16, power(32) + 8, 8), 0});
    rules.push_back({WARPAES_SIV, any, any_of({16}), any, any, any, 0, 16});
    const Allowed siv_text = between(0, power(36));
    rules.push_back({WARPAES_GCM_SIV, any_of({12}), any_of({16}), siv_text, siv_text, siv_text, 12, 16});
    return rules;
}

std::vector<std::uint64_t> numbers() {
    std::set<std::uint64_t> all{UINT64_MAX};
    for (std::uint64_t n = 0; n <= 34; ++n) all.insert(n);
    for (const unsigned exponent : {16U, 20U, 24U, 32U, 36U, 40U, 48U, 56U, 57U, 60U, 61U, 63U}) {
        for (const int distance : {-33, -32, -31, -16, -9, -8, -7, -1, 0, 1, 7, 8, 9, 16}) {
            all.insert(power(exponent) + static_cast<std::uint64_t>(distance));
        }
    }
    return {all.begin(), all.end()};
}

class Limits : public testing::Test {
protected:
    struct Lengths {
        std::uint64_t iv, tag, aad, text;
    };

    /// Calls warpaes_crypt. A valid message with output still fails, because the output buffer is too small.
    [[nodiscard]] warpaes_status crypt(const Rules& rules, warpaes_direction direction, const Lengths& lengths,
                                       std::uint64_t room = 0) {
        Call m;
        m.mode = rules.mode;
        m.direction = direction;
        m.key = key_.get();
        if (rules.mode == WARPAES_XTS) m.tweak_key = other_key_.get();
        if (rules.mode == WARPAES_SIV) m.mac_key = other_key_.get();
        m.iv = memory_;
        m.iv_len = lengths.iv;
        if (rules.some_tag != 0 || lengths.tag != 0) m.tag = memory_ + 64;
        m.tag_len = lengths.tag;
        if (lengths.aad != 0) m.aad = memory_ + 128;
        m.aad_len = lengths.aad;
        if (lengths.text <= 64) m.input = memory_ + 256;  // longer texts have no input, so the call fails in any case
        m.input_len = lengths.text;
        m.output = memory_ + 1024;
        m.output_capacity = room;
        return abi_tests::crypt(engine_, m);
    }

    /// Submits an entry without messages, so that only the other fields of the entry are checked.
    [[nodiscard]] warpaes_status submit(const Rules& rules, warpaes_direction direction, const Lengths& lengths) {
        warpaes_batch_entry e = {};
        e.mode = rules.mode;
        e.direction = direction;
        e.key = key_.get();
        if (rules.mode == WARPAES_XTS) e.tweak_key = other_key_.get();
        e.iv_len = static_cast<std::uint32_t>(lengths.iv);
        e.tag_len = static_cast<std::uint32_t>(lengths.tag);
        e.aad_len = lengths.aad;
        e.length = rules.mode == WARPAES_CFB1 ? 8 * lengths.text : lengths.text;
        warpaes_batch* batch = nullptr;
        EXPECT_EQ(warpaes_batch_submit(engine_.get(), nullptr, &e, 1, &batch), WARPAES_OK);
        const warpaes_status status = warpaes_batch_wait(batch, WARPAES_UNKNOWN);
        warpaes_batch_destroy(batch);
        return status;
    }

    static bool refuses(warpaes_status status, warpaes_status wanted, const std::string& name) {
        return status == wanted && std::string(warpaes_last_error()).find(name) == 0;
    }

    Engine engine_ = make_engine("libcrypto");
    Key key_ = make_key(Bytes(16, 1)), other_key_ = make_key(Bytes(16, 2));
    std::uint8_t memory_[2048] = {};
};

TEST_F(Limits, OfEveryModeOfAMessage) {
    for (const Rules& rules : all_rules()) {
        for (const warpaes_direction direction : directions) {
            const bool seals = direction == WARPAES_ENCRYPT;
            const Lengths good{rules.some_iv, rules.some_tag, 0, rules.some_text};
            for (const std::uint64_t n : numbers()) {
                SCOPED_TRACE("mode " + std::to_string(rules.mode) + ", direction " + std::to_string(direction) +
                             ", IV of " + std::to_string(rules.some_iv) + ": " + std::to_string(n));
                Lengths lengths = good;
                lengths.iv = n;
                EXPECT_EQ(refuses(crypt(rules, direction, lengths), WARPAES_ERROR_IV_LENGTH, "iv: "), !rules.iv(n))
                    << warpaes_last_error();
                lengths = good;
                lengths.text = n;
                EXPECT_EQ(refuses(crypt(rules, direction, lengths), WARPAES_ERROR_DATA_LENGTH, "input_len: "),
                          !(seals ? rules.text : rules.sealed)(n))
                    << warpaes_last_error();
                // Modes without tags refuse the fields below (MessageErrors.FieldsOfOtherModes).
                if (rules.some_tag == 0) continue;
                lengths = good;
                lengths.tag = n;
                EXPECT_EQ(refuses(crypt(rules, direction, lengths, 64), WARPAES_ERROR_ARGUMENT, "tag_len: "),
                          !rules.tag(n))
                    << warpaes_last_error();
                lengths = good;
                lengths.aad = n;
                const auto status = rules.mode == WARPAES_CMAC ? WARPAES_ERROR_ARGUMENT : WARPAES_ERROR_DATA_LENGTH;
                const std::uint64_t room = rules.aad(n) ? 0 : 64;  // allowed lengths exceed the mapped memory, so the
                                                                   // call must fail before it reads the data
                EXPECT_EQ(refuses(crypt(rules, direction, lengths, room), status, "aad_len: "), !rules.aad(n))
                    << warpaes_last_error();
            }
        }
    }
}

TEST_F(Limits, OfEveryModeOfABatch) {
    for (const Rules& rules : all_rules()) {
        if (rules.mode > WARPAES_CMAC) continue;
        for (const warpaes_direction direction : directions) {
            const Lengths good{rules.some_iv, rules.some_tag, 0, rules.some_text};
            EXPECT_EQ(submit(rules, direction, good), WARPAES_OK) << warpaes_last_error();
            for (const std::uint64_t n : numbers()) {
                SCOPED_TRACE("mode " + std::to_string(rules.mode) + ", direction " + std::to_string(direction) +
                             ", IV of " + std::to_string(rules.some_iv) + ": " + std::to_string(n));
                const auto expect = [&](bool allowed, warpaes_status status, const std::string& name,
                                        const Lengths& lengths) {
                    const warpaes_status got = submit(rules, direction, lengths);
                    EXPECT_EQ(got, allowed ? WARPAES_OK : status) << name << warpaes_last_error();
                    EXPECT_TRUE(allowed || refuses(got, status, name)) << warpaes_last_error();
                };
                Lengths lengths = good;
                lengths.text = n;
                const bool fits = rules.mode != WARPAES_CFB1 || n <= power(60);  // CFB1 needs a number of bits
                if (fits) expect(rules.text(n), WARPAES_ERROR_DATA_LENGTH, "length: ", lengths);
                if (n <= UINT32_MAX) {
                    lengths = good;
                    lengths.iv = n;
                    expect(rules.iv(n), WARPAES_ERROR_IV_LENGTH, "iv_len: ", lengths);
                    lengths = good;
                    lengths.tag = n;
                    const std::string name = rules.some_tag == 0 ? "aad, tag: " : "tag_len: ";
                    expect(rules.tag(n), WARPAES_ERROR_ARGUMENT, name, lengths);
                }
                lengths = good;
                lengths.aad = n;
                const bool has_aad = rules.mode == WARPAES_GCM || rules.mode == WARPAES_CCM;
                expect(rules.aad(n), has_aad ? WARPAES_ERROR_DATA_LENGTH : WARPAES_ERROR_ARGUMENT,
                       rules.some_tag == 0 ? "aad, tag: " : "aad_len: ", lengths);
            }
        }
    }
}

TEST_F(Limits, OfAnEnginesOptions) {
    const auto expect = [](bool allowed, const std::string& name, auto change) {
        warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
        options.backend = "libcrypto";
        change(options);
        warpaes_engine* engine = nullptr;
        const warpaes_status status = warpaes_engine_create(&options, &engine);
        EXPECT_EQ(status, allowed ? WARPAES_OK : WARPAES_ERROR_ARGUMENT) << name;
        EXPECT_TRUE(allowed || refuses(status, status, name)) << warpaes_last_error();
        warpaes_engine_destroy(engine);
    };
    for (const std::uint32_t n : {0U, 1U, 1023U, 1024U, 1025U, 4096U, UINT32_MAX}) {
        expect(n <= 1024, "threads, depth: ", [&](auto& o) { o.threads = n; });
        expect(n <= 1024, "threads, depth: ", [&](auto& o) { o.depth = n; });
    }
    for (const std::uint64_t n : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4095}, std::uint64_t{4096},
                                  std::uint64_t{4097}, std::uint64_t{8192}, power(30) - 4096, power(30) - 1, power(30),
                                  power(30) + 1, power(30) + 4096, power(63)}) {
        expect(n % 4096 == 0 && n <= power(30), "chunk_bytes: ", [&](auto& o) { o.chunk_bytes = n; });
    }
    for (const std::int32_t n : {INT32_MIN, -2, -1, 0, 1}) {
        expect(n >= -1, "device: ", [&](auto& o) { o.device = n; });
    }
}

TEST_F(Limits, OfABatchsOptions) {
    const auto refused = [&](const std::string& name, std::uint64_t count, auto change) {
        warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
        options.flags = WARPAES_BATCH_OFFSETS;  // fails in any case, because there is no arena
        change(options);
        const warpaes_batch_entry entry = {};
        warpaes_batch* batch = nullptr;
        const warpaes_status status = warpaes_batch_submit(engine_.get(), &options, &entry, count, &batch);
        EXPECT_TRUE(refuses(status, WARPAES_ERROR_ARGUMENT, name)) << warpaes_last_error();
        EXPECT_EQ(batch, nullptr);
    };
    const auto nothing = [](auto&) {};
    refused("arena: is null", UINT32_MAX - 1, nothing);
    for (const std::uint64_t count : {std::uint64_t{UINT32_MAX}, power(32), UINT64_MAX}) {
        refused("count: must be below 2^32 - 1, got " + std::to_string(count), count, nothing);
    }
    warpaes_entry_result result;
    for (std::uint32_t size = 0; size <= 200; ++size) {
        const bool entry = size >= 176 && size % 8 == 0, results = size >= 24 && size % 8 == 0;
        const std::string is = "_size: is " + std::to_string(size) + "; set it to sizeof(warpaes_";
        refused(entry ? "arena: is null" : "entry" + is + "batch_entry)", 1, [&](auto& o) { o.entry_size = size; });
        refused(results ? "arena: is null" : "result" + is + "entry_result)", 1, [&](auto& o) {
            o.results = &result;
            o.result_size = size;
        });
        refused("arena: is null", 1, [&](auto& o) { o.result_size = size; });
    }
    for (unsigned bit = 0; bit < 32; ++bit) {
        const bool known = (1U << bit) <= WARPAES_BATCH_CHECK_NONCES, more = 1U << bit == WARPAES_BATCH_MORE_COPIES;
        refused(known  ? "arena: is null"
                : more ? "options: WARPAES_BATCH_MORE_COPIES applies only with copies"
                       : "flags: ",
                1, [&](auto& o) { o.flags |= 1U << bit; });
    }
}

TEST_F(Limits, OfTheMessagesOfAnEntry) {
    for (const std::uint64_t count : {power(48) - 1, power(48), power(48) + 1, UINT64_MAX}) {
        warpaes_batch_entry e = {};
        e.mode = WARPAES_CTR;
        e.direction = WARPAES_ENCRYPT;
        e.count = count;
        e.iv_len = 15;  // makes the call fail in any case
        warpaes_batch* batch = nullptr;
        ASSERT_EQ(warpaes_batch_submit(engine_.get(), nullptr, &e, 1, &batch), WARPAES_OK);
        const warpaes_status status = warpaes_batch_wait(batch, WARPAES_UNKNOWN);
        EXPECT_EQ(status, count <= power(48) ? WARPAES_ERROR_IV_LENGTH : WARPAES_ERROR_ARGUMENT);
        EXPECT_TRUE(refuses(status, status, count <= power(48) ? "iv_len: " : "count: at most 2^48, got "))
            << warpaes_last_error();
        warpaes_batch_destroy(batch);
    }
}

/// Tests the lengths and increments of XTS data units, for messages, entries and contexts.
TEST_F(Limits, OfDataUnits) {
    const auto expect = [&](bool allowed, const std::string& name, std::uint64_t unit, std::uint64_t step) {
        SCOPED_TRACE(std::to_string(unit) + ", " + std::to_string(step));
        Call m;
        m.mode = WARPAES_XTS;
        m.direction = WARPAES_ENCRYPT;
        m.key = key_.get();
        m.tweak_key = other_key_.get();
        m.iv = memory_;
        m.iv_len = 16;
        m.input = memory_ + 256;
        m.input_len = unit == 0 || unit > power(24) ? 64 : unit;
        m.output = memory_ + 1024;
        m.data_unit_len = unit;
        m.data_unit_step = static_cast<std::uint32_t>(step);
        const warpaes_status status = abi_tests::crypt(engine_, m);
        if (allowed) {
            EXPECT_EQ(status, WARPAES_ERROR_BUFFER_TOO_SMALL) << warpaes_last_error();
        } else {
            EXPECT_TRUE(refuses(status, WARPAES_ERROR_ARGUMENT, name)) << warpaes_last_error();
        }
        const Context context = make_context(engine_);
        warpaes_context_options o = WARPAES_CONTEXT_OPTIONS_INIT;
        o.mode = WARPAES_XTS;
        o.direction = WARPAES_ENCRYPT;
        o.data_unit_len = unit;
        o.data_unit_step = static_cast<std::uint32_t>(step);
        const warpaes_status of_context = warpaes_context_init(context.get(), &o);
        EXPECT_EQ(of_context, allowed ? WARPAES_OK : WARPAES_ERROR_ARGUMENT) << warpaes_last_error();
        EXPECT_TRUE(allowed || refuses(of_context, of_context, name)) << warpaes_last_error();
        warpaes_batch_entry e = {};
        e.mode = WARPAES_XTS;
        e.direction = WARPAES_ENCRYPT;
        e.key = key_.get();
        e.tweak_key = other_key_.get();
        e.iv_len = 16;
        e.length = m.input_len;
        e.data_unit_len = unit;
        e.data_unit_step = static_cast<std::uint32_t>(step);
        warpaes_batch* batch = nullptr;
        ASSERT_EQ(warpaes_batch_submit(engine_.get(), nullptr, &e, 1, &batch), WARPAES_OK);
        const warpaes_status of_entry = warpaes_batch_wait(batch, WARPAES_UNKNOWN);
        EXPECT_EQ(of_entry, allowed ? WARPAES_OK : WARPAES_ERROR_ARGUMENT) << warpaes_last_error();
        EXPECT_TRUE(allowed || refuses(of_entry, of_entry, name)) << warpaes_last_error();
        warpaes_batch_destroy(batch);
    };
    for (const std::uint64_t unit : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{15}, std::uint64_t{16},
                                     std::uint64_t{17}, std::uint64_t{64}, power(24) + 1, power(32), UINT64_MAX}) {
        expect(unit == 0 || (unit >= 16 && unit <= power(24)), "data_unit_len: ", unit, 1);
    }
    for (const std::uint64_t step :
         {std::uint64_t{0}, std::uint64_t{1}, power(20) - 1, power(20), power(20) + 1, power(32) - 1}) {
        expect(step <= power(20), "data_unit_step: ", 16, step);
    }
}

}  // namespace
}  // namespace abi_tests
