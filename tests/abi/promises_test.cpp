// Checks the promises in the headers that no other test covers. promises.txt lists all promises.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <string>

#include "support.hpp"
#include "warpaes/files.h"

namespace abi_tests {
namespace {

/// Pages that become read-only once they are filled.
class ReadOnly {
public:
    ReadOnly()
        : pages_(static_cast<std::uint8_t*>(
              ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        EXPECT_NE(pages_, MAP_FAILED);
    }
    ReadOnly(const ReadOnly&) = delete;
    ReadOnly& operator=(const ReadOnly&) = delete;
    ~ReadOnly() { ::munmap(pages_, size); }

    template <typename Value>
    Value* put(const Value& value) {
        return static_cast<Value*>(put(&value, sizeof value));
    }
    std::uint8_t* put(const Bytes& bytes) { return static_cast<std::uint8_t*>(put(bytes.data(), bytes.size())); }
    void close() { ASSERT_EQ(::mprotect(pages_, size, PROT_READ), 0); }

private:
    void* put(const void* from, std::size_t bytes) {
        void* const place = pages_ + used_;
        std::memcpy(place, from, bytes);
        used_ += (bytes + 63) / 64 * 64;
        return place;
    }

    static constexpr std::size_t size = 65536;
    std::uint8_t* pages_;
    std::size_t used_ = 0;
};

class Promises : public BackendTest {};

TEST_P(Promises, InputsInReadOnlyMemory) {
    Random random(1);
    const Key key = make_key(random.bytes(16)), other = make_key(random.bytes(16));
    const Bytes text = random.bytes(100), iv = random.bytes(16), aad = random.bytes(20);
    for (int number = WARPAES_ECB; number <= WARPAES_GCM_SIV; ++number) {
        const auto mode = static_cast<warpaes_mode>(number);
        if (GetParam() == "cuda" && mode >= WARPAES_KW) continue;  // only CPUs support these modes
        SCOPED_TRACE(number);
        const bool tagged = (mode >= WARPAES_GCM && mode <= WARPAES_CMAC) || mode >= WARPAES_SIV;
        const bool wraps = mode == WARPAES_KW || mode == WARPAES_KWP, cmac = mode == WARPAES_CMAC;
        const std::size_t length = mode == WARPAES_ECB || mode == WARPAES_CBC || wraps ? 96 : 100;
        Bytes sealed(length + 8), tag(16), opened(length + 8);
        for (const warpaes_direction direction : directions) {
            ReadOnly memory;
            const bool encrypt = direction == WARPAES_ENCRYPT;
            warpaes_message m = WARPAES_MESSAGE_INIT;
            m.mode = mode;
            m.direction = direction;
            m.key = key.get();
            m.iv_len = mode == WARPAES_ECB || cmac || wraps ? 0 : tagged && mode != WARPAES_SIV ? 12 : 16;
            m.iv = m.iv_len != 0 ? memory.put(iv) : nullptr;
            m.input_len = length + (wraps && !encrypt ? 8 : 0);
            m.input = memory.put(encrypt || cmac ? text : sealed);
            m.output = encrypt ? sealed.data() : opened.data();
            m.output_capacity = length + 8;
            if (mode == WARPAES_XTS) m.tweak_key = other.get();
            if (mode == WARPAES_SIV) m.mac_key = other.get();
            if (tagged) {
                m.tag = encrypt ? tag.data() : memory.put(tag);
                m.tag_len = 16;
                m.aad_len = cmac ? 0 : aad.size();
                m.aad = cmac ? nullptr : memory.put(aad);
            }
            const warpaes_message* const message = memory.put(m);
            memory.close();
            ASSERT_EQ(warpaes_crypt(engine_.get(), message, nullptr), WARPAES_OK) << warpaes_last_error();
            if (!encrypt && !cmac) {
                EXPECT_TRUE(
                    std::equal(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length), opened.begin()));
            }
        }
    }
    ReadOnly memory;
    const std::uint8_t* const key_bytes = memory.put(random.bytes(32));
    const std::uint8_t* const input = memory.put(text);
    Bytes output(200), tags(32);
    warpaes_batch_entry e = {};
    e.mode = WARPAES_GCM;
    e.direction = WARPAES_ENCRYPT;
    e.count = 2;
    e.length = 50;
    e.input = {{const_cast<std::uint8_t*>(input)}, 50};
    e.output = {{output.data()}, 50};
    e.iv = {{memory.put(random.bytes(24))}, 12};
    e.iv_len = 12;
    e.aad = {{memory.put(aad)}, 10};
    e.aad_len = 10;
    e.tag = {{tags.data()}, 16};
    e.tag_len = 16;
    e.keys = {{const_cast<std::uint8_t*>(key_bytes)}, 16};
    e.key_len = 16;
    const warpaes_batch_entry* const entries = memory.put(e);
    const warpaes_batch_options* const options = memory.put(warpaes_batch_options WARPAES_BATCH_OPTIONS_INIT);
    memory.close();
    warpaes_batch* batch = nullptr;
    ASSERT_EQ(warpaes_batch_submit(engine_.get(), options, entries, 1, &batch), WARPAES_OK) << warpaes_last_error();
    EXPECT_EQ(warpaes_batch_wait(batch, WARPAES_UNKNOWN), WARPAES_OK) << warpaes_last_error();
    warpaes_batch_destroy(batch);
}

TEST_P(Promises, AContextWithoutAKey) {
    const Context context = make_context(engine_);
    const Key key = make_key(Bytes(16, 1));
    const Bytes iv(16, 2);
    for (const warpaes_mode mode : {WARPAES_CBC, WARPAES_CTR, WARPAES_XTS, WARPAES_GCM}) {
        warpaes_context_options o = WARPAES_CONTEXT_OPTIONS_INIT;
        o.mode = mode;
        o.direction = WARPAES_ENCRYPT;
        ASSERT_EQ(warpaes_context_init(context.get(), &o), WARPAES_OK);
        EXPECT_EQ(warpaes_context_set_iv(context.get(), iv.data(), 16), WARPAES_ERROR_STATE);
        EXPECT_STREQ(warpaes_context_error(context.get()), "context: has no key; call set_key first");
        o.iv = iv.data();
        o.iv_len = 16;
        EXPECT_EQ(warpaes_context_init(context.get(), &o), WARPAES_ERROR_ARGUMENT);
        EXPECT_STREQ(warpaes_context_error(context.get()), "key: is null");
    }
    warpaes_context_options o = WARPAES_CONTEXT_OPTIONS_INIT;
    o.mode = WARPAES_XTS;
    o.direction = WARPAES_ENCRYPT;
    o.tweak_key = key.get();
    EXPECT_EQ(warpaes_context_init(context.get(), &o), WARPAES_ERROR_ARGUMENT);
    EXPECT_STREQ(warpaes_context_error(context.get()), "key: is null");
}

/// A batch of `count` entries of two GCM messages each, with all-zero tags.
class Entries {
public:
    Entries(const Engine& engine, std::size_t count) : engine_(engine), entries_(count), text_(32 * count), ivs_(24) {
        ivs_[12] = 1;
        for (std::size_t i = 0; i < count; ++i) {
            warpaes_batch_entry& e = entries_[i];
            e.mode = WARPAES_GCM;
            e.direction = WARPAES_DECRYPT;
            e.count = 2;
            e.length = 16;
            e.input = {{text_.data() + 32 * i}, 16};
            e.output = e.input;
            e.iv = {{ivs_.data()}, 12};
            e.iv_len = 12;
            e.tag = {{tag_}, 0};
            e.tag_len = 16;
            e.key = key_.get();
        }
    }
    Entries(const Entries&) = delete;
    Entries& operator=(const Entries&) = delete;
    ~Entries() { warpaes_batch_destroy(batch_); }
    warpaes_batch_entry& operator[](std::size_t i) { return entries_[i]; }
    warpaes_batch* run() {
        EXPECT_EQ(warpaes_batch_submit(engine_.get(), nullptr, entries_.data(), entries_.size(), &batch_), WARPAES_OK);
        (void)warpaes_batch_wait(batch_, WARPAES_UNKNOWN);
        return batch_;
    }

private:
    const Engine& engine_;
    const Key key_ = make_key(Bytes(16, 1));
    std::vector<warpaes_batch_entry> entries_;
    Bytes text_, ivs_;
    std::uint8_t tag_[16] = {};
    warpaes_batch* batch_ = nullptr;
};

TEST_P(Promises, AnEntrysFirstFailure) {
    Entries entries(engine_, 3);
    entries[0].direction = WARPAES_ENCRYPT;
    entries[2].length = 0;  // the number of messages does not change, and no tag is right
    std::uint8_t written[32];
    entries[0].tag = {{written}, 16};
    warpaes_batch* const batch = entries.run();
    for (std::size_t i = 0; i < 3; ++i) {
        warpaes_entry_result result = {WARPAES_OK, 0, 7, 7};
        ASSERT_EQ(warpaes_batch_query_entry(batch, i, &result), WARPAES_OK);
        EXPECT_EQ(result.failures, i == 0 ? 0U : 2U) << i;
        EXPECT_EQ(result.first_failure, i == 0 ? UINT64_MAX : 0U) << i;
    }
}

TEST_P(Promises, SentencesOfThousandsOfEntries) {
    constexpr std::size_t kept = 4096, count = 5000;
    for (const bool forged : {false, true}) {
        Entries entries(engine_, count);
        for (std::size_t i = 0; i < count && !forged; ++i) entries[i].iv_len = 0;
        warpaes_batch* const batch = entries.run();
        const std::string general =
            warpaes_status_message(forged ? WARPAES_ERROR_AUTHENTICATION : WARPAES_ERROR_IV_LENGTH);
        const std::string own = forged ? "tag: 2 of 2 messages are not authentic, " : "iv_len: must be 1 to ";
        std::size_t owned = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const std::string sentence = warpaes_batch_entry_error(batch, i);
            if (sentence.starts_with(own)) {
                ++owned;
            } else {
                ASSERT_EQ(sentence, general) << i;
            }
        }
        EXPECT_EQ(owned, kept);
        EXPECT_STREQ(warpaes_batch_entry_error(batch, count), "");
    }
}

WARPAES_FOR_EVERY_BACKEND(Promises);

/// A text in any encoding is refused as a raw key. The error message does not repeat the text.
TEST(RawKeys, AreNoText) {
    const std::string words = "correct horse battery staple 31";
    Bytes ascii(words.begin(), words.end()), utf16, utf32, padded = ascii;
    for (const char c : words.substr(0, 16)) utf16.insert(utf16.end(), {static_cast<std::uint8_t>(c), 0});
    for (const char c : words.substr(0, 8)) utf32.insert(utf32.end(), {static_cast<std::uint8_t>(c), 0, 0, 0});
    padded.resize(16);
    padded.resize(32);
    ascii.push_back('\n');
    const std::string umlauts =
                          "gr\xc3\xbc\xc3\x9f"
                          "e aus k\xc3\xb6ln",
                      latin =
                          "gr\xfc\xdf"
                          "e aus dem rheinland";
    for (const Bytes& text :
         {ascii, utf16, utf32, padded, Bytes(umlauts.begin(), umlauts.end()), Bytes(latin.begin(), latin.end())}) {
        EXPECT_EQ(warpaes_keyset_check_raw(text.data(), text.size()), WARPAES_ERROR_KEYSET) << text.size();
        const std::string sentence = warpaes_last_error();
        for (const char* const word : {"correct", "horse", "aus"}) EXPECT_EQ(sentence.find(word), std::string::npos);
    }
    Random random(9);
    for (int i = 0; i < 1000; ++i) {
        const Bytes key = random.bytes(32);
        EXPECT_EQ(warpaes_keyset_check_raw(key.data(), key.size()), WARPAES_OK) << warpaes_last_error();
    }
}

}  // namespace
}  // namespace abi_tests
