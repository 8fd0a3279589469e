// Tests exact error messages from contexts, keysets, streams and generators.
#include <gtest/gtest.h>
#include <warpaes/drbg.h>
#include <warpaes/files.h>

#include <functional>
#include <string>

#include "sentences.hpp"

namespace abi_tests {
namespace {

class StateSentences : public Sentences {};

TEST_F(StateSentences, OfContexts) {
    constexpr auto argument = WARPAES_ERROR_ARGUMENT, state = WARPAES_ERROR_STATE;
    const Context made = make_context(engine_);
    warpaes_context* const c = made.get();
    std::size_t written = 0;
    std::uint8_t* const m = memory_;
    const std::string idle = "context: is not initialised; call init first";
    expect(idle, state, warpaes_context_set_key(c, key_.get(), nullptr));
    expect(idle, state, warpaes_context_set_iv(c, m, 16));
    expect(idle, state, warpaes_context_get_iv(c, m));
    expect(idle, state, warpaes_context_update(c, m, 16, m + 64, 16, &written));
    expect(idle, state, warpaes_context_final(c, m, 16, &written));
    expect(idle, state, warpaes_context_seek(c, 0));
    expect(idle, state, warpaes_context_aad(c, m, 1));
    expect(idle, state, warpaes_context_get_tag(c, m, 16));
    expect(idle, state, warpaes_context_set_tag(c, m, 16));
    const auto init = [&](const std::function<void(warpaes_context_options&)>& change) {
        warpaes_context_options o = WARPAES_CONTEXT_OPTIONS_INIT;
        o.mode = WARPAES_CTR;
        o.direction = WARPAES_ENCRYPT;
        change(o);
        return warpaes_context_init(c, &o);
    };
    using O = warpaes_context_options;
    expect("flags: a context accepts only WARPAES_PKCS7", argument, init([](O& o) { o.flags = WARPAES_RANGE; }));
    expect("flags: WARPAES_PKCS7 applies only to ECB and CBC", argument, init([](O& o) { o.flags = WARPAES_PKCS7; }));
    expect("tweak_key, data_unit_len, data_unit_step: apply only to XTS", argument,
           init([](O& o) { o.data_unit_len = 16; }));
    expect("tweak_key, data_unit_len, data_unit_step: apply only to XTS", argument,
           init([](O& o) { o.data_unit_step = 2; }));
    expect("tweak_key, data_unit_len, data_unit_step: apply only to XTS", argument,
           init([](O& o) { o.data_unit_step = 1; }));
    expect("text_len, aad_len, tag_len: apply only to CCM", argument, init([](O& o) { o.text_len = 16; }));
    expect("text_len, aad_len, tag_len: apply only to CCM", argument, init([](O& o) { o.aad_len = 16; }));
    expect("text_len, aad_len, tag_len: apply only to CCM", argument, init([](O& o) { o.tag_len = 16; }));
    expect("tweak_key, data_unit_len, data_unit_step: apply only to XTS", argument, init([this](O& o) {
               o.key = key_.get();
               o.tweak_key = other_.get();
           }));
    expect("mode: KW is only for warpaes_crypt, which requires the complete message", argument,
           init([](O& o) { o.mode = WARPAES_KW; }));
    expect(idle, state, warpaes_context_seek(c, 0));
    ASSERT_EQ(init([](O&) {}), WARPAES_OK);
    expect("context: has no key; call set_key first", state, warpaes_context_set_iv(c, m, 16));
    ASSERT_EQ(warpaes_context_set_key(c, key_.get(), nullptr), WARPAES_OK);
    expect("context: has no message; call set_iv first", state, warpaes_context_update(c, m, 16, m + 64, 16, &written));
    ASSERT_EQ(warpaes_context_set_iv(c, m, 16), WARPAES_OK);
    expect("output_capacity: this call writes 16 bytes, but the buffer has 15", WARPAES_ERROR_BUFFER_TOO_SMALL,
           warpaes_context_update(c, m, 16, m + 64, 15, &written));
    EXPECT_EQ(written, 16U);
    ASSERT_EQ(warpaes_context_update(c, m, 5, m + 64, 5, &written), WARPAES_OK);
    expect("context: is 5 bytes into a block, so there is no current IV", state, warpaes_context_get_iv(c, m));
    ASSERT_EQ(warpaes_context_final(c, m, 16, &written), WARPAES_OK);
    expect("context: the message has ended; call set_iv or init", state,
           warpaes_context_update(c, m, 16, m + 64, 16, &written));
    ASSERT_EQ(init([&](O& o) {
                  o.mode = WARPAES_CBC;
                  o.key = key_.get();
                  o.iv = m;
                  o.iv_len = 16;
              }),
              WARPAES_OK);
    expect("context: only CTR can seek", WARPAES_ERROR_RANGE, warpaes_context_seek(c, 0));
    const std::string no_tag = "context: has no tag; only GCM, CCM and CMAC have one";
    expect(no_tag, state, warpaes_context_aad(c, m, 1));
    expect(no_tag, state, warpaes_context_get_tag(c, m, 16));
    expect(no_tag, state, warpaes_context_set_tag(c, m, 16));
}

TEST_F(StateSentences, OfTagsOfContexts) {
    constexpr auto state = WARPAES_ERROR_STATE;
    const Context made = make_context(engine_);
    warpaes_context* const c = made.get();
    std::size_t written = 0;
    for (const warpaes_mode mode : {WARPAES_GCM, WARPAES_CCM, WARPAES_CMAC}) {
        const auto init = [&](warpaes_direction direction) {
            warpaes_context_options o = WARPAES_CONTEXT_OPTIONS_INIT;
            o.mode = mode;
            o.direction = direction;
            o.key = key_.get();
            o.iv = memory_;
            o.iv_len = mode == WARPAES_CMAC ? 0 : 12;
            if (mode == WARPAES_CCM) o.tag_len = 8;
            return warpaes_context_init(c, &o);
        };
        const std::size_t length = mode == WARPAES_CCM ? 8 : 16;
        ASSERT_EQ(init(WARPAES_ENCRYPT), WARPAES_OK) << warpaes_last_error();
        expect("context: the tag is available after final", state, warpaes_context_get_tag(c, memory_, length));
        expect("context: encryption computes the tag; get_tag returns it after final", state,
               warpaes_context_set_tag(c, memory_, length));
        if (mode == WARPAES_CMAC) {
            expect("context: CMAC has no associated data", state, warpaes_context_aad(c, memory_, 1));
        }
        if (mode == WARPAES_CCM) {
            expect("length: tag_len is 8 bytes, got 16", WARPAES_ERROR_ARGUMENT,
                   warpaes_context_get_tag(c, memory_, 16));
        }
        ASSERT_EQ(warpaes_context_final(c, memory_, 16, &written), WARPAES_OK);
        ASSERT_EQ(warpaes_context_get_tag(c, memory_ + 64, length), WARPAES_OK);
        ASSERT_EQ(init(WARPAES_DECRYPT), WARPAES_OK);
        expect("context: decryption returns no tag; set_tag sets the expected one", state,
               warpaes_context_get_tag(c, memory_, length));
        expect("context: set_tag must come before final", state, warpaes_context_final(c, memory_, 16, &written));
        EXPECT_EQ(warpaes_context_set_tag(c, memory_ + 64, length), WARPAES_OK);
        EXPECT_EQ(warpaes_context_final(c, memory_, 16, &written), WARPAES_OK) << warpaes_last_error();
        expect("context: the message has ended; call set_iv or init", state,
               warpaes_context_set_tag(c, memory_ + 64, length));
    }
}

TEST_F(StateSentences, OfStreams) {
    constexpr auto argument = WARPAES_ERROR_ARGUMENT;
    warpaes_keyset* keyset = nullptr;
    ASSERT_EQ(warpaes_keyset_create(&keyset), WARPAES_OK);
    ASSERT_EQ(warpaes_keyset_add(keyset, "AES128_GCM_HKDF_4KB", nullptr), WARPAES_OK);
    warpaes_reader* reader = nullptr;
    warpaes_writer* writer = nullptr;
    const auto open = [&](const std::function<void(warpaes_source&)>& change) {
        warpaes_source source = WARPAES_SOURCE_INIT;
        change(source);
        return warpaes_reader_open(engine_.get(), &source, keyset, nullptr, 0, &reader);
    };
    const auto write = [&](const std::function<void(warpaes_sink&)>& change) {
        warpaes_sink sink = WARPAES_SINK_INIT;
        change(sink);
        return warpaes_writer_open(engine_.get(), &sink, keyset, nullptr, 0, &writer);
    };
    using Source = warpaes_source;
    using Sink = warpaes_sink;
    const auto fails = [](void*, std::uint64_t, void*, std::uint64_t) { return 7; };
    expect("source: has no path, memory or function", argument, open([](Source&) {}));
    expect("source: has more than one of path, memory or function", argument, open([this](Source& s) {
               s.path = "/dev/null";
               s.memory = memory_;
           }));
    expect("source: the path is empty", argument, open([](Source& s) { s.path = ""; }));
    expect("input: is truncated: the header has 24 bytes, but the file has 0", WARPAES_ERROR_FORMAT,
           open([](Source& s) { s.path = "/dev/null"; }));
    expect("source: its function returned 7 for the next 4097 bytes", WARPAES_ERROR_READ,
           open([](Source& s) { s.next = [](void*, void*, std::uint64_t, std::uint64_t*) { return 7; }; }));
    expect("source: its function returned 7 for 24 bytes at 0", WARPAES_ERROR_READ, open([&](Source& s) {
               s.read = fails;
               s.size = 40;
           }));
    expect("sink: has no path or function", argument, write([](Sink&) {}));
    expect("sink: has more than one of path or function", argument, write([](Sink& s) {
               s.path = "/dev/null";
               s.write = [](void*, const void*, std::uint64_t) { return 0; };
           }));
    expect("sink: the path is empty", argument, write([](Sink& s) { s.path = ""; }));
    expect("flags: has bits that this version does not support", argument, write([](Sink& s) {
               s.path = "/nowhere/to";
               s.flags = WARPAES_FILE_VERIFY;
           }));
    expect("sink: its function returned 9 for 24 bytes", WARPAES_ERROR_WRITE,
           write([](Sink& s) { s.write = [](void*, const void*, std::uint64_t) { return 9; }; }));
    EXPECT_EQ(writer, nullptr);
    EXPECT_EQ(reader, nullptr);
    warpaes_keyset_destroy(keyset);
}

TEST_F(StateSentences, OfKeysets) {
    constexpr auto argument = WARPAES_ERROR_ARGUMENT;
    warpaes_keyset* keyset = nullptr;
    ASSERT_EQ(warpaes_keyset_create(&keyset), WARPAES_OK);
    std::uint32_t id = 0;
    ASSERT_EQ(warpaes_keyset_add(keyset, "AES128_GCM_HKDF_4KB", &id), WARPAES_OK);
    warpaes_key_info info = WARPAES_KEY_INFO_INIT;
    expect("index: 1 is beyond the last key", argument, warpaes_keyset_query(keyset, 1, &info));
    for (const int state : {0, 4}) {
        expect("state: there is no state " + std::to_string(state), argument,
               warpaes_keyset_set_state(keyset, id, no_such<warpaes_key_state>(state)));
    }
    char json[2048];
    std::size_t length = 0;
    ASSERT_EQ(warpaes_keyset_write(keyset, json, sizeof json, &length), WARPAES_OK);
    expect("json: needs " + std::to_string(length) + " bytes, but the buffer has 5", WARPAES_ERROR_BUFFER_TOO_SMALL,
           warpaes_keyset_write(keyset, json, 5, &length));
    warpaes_keyset_destroy(keyset);
}

TEST_F(StateSentences, OfRandomNumbers) {
    warpaes_drbg* drbg = nullptr;
    warpaes_drbg_options options = WARPAES_DRBG_OPTIONS_INIT;
    char error[WARPAES_ERROR_BYTES] = "";
    options.error = error;
    options.reserved = 1;
    expect("reserved: must be 0", WARPAES_ERROR_ARGUMENT, warpaes_drbg_create(engine_.get(), &options, &drbg));
    EXPECT_STREQ(error, "reserved: must be 0");
    options.reserved = 0;
    options.flags = 2;
    expect("flags: has bits that this version does not support", WARPAES_ERROR_ARGUMENT,
           warpaes_drbg_create(engine_.get(), &options, &drbg));
}

TEST_F(StateSentences, OfLengthsOfRandomNumbers) {
    constexpr auto data = WARPAES_ERROR_DATA_LENGTH;
    const Bytes bytes(100000, 5);
    for (const bool derives : {true, false}) {
        for (const std::size_t key : {16U, 24U, 32U}) {
            SCOPED_TRACE(std::to_string(key) + (derives ? ", derives" : ""));
            const auto create = [&](std::size_t entropy, std::size_t nonce, std::size_t personalization) {
                warpaes_drbg_options o = WARPAES_DRBG_OPTIONS_INIT;
                o.key_bits = static_cast<std::uint32_t>(8 * key);
                o.flags = derives ? 0 : WARPAES_DRBG_WITHOUT_DF;
                o.entropy = bytes.data();
                o.entropy_len = entropy;
                if (nonce != 0) o.nonce = bytes.data();
                o.nonce_len = nonce;
                o.personalization = bytes.data();
                o.personalization_len = personalization;
                warpaes_drbg* drbg = nullptr;
                const warpaes_status status = warpaes_drbg_create(engine_.get(), &o, &drbg);
                warpaes_drbg_destroy(drbg);
                return status;
            };
            const std::size_t seed = key + 16, least = derives ? key : seed, nonce = derives ? key / 2 : 0;
            EXPECT_EQ(create(least, nonce, 0), WARPAES_OK) << warpaes_last_error();
            expect("entropy: " + std::string(derives ? "at least " : "must be ") + std::to_string(least) +
                       " bytes, got " + std::to_string(least - 1),
                   data, create(least - 1, nonce, 0));
            if (derives) {
                expect("nonce: at least " + std::to_string(nonce) + " bytes, got " + std::to_string(nonce - 1), data,
                       create(least, nonce - 1, 0));
                EXPECT_EQ(create(65536, 65536, 65536), WARPAES_OK) << warpaes_last_error();
                continue;
            }
            expect("nonce: requires the derivation function", WARPAES_ERROR_ARGUMENT, create(least, 1, 0));
            EXPECT_EQ(create(least, 0, seed), WARPAES_OK) << warpaes_last_error();
            const std::string most = ": at most " + std::to_string(seed) + " bytes, got " + std::to_string(seed + 1);
            expect("entropy" + most, data, create(seed + 1, 0, 0));
            expect("personalization" + most, data, create(least, 0, seed + 1));
        }
    }
    for (const std::uint32_t bits : {1U, 127U, 129U, 191U, 193U, 255U, 257U}) {
        warpaes_drbg_options o = WARPAES_DRBG_OPTIONS_INIT;
        o.key_bits = bits;
        warpaes_drbg* drbg = nullptr;
        expect("key_bits: must be 128, 192 or 256, got " + std::to_string(bits), WARPAES_ERROR_KEY_LENGTH,
               warpaes_drbg_create(engine_.get(), &o, &drbg));
    }
    constexpr std::uint64_t long_input = std::uint64_t{1} << 32;  // the call fails before it reads the input
    const std::string longest = ": at most 4294967295 bytes, got 4294967296";
    const std::pair<const char*, std::uint64_t warpaes_drbg_options::*> inputs[] = {
        {"entropy", &warpaes_drbg_options::entropy_len},
        {"nonce", &warpaes_drbg_options::nonce_len},
        {"personalization", &warpaes_drbg_options::personalization_len}};
    for (const auto& [name, length] : inputs) {
        warpaes_drbg_options o = WARPAES_DRBG_OPTIONS_INIT;
        o.entropy = o.nonce = o.personalization = bytes.data();
        o.entropy_len = o.nonce_len = 64;
        o.*length = long_input;
        warpaes_drbg* made = nullptr;
        expect(name + longest, data, warpaes_drbg_create(engine_.get(), &o, &made));
    }
    warpaes_drbg* drbg = nullptr;
    ASSERT_EQ(warpaes_drbg_create(engine_.get(), nullptr, &drbg), WARPAES_OK);
    expect("additional" + longest, data, warpaes_drbg_reseed(drbg, nullptr, 0, bytes.data(), long_input));
    expect("additional" + longest, data, warpaes_drbg_generate(drbg, memory_, 1, bytes.data(), long_input, 0));
    expect("entropy" + longest, data, warpaes_drbg_reseed(drbg, bytes.data(), long_input, nullptr, 0));
    Bytes output(WARPAES_DRBG_MOST_BYTES + 1);
    EXPECT_EQ(warpaes_drbg_generate(drbg, output.data(), WARPAES_DRBG_MOST_BYTES, nullptr, 0, 0), WARPAES_OK);
    expect("output_len: at most 65536 bytes for each request, got 65537", data,
           warpaes_drbg_generate(drbg, output.data(), output.size(), nullptr, 0, 0));
    warpaes_drbg_destroy(drbg);
}

TEST_F(StateSentences, OfDataUnitsOfContexts) {
    constexpr auto data = WARPAES_ERROR_DATA_LENGTH;
    const Context made = make_context(engine_);
    std::size_t written = 0;
    const auto init = [&](std::uint64_t unit) {
        warpaes_context_options o = WARPAES_CONTEXT_OPTIONS_INIT;
        o.mode = WARPAES_XTS;
        o.direction = WARPAES_ENCRYPT;
        o.key = key_.get();
        o.tweak_key = other_.get();
        o.iv = memory_;
        o.iv_len = 16;
        o.data_unit_len = unit;
        return warpaes_context_init(made.get(), &o);
    };
    const auto update = [&](std::size_t length) {
        return warpaes_context_update(made.get(), memory_ + 64, length, memory_ + 256, 256, &written);
    };
    const auto final = [&] { return warpaes_context_final(made.get(), memory_ + 256, 256, &written); };
    ASSERT_EQ(init(0), WARPAES_OK);
    expect("input_len: a data unit must have 16 to 2^24 bytes, but there was no input", data, final());
    ASSERT_EQ(init(0), WARPAES_OK);
    expect("input_len: a data unit must have 16 to 2^24 bytes, got 15", data, update(15));
    ASSERT_EQ(update(16), WARPAES_OK);
    expect("context: without data_unit_len, the message is one data unit and must be passed in one update",
           WARPAES_ERROR_STATE, update(16));
    ASSERT_EQ(init(32), WARPAES_OK);
    ASSERT_EQ(update(32 + 15), WARPAES_OK);
    expect("input: leaves 15 bytes for the last data unit, which must have at least 16", data, final());
}

}  // namespace
}  // namespace abi_tests
