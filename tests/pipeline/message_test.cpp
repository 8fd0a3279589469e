// Tests messages in memory with many chunks, in place and with separate buffers, on every usable backend.
#include <gtest/gtest.h>

#include "engine/chain.hpp"
#include "engine/run/executor.hpp"
#include "support.hpp"

namespace warpaes::test {
namespace {

class MessageTest : public testing::TestWithParam<std::string> {};

TEST_P(MessageTest, ManyChunksInPlaceAndApart) {
    EngineOptions options = small_chunks();
    options.backend = GetParam();
    Engine engine(options);
    Block iv;
    const Bytes iv_bytes = random_bytes(16, 11);
    std::copy(iv_bytes.begin(), iv_bytes.end(), iv.begin());
    for (const std::size_t key_length : {16u, 24u, 32u}) {
        const Bytes key_bytes = random_bytes(key_length, 10);
        const ExpandedKey key(key_bytes);
        for (const ModeCase& m : all_modes) {
            for (const bool encrypt : {true, false}) {
                for (const std::size_t length : {0u, 16u, 4096u, 4112u, 9 * 4096u, 9 * 4096u + 4080u}) {
                    const Bytes input = random_bytes(length, 12);
                    const Bytes expected = *oracle::evp(m.name, encrypt, key_bytes, iv_bytes, input);
                    Bytes output(length, 0xa5), both = input;
                    const Direction direction = encrypt ? Direction::encrypt : Direction::decrypt;
                    MessageGroup message = stretch_of(m.mode, direction, key, iv, input.data(), output.data(), length);
                    const Outcome outcome = run_group(engine, message);
                    ASSERT_EQ(output, expected) << m.name << " " << encrypt << " " << length;
                    ASSERT_EQ(outcome.backend, GetParam());
                    message.input = message.output = {both.data(), 0};
                    run_group(engine, message);
                    ASSERT_EQ(both, expected) << m.name << " " << encrypt << " " << length << " in place";
                }
            }
        }
    }
}

TEST_P(MessageTest, Cfb1EndsInTheMiddleOfAByte) {
    EngineOptions options = small_chunks();
    options.backend = GetParam();
    Engine engine(options);
    const Bytes key_bytes = random_bytes(16, 13), iv_bytes = random_bytes(16, 14);
    const ExpandedKey key(key_bytes);
    Block iv;
    std::copy(iv_bytes.begin(), iv_bytes.end(), iv.begin());
    for (const std::size_t bits : {1u, 7u, 9u, 8 * 4096u + 3u, 2 * 8 * 4096u - 5u}) {
        const Bytes input = random_bytes((bits + 7) / 8, 15);
        for (const bool encrypt : {true, false}) {
            const Bytes expected = *oracle::evp("CFB1", encrypt, key_bytes, iv_bytes, input, false, bits);
            Bytes output(input.size(), 0xa5);
            MessageGroup message = stretch_of(Mode::cfb1, encrypt ? Direction::encrypt : Direction::decrypt, key, iv,
                                              input.data(), output.data(), input.size());
            message.unused_bits = static_cast<std::uint32_t>((8 - bits % 8) % 8);
            run_group(engine, message);
            const auto mask = static_cast<std::uint8_t>(0xff << ((8 - bits % 8) % 8));
            Bytes wanted = expected;
            wanted.back() &= mask;
            ASSERT_EQ(output, wanted) << bits << " " << encrypt;
        }
    }
}

std::vector<std::string> usable_backends() {
    std::vector<std::string> names;
    for (Backend* backend : all_backends()) {
        if (backend->usable()) names.emplace_back(backend->name());
    }
    return names;
}

INSTANTIATE_TEST_SUITE_P(Backends, MessageTest, testing::ValuesIn(usable_backends()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace warpaes::test
