// Compares the lab's libcrypto reference with the examples in SP 800-38A. The comparison must detect differences.
#include "lab/reference.hpp"

#include <gtest/gtest.h>

#include "known_answers.hpp"

namespace lab {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes from_hex(const std::string& hex) {
    Bytes bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        bytes.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
    }
    return bytes;
}

TEST(Reference, Sp80038a) {
    const std::pair<const char*, Mode> modes[] = {
        {"ECB", Mode::ecb}, {"CBC", Mode::cbc}, {"CFB128", Mode::cfb128}, {"OFB", Mode::ofb}, {"CTR", Mode::ctr}};
    int checked = 0;
    for (const auto& example : vectors::sp800_38a::examples) {
        for (const auto& [name, mode] : modes) {
            if (example.mode != name) continue;
            const Bytes key = from_hex(example.key), iv = from_hex(example.iv), text = from_hex(example.plaintext);
            Reference encrypt(mode, Direction::encrypt, key), decrypt(mode, Direction::decrypt, key);
            for (int i = 0; i < 2; ++i) {  // each message starts with the IV
                EXPECT_EQ(encrypt.run(iv, text), from_hex(example.ciphertext)) << example.section;
                EXPECT_EQ(decrypt.run(iv, from_hex(example.ciphertext)), text) << example.section;
            }
            ++checked;
        }
    }
    EXPECT_EQ(checked, 15);
    EXPECT_THROW(Reference(Mode::ecb, Direction::encrypt, Bytes(15)), std::runtime_error);
}

TEST(Reference, DifferencesAreFound) {
    const Bytes a = random_bytes(100, 1);
    Bytes b = a;
    EXPECT_NO_THROW(require_equal(a, b, "the output"));
    b[99] ^= 1;
    try {
        require_equal(a, b, "the output");
        FAIL() << "nothing was found";
    } catch (const Mismatch& e) {
        EXPECT_STREQ(e.what(), "the output: byte 99 of 100 is wrong");
    }
    EXPECT_THROW(require_equal(a, std::span(a).first(99), "the output"), Mismatch);
}

}  // namespace
}  // namespace lab
