// Tests structs of callers that were compiled with an older header, where structs are shorter, or with a newer header.
// A struct of at least the size in this table is accepted, and nothing past its end is read or written.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <type_traits>

#include "support.hpp"
#include "warpaes/numbers.h"

namespace abi_tests {
namespace {

// Callers rely on the sizes and the order of the fields in version 1.0. Never change them here.
static_assert(sizeof(warpaes_engine_options) >= 40 && sizeof(warpaes_backend_info) >= 48 &&
              sizeof(warpaes_message) >= 144 && sizeof(warpaes_result) >= 288 && sizeof(warpaes_batch_options) >= 56 &&
              sizeof(warpaes_batch_result) >= 56 && sizeof(warpaes_context_options) >= 80 &&
              sizeof(warpaes_work) >= 48 && sizeof(warpaes_plan) >= 304 && sizeof(warpaes_prediction) >= 32 &&
              sizeof(warpaes_calibration) >= 24 && sizeof(warpaes_calibration_result) >= 32 &&
              sizeof(warpaes_key_info) >= 32 && sizeof(warpaes_file_job) >= 176 && sizeof(warpaes_file_result) >= 304 &&
              sizeof(warpaes_file_info) >= 64 && sizeof(warpaes_source) >= 56 && sizeof(warpaes_sink) >= 32 &&
              sizeof(warpaes_numbers) >= 72);
static_assert(offsetof(warpaes_file_job, keyset) == 152 && offsetof(warpaes_file_result, error) == 48 &&
              offsetof(warpaes_calibration_result, median_error) == 16);

/// The last bytes before inaccessible memory. An access past them crashes.
class EndOfMemory {
public:
    EndOfMemory() : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
        void* memory = mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED || mprotect(static_cast<std::uint8_t*>(memory) + page_, page_, PROT_NONE) != 0) {
            throw std::bad_alloc();
        }
        begin_ = static_cast<std::uint8_t*>(memory);
    }
    ~EndOfMemory() { munmap(begin_, 2 * page_); }
    EndOfMemory(const EndOfMemory&) = delete;
    EndOfMemory& operator=(const EndOfMemory&) = delete;
    void* last(std::size_t bytes) { return begin_ + page_ - bytes; }

private:
    std::size_t page_;
    std::uint8_t* begin_;
};

class Structs : public testing::Test {
protected:
    Structs() { setenv("WARPAES_CALIBRATION", "none", 1); }

    /// Passes `good` in every size from `least`. The status must be the same as for a complete struct. The results that
    /// fit must equal those of a complete struct, except the fields that `differs` names.
    template <typename Struct>
    static void check(
        const char* init, std::size_t least, const Struct& good, const std::function<warpaes_status(Struct*)>& call,
        const std::function<void(Struct&)>& differs = [](Struct&) {},
        bool may_be_missing = std::is_same_v<Struct, warpaes_engine_options> ||
                              std::is_same_v<Struct, warpaes_batch_options>) {
        SCOPED_TRACE(init);
        Struct whole = good;
        const warpaes_status status = call(&whole);
        differs(whole);
        EndOfMemory memory;
        for (std::size_t size = least; size <= sizeof(Struct); size += 8) {
            auto* const its = static_cast<Struct*>(memory.last(size));
            std::memcpy(static_cast<void*>(its), &good, size);
            its->struct_size = static_cast<std::uint32_t>(size);
            EXPECT_EQ(call(its), status) << size << ": " << warpaes_last_error();
            EXPECT_EQ(its->struct_size, size);
            Struct got = whole;
            std::memcpy(static_cast<void*>(&got), its, size);
            got.struct_size = whole.struct_size;
            differs(got);
            EXPECT_EQ(std::memcmp(&got, &whole, sizeof got), 0) << "different results with a size of " << size;
        }
        // A newer struct, with fields at its end that this library does not support.
        struct Newer {
            Struct known;
            std::uint64_t more[2];
        } newer{good, {0, 0}};
        newer.known.struct_size = sizeof newer;
        EXPECT_EQ(call(&newer.known), status) << warpaes_last_error();
        EXPECT_EQ(newer.more[0] | newer.more[1], 0U);
        newer.known = good;
        newer.known.struct_size = sizeof newer;
        newer.more[1] = 1;
        EXPECT_EQ(call(&newer.known), WARPAES_ERROR_ARGUMENT) << "a request that it does not support";
        EXPECT_EQ(newer.more[1], 1U);
        for (const std::size_t size : {std::size_t{0}, std::size_t{4}, std::size_t{8}, least - 1}) {
            auto* const its = static_cast<Struct*>(memory.last(8));
            its->struct_size = static_cast<std::uint32_t>(size);
            EXPECT_EQ(call(its), WARPAES_ERROR_ARGUMENT) << size;
            const std::string sentence = warpaes_last_error();
            EXPECT_NE(sentence.find(": struct_size is " + std::to_string(size) + "; "), std::string::npos) << sentence;
            EXPECT_NE(sentence.find(init), std::string::npos) << sentence;
        }
        EXPECT_EQ(call(nullptr), may_be_missing ? WARPAES_OK : WARPAES_ERROR_ARGUMENT);
    }

