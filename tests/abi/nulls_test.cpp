// Tests that every function refuses a null pointer with an error message that names the argument, before it checks
// anything else.
#include <gtest/gtest.h>
#include <warpaes/drbg.h>
#include <warpaes/files.h>
#include <warpaes/numbers.h>
#include <warpaes/planning.h>

#include <cstring>
#include <functional>
#include <string>

#include "support.hpp"

namespace abi_tests {
namespace {

class Nulls : public testing::Test {
protected:
    Nulls() {
        EXPECT_EQ(warpaes_keyset_create(&keyset_), WARPAES_OK);
        EXPECT_EQ(warpaes_keyset_add(keyset_, "AES128_GCM_HKDF_4KB", nullptr), WARPAES_OK);
        EXPECT_EQ(warpaes_batch_submit(engine_.get(), nullptr, nullptr, 0, &batch_), WARPAES_OK);
        EXPECT_EQ(warpaes_batch_wait(batch_, WARPAES_UNKNOWN), WARPAES_OK);
        warpaes_drbg_options options = WARPAES_DRBG_OPTIONS_INIT;
        options.key_bits = 256;
        EXPECT_EQ(warpaes_drbg_create(engine_.get(), &options, &drbg_), WARPAES_OK) << warpaes_last_error();
        sink_.write = [](void*, const void*, std::size_t) { return 0; };
        source_.memory = bytes_;
        source_.memory_len = sizeof bytes_;
    }
    ~Nulls() override {
        warpaes_drbg_destroy(drbg_);
        warpaes_batch_destroy(batch_);
        warpaes_keyset_destroy(keyset_);
    }

    static void refused(int line, const std::string& name, warpaes_status status) {
        SCOPED_TRACE(line);
        EXPECT_EQ(status, WARPAES_ERROR_ARGUMENT) << name;
        EXPECT_EQ(warpaes_last_error(), name + ": is null");
    }

