// Tests PKCS#7: libcrypto accepts our padding, we accept libcrypto's, and every wrong padding is refused.
#include <gtest/gtest.h>

#include <algorithm>

#include "evp_oracle.hpp"
#include "support.hpp"

namespace abi_tests {
namespace {

constexpr warpaes_mode padded_modes[] = {WARPAES_ECB, WARPAES_CBC};

class Padding : public BackendTest {};

TEST_P(Padding, InterchangesWithLibcrypto) {
    const Engine chunked = make_engine(GetParam(), 4096, 2);
    Random random(7);
    std::vector<std::size_t> lengths;
    for (std::size_t length = 0; length <= 33; ++length) lengths.push_back(length);
    for (const std::size_t length : {4079, 4080, 4081, 4095, 4096, 4097, 8192, 40000}) lengths.push_back(length);
    for (const std::size_t length : lengths) {
        for (const warpaes_mode mode : padded_modes) {
            const Bytes key_bytes = random.bytes(std::vector<std::size_t>{16, 24, 32}[length % 3]);
            const Bytes iv = random.bytes(16);
            const Bytes text = random.bytes(length);
            const Key key = make_key(key_bytes);
            const Bytes padded = *oracle::evp(traits(mode).name, true, key_bytes, iv, text, true);
            ASSERT_TRUE(crypt(chunked, GetParam(), mode, WARPAES_ENCRYPT, key, iv, text, WARPAES_PKCS7) == padded)
                << traits(mode).name << " " << length;
            ASSERT_TRUE(crypt(chunked, GetParam(), mode, WARPAES_DECRYPT, key, iv, padded, WARPAES_PKCS7) == text)
                << traits(mode).name << " " << length;
        }
    }
}

TEST_P(Padding, InPlace) {
    Random random(8);
    const Bytes key_bytes = random.bytes(16);
    const Bytes iv = random.bytes(16);
    const Key key = make_key(key_bytes);
    for (const warpaes_mode mode : padded_modes) {
        for (const std::size_t length : {0U, 5U, 16U, 100U, 4096U, 5000U}) {
            const Bytes text = random.bytes(length);
            const std::size_t padded_length = length / 16 * 16 + 16;
            PoisonedBuffer buffer(padded_length);
            buffer.assign(text);
            Call message =
                make_message(mode, WARPAES_ENCRYPT, key, iv, buffer.data(), length, buffer.data(), padded_length);
            message.flags = WARPAES_PKCS7;
            ASSERT_EQ(crypt(engine_, message), WARPAES_OK) << warpaes_last_error();
            ASSERT_EQ(message.result.output_len, padded_length);
            ASSERT_EQ(buffer.bytes(padded_length), *oracle::evp(traits(mode).name, true, key_bytes, iv, text, true));
            message.direction = WARPAES_DECRYPT;
            message.input_len = padded_length;
            ASSERT_EQ(crypt(engine_, message), WARPAES_OK) << warpaes_last_error();
            ASSERT_EQ(message.result.output_len, length);
            ASSERT_EQ(buffer.bytes(length), text);
            ASSERT_TRUE(buffer.intact_after(padded_length));
        }
    }
}

/// Tries every value of the last byte. For each valid value, also makes each of the other padding bytes wrong.
TEST_P(Padding, WrongPaddingIsRefusedAndWiped) {
    Random random(9);
    const Bytes key_bytes = random.bytes(32);
    const Bytes iv = random.bytes(16);
    const Key key = make_key(key_bytes);

    const auto decrypt = [&](const Bytes& plaintext, std::size_t kept, bool right) {
        const Bytes input = expected(WARPAES_CBC, WARPAES_ENCRYPT, key_bytes, iv, plaintext);
        PoisonedBuffer output(input.size());
        Call message = make_message(WARPAES_CBC, WARPAES_DECRYPT, key, iv, input.data(), input.size(), output.data(),
                                    output.size());
        message.flags = WARPAES_PKCS7;
        const warpaes_status status = crypt(engine_, message);
        ASSERT_EQ(message.result.status, status);
        ASSERT_TRUE(output.intact_after(output.size()));
        if (right) {
            ASSERT_EQ(status, WARPAES_OK) << warpaes_last_error();
            ASSERT_EQ(message.result.output_len, kept);
            ASSERT_TRUE(
                std::equal(plaintext.begin(), plaintext.begin() + static_cast<std::ptrdiff_t>(kept), output.data()));
        } else {
            ASSERT_EQ(status, WARPAES_ERROR_PADDING);
            ASSERT_NE(std::string(warpaes_last_error()).find("padding"), std::string::npos) << warpaes_last_error();
            ASSERT_EQ(message.result.output_len, 0U);
            ASSERT_EQ(output.bytes(output.size()), Bytes(output.size(), 0)) << "plaintext remains";
        }
    };

    // Padding longer than a block is refused, even if every byte of the last block has the same value.
    for (const std::size_t byte : {0, 17, 18, 31, 32, 64, 128, 255}) {
        decrypt(Bytes(64, static_cast<std::uint8_t>(byte)), 0, false);
        ASSERT_FALSE(HasFatalFailure()) << "every byte " << byte;
    }

    const std::size_t step = simulated() ? 15 : 1;
    for (std::size_t last = 0; last < 256; last += step) {
        Bytes plaintext = random.bytes(64);
        const bool right = last >= 1 && last <= 16;
        const std::size_t n = right ? last : 1;
        std::fill(plaintext.end() - static_cast<std::ptrdiff_t>(n), plaintext.end(), static_cast<std::uint8_t>(last));
        decrypt(plaintext, 64 - n, right);
        ASSERT_FALSE(HasFatalFailure()) << "last byte " << last;
        for (std::size_t i = 2; right && i <= n; i += step) {
            Bytes damaged = plaintext;
            std::uint8_t& byte = damaged[64 - i];
            byte = static_cast<std::uint8_t>(byte ^ (1U << random.below(8)));
            decrypt(damaged, 0, false);
            ASSERT_FALSE(HasFatalFailure()) << "padding of " << n << " with byte " << i << " from the end wrong";
        }
    }
}

TEST_P(Padding, CapacityIsCheckedFirst) {
    Random random(10);
    const Key key = make_key(random.bytes(16));
    const Bytes iv = random.bytes(16);
    for (const std::size_t length : {0U, 1U, 15U, 16U, 31U}) {
        const Bytes text = random.bytes(length);
        const std::size_t needed = length / 16 * 16 + 16;
        PoisonedBuffer output(needed);
        Call message =
            make_message(WARPAES_CBC, WARPAES_ENCRYPT, key, iv, text.data(), length, output.data(), needed - 1);
        message.flags = WARPAES_PKCS7;
        EXPECT_EQ(crypt(engine_, message), WARPAES_ERROR_BUFFER_TOO_SMALL);
        EXPECT_EQ(message.result.output_len, needed);
        EXPECT_TRUE(output.intact_after(0));
    }
}

WARPAES_FOR_EVERY_BACKEND(Padding);

}  // namespace
}  // namespace abi_tests
