// Tests that errors in a file job are reported before the job opens its files.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/sha.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <new>
#include <stdexcept>
#include <utility>

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

    /// Returns a job with nonexistent paths. They are reported only if the rest of the job is valid.
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
    // The job's mode, key and IV are not checked, because the keyset determines everything that the format needs.
    expect(WARPAES_ERROR_NOT_FOUND, "input: ", aead(), [this](Job& j) {
        j.mode = static_cast<warpaes_mode>(15);
        j.key = key_.get();
        j.iv = iv_.data();
        j.iv_len = 3;
    });
    EXPECT_EQ(warpaes_file_run(engine_.get(), nullptr, nullptr), WARPAES_ERROR_ARGUMENT);
    EXPECT_STREQ(warpaes_last_error(), "job: is null");
}

TEST_F(FileJob, WhatIsWrongWithKeysAndModes) {
    expect(WARPAES_ERROR_ARGUMENT, "key: is null", raw(), [](Job& j) { j.key = nullptr; });
    expect(WARPAES_ERROR_ARGUMENT, "iv: is null", raw(), [](Job& j) { j.iv = nullptr; });
    expect(WARPAES_ERROR_IV_LENGTH, "iv", raw(), [](Job& j) { j.iv_len = 15; });
    expect(WARPAES_ERROR_ARGUMENT, "cannot store a tag", raw(), [](Job& j) { j.mode = WARPAES_GCM; });
    expect(WARPAES_ERROR_ARGUMENT, "XTS", raw(), [](Job& j) { j.mode = WARPAES_XTS; });
    expect(WARPAES_ERROR_ARGUMENT, "mode", raw(), [](Job& j) { j.mode = static_cast<warpaes_mode>(15); });
    expect(WARPAES_ERROR_ARGUMENT, "direction", raw(), [](Job& j) { j.direction = static_cast<warpaes_direction>(3); });
    expect(WARPAES_ERROR_ARGUMENT, "no format 3", raw(), [](Job& j) { j.format = static_cast<warpaes_format>(3); });
    expect(WARPAES_ERROR_ARGUMENT, "flags", raw(), [](Job& j) { j.flags = WARPAES_FILE_VERIFY; });
    expect(WARPAES_ERROR_ARGUMENT, "PKCS7", raw(), [](Job& j) { j.flags = WARPAES_FILE_PKCS7; });
    for (const Job& job : {raw(), aead()}) {
        expect(WARPAES_ERROR_ARGUMENT, "input: has neither a path", job, [](Job& j) {
            j.input_path = nullptr;
            j.input_fd = -1;
        });
        expect(WARPAES_ERROR_ARGUMENT, "output: the path is empty", job, [](Job& j) { j.output_path = ""; });
    }
}

TEST_F(FileJob, DescriptorsAreNamed) {
    const int folder = ::open("/", O_RDONLY | O_DIRECTORY), nothing = ::open("/dev/null", O_RDWR);
    ASSERT_GE(std::min(folder, nothing), 0);
    expect(WARPAES_ERROR_NOT_FOUND, "input: the input descriptor is a directory", raw(), [&](Job& j) {
        j.input_path = nullptr;
        j.input_fd = folder;
    });
    expect(WARPAES_ERROR_WRITE, "output: the output descriptor is not open for writing", raw(), [&](Job& j) {
        j.input_path = j.output_path = nullptr;
        j.input_fd = nothing;
        j.output_fd = folder;
    });
    ::close(folder);
    ::close(nothing);
}

TEST_F(FileJob, WhatIsWrongWithAPassphrase) {
    expect(WARPAES_ERROR_ARGUMENT, "passphrase: is null", enc(), [](Job& j) { j.passphrase = nullptr; });
    expect(WARPAES_ERROR_ARGUMENT, "passphrase: is null", enc(), [](Job& j) {
        j.passphrase = nullptr;
        j.passphrase_len = 0;
    });
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
    expect(WARPAES_ERROR_ARGUMENT, "salt: cannot be combined with", enc(), [&](Job& j) {
        j.salt = iv_.data();
        j.salt_len = 8;
        j.flags = WARPAES_FILE_NO_SALT;
    });
    expect(WARPAES_ERROR_ARGUMENT, "salt: is null", enc(), [](Job& j) { j.salt_len = 8; });
    // Key derivation checks its parameters only after the input is open.
    const auto with_input = [](const std::function<void(Job&)>& change) {
        return [change](Job& j) {
            j.input_path = "/dev/null";
            change(j);
        };
    };
    expect(WARPAES_ERROR_KEY_LENGTH, "key_bits", enc(), with_input([](Job& j) { j.key_bits = 129; }));
    expect(WARPAES_ERROR_ARGUMENT, "digest: libcrypto does not support", enc(),
           with_input([](Job& j) { j.digest = "crc32"; }));
    EXPECT_EQ(ERR_peek_error(), 0u) << "libcrypto's complaint is not the caller's";
}

