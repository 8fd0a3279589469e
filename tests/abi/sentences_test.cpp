// What is refused, word for word: which argument it is, what it was, what it may be.
#include <gtest/gtest.h>
#include <warpaes/drbg.h>
#include <warpaes/files.h>
#include <warpaes/planning.h>

#include <functional>
#include <string>

#include "support.hpp"

namespace abi_tests {
namespace {

template <typename Enum>
Enum no_such(int value) {
    return static_cast<Enum>(value);
}

class Sentences : public testing::Test {
protected:
    static void expect(const std::string& sentence, warpaes_status wanted, warpaes_status status) {
        EXPECT_EQ(status, wanted) << sentence;
        EXPECT_EQ(std::string(warpaes_last_error()), sentence);
    }

    void message(const std::string& sentence, warpaes_status wanted, warpaes_mode mode,
                 const std::function<void(warpaes_message&)>& change) {
        const bool tagged = mode == WARPAES_GCM || mode == WARPAES_CCM || mode == WARPAES_CMAC || mode >= WARPAES_SIV;
        const bool wraps = mode == WARPAES_KW || mode == WARPAES_KWP;
        Call m;
        m.mode = mode;
        m.direction = WARPAES_ENCRYPT;
        m.key = key_.get();
        m.iv = memory_;
        m.iv_len = mode == WARPAES_ECB || mode == WARPAES_CMAC || wraps ? 0 : tagged ? 12 : 16;
        m.input = memory_ + 64;
        m.input_len = 64;
        m.output = memory_ + 256;
        m.output_capacity = 128;
        if (tagged) {
            m.tag = memory_ + 512;
            m.tag_len = 16;
        }
        if (mode == WARPAES_XTS) m.tweak_key = other_.get();
        if (mode == WARPAES_SIV) m.mac_key = other_.get();
        Call good = m;
        EXPECT_EQ(crypt(engine_, good), WARPAES_OK) << warpaes_last_error();
        change(m);
        expect(sentence, wanted, crypt(engine_, m));
        EXPECT_STREQ(m.result.error, sentence.c_str());
    }

