// Tests batches on a CPU that fail midway: libcrypto cannot allocate a cipher context, or refuses a key.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <vector>

#include "abi_batch.hpp"
#include "capi/handles.hpp"

namespace {

std::atomic<int> until_failure{-1};  ///< calls until the failure; if negative, no call fails
std::atomic<bool> refuses{false};
std::atomic<bool> has_no_context{false};

}  // namespace

/// The linker finds this function before libcrypto's.
extern "C" EVP_CIPHER_CTX* EVP_CIPHER_CTX_new() {
    static auto* const real = reinterpret_cast<EVP_CIPHER_CTX* (*)()>(::dlsym(RTLD_NEXT, "EVP_CIPHER_CTX_new"));
    if (until_failure >= 0 && until_failure-- == 0) return nullptr;
    return real();
}

extern "C" int EVP_CipherInit_ex2(EVP_CIPHER_CTX* context, const EVP_CIPHER* cipher, const unsigned char* key,
                                  const unsigned char* iv, int encrypts, const OSSL_PARAM* parameters) {
    static auto* const real = reinterpret_cast<decltype(&EVP_CipherInit_ex2)>(::dlsym(RTLD_NEXT, "EVP_CipherInit_ex2"));
    return refuses ? 0 : real(context, cipher, key, iv, encrypts, parameters);
}

extern "C" OSSL_LIB_CTX* OSSL_LIB_CTX_new() {
    static auto* const real = reinterpret_cast<decltype(&OSSL_LIB_CTX_new)>(::dlsym(RTLD_NEXT, "OSSL_LIB_CTX_new"));
    return has_no_context ? nullptr : real();
}

namespace warpaes::test {
namespace {

/// Runs two batches. In the first batch, libcrypto cannot create a library context. Prints the batches' faults and ends
/// the process.
[[noreturn]] void run_without_and_with_context() {
    const std::vector specs{GroupSpec{.mode = Mode::cbc, .length = 64}};
    for (const bool fails : {true, false}) {
        has_no_context = fails;
        std::cerr << complaints_of_abi_batch(make_engine("libcrypto", 1), specs, 1) << ".";
    }
    std::exit(0);
}

/// A process creates only one library context, so this test needs a process without a library context.
TEST(BatchCpuFailureDeathTest, ALaterCallMakesTheLibraryContext) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(run_without_and_with_context(), testing::ExitedWithCode(0), "libcrypto: OSSL_LIB_CTX_new failed\\.\\.");
}

TEST(BatchCpuFailure, OutputsOfWhatFailedShowNothing) {
    unsigned failed = 0;
    for (int nth = 0;; ++nth) {
        SCOPED_TRACE(nth);
        const AbiEngine engine = make_engine("libcrypto", 1);
        std::vector<GroupSpec> specs;
        for (unsigned i = 0; i < 6; ++i) {
            specs.push_back({.mode = i % 2 == 0 ? Mode::gcm : Mode::ccm,
                             .direction = Direction::decrypt,
                             .count = 3,
                             .length = 64,
                             .iv_length = 12,
                             .in_place = i % 4 < 2});
        }
        const BatchCase cases(specs, 14);
        AbiEntries entries(cases);
        until_failure = nth;
        warpaes_batch* handle = nullptr;
        ASSERT_EQ(warpaes_batch_submit(engine.get(), nullptr, entries.entries().data(), specs.size(), &handle),
                  WARPAES_OK);
        const AbiBatchHandle batch(handle);
        EXPECT_NE(warpaes_batch_wait(handle, 60000), WARPAES_ERROR_TIMEOUT);
        const bool came_so_far = until_failure.exchange(-1) < 0;
        const auto results = results_of(handle, specs.size());
        for (std::size_t i = 0; i < specs.size(); ++i) {
            if (results[i].status == WARPAES_OK) continue;
            ++failed;
            EXPECT_EQ(results[i].status, WARPAES_ERROR_OUT_OF_MEMORY);
            EXPECT_FALSE(cases.shows_plaintext(i)) << specs[i];
        }
        if (!came_so_far) break;
        ASSERT_LT(nth, 1000);
    }
    EXPECT_GT(failed, 6U) << "no call failed, so this tests nothing";
}

/// Short messages are processed by separate code. If libcrypto refuses a key, the error must name the failed call.
TEST(MessageCpuFailure, NamesTheCallThatFailedForAShortMessage) {
    const AbiEngine engine = make_engine("libcrypto", 1);
    std::vector<std::uint8_t> bytes(64), iv(16), tag(16);
    warpaes_key* key = nullptr;
    ASSERT_EQ(warpaes_key_create(bytes.data(), 32, &key), WARPAES_OK);
    const std::unique_ptr<warpaes_key, decltype(&warpaes_key_destroy)> owned(key, warpaes_key_destroy);
    for (const warpaes_mode mode : {WARPAES_CTR, WARPAES_CBC, WARPAES_ECB, WARPAES_GCM}) {
        for (const warpaes_direction direction : {WARPAES_ENCRYPT, WARPAES_DECRYPT}) {
            if (mode == WARPAES_GCM && direction == WARPAES_DECRYPT) continue;  // no input is authentic
            warpaes_message m = WARPAES_MESSAGE_INIT;
            m.mode = mode;
            m.direction = direction;
            m.key = key;
            m.iv = iv.data();
            m.iv_len = mode == WARPAES_ECB ? 0 : mode == WARPAES_GCM ? 12 : 16;
            m.input = m.output = bytes.data();
            m.input_len = m.output_capacity = bytes.size();
            if (mode == WARPAES_GCM) {
                m.tag = tag.data();
                m.tag_len = 16;
            }
            ASSERT_EQ(warpaes_crypt(engine.get(), &m, nullptr), WARPAES_OK) << mode << warpaes_last_error();
            refuses = true;
            const warpaes_status status = warpaes_crypt(engine.get(), &m, nullptr);
            refuses = false;
            EXPECT_EQ(status, WARPAES_ERROR_INTERNAL) << mode;
            EXPECT_STREQ(warpaes_last_error(), "libcrypto: EVP_CipherInit_ex2 failed") << mode;
        }
    }
}

TEST(BatchCpuFailure, NamesTheCallThatFailed) {
    const AbiEngine engine = make_engine("libcrypto", 1);
    const std::vector<GroupSpec> specs{{.mode = Mode::cbc, .count = 2, .length = 64}};
    const BatchCase cases(specs, 19);
    AbiEntries entries(cases);
    refuses = true;
    warpaes_batch* handle = nullptr;
    ASSERT_EQ(warpaes_batch_submit(engine.get(), nullptr, entries.entries().data(), 1, &handle), WARPAES_OK);
    const AbiBatchHandle batch(handle);
    EXPECT_EQ(warpaes_batch_wait(handle, 60000), WARPAES_ERROR_INTERNAL);
    refuses = false;
    EXPECT_STREQ(warpaes_last_error(), "libcrypto: EVP_CipherInit_ex2 failed");
}

}  // namespace
}  // namespace warpaes::test