    /// Tests an optional result, which is only written. `call` receives every size from `least`, filled with a pattern.
    /// The fields that fit must equal those of a complete struct, except the fields that `differs` names.
    template <typename Result>
    static void check_result(
        const char* init, std::size_t least, warpaes_status status, const std::function<warpaes_status(Result*)>& call,
        const std::function<void(Result&)>& differs = [](Result&) {}) {
        SCOPED_TRACE(init);
        EXPECT_EQ(call(nullptr), status) << warpaes_last_error();
        struct Newer {
            Result known;
            std::uint64_t more;
        } newer;
        std::memset(static_cast<void*>(&newer), 0x5a, sizeof newer);
        newer.known.struct_size = sizeof newer;
        EXPECT_EQ(call(&newer.known), status) << warpaes_last_error();
        EXPECT_EQ(newer.known.struct_size, sizeof newer);
        EXPECT_EQ(newer.more, 0x5a5a5a5a5a5a5a5aU) << "an unknown field was written";
        differs(newer.known);
        EndOfMemory memory;
        for (std::size_t size = least; size <= sizeof(Result); size += 8) {
            auto* const its = static_cast<Result*>(memory.last(size));
            std::memset(static_cast<void*>(its), 0xa5, size);
            its->struct_size = static_cast<std::uint32_t>(size);
            EXPECT_EQ(call(its), status) << size << ": " << warpaes_last_error();
            EXPECT_EQ(its->struct_size, size);
            Result got = newer.known;
            std::memcpy(static_cast<void*>(&got), its, size);
            got.struct_size = newer.known.struct_size;
            differs(got);
            if constexpr (requires { got.error; }) {  // the bytes after the NUL are unspecified
                if (size > offsetof(Result, error)) {
                    const std::size_t room = size - offsetof(Result, error);
                    EXPECT_EQ(std::string(got.error, strnlen(got.error, room)),
                              std::string(newer.known.error).substr(0, room));
                }
                std::memcpy(got.error, newer.known.error, sizeof got.error);
            }
            EXPECT_EQ(std::memcmp(&got, &newer.known, sizeof got), 0) << "different results with a size of " << size;
        }
        for (const std::size_t size : {std::size_t{0}, std::size_t{4}, std::size_t{8}, least - 1}) {
            auto* const its = static_cast<Result*>(memory.last(8));
            std::memset(static_cast<void*>(its), 0x77, 8);
            its->struct_size = static_cast<std::uint32_t>(size);
            EXPECT_EQ(call(its), WARPAES_ERROR_ARGUMENT) << size;
            EXPECT_EQ(std::string(warpaes_last_error()).find("result: struct_size is " + std::to_string(size) + "; "),
                      0U)
                << warpaes_last_error();
            EXPECT_NE(std::string(warpaes_last_error()).find(init), std::string::npos) << warpaes_last_error();
            EXPECT_EQ(std::memcmp(reinterpret_cast<std::uint8_t*>(its) + 4, "wwww", 4), 0) << "written";
        }
    }