    Engine engine_ = make_engine("libcrypto");
    Key key_ = make_key(Bytes(16, 1)), other_ = make_key(Bytes(16, 2)), long_ = make_key(Bytes(32, 3)),
        middle_ = make_key(Bytes(24, 4));
    std::uint8_t memory_[1024] = {};
};

using M = warpaes_message;

TEST_F(Sentences, OfMessages) {
    constexpr auto argument = WARPAES_ERROR_ARGUMENT, range = WARPAES_ERROR_RANGE, data = WARPAES_ERROR_DATA_LENGTH,
                   keys = WARPAES_ERROR_KEY_LENGTH, overlap = WARPAES_ERROR_OVERLAP;
    message("mode: there is no mode 16", argument, WARPAES_CTR, [](M& m) { m.mode = no_such<warpaes_mode>(16); });
    message("direction: must be WARPAES_ENCRYPT or WARPAES_DECRYPT, got 3", argument, WARPAES_CTR,
            [](M& m) { m.direction = no_such<warpaes_direction>(3); });
    message("flags: has bits that this version does not know", argument, WARPAES_CTR, [](M& m) { m.flags = 8; });
    message("aad, tag: are for GCM, CCM and CMAC", argument, WARPAES_CTR, [](M& m) { m.tag_len = 1; });
    message("mac_key, aad_list, aad_count: are for SIV", argument, WARPAES_GCM, [](M& m) { m.aad_count = 1; });
    message("mac_key, aad_list, aad_count: are for SIV", argument, WARPAES_CTR, [](M& m) { m.mac_key = m.key; });
    message("tweak_key, data_unit_len, data_unit_step: are for XTS", argument, WARPAES_CBC,
            [](M& m) { m.data_unit_step = 1; });
    message("flags: WARPAES_PKCS7 is for ECB and CBC", argument, WARPAES_CTR, [](M& m) { m.flags = WARPAES_PKCS7; });
    message(
        "flags: WARPAES_LENGTH_IN_BITS is for CFB1; XTS and CTR of a number of bits are not there: of CTR take whole "
        "bytes, and leave the last bits of the result aside",
        argument, WARPAES_CTR, [](M& m) { m.flags = WARPAES_LENGTH_IN_BITS; });
    message("range: a message with a tag is authenticated as a whole", range, WARPAES_GCM,
            [](M& m) { m.flags = WARPAES_RANGE; });
    message("flags: WARPAES_RANGE goes with neither PKCS7 nor LENGTH_IN_BITS", argument, WARPAES_ECB,
            [](M& m) { m.flags = WARPAES_RANGE | WARPAES_PKCS7; });
    message("range: this mode and direction can only start at the beginning of a message", range, WARPAES_OFB,
            [](M& m) { m.flags = WARPAES_RANGE; });
    message("range: bytes 3 + 62 are outside the message of 64 bytes", range, WARPAES_CTR, [](M& m) {
        m.flags = WARPAES_RANGE;
        m.range_offset = 3;
        m.range_len = 62;
    });
    message("output: a range is never in place; use a separate buffer", overlap, WARPAES_CTR, [](M& m) {
        m.flags = WARPAES_RANGE;
        m.range_len = 1;
        m.output = const_cast<void*>(m.input);
    });
    message("output: overlaps input without being the same buffer; use equal or separate buffers", overlap, WARPAES_CTR,
            [this](M& m) { m.output = memory_ + 65; });
    message(
        "input_len: must be a multiple of 16 for ECB and CBC, got 63 (WARPAES_PKCS7 pads a message when encrypting; "
        "CBC with ciphertext stealing is not there)",
        data, WARPAES_CBC, [](M& m) { m.input_len = 63; });
    message("input_len: a padded message has at least one block, got 0 bytes", data, WARPAES_CBC, [](M& m) {
        m.direction = WARPAES_DECRYPT;
        m.flags = WARPAES_PKCS7;
        m.input_len = 0;
    });
    message("input: the padding is wrong: wrong key, wrong IV or damaged data", WARPAES_ERROR_PADDING, WARPAES_CBC,
            [](M& m) {
                m.direction = WARPAES_DECRYPT;
                m.flags = WARPAES_PKCS7;
            });
    message("output_capacity: the output takes 64 bytes, there is room for 63", WARPAES_ERROR_BUFFER_TOO_SMALL,
            WARPAES_CTR, [](M& m) { m.output_capacity = 63; });
    message("iv: must be 16 bytes for this mode, got 15", WARPAES_ERROR_IV_LENGTH, WARPAES_CTR,
            [](M& m) { m.iv_len = 15; });
    message("tag_len: must be 4, 6, 8, 10, 12, 14 or 16 bytes for CCM, got 5", argument, WARPAES_CCM,
            [](M& m) { m.tag_len = 5; });
    message("aad_len: CMAC has no associated data", argument, WARPAES_CMAC, [](M& m) { m.aad_len = 5; });
    message("aad_len: at most 2^61 - 1 bytes, got 2305843009213693952", data, WARPAES_GCM, [this](M& m) {
        m.aad = memory_;
        m.aad_len = std::uint64_t{1} << 61;
    });
    message("input_len: at most 2^36 - 32 bytes for GCM, got 68719476705", data, WARPAES_GCM,
            [](M& m) { m.input_len = (std::uint64_t{1} << 36) - 31; });
    message("input_len: at most 16777215 bytes for CCM with an IV of 12, got 16777216", data, WARPAES_CCM,
            [](M& m) { m.input_len = 1 << 24; });
    message("input: reaches beyond the end of memory", range, WARPAES_CTR,
            [](M& m) { m.input = reinterpret_cast<const void*>(UINTPTR_MAX - 10); });
    message("tweak_key: is null; XTS takes two keys", argument, WARPAES_XTS, [](M& m) { m.tweak_key = nullptr; });
    message("key, tweak_key: are the same key, which leaves XTS without its security", argument, WARPAES_XTS,
            [](M& m) { m.tweak_key = m.key; });
    message("tweak_key: has 32 bytes, but key has 16", keys, WARPAES_XTS, [this](M& m) { m.tweak_key = long_.get(); });
    for (const bool tweak : {false, true}) {
        message(std::string(tweak ? "tweak_key" : "key") +
                    ": is one of AES-192, which XTS (IEEE 1619) does not have; use 16 or 32 bytes",
                keys, WARPAES_XTS, [&](M& m) { (tweak ? m.tweak_key : m.key) = middle_.get(); });
    }
    message("data_unit_step: must be at most 2^20, or 0 for 1, got 1048577", argument, WARPAES_XTS,
            [](M& m) { m.data_unit_step = (1 << 20) + 1; });
    message("data_unit_len: must be 16 to 2^24 bytes, or 0 for one unit, got 15", argument, WARPAES_XTS,
            [](M& m) { m.data_unit_len = 15; });
    message("input_len: one data unit is 16 to 2^24 bytes, got 15; data_unit_len cuts a message into several", data,
            WARPAES_XTS, [](M& m) { m.input_len = 15; });
    message("input_len: leaves 4 bytes for the last data unit, which must have at least 16", data, WARPAES_XTS,
            [](M& m) { m.data_unit_len = 20; });
    message("range: must be whole data units of 16 bytes; got bytes 16 + 15", range, WARPAES_XTS, [](M& m) {
        m.flags = WARPAES_RANGE;
        m.data_unit_len = 16;
        m.range_offset = 16;
        m.range_len = 15;
    });
}

TEST_F(Sentences, OfMessagesOfComposedModes) {
    constexpr auto argument = WARPAES_ERROR_ARGUMENT;
    const std::pair<warpaes_mode, const char*> all[] = {
        {WARPAES_KW, "KW"}, {WARPAES_KWP, "KWP"}, {WARPAES_SIV, "SIV"}, {WARPAES_GCM_SIV, "GCM-SIV"}};
    for (const auto& [mode, name] : all) {
        const std::string nothing = std::string(" nothing that ") + name + " has";
        message("flags: are" + nothing, argument, mode, [](M& m) { m.flags = WARPAES_PKCS7; });
        message("tweak_key, data_unit_len, data_unit_step: are" + nothing, argument, mode,
                [](M& m) { m.tweak_key = m.key; });
        message("tweak_key, data_unit_len, data_unit_step: are" + nothing, argument, mode,
                [](M& m) { m.data_unit_len = 16; });
        message("tweak_key, data_unit_len, data_unit_step: are" + nothing, argument, mode,
                [](M& m) { m.data_unit_step = 16; });
        message("device_status: is" + nothing, argument, mode,
                [this](M& m) { m.device_status = reinterpret_cast<decltype(m.device_status)>(memory_); });
        message("direction: must be WARPAES_ENCRYPT or WARPAES_DECRYPT, got 0", argument, mode,
                [](M& m) { m.direction = no_such<warpaes_direction>(0); });
        if (mode != WARPAES_SIV) {
            message("aad_list, aad_count: are" + nothing, argument, mode, [](M& m) { m.aad_count = 1; });
            message("mac_key: is for SIV", argument, mode, [](M& m) { m.mac_key = m.key; });
        }
        if (mode <= WARPAES_KWP) {
            message("tag: is" + nothing, argument, mode, [](M& m) { m.tag_len = 1; });
            message("tag: is" + nothing, argument, mode, [this](M& m) { m.tag = memory_; });
            message("aad: is" + nothing, argument, mode, [this](M& m) { m.aad = memory_; });
        } else {
            message("tag: is null", argument, mode, [](M& m) { m.tag = nullptr; });
            message("tag: lies in the output", WARPAES_ERROR_OVERLAP, mode, [this](M& m) { m.tag = memory_ + 260; });
        }
        message("output_capacity: the output takes " + std::string(mode <= WARPAES_KWP ? "72" : "64") +
                    " bytes, there is room for 63",
                WARPAES_ERROR_BUFFER_TOO_SMALL, mode, [](M& m) { m.output_capacity = 63; });
    }
    message("aad, aad_list: one of them, not both", argument, WARPAES_SIV, [this](M& m) {
        m.aad = memory_;
        m.aad_len = 1;
        m.aad_count = 1;
    });
    message("mac_key: is null; SIV takes two keys", argument, WARPAES_SIV, [](M& m) { m.mac_key = nullptr; });
    message("mac_key: has 32 bytes, but key has 16", WARPAES_ERROR_KEY_LENGTH, WARPAES_SIV,
            [this](M& m) { m.mac_key = long_.get(); });
}

TEST_F(Sentences, OfEnginesAndMemory) {
    constexpr auto argument = WARPAES_ERROR_ARGUMENT;
    warpaes_engine* engine = nullptr;
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    options.backend = "abacus";
    expect("backend: there is no 'abacus'; choose auto, libcrypto, aesni, vaes, cuda", WARPAES_ERROR_BACKEND,
           warpaes_engine_create(&options, &engine));
    options.backend = nullptr;
    options.device = -2;
    expect("device: must be -1 (every device) or a device number", argument, warpaes_engine_create(&options, &engine));
    options.device = 4000;
    expect("device: there is no usable CUDA device 4000 here", WARPAES_ERROR_BACKEND,
           warpaes_engine_create(&options, &engine));
    options.device = -1;
    options.chunk_bytes = 4097;
    expect("chunk_bytes: must be a multiple of 4096, got 4097", argument, warpaes_engine_create(&options, &engine));
    options.chunk_bytes = (1 << 30) + 4096;
    expect("chunk_bytes: must be at most 1 GiB, got 1073745920", argument, warpaes_engine_create(&options, &engine));
    options.chunk_bytes = 0;
    options.threads = 1025;
    expect("threads, depth: must be at most 1024", argument, warpaes_engine_create(&options, &engine));
    EXPECT_EQ(engine, nullptr);
    const std::size_t count = warpaes_backend_count();
    warpaes_backend_info info = WARPAES_BACKEND_INFO_INIT;
    expect("index: there are " + std::to_string(count) + " entries, got " + std::to_string(count + 2), argument,
           warpaes_backend_query(count + 2, &info));
    void* memory = nullptr;
    expect("memory: what other processes may map is an arena's", argument,
           warpaes_alloc(engine_.get(), WARPAES_MEMORY_SHARED, -1, 1, &memory));
    expect("memory: there is no memory 4", argument,
           warpaes_alloc(engine_.get(), no_such<warpaes_memory>(4), -1, 1, &memory));
    warpaes_key* key = nullptr;
    expect("key: must be 16, 24 or 32 bytes (AES-128, -192 or -256), got 17", WARPAES_ERROR_KEY_LENGTH,
           warpaes_key_create(memory_, 17, &key));
}

TEST_F(Sentences, OfBatches) {
    constexpr auto argument = WARPAES_ERROR_ARGUMENT;
    warpaes_batch* batch = nullptr;
    warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
    const warpaes_batch_entry nothing = {};
    options.entry_size = 100;
    expect("entry_size: is 100; set it to sizeof(warpaes_batch_entry)", argument,
           warpaes_batch_submit(engine_.get(), &options, &nothing, 1, &batch));
    options = WARPAES_BATCH_OPTIONS_INIT;
    options.finished = [](void*, warpaes_batch*) {};
    expect("options: results, finished and WARPAES_BATCH_CHECK_NONCES are for batches that somebody waits for",
           argument, warpaes_batch_enqueue(engine_.get(), &options, &nothing, 1, nullptr));
    options = WARPAES_BATCH_OPTIONS_INIT;
    options.flags = WARPAES_BATCH_CHECK_NONCES;
    expect("options: results, finished and WARPAES_BATCH_CHECK_NONCES are for batches that somebody waits for",
           argument, warpaes_batch_enqueue(engine_.get(), &options, &nothing, 1, nullptr));
    ASSERT_EQ(warpaes_batch_submit(engine_.get(), nullptr, &nothing, 1, &batch), WARPAES_OK);
    expect("mode: there is no mode 0", argument, warpaes_batch_wait(batch, WARPAES_UNKNOWN));
    warpaes_entry_result result;
    expect("index: there are 1 entries, got 1", argument, warpaes_batch_query_entry(batch, 1, &result));
    warpaes_batch_destroy(batch);
}

TEST_F(Sentences, OfContexts) {
    constexpr auto argument = WARPAES_ERROR_ARGUMENT, state = WARPAES_ERROR_STATE;
    const Context made = make_context(engine_);
    warpaes_context* const c = made.get();
    std::size_t written = 0;
    std::uint8_t* const m = memory_;
    const std::string idle = "context: not initialised; call init first";
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
    expect("flags: a context takes WARPAES_PKCS7 or 0", argument, init([](O& o) { o.flags = WARPAES_RANGE; }));
    expect("flags: WARPAES_PKCS7 is for ECB and CBC", argument, init([](O& o) { o.flags = WARPAES_PKCS7; }));
    expect("data_unit_len, data_unit_step: are for XTS", argument, init([](O& o) { o.data_unit_len = 16; }));
    expect("data_unit_len, data_unit_step: are for XTS", argument, init([](O& o) { o.data_unit_step = 2; }));
    expect("text_len, aad_len, tag_len: are for CCM", argument, init([](O& o) { o.text_len = 16; }));
    expect("text_len, aad_len, tag_len: are for CCM", argument, init([](O& o) { o.aad_len = 16; }));
    expect("text_len, aad_len, tag_len: are for CCM", argument, init([](O& o) { o.tag_len = 16; }));
    expect("tweak_key: is for XTS", argument, init([this](O& o) {
               o.key = key_.get();
               o.tweak_key = other_.get();
           }));
    expect("mode: KW is for warpaes_crypt, which takes the whole message", argument,
           init([](O& o) { o.mode = WARPAES_KW; }));
    expect(idle, state, warpaes_context_seek(c, 0));
    ASSERT_EQ(init([](O&) {}), WARPAES_OK);
    expect("context: has no key; call set_key first", state, warpaes_context_set_iv(c, m, 16));
    ASSERT_EQ(warpaes_context_set_key(c, key_.get(), nullptr), WARPAES_OK);
    expect("context: no message yet; call set_iv first", state, warpaes_context_update(c, m, 16, m + 64, 16, &written));
    ASSERT_EQ(warpaes_context_set_iv(c, m, 16), WARPAES_OK);
    expect("output_capacity: this call writes 16 bytes, there is room for 15", WARPAES_ERROR_BUFFER_TOO_SMALL,
           warpaes_context_update(c, m, 16, m + 64, 15, &written));
    EXPECT_EQ(written, 16U);
    ASSERT_EQ(warpaes_context_update(c, m, 5, m + 64, 5, &written), WARPAES_OK);
    expect("context: stands 5 bytes into a block, where there is no IV", state, warpaes_context_get_iv(c, m));
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
    const std::string no_tag = "context: only GCM, CCM and CMAC have a tag";
    expect(no_tag, state, warpaes_context_aad(c, m, 1));
    expect(no_tag, state, warpaes_context_get_tag(c, m, 16));
    expect(no_tag, state, warpaes_context_set_tag(c, m, 16));
}

TEST_F(Sentences, OfTagsOfContexts) {
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
        expect("context: the tag is there after final", state, warpaes_context_get_tag(c, memory_, length));
        expect("context: encryption makes the tag; get_tag gives it after final", state,
               warpaes_context_set_tag(c, memory_, length));
        if (mode == WARPAES_CMAC) {
            expect("context: CMAC has no associated data", state, warpaes_context_aad(c, memory_, 1));
        }
        if (mode == WARPAES_CCM) {
            expect("length: tag_len says 8 bytes, got 16", WARPAES_ERROR_ARGUMENT,
                   warpaes_context_get_tag(c, memory_, 16));
        }
        ASSERT_EQ(warpaes_context_final(c, memory_, 16, &written), WARPAES_OK);
        ASSERT_EQ(warpaes_context_get_tag(c, memory_ + 64, length), WARPAES_OK);
        ASSERT_EQ(init(WARPAES_DECRYPT), WARPAES_OK);
        expect("context: decryption gives no tag; set_tag says which to expect", state,
               warpaes_context_get_tag(c, memory_, length));
        expect("context: set_tag must come before final", state, warpaes_context_final(c, memory_, 16, &written));
        EXPECT_EQ(warpaes_context_set_tag(c, memory_ + 64, length), WARPAES_OK);
        EXPECT_EQ(warpaes_context_final(c, memory_, 16, &written), WARPAES_OK) << warpaes_last_error();
        expect("context: the message has ended; call set_iv or init", state,
               warpaes_context_set_tag(c, memory_ + 64, length));
    }
}

TEST_F(Sentences, OfStreams) {
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
    expect("source: '/dev/null' cannot be read at any position; a regular file can", argument,
           open([](Source& s) { s.path = "/dev/null"; }));
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
    expect("flags: has bits that this version does not know", argument, write([](Sink& s) {
               s.path = "/nowhere/to";
               s.flags = WARPAES_FILE_VERIFY;
           }));
    expect("sink: its function returned 9 for 24 bytes", WARPAES_ERROR_WRITE,
           write([](Sink& s) { s.write = [](void*, const void*, std::uint64_t) { return 9; }; }));
    EXPECT_EQ(writer, nullptr);
    EXPECT_EQ(reader, nullptr);
    warpaes_keyset_destroy(keyset);
}

TEST_F(Sentences, OfPlans) {
    const auto plan = [this](const std::function<void(warpaes_work&)>& change) {
        warpaes_work work = WARPAES_WORK_INIT;
        warpaes_plan made = WARPAES_PLAN_INIT;
        change(work);
        return warpaes_engine_plan(engine_.get(), &work, &made);
    };
    using W = warpaes_work;
    constexpr auto argument = WARPAES_ERROR_ARGUMENT;
    for (const std::uint32_t bits : {0U, 127U, 129U, 191U, 193U, 255U, 257U}) {
        expect("key_bits: must be 128, 192 or 256, got " + std::to_string(bits), WARPAES_ERROR_KEY_LENGTH,
               plan([&](W& w) { w.key_bits = bits; }));
    }
    for (const std::uint32_t bits : {128U, 192U, 256U}) {
        EXPECT_EQ(plan([&](W& w) { w.key_bits = bits; }), WARPAES_OK);
    }
    expect("batch: must be 0 or 1", argument, plan([](W& w) { w.batch = 2; }));
    expect("messages: more than one are a batch", argument, plan([](W& w) { w.messages = 2; }));
    expect("memory: what is shared is PAGE_LOCKED for a plan", argument,
           plan([](W& w) { w.memory = WARPAES_MEMORY_SHARED; }));
    constexpr std::uint64_t most = std::uint64_t{1} << 60;
    for (const auto& [messages, bytes] :
         {std::pair{most, std::uint64_t{2}}, std::pair{std::uint64_t{1}, most + 1},
          std::pair{most + 1, std::uint64_t{0}}, std::pair{most / 2, std::uint64_t{3}}}) {
        expect("message_len: at most 2^60 bytes in all messages", WARPAES_ERROR_DATA_LENGTH, plan([&](W& w) {
                   w.batch = 1;
                   w.messages = messages;
                   w.message_len = bytes;
               }));
    }
    for (const auto& [messages, bytes] : {std::pair{most, std::uint64_t{1}}, std::pair{std::uint64_t{1}, most},
                                          std::pair{most, std::uint64_t{0}}, std::pair{most / 2, std::uint64_t{2}}}) {
        EXPECT_EQ(plan([&](W& w) {
                      w.batch = 1;
                      w.messages = messages;
                      w.message_len = bytes;
                  }),
                  WARPAES_OK)
            << warpaes_last_error();
    }
    char path[8];
    setenv("WARPAES_CALIBRATION", "12345678", 1);
    expect("capacity: the path takes 9 bytes", WARPAES_ERROR_BUFFER_TOO_SMALL, warpaes_calibration_path(path, 8));
    setenv("WARPAES_CALIBRATION", "none", 1);
    warpaes_calibration calibration = WARPAES_CALIBRATION_INIT;
    calibration.flags = 1u << 3;
    expect("flags: has bits that this version does not know", argument,
           warpaes_engine_calibrate(engine_.get(), &calibration, nullptr));
}

TEST_F(Sentences, OfKeysets) {
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
    expect("json: takes " + std::to_string(length) + " bytes, there is room for 5", WARPAES_ERROR_BUFFER_TOO_SMALL,
           warpaes_keyset_write(keyset, json, 5, &length));
    warpaes_keyset_destroy(keyset);
}

TEST_F(Sentences, OfRandomNumbers) {
    warpaes_drbg* drbg = nullptr;
    warpaes_drbg_options options = WARPAES_DRBG_OPTIONS_INIT;
    char error[WARPAES_ERROR_BYTES] = "";
    options.error = error;
    options.reserved = 1;
    expect("reserved: must be 0", WARPAES_ERROR_ARGUMENT, warpaes_drbg_create(engine_.get(), &options, &drbg));
    EXPECT_STREQ(error, "reserved: must be 0");
    options.reserved = 0;
    options.flags = 2;
    expect("flags: has bits that this version does not know", WARPAES_ERROR_ARGUMENT,
           warpaes_drbg_create(engine_.get(), &options, &drbg));
}

TEST_F(Sentences, OfLengthsOfRandomNumbers) {
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
            expect("nonce: is for the derivation function", WARPAES_ERROR_ARGUMENT, create(least, 1, 0));
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
    constexpr std::uint64_t long_input = std::uint64_t{1} << 32;  // of which nothing is read
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
    expect("output_len: at most 65536 bytes a request, got 65537", data,
           warpaes_drbg_generate(drbg, output.data(), output.size(), nullptr, 0, 0));
    warpaes_drbg_destroy(drbg);
}

TEST_F(Sentences, OfDataUnitsOfContexts) {
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
    expect("input_len: one data unit is 16 to 2^24 bytes, and nothing has come", data, final());
    ASSERT_EQ(init(0), WARPAES_OK);
    expect("input_len: one data unit is 16 to 2^24 bytes, got 15", data, update(15));
    ASSERT_EQ(update(16), WARPAES_OK);
    expect("context: without data_unit_len the whole message is one data unit, and comes in one update",
           WARPAES_ERROR_STATE, update(16));
    ASSERT_EQ(init(32), WARPAES_OK);
    ASSERT_EQ(update(32 + 15), WARPAES_OK);
    expect("input: leaves 15 bytes for the last data unit, which must have at least 16", data, final());
}

}  // namespace
}  // namespace abi_tests
