// Tests messages that the calling thread processes directly. Covers lengths around every limit in the implementation:
// the limits of the short path, of kernels that use little stack, and of groups that are reduced together.
#include <cstdint>
#include <functional>
#include <utility>

#include "gcm.hpp"
#include "support.hpp"

namespace abi_tests {
namespace {

constexpr std::size_t key_lengths[] = {16, 24, 32};

/// Returns every length up to a few vectors, and the lengths around these limits.
std::vector<std::size_t> lengths() {
    std::vector<std::size_t> all;
    for (std::size_t n = 1; n <= 144; ++n) all.push_back(n);
    for (const std::size_t border : {256, 512, 1008, 1024, 1500, 2048, 4096, 8192, 16384, 65520, 65536}) {
        for (const std::size_t n : {border - 17, border - 16, border - 1, border, border + 1, border + 16}) {
            all.push_back(n);
        }
    }
    return all;
}

class ShortMessages : public BackendTest {
protected:
    /// Assigns buffers at the given offsets to `message` and runs it, in place or with separate buffers. Returns the
    /// output.
    Bytes run(Call& message, const Bytes& input, std::size_t turn, warpaes_status wanted) {
        const bool in_place = turn % 2 == 0;
        PoisonedBuffer from(input.size(), turn % 17), to(input.size(), turn / 2 % 19);
        from.assign(input);
        message.input = from.data();
        message.input_len = message.output_capacity = input.size();
        message.output = in_place ? from.data() : to.data();
        EXPECT_EQ(crypt(engine_, message), wanted) << warpaes_last_error();
        EXPECT_EQ(message.result.output_len, wanted == WARPAES_OK ? input.size() : 0);
        EXPECT_STREQ(message.result.backend, GetParam().c_str());
        EXPECT_EQ(message.result.device, -1);
        EXPECT_TRUE(from.intact_after(in_place ? input.size() : 0) || from.bytes(input.size()) == input);
        EXPECT_TRUE(to.intact_after(in_place ? 0 : input.size()));
        return in_place ? from.bytes(input.size()) : to.bytes(input.size());
    }
    /// Encrypts so many bytes that the key receives a table for the first round of counter blocks.
    void use_for_much(const Key& key) {
        const Bytes iv(16, 9);
        Bytes text(30000);
        for (int i = 0; i < 40; ++i) {
            Call m =
                make_message(WARPAES_CTR, WARPAES_ENCRYPT, key, iv, text.data(), text.size(), text.data(), text.size());
            ASSERT_EQ(crypt(engine_, m), WARPAES_OK) << warpaes_last_error();
        }
    }
};

TEST_P(ShortMessages, OfEveryMode) {
    Random random(1);
    std::size_t turn = 0;
    for (const std::size_t key_bytes : key_lengths) {
        const Bytes key_value = random.bytes(key_bytes);
        const Key key = make_key(key_value);
        for (const ModeTraits& mode : all_modes()) {
            for (const warpaes_direction direction : directions) {
                for (const std::size_t length : lengths()) {
                    if (mode.whole_blocks && length % 16 != 0) continue;
                    // A few lengths are enough for slow modes and directions.
                    if ((mode.name == "CFB1" || mode.name == "CFB8") && length > 2100) continue;
                    Bytes iv = mode.mode == WARPAES_ECB ? Bytes() : random.bytes(16);
                    // The counters carry past 16, 64 and 128 bits.
                    for (std::size_t i = 0; mode.mode == WARPAES_CTR && i < turn % 4 * 5; ++i) iv[15 - i] = 0xff;
                    const Bytes input = random.bytes(length);
                    Call m = make_message(mode.mode, direction, key, iv, input.data(), length, nullptr, length);
                    ASSERT_EQ(run(m, input, turn, WARPAES_OK), expected(mode.mode, direction, key_value, iv, input))
                        << name_of(mode.mode, direction, key_bytes) << ", " << length << " bytes, turn " << turn;
                    ++turn;
                }
            }
        }
    }
}

TEST_P(ShortMessages, CounterBlocksThatBeginAnywhere) {
    const Bytes key_value = Random(2).bytes(16);
    const Key key = make_key(key_value);
    std::size_t turn = 0;
    for (int first = 0xf0; first <= 0xff; ++first) {
        for (const std::size_t ones : {1, 2, 7, 8, 15}) {
            for (const std::size_t length : {16, 100, 256, 300, 1024, 5000}) {
                Bytes iv(16);
                for (std::size_t i = 0; i < ones; ++i) iv[15 - i] = 0xff;
                iv[15] = static_cast<std::uint8_t>(first);
                const Bytes input = Random(turn).bytes(length);
                Call m = make_message(WARPAES_CTR, WARPAES_ENCRYPT, key, iv, input.data(), length, nullptr, length);
                ASSERT_EQ(run(m, input, turn, WARPAES_OK), expected(WARPAES_CTR, WARPAES_ENCRYPT, key_value, iv, input))
                    << first << ", " << ones << " bytes of ones, " << length << " bytes";
                const bool wraps = ones == 15 && iv[0] == 0xff;
                EXPECT_EQ(m.result.notes, wraps ? static_cast<std::uint32_t>(WARPAES_NOTE_COUNTER_WRAPPED) : 0u);
                ++turn;
            }
        }
    }
    const Bytes last(16, 0xff), input = Random(3).bytes(17);
    Call m = make_message(WARPAES_CTR, WARPAES_ENCRYPT, key, last, input.data(), 17, nullptr, 17);
    EXPECT_EQ(run(m, input, 1, WARPAES_OK), expected(WARPAES_CTR, WARPAES_ENCRYPT, key_value, last, input));
    EXPECT_EQ(m.result.notes, static_cast<std::uint32_t>(WARPAES_NOTE_COUNTER_WRAPPED));
}

TEST_P(ShortMessages, UnderAKeyThatWasUsedForMuch) {
    Random random(6);
    std::size_t turn = 0;
    for (const std::size_t key_bytes : key_lengths) {
        const Bytes key_value = random.bytes(key_bytes);
        const Key key = make_key(key_value);
        use_for_much(key);
        for (const std::size_t length : {511, 512, 1023, 1024, 1025, 1500, 4080, 4097, 8200, 16384, 32767, 32768}) {
            for (const int last : {0, 1, 2, 0x7f, 0xf0, 0xff}) {
                Bytes iv = random.bytes(16);
                iv[15] = static_cast<std::uint8_t>(last);
                for (std::size_t i = 0; i < turn % 4; ++i) iv[14 - i] = 0xff;
                const Bytes input = random.bytes(length);
                Call m = make_message(WARPAES_CTR, WARPAES_ENCRYPT, key, iv, input.data(), length, nullptr, length);
                ASSERT_EQ(run(m, input, turn, WARPAES_OK), expected(WARPAES_CTR, WARPAES_ENCRYPT, key_value, iv, input))
                    << length << " bytes, from " << last << ", turn " << turn;
                ++turn;
            }
            const GcmCase c = make_gcm_case(random, key_bytes, 12, turn % 40, length);
            const Key used = make_key(c.key);
            use_for_much(used);
            for (const warpaes_direction direction : directions) {
                const bool encrypt = direction == WARPAES_ENCRYPT;
                Bytes tag = encrypt ? Bytes(16) : c.tag;
                Call m = gcm_message(c, used, direction, nullptr, nullptr, tag.data());
                ASSERT_EQ(run(m, encrypt ? c.text : c.sealed, turn, WARPAES_OK), encrypt ? c.sealed : c.text) << length;
                ASSERT_EQ(tag, c.tag) << length << " bytes, turn " << turn;
            }
        }
    }
}

TEST_P(ShortMessages, OfGcm) {
    Random random(4);
    std::size_t turn = 0;
    const std::size_t aad_lengths[] = {0, 1, 12, 13, 16, 20, 32, 33, 64, 100, 1007, 1024, 5000};
    std::vector<std::size_t> texts = lengths();
    texts.push_back(0);
    for (const std::size_t key_bytes : key_lengths) {
        for (const std::size_t length : texts) {
            const std::size_t aad_bytes = aad_lengths[turn % std::size(aad_lengths)];
            const GcmCase c = make_gcm_case(random, key_bytes, 12, aad_bytes, length);
            const Key key = make_key(c.key);
            for (const warpaes_direction direction : directions) {
                const bool encrypt = direction == WARPAES_ENCRYPT;
                Bytes tag = encrypt ? Bytes(16) : c.tag;
                Call m = gcm_message(c, key, direction, nullptr, nullptr, tag.data());
                ASSERT_EQ(run(m, encrypt ? c.text : c.sealed, turn, WARPAES_OK), encrypt ? c.sealed : c.text)
                    << length << " bytes, " << aad_bytes << " of associated data, turn " << turn;
                ASSERT_EQ(tag, c.tag) << length << " bytes, " << aad_bytes << " of associated data";
                ++turn;
            }
            Bytes wrong = c.tag;
            wrong[turn % 16] ^= 0x10;
            Call m = gcm_message(c, key, WARPAES_DECRYPT, nullptr, nullptr, wrong.data());
            EXPECT_EQ(run(m, c.sealed, turn, WARPAES_ERROR_AUTHENTICATION), Bytes(length));
        }
    }
}

TEST_P(ShortMessages, TagsOfEveryLength) {
    Random random(5);
    const GcmCase c = make_gcm_case(random, 16, 12, 20, 64);
    const Key key = make_key(c.key);
    for (const std::size_t tag_bytes : {4, 8, 12, 13, 14, 15, 16}) {
        PoisonedBuffer tag(tag_bytes);
        Call m = gcm_message(c, key, WARPAES_ENCRYPT, nullptr, nullptr, tag.data());
        m.tag_len = tag_bytes;
        EXPECT_EQ(run(m, c.text, 1, WARPAES_OK), c.sealed);
        EXPECT_EQ(tag.bytes(tag_bytes), Bytes(c.tag.begin(), c.tag.begin() + static_cast<std::ptrdiff_t>(tag_bytes)));
        EXPECT_TRUE(tag.intact_after(tag_bytes));
        m.direction = WARPAES_DECRYPT;
        EXPECT_EQ(run(m, c.sealed, 1, WARPAES_OK), c.text);
        tag.data()[tag_bytes - 1] ^= 1;
        EXPECT_EQ(run(m, c.sealed, 1, WARPAES_ERROR_AUTHENTICATION), Bytes(c.text.size()));
    }
}

/// Tests callers that were compiled with an older header, and callers with a newer header, whose structs are longer.
TEST_P(ShortMessages, StructsOfOtherSizes) {
    const Bytes key_value = Random(6).bytes(16), iv = Random(7).bytes(16), input = Random(8).bytes(64);
    const Key key = make_key(key_value);
    struct Newer {
        warpaes_message message;
        std::uint64_t more;
    };
    for (const std::size_t size : {sizeof(warpaes_message), sizeof(Newer)}) {
        Bytes output(64);
        warpaes_result result = WARPAES_RESULT_INIT;
        Newer newer{make_message(WARPAES_CTR, WARPAES_ENCRYPT, key, iv, input.data(), 64, output.data(), 64), 0};
        newer.message.struct_size = static_cast<std::uint32_t>(size);
        EXPECT_EQ(warpaes_crypt(engine_.get(), &newer.message, &result), WARPAES_OK) << warpaes_last_error();
        EXPECT_EQ(output, expected(WARPAES_CTR, WARPAES_ENCRYPT, key_value, iv, input));
        EXPECT_EQ(result.output_len, 64u);
        EXPECT_STREQ(result.backend, GetParam().c_str());
    }
}

std::vector<std::string> cpu_backends() {
    std::vector<std::string> names = usable_backends();
    std::erase(names, "cuda");
    return names;
}

/// A buffer that would extend past the end of the address space is refused and not read. The test tries this with each
/// pointer in turn.
TEST_P(ShortMessages, PointersWithoutMemoryBehindThem) {
    Random random(6);
    const Key key = make_key(random.bytes(16));
    const Bytes iv = random.bytes(12), counter(16, 1), input = random.bytes(64);
    Bytes output(64), tag(16);
    auto* const end = reinterpret_cast<std::uint8_t*>(UINTPTR_MAX - 3);
    using Change = std::function<void(Call&)>;
    const std::pair<const char*, Change> changes[] = {{"input", [&](Call& m) { m.input = end; }},
                                                      {"output", [&](Call& m) { m.output = end; }},
                                                      {"iv", [&](Call& m) { m.iv = end; }},
                                                      {"tag", [&](Call& m) { m.tag = end; }},
                                                      {"aad", [&](Call& m) {
                                                           m.aad = end;
                                                           m.aad_len = 20;
                                                       }}};
    for (const warpaes_mode mode : {WARPAES_CTR, WARPAES_GCM}) {
        for (const auto& [name, change] : changes) {
            if (mode == WARPAES_CTR && (name[0] == 't' || name[0] == 'a')) continue;
            Call m = make_message(mode, WARPAES_ENCRYPT, key, mode == WARPAES_CTR ? counter : iv, input.data(),
                                  input.size(), output.data(), output.size());
            if (mode == WARPAES_GCM) {
                m.tag = tag.data();
                m.tag_len = tag.size();
            }
            change(m);
            EXPECT_EQ(crypt(engine_, m), WARPAES_ERROR_RANGE) << name;
            EXPECT_EQ(std::string(warpaes_last_error()).find(name), 0u) << warpaes_last_error();
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Backend, ShortMessages, testing::ValuesIn(cpu_backends()), backend_test_name);

}  // namespace
}  // namespace abi_tests