    Engine engine_ = make_engine("libcrypto");
    Key key_ = make_key(Bytes(16, 1));
    Bytes input_ = Bytes(64, 3), output_ = Bytes(128), nonce_ = Bytes(16, 4), tags_ = Bytes(64);
};

TEST_F(Structs, OfEngines) {
    check<warpaes_engine_options>("WARPAES_ENGINE_OPTIONS_INIT", 40, WARPAES_ENGINE_OPTIONS_INIT, [](auto* options) {
        warpaes_engine* engine = nullptr;
        const warpaes_status status = warpaes_engine_create(options, &engine);
        warpaes_engine_destroy(engine);
        return status;
    });
    check<warpaes_backend_info>("WARPAES_BACKEND_INFO_INIT", 32, WARPAES_BACKEND_INFO_INIT,
                                [](auto* info) { return warpaes_backend_query(0, info); });
}

TEST_F(Structs, OfMessages) {
    warpaes_message message = WARPAES_MESSAGE_INIT;
    message.mode = WARPAES_CTR;
    message.direction = WARPAES_ENCRYPT;
    message.key = key_.get();
    message.iv = nonce_.data();
    message.iv_len = 16;
    message.input = input_.data();
    message.output = output_.data();
    message.input_len = message.output_capacity = 64;
    check<warpaes_message>("WARPAES_MESSAGE_INIT", 136, message,
                           [&](auto* m) { return warpaes_crypt(engine_.get(), m, nullptr); });
    check_result<warpaes_result>("WARPAES_RESULT_INIT", 32, WARPAES_OK,
                                 [&](auto* r) { return warpaes_crypt(engine_.get(), &message, r); });
    message.output_capacity = 63;
    check_result<warpaes_result>("WARPAES_RESULT_INIT", 32, WARPAES_ERROR_BUFFER_TOO_SMALL,
                                 [&](auto* r) { return warpaes_crypt(engine_.get(), &message, r); });
    message.output_capacity = 64;
    check_result<warpaes_result>("WARPAES_RESULT_INIT", 32, WARPAES_ERROR_ARGUMENT, [&](auto* r) {
        return warpaes_crypt_async(engine_.get(), &message, nullptr, r);  // the call requires device memory
    });
}

TEST_F(Structs, OfBatches) {
    check<warpaes_batch_options>("WARPAES_BATCH_OPTIONS_INIT", 56, WARPAES_BATCH_OPTIONS_INIT, [&](auto* options) {
        warpaes_batch* batch = nullptr;
        const warpaes_status status = warpaes_batch_submit(engine_.get(), options, nullptr, 0, &batch);
        warpaes_batch_destroy(batch);
        return status;
    });
    warpaes_batch* batch = nullptr;
    ASSERT_EQ(warpaes_batch_submit(engine_.get(), nullptr, nullptr, 0, &batch), WARPAES_OK);
    ASSERT_EQ(warpaes_batch_wait(batch, WARPAES_UNKNOWN), WARPAES_OK);
    check<warpaes_batch_result>("WARPAES_BATCH_RESULT_INIT", 24, WARPAES_BATCH_RESULT_INIT,
                                [&](auto* result) { return warpaes_batch_query(batch, result); });
    warpaes_batch_destroy(batch);
}

TEST_F(Structs, OfContexts) {
    warpaes_context_options options = WARPAES_CONTEXT_OPTIONS_INIT;
    options.mode = WARPAES_CCM;
    options.direction = WARPAES_ENCRYPT;
    options.key = key_.get();
    options.iv = nonce_.data();
    options.iv_len = 12;
    options.tag_len = 16;
    const Context context = make_context(engine_);
    check<warpaes_context_options>("WARPAES_CONTEXT_OPTIONS_INIT", 80, options,
                                   [&](auto* o) { return warpaes_context_init(context.get(), o); });
}