TEST_F(FileJob, WhatHasNoParts) {
    const std::string words = "range: a partial encryption supports neither padding nor a header";
    expect(WARPAES_ERROR_RANGE, words, enc(), [](Job& j) { j.flags = WARPAES_FILE_RANGE; });
    expect(WARPAES_ERROR_RANGE, words, enc(), [](Job& j) {
        j.mode = WARPAES_ECB;
        j.flags = WARPAES_FILE_RANGE | WARPAES_FILE_PKCS7 | WARPAES_FILE_NO_SALT;
    });
    expect(WARPAES_ERROR_RANGE, "can only start at the beginning", enc(), [](Job& j) {
        j.mode = WARPAES_OFB;
        j.flags = WARPAES_FILE_RANGE;
    });
}

TEST_F(FileJob, WhatIsWrongWithSegments) {
    expect(WARPAES_ERROR_ARGUMENT, "keyset: is null", aead(), [](Job& j) { j.keyset = nullptr; });
    expect(WARPAES_ERROR_ARGUMENT, "aad: is null", aead(), [](Job& j) { j.aad_len = 1; });
    expect(WARPAES_ERROR_ARGUMENT, "aad: is longer", aead(), [&](Job& j) {
        j.aad = iv_.data();
        j.aad_len = (1 << 20) + 1;
    });
    expect(WARPAES_ERROR_ARGUMENT, "flags", aead(), [](Job& j) { j.flags = WARPAES_FILE_BASE64; });
    expect(WARPAES_ERROR_ARGUMENT, "VERIFY applies only to decryption", aead(),
           [](Job& j) { j.flags = WARPAES_FILE_VERIFY; });
    expect(WARPAES_ERROR_RANGE, "applies only to decryption", aead(), [](Job& j) { j.flags = WARPAES_FILE_RANGE; });
    expect(WARPAES_ERROR_RANGE, "before its first byte", aead(), [](Job& j) {
        j.direction = WARPAES_DECRYPT;
        j.flags = WARPAES_FILE_RANGE;
        j.range_first = 2;
        j.range_last = 1;
    });
}

TEST_F(FileJob, OfWhatIsOnlyVerifiedThereIsNoDigest) {
    expect(WARPAES_ERROR_ARGUMENT, "VERIFY cannot be combined", aead(), [](Job& j) {
        j.direction = WARPAES_DECRYPT;
        j.flags = WARPAES_FILE_VERIFY | WARPAES_FILE_SHA256;
    });
    expect(WARPAES_ERROR_ARGUMENT, "reserved: must be 0", aead(), [](Job& j) { j.reserved = 1; });
}

// If a callback throws an exception, the error message describes this failure rather than an earlier failure.
TEST_F(FileJob, ACallbackThatThrowsIsAFailure) {
    const std::string path = testing::TempDir() + "warpaes-thrown-" + std::to_string(getpid());
    std::ofstream(path, std::ios::binary) << "text";
    Job job = raw();
    job.input_path = path.c_str();
    const std::string output = path + ".out";
    job.output_path = output.c_str();
    for (const auto& [function, words] : std::initializer_list<std::pair<warpaes_progress, const char*>>{
             {[](void*, std::uint64_t, std::uint64_t) -> int { throw 7; }, "unknown failure"},
             {[](void*, std::uint64_t, std::uint64_t) -> int { throw std::logic_error("mine"); }, "mine"},
             {[](void*, std::uint64_t, std::uint64_t) -> int { throw std::bad_alloc(); }, "out of host memory"}}) {
        EXPECT_EQ(warpaes_key_create(nullptr, 0, nullptr), WARPAES_ERROR_ARGUMENT);  // leaves a different error message
        job.progress = function;
        const bool memory = std::string(words) == "out of host memory";
        EXPECT_EQ(warpaes_file_run(engine_.get(), &job, nullptr),
                  memory ? WARPAES_ERROR_OUT_OF_MEMORY : WARPAES_ERROR_INTERNAL);
        EXPECT_STREQ(warpaes_last_error(), words);
        EXPECT_FALSE(std::filesystem::exists(output));
    }
    std::filesystem::remove(path);
}

