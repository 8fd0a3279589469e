// Compares KW and KWP with RFC 3394, RFC 5649 and libcrypto.
#include "composed.hpp"

namespace abi_tests {
namespace {

class KeyWrap : public ComposedTest {
protected:
    ComposedCase make_case(bool padding, std::size_t key_bytes, std::size_t bytes, bool own_icv = false) {
        ComposedCase c{.mode = padding ? WARPAES_KWP : WARPAES_KW, .key = random_.bytes(key_bytes)};
        if (own_icv) c.iv = random_.bytes(padding ? 4 : 8);
        c.text = random_.bytes(bytes);
        c.sealed = oracle::evp_wrap(padding, c.key, own_icv ? *c.iv : Bytes{}, c.text);
        return c;
    }
};

TEST_P(KeyWrap, Vectors) {
    const auto counted = [](std::size_t n) {
        Bytes bytes(n);
        for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::uint8_t>(i);
        return bytes;
    };
    const std::string text = "00112233445566778899aabbccddeeff000102030405060708090a0b0c0d0e0f";
    const struct {
        std::size_t key, text;
        const char* sealed;
    } rfc3394[] = {// 4.1 to 4.6
                   {16, 16, "1fa68b0a8112b447aef34bd8fb5a7b829d3e862371d2cfe5"},
                   {24, 16, "96778b25ae6ca435f92b5b97c050aed2468ab8a17ad84e5d"},
                   {32, 16, "64e8c3f9ce0f5ba263e9777905818a2a93c8191e7d6e8ae7"},
                   {24, 24, "031d33264e15d33268f24ec260743edce1c6c7ddee725a936ba814915c6762d2"},
                   {32, 24, "a8f9bc1612c68b3ff6e6f4fbe30e71e4769c8b80a32cb8958cd5d17d6b254da1"},
                   {32, 32, "28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21"}};
    for (const auto& v : rfc3394) {
        check({.mode = WARPAES_KW,
               .key = counted(v.key),
               .text = from_hex(text.substr(0, 2 * v.text)),
               .sealed = from_hex(v.sealed)});
    }
    const Bytes key = from_hex("5840df6e29b02af1ab493b705bf16ea1ae8338f4dcc176a8");  // RFC 5649, 6
    check({.mode = WARPAES_KWP,
           .key = key,
           .text = from_hex("c37b7e6492584340bed12207808941155068f738"),
           .sealed = from_hex("138bdeaa9b8fa7fc61f97742e72248ee5ae6ae5360d1ae6a5f54f373fa543b6a")});
    check({.mode = WARPAES_KWP,
           .key = key,
           .text = from_hex("466f7250617369"),
           .sealed = from_hex("afbeb0f07dfbf5419200f2ccb50bb24f")});
}

TEST_P(KeyWrap, EveryLengthAndCheckValue) {
    for (const std::size_t key : {16U, 24U, 32U}) {
        for (std::size_t n = 1; n <= 300; ++n) check(make_case(true, key, n, n % 3 == 0));
        for (std::size_t n = 16; n <= 304; n += 8) check(make_case(false, key, n, n % 3 == 0));
    }
    check(make_case(true, 16, 100001));
    check(make_case(false, 32, 100000));
}

TEST_P(KeyWrap, WhatWasAlteredIsRefusedAndWiped) {
    for (const bool padding : {false, true}) {
        for (const std::size_t n : {8U, 16U, 40U}) {
            if (!padding && n == 8) continue;
            const ComposedCase right = make_case(padding, 16, n);
            for (std::size_t at = 0; at < right.sealed.size(); ++at) {
                ComposedCase c = right;
                c.sealed[at] ^= static_cast<std::uint8_t>(1U << (at % 8));
                check_forged(c);
            }
            ComposedCase other_value = right;
            other_value.iv = Bytes(padding ? 4 : 8, 0xa6);
            if (!padding) (*other_value.iv)[7] = 0xa7;
            check_forged(other_value);
        }
    }
}

/// Tests invalid messages with a correct check value, which only a holder of the key can create.
TEST_P(KeyWrap, LengthAndPaddingOfKwpAreLookedAt) {
    // KW accepts any check value, called A. With KWP's check value for `length`, KW creates a KWP message with any
    // length and padding.
    const auto wrapped = [&](std::uint32_t length, Bytes padded) {
        ComposedCase c{.mode = WARPAES_KWP, .key = Bytes(16, 9)};
        Bytes a = from_hex("a65959a6");
        for (int shift = 24; shift >= 0; shift -= 8) a.push_back(static_cast<std::uint8_t>(length >> shift));
        c.sealed = oracle::evp_wrap(false, c.key, a, padded);
        c.text.assign(padded.begin(), padded.begin() + std::min<std::ptrdiff_t>(length, std::ssize(padded)));
        return c;
    };
    const Bytes zeros(24, 0);
    for (const std::uint32_t length : {17U, 20U, 23U, 24U}) {
        ComposedCase c = wrapped(length, zeros);
        Bytes output(24, 1);
        Message m(c, WARPAES_DECRYPT, c.sealed.data(), c.sealed.size(), output.data(), 24, nullptr);
        EXPECT_EQ(crypt(engine_, m.call), WARPAES_OK) << warpaes_last_error();
        EXPECT_EQ(m.call.result.output_len, length);
    }
    for (const std::uint32_t length : {0U, 1U, 8U, 15U, 16U, 25U, 32U, 0x7fffffffU, 0x80000014U, 0xffffffffU}) {
        check_forged(wrapped(length, zeros));
    }
    for (std::uint32_t length = 17; length <= 23; ++length) {
        for (std::size_t at = length; at < 24; ++at) {
            Bytes padded = zeros;
            padded[at] = at % 2 != 0 ? 1 : 0x80;
            check_forged(wrapped(length, padded));
        }
    }
}

TEST_P(KeyWrap, WhatCannotBeIsRefusedWithASentence) {
    for (const bool padding : {false, true}) {
        const ComposedCase c = make_case(padding, 16, 32);
        const auto say = [&](warpaes_status status, const std::string& about, const auto& change,
                             warpaes_direction direction = WARPAES_ENCRYPT) {
            refused(c, status, about + ": ", change, direction);
        };
        const Bytes other(64, 3);
        const Key key = make_key(Bytes(16, 3));
        for (const std::uint64_t n : {0ULL, 8ULL, 17ULL, 24ULL + 1, 1ULL << 61}) {
            if (padding && n != 0 && n != 1ULL << 61) continue;
            say(WARPAES_ERROR_DATA_LENGTH, "input_len", [&](auto& m) { m.input_len = n; });
        }
        for (const std::uint64_t n : {0ULL, 8ULL, 15ULL, 25ULL, 1ULL << 61}) {
            say(
                WARPAES_ERROR_DATA_LENGTH, "input_len", [&](auto& m) { m.input_len = n; }, WARPAES_DECRYPT);
        }
        for (const std::uint64_t n : {3ULL, 5ULL, 7ULL, 9ULL, 12ULL, 16ULL, padding ? 8ULL : 4ULL}) {
            say(WARPAES_ERROR_IV_LENGTH, "iv", [&](auto& m) {
                m.iv = other.data();
                m.iv_len = n;
            });
        }
        say(WARPAES_ERROR_ARGUMENT, "iv", [&](auto& m) { m.iv_len = 8; });
        say(WARPAES_ERROR_ARGUMENT, "key", [](auto& m) { m.key = nullptr; });
        say(WARPAES_ERROR_ARGUMENT, "mac_key, aad_list, aad_count", [&](auto& m) { m.mac_key = key.get(); });
        say(WARPAES_ERROR_ARGUMENT, "tweak_key, data_unit_len, data_unit_step",
            [&](auto& m) { m.tweak_key = key.get(); });
        say(WARPAES_ERROR_ARGUMENT, "aad, tag", [&](auto& m) { m.tag_len = 16; });
        say(WARPAES_ERROR_ARGUMENT, "aad, tag", [&](auto& m) { m.aad = other.data(); });
        say(WARPAES_ERROR_ARGUMENT, "mac_key, aad_list, aad_count", [&](auto& m) { m.aad_count = 1; });
        say(WARPAES_ERROR_ARGUMENT, "direction", [](auto& m) { m.direction = {}; });
        say(WARPAES_ERROR_ARGUMENT, "input", [](auto& m) { m.input = nullptr; });
        say(WARPAES_ERROR_ARGUMENT, "output", [](auto& m) { m.output = nullptr; });
        for (const std::uint32_t flag : {1U, 2U, 4U, 8U}) {
            say(WARPAES_ERROR_ARGUMENT, "flags", [&](auto& m) { m.flags = flag; });
        }
        say(WARPAES_ERROR_BUFFER_TOO_SMALL, "output_capacity", [](auto& m) { m.output_capacity = 39; });
        say(
            WARPAES_ERROR_BUFFER_TOO_SMALL, "output_capacity", [](auto& m) { m.output_capacity = 31; },
            WARPAES_DECRYPT);
        say(WARPAES_ERROR_OVERLAP, "output", [](auto& m) { m.input = static_cast<std::uint8_t*>(m.output) + 8; });
        say(WARPAES_ERROR_OVERLAP, "output", [](auto& m) { m.input = static_cast<std::uint8_t*>(m.output) + 39; });
        say(WARPAES_ERROR_RANGE, "input",
            [](auto& m) { m.input = reinterpret_cast<const void*>(~std::uintptr_t{0} - 7); });
        Bytes output(64);
        Message small(c, WARPAES_ENCRYPT, c.text.data(), 32, output.data(), 10, nullptr);
        EXPECT_EQ(crypt(engine_, small.call), WARPAES_ERROR_BUFFER_TOO_SMALL);
        EXPECT_EQ(small.call.result.output_len, 40U);
    }
}

WARPAES_FOR_EVERY_CPU_BACKEND(KeyWrap);

/// Calls that do not support these modes refuse them and name the mode.
TEST(ComposedModes, AreForWarpaesCryptAndCpus) {
    const Engine engine = make_engine("libcrypto");
    const Key key = make_key(Bytes(16, 1));
    const auto expect = [](warpaes_status status, const std::string& name) {
        EXPECT_EQ(status, WARPAES_ERROR_ARGUMENT) << name;
        EXPECT_EQ(warpaes_last_error(),
                  "mode: " + name + " is only for warpaes_crypt, which requires the complete message");
    };
    for (const auto& [mode, name] : {std::pair{WARPAES_KW, "KW"}, {WARPAES_KWP, "KWP"}, {WARPAES_SIV, "SIV"}}) {
        Bytes text(64);
        Call m = make_message(mode, WARPAES_ENCRYPT, key, {}, text.data(), 16, text.data(), 64);
        expect(crypt_async(engine, m), name);
        const Context context = make_context(engine);
        expect(context_init(context.get(), mode, WARPAES_ENCRYPT, key.get(), nullptr, 0), name);
        warpaes_work work = WARPAES_WORK_INIT;
        work.mode = mode;
        warpaes_plan plan = WARPAES_PLAN_INIT;
        expect(warpaes_engine_plan(engine.get(), &work, &plan), name);
        warpaes_batch_entry e{};
        e.mode = mode;
        e.direction = WARPAES_ENCRYPT;
        e.count = 1;
        e.key = key.get();
        warpaes_batch* batch = nullptr;
        ASSERT_EQ(warpaes_batch_submit(engine.get(), nullptr, &e, 1, &batch), WARPAES_OK);
        EXPECT_EQ(warpaes_batch_wait(batch, WARPAES_UNKNOWN), WARPAES_ERROR_ARGUMENT);
        EXPECT_EQ(std::string(warpaes_batch_entry_error(batch, 0)).rfind(std::string("mode: ") + name, 0), 0U);
        warpaes_batch_destroy(batch);
        warpaes_file_job job = WARPAES_FILE_JOB_INIT;
        job.mode = mode;
        job.direction = WARPAES_ENCRYPT;
        job.input_path = "a";
        job.output_path = "b";
        job.key = key.get();
        warpaes_file_result result = WARPAES_FILE_RESULT_INIT;
        expect(warpaes_file_run(engine.get(), &job, &result), name);
    }
    const auto& backends = usable_backends();
    if (std::find(backends.begin(), backends.end(), "cuda") == backends.end()) return;
    const Engine gpu = make_engine("cuda");
    Bytes text(64);
    Call m = make_message(WARPAES_KW, WARPAES_ENCRYPT, key, {}, text.data(), 16, text.data(), 64);
    m.iv = nullptr;
    EXPECT_EQ(crypt(gpu, m), WARPAES_ERROR_BACKEND);
    EXPECT_EQ(std::string(warpaes_last_error()).rfind("backend: ", 0), 0U) << warpaes_last_error();
}

}  // namespace
}  // namespace abi_tests