TEST_F(Structs, OfPlans) {
    warpaes_work work = WARPAES_WORK_INIT;
    work.message_len = 1 << 20;
    warpaes_plan plan = WARPAES_PLAN_INIT;
    check<warpaes_work>("WARPAES_WORK_INIT", 48, work,
                        [&](auto* w) { return warpaes_engine_plan(engine_.get(), w, &plan); });
    check<warpaes_plan>("WARPAES_PLAN_INIT", 24, WARPAES_PLAN_INIT,
                        [&](auto* p) { return warpaes_engine_plan(engine_.get(), &work, p); });
    check<warpaes_prediction>("WARPAES_PREDICTION_INIT", 16, WARPAES_PREDICTION_INIT,
                              [&](auto* p) { return warpaes_engine_predict(engine_.get(), &work, 0, p); });
}

TEST_F(Structs, OfCalibrations) {
    setenv("WARPAES_CALIBRATION", "none", 1);
    warpaes_calibration calibration = WARPAES_CALIBRATION_INIT;
    calibration.flags = WARPAES_CALIBRATE_QUICK | WARPAES_CALIBRATE_CPU_ONLY | WARPAES_CALIBRATE_KEEP;
    calibration.progress = [](void*, std::uint64_t, std::uint64_t) { return 1; };
    check<warpaes_calibration>("WARPAES_CALIBRATION_INIT", 24, calibration, [&](auto* c) {
        const warpaes_status status = warpaes_engine_calibrate(engine_.get(), c, nullptr);
        EXPECT_TRUE(status == WARPAES_ERROR_CANCELLED || status == WARPAES_ERROR_ARGUMENT);
        return status;
    });
    // The calibration is actually performed.
    EndOfMemory memory;
    auto* const its = static_cast<warpaes_calibration_result*>(memory.last(16));
    calibration.progress = nullptr;
    its->struct_size = 16;
    EXPECT_EQ(warpaes_engine_calibrate(engine_.get(), &calibration, its), WARPAES_OK) << warpaes_last_error();
    EXPECT_GT(its->measurements, 0U);
    EXPECT_EQ(its->struct_size, 16U);
    for (const std::uint32_t size : {0U, 15U}) {
        its->struct_size = size;
        EXPECT_EQ(warpaes_engine_calibrate(engine_.get(), &calibration, its), WARPAES_ERROR_ARGUMENT);
        EXPECT_NE(std::string(warpaes_last_error()).find("WARPAES_CALIBRATION_RESULT_INIT"), std::string::npos);
    }
    // The engine now uses this calibration to choose backends.
    warpaes_work work = WARPAES_WORK_INIT;
    work.message_len = 1 << 20;
    warpaes_plan plan = WARPAES_PLAN_INIT;
    EXPECT_EQ(warpaes_engine_plan(engine_.get(), &work, &plan), WARPAES_OK) << warpaes_last_error();
    EXPECT_EQ(plan.calibrated, 1);
}

TEST_F(Structs, OfTunings) {
    setenv("WARPAES_CALIBRATION", "none", 1);
    check<warpaes_launch_figure>("WARPAES_LAUNCH_FIGURE_INIT", 32, WARPAES_LAUNCH_FIGURE_INIT,
                                 [&](auto* f) { return warpaes_engine_launch_figure(engine_.get(), -1, 0, f); });
    warpaes_tuning tuning = WARPAES_TUNING_INIT;
    tuning.flags = WARPAES_CALIBRATE_QUICK | WARPAES_CALIBRATE_KEEP;
    tuning.progress = [](void*, const warpaes_tuning_step* step) {
        EXPECT_EQ(step->struct_size, sizeof *step);
        return 1;
    };
    check<warpaes_tuning>("WARPAES_TUNING_INIT", 32, tuning, [&](auto* t) {
        const warpaes_status status = warpaes_engine_tune(engine_.get(), t, nullptr);
        EXPECT_TRUE(status == WARPAES_ERROR_CANCELLED || status == WARPAES_ERROR_ARGUMENT ||
                    status == WARPAES_ERROR_BACKEND);
        return status;
    });
    for (const std::uint32_t size : {0U, 23U}) {
        warpaes_tuning_result result = WARPAES_TUNING_RESULT_INIT;
        result.struct_size = size;
        EXPECT_EQ(warpaes_engine_tune(engine_.get(), &tuning, &result), WARPAES_ERROR_ARGUMENT);
        EXPECT_NE(std::string(warpaes_last_error()).find("WARPAES_TUNING_RESULT_INIT"), std::string::npos);
    }
}

