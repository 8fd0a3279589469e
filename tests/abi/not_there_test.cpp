// Tests that unsupported features are refused with an error message that suggests an alternative.
#include <gtest/gtest.h>

#include "support.hpp"

namespace abi_tests {
namespace {

class NotThere : public BackendTest {
protected:
    static void expect_sentence(warpaes_status got, warpaes_status status, const std::string& argument,
                                const std::string& missing, const std::string& instead) {
        const std::string sentence = warpaes_last_error();
        EXPECT_EQ(got, status) << sentence;
        EXPECT_EQ(sentence.find(argument + ": "), 0U) << sentence;
        EXPECT_NE(sentence.find(missing), std::string::npos) << sentence;
        EXPECT_NE(sentence.find(instead), std::string::npos) << sentence;
    }

    warpaes_status crypt(warpaes_mode mode, std::uint32_t flags, std::uint64_t length) {
        PoisonedBuffer output(64);
        const Bytes iv(mode == WARPAES_ECB ? 0 : 16);
        Call m = make_message(mode, WARPAES_ENCRYPT, key_, iv, input_.data(), length, output.data(), output.size());
        m.flags = flags;
        if (mode == WARPAES_XTS) m.tweak_key = tweak_key_.get();
        const warpaes_status status = abi_tests::crypt(engine_, m);
        if (status != WARPAES_OK) {
            EXPECT_TRUE(output.intact_after(0));
        }
        return status;
    }

    Key key_ = make_key(Bytes(16, 1)), tweak_key_ = make_key(Bytes(16, 2));
    Bytes input_ = Bytes(64, 3);
};

TEST_P(NotThere, LengthsInBitsOfContexts) {
    const Context context = make_context(engine_);
    const Bytes iv(16);
    for (const warpaes_mode mode : {WARPAES_CFB1, WARPAES_CTR}) {
        expect_sentence(
            context_init(context.get(), mode, WARPAES_ENCRYPT, key_.get(), iv.data(), 16, WARPAES_LENGTH_IN_BITS),
            WARPAES_ERROR_ARGUMENT, "flags", "lengths in bits", "warpaes_crypt");
    }
}

TEST_P(NotThere, XtsAndCtrInBits) {
    EXPECT_EQ(crypt(WARPAES_CFB1, WARPAES_LENGTH_IN_BITS, 301), WARPAES_OK) << warpaes_last_error();
    for (const warpaes_mode mode : {WARPAES_CTR, WARPAES_XTS}) {
        expect_sentence(crypt(mode, WARPAES_LENGTH_IN_BITS, 301), WARPAES_ERROR_ARGUMENT, "flags", "XTS",
                        "complete bytes");
    }
}

TEST_P(NotThere, CbcWithCiphertextStealing) {
    for (const std::uint64_t length : {17U, 31U}) {
        expect_sentence(crypt(WARPAES_CBC, 0, length), WARPAES_ERROR_DATA_LENGTH, "input_len", "ciphertext stealing",
                        "WARPAES_PKCS7");
    }
}

WARPAES_FOR_EVERY_BACKEND(NotThere);

}  // namespace
}  // namespace abi_tests
