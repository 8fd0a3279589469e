// Batches on a CPU that fails midway: libcrypto has no memory for a cipher's context, or refuses a key.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <atomic>

#include "abi_batch.hpp"
#include "capi/handles.hpp"

namespace {

std::atomic<int> until_failure{-1};  ///< calls; below 0: there is none
std::atomic<bool> refuses{false};

}  // namespace

/// Found before libcrypto's own.
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

namespace warpaes::test {
namespace {

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
    EXPECT_GT(failed, 6U) << "nothing has failed: this tests nothing";
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