TEST_F(Structs, OfKeysets) {
    warpaes_keyset* keyset = nullptr;
    ASSERT_EQ(warpaes_keyset_create(&keyset), WARPAES_OK);
    ASSERT_EQ(warpaes_keyset_add(keyset, "AES128_GCM_HKDF_4KB", nullptr), WARPAES_OK);
    check<warpaes_key_info>("WARPAES_KEY_INFO_INIT", 24, WARPAES_KEY_INFO_INIT,
                            [&](auto* info) { return warpaes_keyset_query(keyset, 0, info); });
    check<warpaes_template_info>("WARPAES_TEMPLATE_INFO_INIT", 40, WARPAES_TEMPLATE_INFO_INIT,
                                 [](auto* info) { return warpaes_template_query("C2SP_CHUNKED_128", info); });
    std::string json(4096, ' ');
    std::size_t length = 0;
    const auto unchanged = [](warpaes_scrypt&) {};
    check<warpaes_scrypt>(
        "WARPAES_SCRYPT_INIT", 24, WARPAES_SCRYPT_INIT,
        [&](auto* cost) { return warpaes_keyset_wrap(keyset, "x", 1, cost, json.data(), json.size(), &length); },
        unchanged, true);
    check<warpaes_scrypt>(
        "WARPAES_SCRYPT_INIT", 24, WARPAES_SCRYPT_INIT,
        [&](auto* cost) { return warpaes_keyset_peek(json.data(), length, cost, nullptr); }, unchanged, true);
    check<warpaes_scrypt>("WARPAES_SCRYPT_INIT", 24, WARPAES_SCRYPT_INIT,
                          [](auto* cost) { return warpaes_scrypt_choose(0, cost); });
    warpaes_keyset_destroy(keyset);
}

TEST_F(Structs, OfFilesAndStreams) {
    const std::filesystem::path folder = testing::TempDir() + "warpaes-structs-" + std::to_string(getpid());
    std::filesystem::create_directories(folder);
    const std::string plain = folder / "plain", sealed = folder / "sealed", stream = folder / "stream";
    std::ofstream(plain) << "some text";

    warpaes_file_job job = WARPAES_FILE_JOB_INIT;
    job.mode = WARPAES_CTR;
    job.direction = WARPAES_ENCRYPT;
    job.format = WARPAES_FORMAT_OPENSSL_ENC;
    job.flags = WARPAES_FILE_OVERWRITE;
    job.key_bits = 128;
    job.iterations = 1;
    job.passphrase = "x";
    job.passphrase_len = 1;
    job.input_path = plain.c_str();
    job.output_path = sealed.c_str();
    check<warpaes_file_job>("WARPAES_FILE_JOB_INIT", 176, job,
                            [&](auto* j) { return warpaes_file_run(engine_.get(), j, nullptr); });
    check_result<warpaes_file_result>("WARPAES_FILE_RESULT_INIT", 40, WARPAES_OK,
                                      [&](auto* r) { return warpaes_file_run(engine_.get(), &job, r); });
    job.passphrase = nullptr;
    check_result<warpaes_file_result>("WARPAES_FILE_RESULT_INIT", 40, WARPAES_ERROR_ARGUMENT,
                                      [&](auto* r) { return warpaes_file_run(engine_.get(), &job, r); });
    check<warpaes_file_info>("WARPAES_FILE_INFO_INIT", 24, WARPAES_FILE_INFO_INIT,
                             [&](auto* info) { return warpaes_file_inspect(sealed.c_str(), nullptr, info); });

    warpaes_keyset* keyset = nullptr;
    ASSERT_EQ(warpaes_keyset_create(&keyset), WARPAES_OK);
    ASSERT_EQ(warpaes_keyset_add(keyset, "AES128_GCM_HKDF_4KB", nullptr), WARPAES_OK);
    warpaes_sink sink = WARPAES_SINK_INIT;
    sink.path = stream.c_str();
    sink.flags = WARPAES_FILE_OVERWRITE;
    check<warpaes_sink>("WARPAES_SINK_INIT", 32, sink, [&](auto* s) {
        warpaes_writer* writer = nullptr;
        const warpaes_status status = warpaes_writer_open(engine_.get(), s, keyset, nullptr, 0, &writer);
        if (status == WARPAES_OK) {
            EXPECT_EQ(warpaes_writer_finish(writer), WARPAES_OK);
        }
        warpaes_writer_close(writer);
        return status;
    });
    warpaes_source source = WARPAES_SOURCE_INIT;
    source.path = stream.c_str();
    check<warpaes_source>("WARPAES_SOURCE_INIT", 56, source, [&](auto* s) {
        warpaes_reader* reader = nullptr;
        const warpaes_status status = warpaes_reader_open(engine_.get(), s, keyset, nullptr, 0, &reader);
        warpaes_reader_close(reader);
        return status;
    });
    warpaes_keyset_destroy(keyset);
    std::filesystem::remove_all(folder);
}