    Engine engine_ = make_engine("libcrypto");
    Key key_ = make_key(Bytes(16, 1));
    Context context_ = make_context(engine_);
    warpaes_keyset* keyset_ = nullptr;
    warpaes_batch* batch_ = nullptr;
    warpaes_drbg* drbg_ = nullptr;
    warpaes_sink sink_ = WARPAES_SINK_INIT;
    warpaes_source source_ = WARPAES_SOURCE_INIT;
    std::uint8_t bytes_[64] = {};
    std::size_t length_ = 0;
    std::uint64_t read_ = 0;
};

#define REFUSED(name, call) refused(__LINE__, name, call)

TEST_F(Nulls, OfEngines) {
    warpaes_engine* engine = nullptr;
    warpaes_key* key = nullptr;
    void* memory = nullptr;
    warpaes_arena* arena = nullptr;
    REFUSED("engine", warpaes_engine_create(nullptr, nullptr));
    REFUSED("engine", warpaes_engine_flush_keys(nullptr));
    REFUSED("info", warpaes_backend_query(0, nullptr));
    REFUSED("bytes", warpaes_key_create(nullptr, 16, &key));
    REFUSED("key", warpaes_key_create(bytes_, 16, nullptr));
    REFUSED("engine", warpaes_alloc(nullptr, WARPAES_MEMORY_PAGEABLE, -1, 1, &memory));
    REFUSED("pointer", warpaes_alloc(engine_.get(), WARPAES_MEMORY_PAGEABLE, -1, 1, nullptr));
    REFUSED("engine", warpaes_copy(nullptr, bytes_, bytes_ + 1, 1));
    REFUSED("to", warpaes_copy(engine_.get(), nullptr, bytes_, 1));
    REFUSED("from", warpaes_copy(engine_.get(), bytes_, nullptr, 1));
    EXPECT_EQ(warpaes_copy(engine_.get(), nullptr, nullptr, 0), WARPAES_OK);
    REFUSED("engine", warpaes_arena_create(nullptr, WARPAES_MEMORY_PAGEABLE, -1, 1, &arena));
    REFUSED("arena", warpaes_arena_create(engine_.get(), WARPAES_MEMORY_PAGEABLE, -1, 1, nullptr));
    EXPECT_EQ(warpaes_arena_data(nullptr), nullptr);
    EXPECT_EQ(warpaes_arena_size(nullptr), 0U);
    EXPECT_EQ(warpaes_arena_fd(nullptr), -1);
    EXPECT_TRUE(engine == nullptr && key == nullptr && memory == nullptr && arena == nullptr);
    warpaes_engine_destroy(nullptr);
    warpaes_key_destroy(nullptr);
    warpaes_arena_destroy(nullptr);
    warpaes_free(nullptr, bytes_);
    warpaes_free(engine_.get(), nullptr);
}

TEST_F(Nulls, OfMessages) {
    warpaes_message message = WARPAES_MESSAGE_INIT;
    message.mode = WARPAES_CTR;
    message.direction = WARPAES_ENCRYPT;
    message.key = key_.get();
    message.iv = bytes_;
    message.iv_len = 16;
    message.input = bytes_ + 16;
    message.output = bytes_ + 32;
    message.input_len = message.output_capacity = 16;
    ASSERT_EQ(warpaes_crypt(engine_.get(), &message, nullptr), WARPAES_OK) << warpaes_last_error();
    REFUSED("engine", warpaes_crypt(nullptr, &message, nullptr));
    REFUSED("message", warpaes_crypt(engine_.get(), nullptr, nullptr));
    REFUSED("engine", warpaes_crypt_async(nullptr, &message, nullptr, nullptr));
    REFUSED("message", warpaes_crypt_async(engine_.get(), nullptr, nullptr, nullptr));
    const auto without = [&](const char* name, warpaes_mode mode, auto change) {
        warpaes_message changed = message;
        changed.mode = mode;
        change(changed);
        REFUSED(name, warpaes_crypt(engine_.get(), &changed, nullptr));
    };
    for (const warpaes_mode mode : {WARPAES_CTR, WARPAES_KW, WARPAES_KWP, WARPAES_SIV, WARPAES_GCM_SIV}) {
        without("key", mode, [](auto& m) { m.key = nullptr; });
        without("iv", mode, [](auto& m) { m.iv = nullptr; });
    }
    without("input", WARPAES_CTR, [](auto& m) { m.input = nullptr; });
    without("output", WARPAES_CTR, [](auto& m) { m.output = nullptr; });
    for (const warpaes_mode mode : {WARPAES_GCM, WARPAES_CMAC}) {
        without("tag", mode, [&](auto& m) {
            m.iv_len = mode == WARPAES_CMAC ? 0 : 12;
            m.tag_len = 16;
        });
    }
    without("aad", WARPAES_GCM, [&](auto& m) {
        m.tag = bytes_ + 48;
        m.tag_len = 16;
        m.aad_len = 1;
    });
    without("aad_list", WARPAES_SIV, [&](auto& m) {
        m.mac_key = m.key;
        m.tag = bytes_ + 48;
        m.tag_len = 16;
        m.iv = nullptr;
        m.iv_len = 0;
        m.aad_count = 1;
    });
}

TEST_F(Nulls, OfContexts) {
    warpaes_context* copy = nullptr;
    warpaes_context* const c = context_.get();
    REFUSED("engine", warpaes_context_create(nullptr, &copy));
    REFUSED("context", warpaes_context_create(engine_.get(), nullptr));
    REFUSED("context", warpaes_context_copy(nullptr, &copy));
    REFUSED("copy", warpaes_context_copy(c, nullptr));
    REFUSED("context", warpaes_context_init(nullptr, nullptr));
    REFUSED("options", warpaes_context_init(c, nullptr));
    REFUSED("context", warpaes_context_set_key(nullptr, key_.get(), nullptr));
    REFUSED("key", warpaes_context_set_key(c, nullptr, nullptr));
    REFUSED("context", warpaes_context_set_iv(nullptr, bytes_, 16));
    REFUSED("iv", warpaes_context_set_iv(c, nullptr, 16));
    REFUSED("context", warpaes_context_get_iv(nullptr, bytes_));
    REFUSED("iv", warpaes_context_get_iv(c, nullptr));
    REFUSED("context", warpaes_context_update(nullptr, bytes_, 1, bytes_, 1, &length_));
    REFUSED("output_len", warpaes_context_update(c, bytes_, 1, bytes_, 1, nullptr));
    REFUSED("context", warpaes_context_final(nullptr, bytes_, 1, &length_));
    REFUSED("output_len", warpaes_context_final(c, bytes_, 1, nullptr));
    REFUSED("context", warpaes_context_seek(nullptr, 0));
    REFUSED("context", warpaes_context_aad(nullptr, bytes_, 1));
    REFUSED("context", warpaes_context_get_tag(nullptr, bytes_, 16));
    REFUSED("tag", warpaes_context_get_tag(c, nullptr, 16));
    REFUSED("context", warpaes_context_set_tag(nullptr, bytes_, 16));
    REFUSED("tag", warpaes_context_set_tag(c, nullptr, 16));
    EXPECT_EQ(copy, nullptr);
    EXPECT_STREQ(warpaes_context_error(nullptr), "");
    EXPECT_STREQ(warpaes_context_error(c), "tag: is null");
    warpaes_context_destroy(nullptr);
}

TEST_F(Nulls, OfBatches) {
    warpaes_batch* batch = nullptr;
    warpaes_batch_result result = WARPAES_BATCH_RESULT_INIT;
    warpaes_entry_result entry = {};
    REFUSED("engine", warpaes_batch_submit(nullptr, nullptr, nullptr, 0, &batch));
    REFUSED("batch", warpaes_batch_submit(engine_.get(), nullptr, nullptr, 0, nullptr));
    REFUSED("entries", warpaes_batch_submit(engine_.get(), nullptr, nullptr, 1, &batch));
    REFUSED("engine", warpaes_batch_enqueue(nullptr, nullptr, nullptr, 0, nullptr));
    REFUSED("entries", warpaes_batch_enqueue(engine_.get(), nullptr, nullptr, 1, nullptr));
    warpaes_batch_options offsets = WARPAES_BATCH_OPTIONS_INIT;
    offsets.flags = WARPAES_BATCH_OFFSETS;
    REFUSED("arena", warpaes_batch_submit(engine_.get(), &offsets, nullptr, 0, &batch));
    REFUSED("batch", warpaes_batch_wait(nullptr, 0));
    REFUSED("batch", warpaes_batch_query(nullptr, &result));
    REFUSED("result", warpaes_batch_query(batch_, nullptr));
    REFUSED("batch", warpaes_batch_query_entry(nullptr, 0, &entry));
    REFUSED("result", warpaes_batch_query_entry(batch_, 0, nullptr));
    EXPECT_EQ(batch, nullptr);
    EXPECT_EQ(warpaes_batch_fd(nullptr), -1);
    EXPECT_EQ(warpaes_batch_poll(nullptr), 0);
    EXPECT_STREQ(warpaes_batch_entry_error(nullptr, 0), "");
    EXPECT_STREQ(warpaes_batch_entry_error(batch_, 0), "");
    warpaes_batch_cancel(nullptr);
    warpaes_batch_destroy(nullptr);
}

TEST_F(Nulls, OfPlans) {
    warpaes_work work = WARPAES_WORK_INIT;
    warpaes_plan plan = WARPAES_PLAN_INIT;
    warpaes_prediction prediction = WARPAES_PREDICTION_INIT;
    warpaes_calibration calibration = WARPAES_CALIBRATION_INIT;
    REFUSED("engine", warpaes_engine_plan(nullptr, &work, &plan));
    REFUSED("work", warpaes_engine_plan(engine_.get(), nullptr, &plan));
    REFUSED("plan", warpaes_engine_plan(engine_.get(), &work, nullptr));
    REFUSED("engine", warpaes_engine_predict(nullptr, &work, 0, &prediction));
    REFUSED("work", warpaes_engine_predict(engine_.get(), nullptr, 0, &prediction));
    REFUSED("prediction", warpaes_engine_predict(engine_.get(), &work, 0, nullptr));
    REFUSED("engine", warpaes_engine_calibrate(nullptr, &calibration, nullptr));
    REFUSED("calibration", warpaes_engine_calibrate(engine_.get(), nullptr, nullptr));
    REFUSED("path", warpaes_calibration_path(nullptr, 10));
    warpaes_launch_figure figure = WARPAES_LAUNCH_FIGURE_INIT;
    warpaes_tuning tuning = WARPAES_TUNING_INIT;
    REFUSED("engine", warpaes_engine_launch_figure(nullptr, -1, 0, &figure));
    REFUSED("figure", warpaes_engine_launch_figure(engine_.get(), -1, 0, nullptr));
    REFUSED("engine", warpaes_engine_tune(nullptr, &tuning, nullptr));
    REFUSED("tuning", warpaes_engine_tune(engine_.get(), nullptr, nullptr));
}

TEST_F(Nulls, OfKeysets) {
    warpaes_keyset* made = nullptr;
    warpaes_key_info info = WARPAES_KEY_INFO_INIT;
    char json[4096];
    const char* const name = "AES128_GCM_HKDF_4KB";
    REFUSED("keyset", warpaes_keyset_create(nullptr));
    warpaes_template_info facts = WARPAES_TEMPLATE_INFO_INIT;
    REFUSED("template", warpaes_template_query(nullptr, &facts));
    REFUSED("info", warpaes_template_query(name, nullptr));
    REFUSED("json", warpaes_keyset_parse(nullptr, 0, &made));
    REFUSED("keyset", warpaes_keyset_parse("{}", 2, nullptr));
    REFUSED("key", warpaes_keyset_check_raw(nullptr, 16));
    REFUSED("template", warpaes_keyset_from_raw(nullptr, bytes_, 16, &made));
    REFUSED("key", warpaes_keyset_from_raw("C2SP_CHUNKED_128", nullptr, 16, &made));
    REFUSED("keyset", warpaes_keyset_from_raw("C2SP_CHUNKED_128", bytes_, 16, nullptr));
    REFUSED("keyset", warpaes_keyset_add(nullptr, name, nullptr));
    REFUSED("template", warpaes_keyset_add(keyset_, nullptr, nullptr));
    REFUSED("keyset", warpaes_keyset_promote(nullptr, 1));
    REFUSED("keyset", warpaes_keyset_set_state(nullptr, 1, WARPAES_KEY_ENABLED));
    REFUSED("keyset", warpaes_keyset_remove(nullptr, 1));
    REFUSED("keyset", warpaes_keyset_append(nullptr, keyset_));
    REFUSED("other", warpaes_keyset_append(keyset_, nullptr));
    REFUSED("keyset", warpaes_keyset_query(nullptr, 0, &info));
    REFUSED("info", warpaes_keyset_query(keyset_, 0, nullptr));
    REFUSED("keyset", warpaes_keyset_write(nullptr, json, sizeof json, &length_));
    REFUSED("length", warpaes_keyset_write(keyset_, json, sizeof json, nullptr));
    REFUSED("json", warpaes_keyset_write(keyset_, nullptr, sizeof json, &length_));
    REFUSED("cost", warpaes_scrypt_choose(1, nullptr));
    warpaes_scrypt cost = WARPAES_SCRYPT_INIT;
    REFUSED("keyset", warpaes_keyset_wrap(nullptr, "x", 1, &cost, json, sizeof json, &length_));
    REFUSED("length", warpaes_keyset_wrap(keyset_, "x", 1, &cost, json, sizeof json, nullptr));
    REFUSED("passphrase", warpaes_keyset_wrap(keyset_, nullptr, 1, &cost, json, sizeof json, &length_));
    REFUSED("json", warpaes_keyset_unwrap(nullptr, 0, "x", 1, &made));
    REFUSED("keyset", warpaes_keyset_unwrap("{}", 2, "x", 1, nullptr));
    REFUSED("passphrase", warpaes_keyset_unwrap("{}", 2, nullptr, 1, &made));
    REFUSED("keyset", warpaes_keyset_wrap_under(nullptr, bytes_, 16, nullptr, 0, json, sizeof json, &length_));
    REFUSED("kek", warpaes_keyset_wrap_under(keyset_, nullptr, 0, nullptr, 0, json, sizeof json, &length_));
    REFUSED("aad", warpaes_keyset_wrap_under(keyset_, bytes_, 16, nullptr, 1, json, sizeof json, &length_));
    REFUSED("json", warpaes_keyset_wrap_under(keyset_, bytes_, 16, nullptr, 0, nullptr, sizeof json, &length_));
    REFUSED("length", warpaes_keyset_wrap_under(keyset_, bytes_, 16, nullptr, 0, json, sizeof json, nullptr));
    REFUSED("json", warpaes_keyset_unwrap_under(nullptr, 0, bytes_, 16, nullptr, 0, &made));
    REFUSED("kek", warpaes_keyset_unwrap_under("{}", 2, nullptr, 0, nullptr, 0, &made));
    REFUSED("aad", warpaes_keyset_unwrap_under("{}", 2, bytes_, 16, nullptr, 1, &made));
    REFUSED("keyset", warpaes_keyset_unwrap_under("{}", 2, bytes_, 16, nullptr, 0, nullptr));
    REFUSED("json", warpaes_keyset_peek(nullptr, 0, &cost, &made));
    EXPECT_EQ(made, nullptr);
    EXPECT_EQ(warpaes_keyset_count(nullptr), 0U);
    warpaes_keyset_destroy(nullptr);
}

TEST_F(Nulls, OfFilesAndStreams) {
    warpaes_file_info info = WARPAES_FILE_INFO_INIT;
    warpaes_file_job job = WARPAES_FILE_JOB_INIT;
    REFUSED("engine", warpaes_file_run(nullptr, &job, nullptr));
    REFUSED("job", warpaes_file_run(engine_.get(), nullptr, nullptr));
    REFUSED("path", warpaes_file_inspect(nullptr, nullptr, &info));
    REFUSED("info", warpaes_file_inspect("/dev/null", nullptr, nullptr));

    warpaes_writer* writer = nullptr;
    REFUSED("engine", warpaes_writer_open(nullptr, &sink_, keyset_, nullptr, 0, &writer));
    REFUSED("sink", warpaes_writer_open(engine_.get(), nullptr, keyset_, nullptr, 0, &writer));
    REFUSED("keyset", warpaes_writer_open(engine_.get(), &sink_, nullptr, nullptr, 0, &writer));
    REFUSED("aad", warpaes_writer_open(engine_.get(), &sink_, keyset_, nullptr, 1, &writer));
    REFUSED("writer", warpaes_writer_open(engine_.get(), &sink_, keyset_, nullptr, 0, nullptr));
    EXPECT_EQ(writer, nullptr);
    ASSERT_EQ(warpaes_writer_open(engine_.get(), &sink_, keyset_, nullptr, 0, &writer), WARPAES_OK);
    REFUSED("writer", warpaes_writer_write(nullptr, bytes_, 1));
    REFUSED("input", warpaes_writer_write(writer, nullptr, 1));
    EXPECT_EQ(warpaes_writer_write(writer, nullptr, 0), WARPAES_OK);
    REFUSED("writer", warpaes_writer_finish(nullptr));
    warpaes_writer_close(writer);
    warpaes_writer_close(nullptr);

    warpaes_reader* reader = nullptr;
    REFUSED("engine", warpaes_reader_open(nullptr, &source_, keyset_, nullptr, 0, &reader));
    REFUSED("source", warpaes_reader_open(engine_.get(), nullptr, keyset_, nullptr, 0, &reader));
    REFUSED("keyset", warpaes_reader_open(engine_.get(), &source_, nullptr, nullptr, 0, &reader));
    REFUSED("aad", warpaes_reader_open(engine_.get(), &source_, keyset_, nullptr, 1, &reader));
    REFUSED("reader", warpaes_reader_open(engine_.get(), &source_, keyset_, nullptr, 0, nullptr));
    REFUSED("read", warpaes_reader_read(nullptr, 0, bytes_, 1, nullptr));
    REFUSED("reader", warpaes_reader_read(nullptr, 0, bytes_, 1, &read_));
    EXPECT_EQ(reader, nullptr);
    EXPECT_EQ(warpaes_reader_size(nullptr), 0U);
    std::uint64_t segment = 0;
    REFUSED("reader", warpaes_reader_segments(nullptr, &segment, &segment));
    warpaes_reader_close(nullptr);
}

TEST_F(Nulls, OfRandomNumbers) {
    warpaes_drbg* made = nullptr;
    warpaes_drbg_options options = WARPAES_DRBG_OPTIONS_INIT;
    REFUSED("engine", warpaes_drbg_create(nullptr, nullptr, &made));
    REFUSED("drbg", warpaes_drbg_create(engine_.get(), nullptr, nullptr));
    const std::pair<const char*, std::uint64_t warpaes_drbg_options::*> inputs[] = {
        {"entropy", &warpaes_drbg_options::entropy_len},
        {"nonce", &warpaes_drbg_options::nonce_len},
        {"personalization", &warpaes_drbg_options::personalization_len}};
    for (const auto& [name, length] : inputs) {
        options = WARPAES_DRBG_OPTIONS_INIT;
        options.*length = 1;
        REFUSED(name, warpaes_drbg_create(engine_.get(), &options, &made));
    }
    EXPECT_EQ(made, nullptr);
    REFUSED("drbg", warpaes_drbg_reseed(nullptr, nullptr, 0, nullptr, 0));
    REFUSED("entropy", warpaes_drbg_reseed(drbg_, nullptr, 1, nullptr, 0));
    REFUSED("additional", warpaes_drbg_reseed(drbg_, nullptr, 0, nullptr, 1));
    REFUSED("drbg", warpaes_drbg_generate(nullptr, bytes_, 1, nullptr, 0, 0));
    REFUSED("output", warpaes_drbg_generate(drbg_, nullptr, 1, nullptr, 0, 0));
    REFUSED("additional", warpaes_drbg_generate(drbg_, bytes_, 1, nullptr, 1, 0));

    warpaes_numbers numbers = WARPAES_NUMBERS_INIT;
    numbers.key = key_.get();
    numbers.counter = bytes_;
    numbers.output_len = 1;
    REFUSED("output", warpaes_numbers_fill(engine_.get(), &numbers, nullptr));
    REFUSED("output", warpaes_numbers_fill_async(engine_.get(), &numbers, nullptr, nullptr));
    numbers.output = bytes_;
    REFUSED("engine", warpaes_numbers_fill(nullptr, &numbers, nullptr));
    REFUSED("engine", warpaes_numbers_fill_async(nullptr, &numbers, nullptr, nullptr));
    REFUSED("numbers", warpaes_numbers_fill(engine_.get(), nullptr, nullptr));
    REFUSED("numbers", warpaes_numbers_fill_async(engine_.get(), nullptr, nullptr, nullptr));
    numbers.counter = nullptr;
    REFUSED("counter", warpaes_numbers_fill(engine_.get(), &numbers, nullptr));
    numbers.key = nullptr;
    REFUSED("key", warpaes_numbers_fill(engine_.get(), &numbers, nullptr));
    warpaes_drbg_destroy(nullptr);
}

}  // namespace
}  // namespace abi_tests
