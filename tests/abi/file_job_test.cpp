// What is wrong with a file job is told before its files are touched.
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <unistd.h>

#include <climits>
#include <cstring>
#include <functional>

#include "support.hpp"

namespace abi_tests {
namespace {

class FileJob : public testing::Test {
protected:
    FileJob() : engine_(make_engine("libcrypto")), key_(make_key(Bytes(16, 1))) {
        warpaes_keyset* made = nullptr;
        EXPECT_EQ(warpaes_keyset_create(&made), WARPAES_OK);
        keyset_.reset(made);
        EXPECT_EQ(warpaes_keyset_add(made, "AES128_GCM_HKDF_4KB", nullptr), WARPAES_OK);
    }

    /// From and to where nothing is: that is told if nothing else is wrong.
    static warpaes_file_job job_of(warpaes_format format) {
        warpaes_file_job job = WARPAES_FILE_JOB_INIT;
        job.format = format;
        job.mode = WARPAES_CTR;
        job.direction = WARPAES_ENCRYPT;
        job.input_path = "/nowhere/input";
        job.output_path = "/nowhere/output";
        return job;
    }
    [[nodiscard]] warpaes_file_job raw() const {
        warpaes_file_job job = job_of(WARPAES_FORMAT_RAW);
        job.key = key_.get();
        job.iv = iv_.data();
        job.iv_len = iv_.size();
        return job;
    }
    [[nodiscard]] warpaes_file_job enc() const {
        warpaes_file_job job = job_of(WARPAES_FORMAT_OPENSSL_ENC);
        job.key_bits = 128;
        job.passphrase = "pass";
        job.passphrase_len = 4;
        return job;
    }
    [[nodiscard]] warpaes_file_job aead() const {
        warpaes_file_job job = job_of(WARPAES_FORMAT_STREAMING_AEAD);
        job.keyset = keyset_.get();
        return job;
    }

    void expect(warpaes_status status, const std::string& words, warpaes_file_job job,
                const std::function<void(warpaes_file_job&)>& change) const {
        change(job);
        warpaes_file_result result;
        std::memset(static_cast<void*>(&result), 0x5a, sizeof result);
        result.struct_size = sizeof result;
        EXPECT_EQ(warpaes_file_run(engine_.get(), &job, &result), status) << words;
        EXPECT_NE(std::string(warpaes_last_error()).find(words), std::string::npos) << warpaes_last_error();
        EXPECT_EQ(result.struct_size, sizeof result);
        EXPECT_EQ(result.status, status);
        EXPECT_STREQ(result.error, warpaes_last_error());
        EXPECT_EQ(result.bytes_read | result.bytes_written | result.notes | result.key_id, 0U);
        EXPECT_EQ(result.device, -1);
        EXPECT_STREQ(result.backend, "");
    }