TEST_F(FileJob, TheDigestOfTheInputIsThatOfTheWholeFile) {
    const std::string path = testing::TempDir() + "warpaes-digested-" + std::to_string(getpid());
    const std::string made = path + ".made", again = path + ".again";
    for (const std::size_t size : {0, 1, 1'048'576, 1'600'000, 9'000'000}) {
        std::ofstream(path, std::ios::binary) << std::string(size, 'x');
        Job job = aead();
        job.flags = WARPAES_FILE_SHA256 | WARPAES_FILE_OVERWRITE | WARPAES_FILE_NO_SYNC;
        job.input_path = path.c_str();
        job.output_path = made.c_str();
        job.direction = WARPAES_ENCRYPT;
        warpaes_file_result sealed = WARPAES_FILE_RESULT_INIT;
        ASSERT_EQ(warpaes_file_run(engine_.get(), &job, &sealed), WARPAES_OK) << warpaes_last_error();
        job.direction = WARPAES_DECRYPT;
        job.input_path = made.c_str();
        for (const std::uint32_t verify : {0U, unsigned{WARPAES_FILE_VERIFY}}) {
            for (const std::uint32_t threads : {0U, 1U, 4U}) {
                SCOPED_TRACE(std::to_string(size) + " " + std::to_string(verify) + " " + std::to_string(threads));
                job.flags = WARPAES_FILE_SHA256_INPUT | WARPAES_FILE_OVERWRITE | WARPAES_FILE_NO_SYNC | verify;
                job.threads = threads;
                job.output_path = verify != 0 ? nullptr : again.c_str();
                warpaes_file_result opened = WARPAES_FILE_RESULT_INIT;
                ASSERT_EQ(warpaes_file_run(engine_.get(), &job, &opened), WARPAES_OK) << warpaes_last_error();
                EXPECT_EQ(Bytes(opened.sha256, opened.sha256 + 32), Bytes(sealed.sha256, sealed.sha256 + 32));
            }
        }
        job.flags |= WARPAES_FILE_RANGE;
        EXPECT_EQ(warpaes_file_run(engine_.get(), &job, nullptr), WARPAES_ERROR_ARGUMENT);
    }
    for (const std::string& each : {path, made, again}) std::filesystem::remove(each);
}