TEST_F(Structs, Numbers) {
    const Key key = make_key(Bytes(16, 1));
    std::uint8_t counter[16] = {}, output[16] = {};
    warpaes_numbers numbers = WARPAES_NUMBERS_INIT;
    numbers.key = key.get();
    numbers.counter = counter;
    numbers.output = output;
    numbers.output_len = sizeof output;
    check<warpaes_numbers>("WARPAES_NUMBERS_INIT", 72, numbers,
                           [&](auto* n) { return warpaes_numbers_fill(engine_.get(), n, nullptr); });
}

/// Returns a zeroed struct with its size set.
template <typename Struct>
Struct zeroed() {
    Struct s;
    std::memset(static_cast<void*>(&s), 0, sizeof s);
    s.struct_size = sizeof s;
    return s;
}

template <typename Struct>
bool is_the_same_as_zeros(const Struct& init) {
    const Struct zeros = zeroed<Struct>();
    return std::memcmp(&zeros, &init, sizeof init) == 0;
}

// warpaes.h promises that `= {0}` is equivalent to the macro, except for the fields that it lists. The test ignores
// fields that calls write.
TEST_F(Structs, ZerosAreWhatTheMacrosSet) {
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    EXPECT_EQ(options.device, -1);
    options.device = 0;
    EXPECT_TRUE(is_the_same_as_zeros(options));
    warpaes_batch_options batch = WARPAES_BATCH_OPTIONS_INIT;
    EXPECT_EQ(batch.entry_size, sizeof(warpaes_batch_entry));
    EXPECT_EQ(batch.result_size, sizeof(warpaes_entry_result));
    batch.entry_size = batch.result_size = 0;
    EXPECT_TRUE(is_the_same_as_zeros(batch));
    warpaes_work work = WARPAES_WORK_INIT;
    EXPECT_EQ(work.key_bits, 128U);
    EXPECT_EQ(work.mode, WARPAES_CTR);
    EXPECT_EQ(work.direction, WARPAES_ENCRYPT);
    work.key_bits = 0;
    work.mode = {};
    work.direction = {};
    work.messages = work.keys = 0;  // 0 means 1 in these fields
    EXPECT_TRUE(is_the_same_as_zeros(work));
    warpaes_numbers numbers = WARPAES_NUMBERS_INIT;
    EXPECT_EQ(numbers.second, 1.0);
    numbers.second = 0;
    EXPECT_TRUE(is_the_same_as_zeros(numbers));

    EXPECT_TRUE(is_the_same_as_zeros<warpaes_message>(WARPAES_MESSAGE_INIT));
    EXPECT_TRUE(is_the_same_as_zeros<warpaes_context_options>(WARPAES_CONTEXT_OPTIONS_INIT));
    EXPECT_TRUE(is_the_same_as_zeros<warpaes_calibration>(WARPAES_CALIBRATION_INIT));
    EXPECT_TRUE(is_the_same_as_zeros<warpaes_file_job>(WARPAES_FILE_JOB_INIT));
    EXPECT_TRUE(is_the_same_as_zeros<warpaes_source>(WARPAES_SOURCE_INIT));
    EXPECT_TRUE(is_the_same_as_zeros<warpaes_sink>(WARPAES_SINK_INIT));
}

}  // namespace
}  // namespace abi_tests