    struct KeysetDelete {
        void operator()(warpaes_keyset* keyset) const { warpaes_keyset_destroy(keyset); }
    };
    const Engine engine_;
    const Key key_;
    const Bytes iv_ = Bytes(16, 2);
    std::unique_ptr<warpaes_keyset, KeysetDelete> keyset_;
};

using Job = warpaes_file_job;

TEST_F(FileJob, OnlyTheFilesAreMissing) {
    const auto nothing = [](Job&) {};
    for (const Job& job : {raw(), enc(), aead()}) expect(WARPAES_ERROR_NOT_FOUND, "input: ", job, nothing);
    expect(WARPAES_ERROR_NOT_FOUND, "input: ", enc(), [](Job& j) { j.iterations = INT_MAX; });
    EXPECT_EQ(warpaes_file_run(engine_.get(), nullptr, nullptr), WARPAES_ERROR_ARGUMENT);
    EXPECT_STREQ(warpaes_last_error(), "job: is null");
}

TEST_F(FileJob, WhatIsWrongWithKeysAndModes) {
    expect(WARPAES_ERROR_ARGUMENT, "key: is null", raw(), [](Job& j) { j.key = nullptr; });
    expect(WARPAES_ERROR_ARGUMENT, "iv: is null", raw(), [](Job& j) { j.iv = nullptr; });
    expect(WARPAES_ERROR_IV_LENGTH, "iv", raw(), [](Job& j) { j.iv_len = 15; });
    expect(WARPAES_ERROR_ARGUMENT, "no place for a tag", raw(), [](Job& j) { j.mode = WARPAES_GCM; });
    expect(WARPAES_ERROR_ARGUMENT, "XTS", raw(), [](Job& j) { j.mode = WARPAES_XTS; });
    expect(WARPAES_ERROR_ARGUMENT, "mode", raw(), [](Job& j) { j.mode = static_cast<warpaes_mode>(15); });
    expect(WARPAES_ERROR_ARGUMENT, "direction", raw(), [](Job& j) { j.direction = static_cast<warpaes_direction>(3); });
    expect(WARPAES_ERROR_ARGUMENT, "no format 3", raw(), [](Job& j) { j.format = static_cast<warpaes_format>(3); });
    expect(WARPAES_ERROR_ARGUMENT, "flags", raw(), [](Job& j) { j.flags = WARPAES_FILE_VERIFY; });
    expect(WARPAES_ERROR_ARGUMENT, "PKCS7", raw(), [](Job& j) { j.flags = WARPAES_FILE_PKCS7; });
    for (const Job& job : {raw(), aead()}) {
        expect(WARPAES_ERROR_ARGUMENT, "input: no path", job, [](Job& j) {
            j.input_path = nullptr;
            j.input_fd = -1;
        });
        expect(WARPAES_ERROR_ARGUMENT, "output: the path is empty", job, [](Job& j) { j.output_path = ""; });
    }
}

TEST_F(FileJob, WhatIsWrongWithAPassphrase) {
    expect(WARPAES_ERROR_ARGUMENT, "passphrase: is null", enc(), [](Job& j) { j.passphrase = nullptr; });
    const std::string longest(1 << 20, 'x'), longer = longest + "x";
    expect(WARPAES_ERROR_NOT_FOUND, "input: ", enc(), [&](Job& j) {
        j.passphrase = longest.data();
        j.passphrase_len = longest.size();
    });
    expect(WARPAES_ERROR_ARGUMENT, "passphrase: is longer than 1 MiB", enc(), [&](Job& j) {
        j.passphrase = longer.data();
        j.passphrase_len = longer.size();
    });
    expect(WARPAES_ERROR_ARGUMENT, "iterations: must be below 2^31", enc(), [](Job& j) { j.iterations = 1U << 31; });
    expect(WARPAES_ERROR_ARGUMENT, "salt: must be 8 bytes", enc(), [&](Job& j) {
        j.salt = iv_.data();
        j.salt_len = 7;
    });
    expect(WARPAES_ERROR_ARGUMENT, "salt: contradicts", enc(), [&](Job& j) {
        j.salt = iv_.data();
        j.salt_len = 8;
        j.flags = WARPAES_FILE_NO_SALT;
    });
    expect(WARPAES_ERROR_ARGUMENT, "salt: is null", enc(), [](Job& j) { j.salt_len = 8; });
    // What a key is derived with is looked at where it is derived: the input is open then.
    const auto with_input = [](const std::function<void(Job&)>& change) {
        return [change](Job& j) {
            j.input_path = "/dev/null";
            change(j);
        };
    };
    expect(WARPAES_ERROR_KEY_LENGTH, "key_bits", enc(), with_input([](Job& j) { j.key_bits = 129; }));
    expect(WARPAES_ERROR_ARGUMENT, "digest: libcrypto has no", enc(), with_input([](Job& j) { j.digest = "crc32"; }));
    EXPECT_EQ(ERR_peek_error(), 0u) << "libcrypto's complaint is not the caller's";
}

TEST_F(FileJob, WhatIsWrongWithSegments) {
    expect(WARPAES_ERROR_ARGUMENT, "keyset: is null", aead(), [](Job& j) { j.keyset = nullptr; });
    expect(WARPAES_ERROR_ARGUMENT, "aad: is null", aead(), [](Job& j) { j.aad_len = 1; });
    expect(WARPAES_ERROR_ARGUMENT, "aad: is longer", aead(), [&](Job& j) {
        j.aad = iv_.data();
        j.aad_len = (1 << 20) + 1;
    });
    expect(WARPAES_ERROR_ARGUMENT, "flags", aead(), [](Job& j) { j.flags = WARPAES_FILE_BASE64; });
    expect(WARPAES_ERROR_ARGUMENT, "VERIFY is for decryption", aead(), [](Job& j) { j.flags = WARPAES_FILE_VERIFY; });
    expect(WARPAES_ERROR_RANGE, "only decryption has ranges", aead(), [](Job& j) { j.flags = WARPAES_FILE_RANGE; });
    expect(WARPAES_ERROR_RANGE, "before its first byte", aead(), [](Job& j) {
        j.direction = WARPAES_DECRYPT;
        j.flags = WARPAES_FILE_RANGE;
        j.range_first = 2;
        j.range_last = 1;
    });
}

}  // namespace
}  // namespace abi_tests
