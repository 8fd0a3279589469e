// Shared code for the tests of exact error messages.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "support.hpp"

namespace abi_tests {

template <typename Enum>
Enum no_such(int value) {
    return static_cast<Enum>(value);
}

class Sentences : public testing::Test {
protected:
    /// A sentence that ends with "..." is only the beginning of the message, which continues with later modes.
    static void expect(const std::string& sentence, warpaes_status wanted, warpaes_status status) {
        EXPECT_EQ(status, wanted) << sentence;
        const std::string error = warpaes_last_error();
        const bool begins = sentence.ends_with("...");
        EXPECT_EQ(begins ? error.substr(0, sentence.size() - 3) + "..." : error, sentence);
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
        EXPECT_STREQ(m.result.error, warpaes_last_error());
    }

    Engine engine_ = make_engine("libcrypto");
    Key key_ = make_key(Bytes(16, 1)), other_ = make_key(Bytes(16, 2)), long_ = make_key(Bytes(32, 3)),
        middle_ = make_key(Bytes(24, 4));
    std::uint8_t memory_[1024] = {};
};

}  // namespace abi_tests