TEST_F(FileJob, TheDigestIsThatOfTheOutput) {
    const std::string path = testing::TempDir() + "warpaes-digested-" + std::to_string(getpid());
    const std::string made = path + ".made", again = path + ".again";
    const auto read = [](const std::string& name) {
        std::ifstream file(name, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    const auto run = [&](Job job, const std::string& from, const std::string& to) {
        job.input_path = from.c_str();
        job.output_path = to.c_str();
        warpaes_file_result result = WARPAES_FILE_RESULT_INIT;
        EXPECT_EQ(warpaes_file_run(engine_.get(), &job, &result), WARPAES_OK) << warpaes_last_error();
        const std::string content = read(to);
        Bytes expected(32);
        if ((job.flags & WARPAES_FILE_SHA256) != 0) {
            SHA256(reinterpret_cast<const std::uint8_t*>(content.data()), content.size(), expected.data());
        }
        EXPECT_EQ(Bytes(result.sha256, result.sha256 + sizeof result.sha256), expected);
    };
    for (const std::size_t size : {0, 1, 1'600'000}) {
        std::ofstream(path, std::ios::binary) << std::string(size, 'x');
        for (Job job : {raw(), enc(), aead()}) {
            for (const std::uint32_t flags : {0U, unsigned{WARPAES_FILE_SHA256}}) {
                for (const std::uint32_t threads : {0U, 1U}) {
                    SCOPED_TRACE(std::to_string(job.format) + " " + std::to_string(size) + " " +
                                 std::to_string(threads));
                    job.flags = flags | WARPAES_FILE_OVERWRITE | WARPAES_FILE_NO_SYNC;
                    if (job.format == WARPAES_FORMAT_OPENSSL_ENC) job.flags |= WARPAES_FILE_BASE64;
                    job.threads = threads;
                    job.direction = WARPAES_ENCRYPT;
                    run(job, path, made);
                    job.direction = WARPAES_DECRYPT;
                    run(job, made, again);
                    EXPECT_TRUE(read(again) == read(path));
                }
            }
        }
    }
    for (const std::string& each : {path, made, again}) std::filesystem::remove(each);
}

/// Damage after the first segment proves that the key is right. If the first segment is damaged, the key may be wrong.
TEST_F(FileJob, ADamagedFileIsToldFromAWrongKey) {
    const std::string path = testing::TempDir() + "warpaes-damaged-" + std::to_string(getpid()), made = path + ".made";
    std::ofstream(path, std::ios::binary) << std::string(3u << 20, 'x');
    warpaes_file_job job = aead();
    job.input_path = path.c_str();
    job.output_path = made.c_str();
    ASSERT_EQ(warpaes_file_run(engine_.get(), &job, nullptr), WARPAES_OK) << warpaes_last_error();
    job.input_path = made.c_str();
    job.output_path = nullptr;
    job.direction = WARPAES_DECRYPT;
    job.flags = WARPAES_FILE_VERIFY;
    for (const auto& [at, note] : {std::pair(2u << 20, std::uint32_t{WARPAES_NOTE_KEY_OPENS}), {1000u, 0u}}) {
        std::fstream file(made, std::ios::binary | std::ios::in | std::ios::out);
        file.seekp(at);
        file.put('?');
        file.close();
        warpaes_file_result result = WARPAES_FILE_RESULT_INIT;
        EXPECT_EQ(warpaes_file_run(engine_.get(), &job, &result), WARPAES_ERROR_AUTHENTICATION);
        EXPECT_EQ(result.notes, note) << result.error;
    }
    for (const std::string& each : {path, made}) std::filesystem::remove(each);
}

/// Bytes before the encrypted file are copied unchanged. A reader skips them by positioning its descriptor.
TEST_F(FileJob, APrefixStandsInFront) {
    const std::string path = testing::TempDir() + "warpaes-prefix-" + std::to_string(getpid()), made = path + ".made";
    const std::string text(20000, 'x'), prefix(4096, 'p');
    std::ofstream(path, std::ios::binary) << text;
    warpaes_file_job job = aead();
    job.input_path = path.c_str();
    job.output_path = made.c_str();
    job.prefix = prefix.data();
    job.prefix_len = prefix.size();
    ASSERT_EQ(warpaes_file_run(engine_.get(), &job, nullptr), WARPAES_OK) << warpaes_last_error();
    std::string front(prefix.size(), '\0');
    std::ifstream(made, std::ios::binary).read(front.data(), static_cast<std::streamsize>(front.size()));
    EXPECT_TRUE(front == prefix);

    job = aead();
    job.direction = WARPAES_DECRYPT;
    job.input_path = nullptr;
    job.input_fd = ::open(made.c_str(), O_RDONLY | O_CLOEXEC);
    job.output_path = path.c_str();
    job.flags = WARPAES_FILE_OVERWRITE;
    ASSERT_EQ(::lseek(job.input_fd, 4096, SEEK_SET), 4096);
    EXPECT_EQ(warpaes_file_run(engine_.get(), &job, nullptr), WARPAES_OK) << warpaes_last_error();
    ::close(job.input_fd);
    std::string again(text.size() + 1, '\0');
    std::ifstream file(path, std::ios::binary);
    file.read(again.data(), static_cast<std::streamsize>(again.size()));
    again.resize(static_cast<std::size_t>(file.gcount()));
    EXPECT_TRUE(again == text);

    const auto give = [&](Job& j) { j.prefix = prefix.data(), j.prefix_len = prefix.size(); };
    for (const warpaes_file_job& other : {raw(), enc()})
        expect(WARPAES_ERROR_ARGUMENT, "prefix: applies only to", other, give);
    expect(WARPAES_ERROR_ARGUMENT, "prefix: applies only to", aead(),
           [&](Job& j) { give(j), j.direction = WARPAES_DECRYPT; });
    const std::string longest((std::size_t{1} << 20) + 1, 'p');
    expect(WARPAES_ERROR_ARGUMENT, "prefix: is longer", aead(),
           [&](Job& j) { j.prefix = longest.data(), j.prefix_len = longest.size(); });
    expect(WARPAES_ERROR_ARGUMENT, "prefix", aead(), [](Job& j) { j.prefix_len = 1; });
    for (const std::string& each : {path, made}) std::filesystem::remove(each);
}

/// The result contains a key ID only if the job has a keyset.
TEST_F(FileJob, OnlyAKeysetsKeyHasANumber) {
    const std::string path = testing::TempDir() + "warpaes-numbered-" + std::to_string(getpid()), made = path + ".made";
    std::ofstream(path) << "text";
    for (warpaes_file_job job : {raw(), enc(), aead()}) {
        job.input_path = path.c_str();
        job.output_path = made.c_str();
        warpaes_file_result result;
        std::memset(static_cast<void*>(&result), 0x5a, sizeof result);
        result.struct_size = sizeof result;
        ASSERT_EQ(warpaes_file_run(engine_.get(), &job, &result), WARPAES_OK) << warpaes_last_error();
        EXPECT_EQ(result.key_id != 0, job.keyset != nullptr);
        std::filesystem::remove(made);
    }
    std::filesystem::remove(path);
}

TEST_F(FileJob, WhatIsInspected) {
    const std::string path = testing::TempDir() + "warpaes-inspected-" + std::to_string(getpid());
    const auto facts = [&](const std::string& begin, std::size_t size, const char* name) {
        std::string content = begin;
        content.resize(size, 'x');
        std::ofstream(path, std::ios::binary) << content;
        warpaes_file_info info = WARPAES_FILE_INFO_INIT;
        EXPECT_EQ(warpaes_file_inspect(path.c_str(), name, &info), WARPAES_OK) << warpaes_last_error();
        EXPECT_EQ(info.file_bytes, size);
        return info;
    };
    const warpaes_file_info enc = facts("Salted__01234567", 48, nullptr);
    EXPECT_EQ(enc.format, WARPAES_FORMAT_OPENSSL_ENC);
    EXPECT_STREQ(enc.template_name, "");
    EXPECT_STREQ(enc.format_name, "openssl enc, with a passphrase");
    EXPECT_EQ(enc.header_bytes, 16U);
    EXPECT_EQ(enc.segment_bytes | enc.segments | enc.key_bits, 0U);
    EXPECT_EQ(enc.plaintext_bytes, WARPAES_UNKNOWN);
    for (const std::uint32_t bits : {128U, 256U}) {
        const std::size_t header = 1 + bits / 8 + 7;
        const std::string first(1, static_cast<char>(header));
        const warpaes_file_info some = facts(first, 9000, nullptr);
        EXPECT_EQ(some.format, WARPAES_FORMAT_STREAMING_AEAD);
        EXPECT_STREQ(some.template_name, "");
        EXPECT_STREQ(some.format_name, "Tink streaming AEAD");
        EXPECT_EQ(some.header_bytes, header);
        EXPECT_EQ(some.key_bits, bits);
        EXPECT_EQ(some.segment_bytes | some.segments, 0U);
        EXPECT_EQ(some.plaintext_bytes, WARPAES_UNKNOWN);
        const std::string name = "AES" + std::to_string(bits) + "_GCM_HKDF_4KB";
        const warpaes_file_info one = facts(first, 9000, name.c_str());
        EXPECT_EQ(one.format, WARPAES_FORMAT_STREAMING_AEAD);
        EXPECT_EQ(one.template_name, name);
        EXPECT_STREQ(one.format_name, "Tink streaming AEAD");
        EXPECT_EQ(one.header_bytes, header);
        EXPECT_EQ(one.key_bits, bits);
        EXPECT_EQ(one.segment_bytes, 4096U);
        EXPECT_EQ(one.segments, 3U);
        EXPECT_EQ(one.plaintext_bytes, 9000 - header - std::size_t{3} * 16);
    }
    std::ofstream(path) << "neither";
    warpaes_file_info info = WARPAES_FILE_INFO_INIT;
    EXPECT_EQ(warpaes_file_inspect(path.c_str(), nullptr, &info), WARPAES_ERROR_FORMAT);
    EXPECT_NE(std::string(warpaes_last_error())
                  .find("begins neither like Tink's streaming AEAD nor like `openssl enc`. Files of C2SP chunked "
                        "encryption have no mark: give their template"),
              std::string::npos)
        << warpaes_last_error();
    EXPECT_EQ(warpaes_file_inspect(path.c_str(), "AES128_GCM_HKDF_4KB", &info), WARPAES_ERROR_FORMAT);
    EXPECT_NE(std::string(warpaes_last_error()).find("does not begin like a file in the format AES128_GCM_HKDF_4KB"),
              std::string::npos)
        << warpaes_last_error();
    std::filesystem::remove(path);
}

struct Hole {
    std::uint64_t first, length;
    bool operator==(const Hole&) const = default;
};

TEST_F(FileJob, WhatIsSalvaged) {
    const std::string path = testing::TempDir() + "warpaes-salvaged-" + std::to_string(getpid());
    const std::string sealed = path + ".sealed", output = path + ".output";
    constexpr std::size_t segment = 4096 - 16, first = segment - 24;
    std::string plain(3 * segment, 'p');
    std::ofstream(path, std::ios::binary) << plain;
    Job job = aead();
    job.input_path = path.c_str();
    job.output_path = sealed.c_str();
    ASSERT_EQ(warpaes_file_run(engine_.get(), &job, nullptr), WARPAES_OK) << warpaes_last_error();
    std::vector<Hole> holes;
    const auto salvage = [&](Job change) {
        change.direction = WARPAES_DECRYPT;
        change.flags |= WARPAES_FILE_SALVAGE;
        change.input_path = sealed.c_str();
        change.output_path = output.c_str();
        holes.clear();
        warpaes_file_result result = WARPAES_FILE_RESULT_INIT;
        const warpaes_status status = warpaes_file_run(engine_.get(), &change, &result);
        EXPECT_EQ(result.status, status);
        EXPECT_STREQ(result.error, status == WARPAES_OK ? "" : warpaes_last_error());
        if (status == WARPAES_OK || status == WARPAES_ERROR_HOLES) {
            EXPECT_EQ(result.bytes_written, std::filesystem::file_size(output));
            EXPECT_NE(result.key_id, 0U);
            std::filesystem::remove(output);
        }
        EXPECT_FALSE(std::filesystem::exists(output));
        return status;
    };
    job.hole = [](void* user, std::uint64_t at, std::uint64_t length) {
        static_cast<std::vector<Hole>*>(user)->push_back({at, length});
    };
    job.hole_user = &holes;
    EXPECT_EQ(salvage(job), WARPAES_OK);
    EXPECT_TRUE(holes.empty());
    {
        std::fstream file(sealed, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(4096 + 100);
        file << "damage";
    }
    EXPECT_EQ(salvage(job), WARPAES_ERROR_HOLES);
    EXPECT_STREQ(warpaes_last_error(), "input: is not authentic in 1 place; there, the output contains zeros or ends");
    EXPECT_EQ(holes, (std::vector<Hole>{{first, segment}}));
    std::filesystem::resize_file(sealed, 3 * 4096);
    EXPECT_EQ(salvage(job), WARPAES_ERROR_HOLES);
    EXPECT_EQ(holes, (std::vector<Hole>{{first, segment}, {first + 2 * segment, WARPAES_UNKNOWN}}));
    Job without = job;
    without.hole = nullptr;
    EXPECT_EQ(salvage(without), WARPAES_ERROR_HOLES);
    std::filesystem::resize_file(sealed, 3000);
    EXPECT_EQ(salvage(job), WARPAES_ERROR_AUTHENTICATION);
    const auto salvages = [](Job& j) {
        j.direction = WARPAES_DECRYPT;
        j.flags |= WARPAES_FILE_SALVAGE;
    };
    for (const std::uint32_t flag : {WARPAES_FILE_RANGE, WARPAES_FILE_VERIFY, WARPAES_FILE_SHA256_INPUT}) {
        expect(WARPAES_ERROR_ARGUMENT, "flags: SALVAGE applies only to decryption, without", aead(), [&](Job& j) {
            salvages(j);
            j.flags |= flag;
        });
    }
    expect(WARPAES_ERROR_ARGUMENT, "flags: SALVAGE applies only to decryption", aead(), [&](Job& j) {
        salvages(j);
        j.direction = WARPAES_ENCRYPT;
    });
    expect(WARPAES_ERROR_ARGUMENT, "hole: applies only to SALVAGE", aead(), [&](Job& j) { j.hole = job.hole; });
    expect(WARPAES_ERROR_ARGUMENT, "flags", raw(), salvages);
    for (const std::string& each : {path, sealed}) std::filesystem::remove(each);
}

}  // namespace
}  // namespace abi_tests
