// Tests exact error messages. Each message names the argument, its value and the permitted values.
#include "sentences.hpp"

#include <gtest/gtest.h>
#include <warpaes/planning.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace abi_tests {
namespace {

using M = warpaes_message;

TEST_F(Sentences, OfMessages) {
    constexpr auto argument = WARPAES_ERROR_ARGUMENT, range = WARPAES_ERROR_RANGE, data = WARPAES_ERROR_DATA_LENGTH,
                   keys = WARPAES_ERROR_KEY_LENGTH, overlap = WARPAES_ERROR_OVERLAP;
    message("mode: there is no mode 1000", argument, WARPAES_CTR, [](M& m) { m.mode = no_such<warpaes_mode>(1000); });
    message("direction: must be WARPAES_ENCRYPT or WARPAES_DECRYPT, got 3", argument, WARPAES_CTR,
            [](M& m) { m.direction = no_such<warpaes_direction>(3); });
    message("flags: has bits that this version does not support", argument, WARPAES_CTR, [](M& m) { m.flags = 8; });
    message("aad, tag: apply only to GCM, CCM, CMAC, SIV...", argument, WARPAES_CTR, [](M& m) { m.tag_len = 1; });
    message("mac_key, aad_list, aad_count: apply only to SIV", argument, WARPAES_GCM, [](M& m) { m.aad_count = 1; });
    message("mac_key, aad_list, aad_count: apply only to SIV", argument, WARPAES_CTR, [](M& m) { m.mac_key = m.key; });
    message("tweak_key, data_unit_len, data_unit_step: apply only to XTS", argument, WARPAES_CBC,
            [](M& m) { m.data_unit_step = 1; });
    message("flags: WARPAES_PKCS7 applies only to ECB and CBC", argument, WARPAES_CTR,
            [](M& m) { m.flags = WARPAES_PKCS7; });
    message(
        "flags: WARPAES_LENGTH_IN_BITS applies only to CFB1; for CTR, process complete bytes and ignore the last bits "
        "of the result; XTS does not support lengths in bits",
        argument, WARPAES_CTR, [](M& m) { m.flags = WARPAES_LENGTH_IN_BITS; });
    message("range: does not apply to a mode with a tag, which authenticates the complete message", range, WARPAES_GCM,
            [](M& m) { m.flags = WARPAES_RANGE; });
    message("flags: WARPAES_RANGE cannot be combined with PKCS7 or LENGTH_IN_BITS", argument, WARPAES_ECB,
            [](M& m) { m.flags = WARPAES_RANGE | WARPAES_PKCS7; });
    message("range: this mode and direction can only start at the beginning of a message", range, WARPAES_OFB,
            [](M& m) { m.flags = WARPAES_RANGE; });
    message("range: bytes 3 + 62 are outside the message of 64 bytes", range, WARPAES_CTR, [](M& m) {
        m.flags = WARPAES_RANGE;
        m.range_offset = 3;
        m.range_len = 62;
    });
    message("output: a range cannot be in place; use a separate buffer", overlap, WARPAES_CTR, [](M& m) {
        m.flags = WARPAES_RANGE;
        m.range_len = 1;
        m.output = const_cast<void*>(m.input);
    });
    message("output: overlaps input without being the same buffer; use equal or separate buffers", overlap, WARPAES_CTR,
            [this](M& m) { m.output = memory_ + 65; });
    message(
        "input_len: must be a multiple of 16 for ECB and CBC, got 63 (WARPAES_PKCS7 pads a message when encrypting; "
        "CBC with ciphertext stealing is not supported)",
        data, WARPAES_CBC, [](M& m) { m.input_len = 63; });
    message("input_len: must be at least one block for a padded message, got 0 bytes", data, WARPAES_CBC, [](M& m) {
        m.direction = WARPAES_DECRYPT;
        m.flags = WARPAES_PKCS7;
        m.input_len = 0;
    });
    message("input: the padding is wrong, so the key or the IV is wrong or the data is damaged", WARPAES_ERROR_PADDING,
            WARPAES_CBC, [](M& m) {
                m.direction = WARPAES_DECRYPT;
                m.flags = WARPAES_PKCS7;
            });
    message("output_capacity: the output needs 64 bytes, but the buffer has 63", WARPAES_ERROR_BUFFER_TOO_SMALL,
            WARPAES_CTR, [](M& m) { m.output_capacity = 63; });
    message("iv: must be 16 bytes for this mode, got 15", WARPAES_ERROR_IV_LENGTH, WARPAES_CTR,
            [](M& m) { m.iv_len = 15; });
    message("tag_len: must be 4, 6, 8, 10, 12, 14 or 16 bytes for CCM, got 5", argument, WARPAES_CCM,
            [](M& m) { m.tag_len = 5; });
    message("aad_len: CMAC has no associated data", argument, WARPAES_CMAC, [](M& m) { m.aad_len = 5; });
    message("aad_len: at most 2^61 - 1 bytes, got 2305843009213693952", data, WARPAES_GCM, [this](M& m) {
        m.aad = memory_;
        m.aad_len = std::uint64_t{1} << 61;
    });
    message("input_len: at most 2^36 - 32 bytes for GCM, got 68719476705", data, WARPAES_GCM,
            [](M& m) { m.input_len = (std::uint64_t{1} << 36) - 31; });
    message("input_len: at most 16777215 bytes for CCM with an IV of 12, got 16777216", data, WARPAES_CCM,
            [](M& m) { m.input_len = 1 << 24; });
    message("input: extends past the end of the address space", range, WARPAES_CTR,
            [](M& m) { m.input = reinterpret_cast<const void*>(UINTPTR_MAX - 10); });
    message("tweak_key: is null; XTS requires two keys", argument, WARPAES_XTS, [](M& m) { m.tweak_key = nullptr; });
    message("key, tweak_key: are equal, which makes XTS insecure", argument, WARPAES_XTS,
            [](M& m) { m.tweak_key = m.key; });
    message("tweak_key: has 32 bytes, but key has 16", keys, WARPAES_XTS, [this](M& m) { m.tweak_key = long_.get(); });
    for (const bool tweak : {false, true}) {
        message(std::string(tweak ? "tweak_key" : "key") +
                    ": is an AES-192 key, which XTS (IEEE 1619) does not support; use 16 or 32 bytes",
                keys, WARPAES_XTS, [&](M& m) { (tweak ? m.tweak_key : m.key) = middle_.get(); });
    }
    message("data_unit_step: must be at most 2^20, or 0 for 1, got 1048577", argument, WARPAES_XTS,
            [](M& m) { m.data_unit_step = (1 << 20) + 1; });
    message("data_unit_len: must be 16 to 2^24 bytes, or 0 for one unit, got 15", argument, WARPAES_XTS,
            [](M& m) { m.data_unit_len = 15; });
    message("input_len: a data unit must have 16 to 2^24 bytes, got 15; data_unit_len divides a message into several",
            data, WARPAES_XTS, [](M& m) { m.input_len = 15; });
    message("input_len: leaves 4 bytes for the last data unit, which must have at least 16", data, WARPAES_XTS,
            [](M& m) { m.data_unit_len = 20; });
    message("range: must consist of complete data units of 16 bytes; got bytes 16 + 15", range, WARPAES_XTS, [](M& m) {
        m.flags = WARPAES_RANGE;
        m.data_unit_len = 16;
        m.range_offset = 16;
        m.range_len = 15;
    });
}

TEST_F(Sentences, OfMessagesOfComposedModes) {
    constexpr auto argument = WARPAES_ERROR_ARGUMENT;
    const std::pair<warpaes_mode, const char*> all[] = {
        {WARPAES_KW, "KW"}, {WARPAES_KWP, "KWP"}, {WARPAES_SIV, "SIV"}, {WARPAES_GCM_SIV, "GCM-SIV"}};
    for (const auto& [mode, name] : all) {
        message(std::string("flags: ") + name + " supports no flags", argument, mode,
                [](M& m) { m.flags = WARPAES_PKCS7; });
        message("tweak_key, data_unit_len, data_unit_step: apply only to XTS", argument, mode,
                [](M& m) { m.tweak_key = m.key; });
        message("tweak_key, data_unit_len, data_unit_step: apply only to XTS", argument, mode,
                [](M& m) { m.data_unit_len = 16; });
        message("tweak_key, data_unit_len, data_unit_step: apply only to XTS", argument, mode,
                [](M& m) { m.data_unit_step = 16; });
        message(std::string("device_status: applies only to warpaes_crypt_async, which does not support ") + name,
                argument, mode,
                [this](M& m) { m.device_status = reinterpret_cast<decltype(m.device_status)>(memory_); });
        message("direction: must be WARPAES_ENCRYPT or WARPAES_DECRYPT, got 0", argument, mode,
                [](M& m) { m.direction = no_such<warpaes_direction>(0); });
        if (mode != WARPAES_SIV) {
            message("mac_key, aad_list, aad_count: apply only to SIV", argument, mode, [](M& m) { m.aad_count = 1; });
            message("mac_key, aad_list, aad_count: apply only to SIV", argument, mode, [](M& m) { m.mac_key = m.key; });
        }
        if (mode <= WARPAES_KWP) {
            const std::string tagged = "aad, tag: apply only to GCM, CCM, CMAC, SIV...";
            message(tagged, argument, mode, [](M& m) { m.tag_len = 1; });
            message(tagged, argument, mode, [this](M& m) { m.tag = memory_; });
            message(tagged, argument, mode, [this](M& m) { m.aad = memory_; });
        } else {
            message("tag: is null", argument, mode, [](M& m) { m.tag = nullptr; });
            message("tag: is inside the output", WARPAES_ERROR_OVERLAP, mode, [this](M& m) { m.tag = memory_ + 260; });
        }
        message("output_capacity: the output needs " + std::string(mode <= WARPAES_KWP ? "72" : "64") +
                    " bytes, but the buffer has 63",
                WARPAES_ERROR_BUFFER_TOO_SMALL, mode, [](M& m) { m.output_capacity = 63; });
    }
    message("aad, aad_list: set only one of them", argument, WARPAES_SIV, [this](M& m) {
        m.aad = memory_;
        m.aad_len = 1;
        m.aad_count = 1;
    });
    message("mac_key: is null; SIV requires two keys", argument, WARPAES_SIV, [](M& m) { m.mac_key = nullptr; });
    message("mac_key: has 32 bytes, but key has 16", WARPAES_ERROR_KEY_LENGTH, WARPAES_SIV,
            [this](M& m) { m.mac_key = long_.get(); });
    const std::vector<warpaes_part> many(126, warpaes_part{memory_, 1});
    message("aad_count: at most 125 parts, with iv 126, got 126", argument, WARPAES_SIV, [&](M& m) {
        m.iv = memory_;
        m.iv_len = 1;
        m.aad_list = many.data();
        m.aad_count = many.size();
    });
}

TEST_F(Sentences, OfEnginesAndMemory) {
    constexpr auto argument = WARPAES_ERROR_ARGUMENT;
    warpaes_engine* engine = nullptr;
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    options.backend = "abacus";
    expect("backend: there is no 'abacus'; choose auto, libcrypto, aesni, vaes, armv8, cuda", WARPAES_ERROR_BACKEND,
           warpaes_engine_create(&options, &engine));
    options.backend = nullptr;
    options.device = -2;
    expect("device: must be -1 (every device) or a device number", argument, warpaes_engine_create(&options, &engine));
    options.device = 4000;
    expect("device: there is no usable CUDA device 4000 here", WARPAES_ERROR_BACKEND,
           warpaes_engine_create(&options, &engine));
    options.device = -1;
    options.chunk_bytes = 4097;
    expect("chunk_bytes: must be a multiple of 4096, got 4097", argument, warpaes_engine_create(&options, &engine));
    options.chunk_bytes = (1 << 30) + 4096;
    expect("chunk_bytes: must be at most 1 GiB, got 1073745920", argument, warpaes_engine_create(&options, &engine));
    options.chunk_bytes = 0;
    options.threads = 1025;
    expect("threads, depth: must be at most 1024", argument, warpaes_engine_create(&options, &engine));
    EXPECT_EQ(engine, nullptr);
    const std::size_t count = warpaes_backend_count();
    warpaes_backend_info info = WARPAES_BACKEND_INFO_INIT;
    expect("index: there are " + std::to_string(count) + " entries, got " + std::to_string(count + 2), argument,
           warpaes_backend_query(count + 2, &info));
    void* memory = nullptr;
    expect("memory: only an arena's memory can be mapped by other processes", argument,
           warpaes_alloc(engine_.get(), WARPAES_MEMORY_SHARED, -1, 1, &memory));
    expect("memory: there is no memory 1000", argument,
           warpaes_alloc(engine_.get(), no_such<warpaes_memory>(1000), -1, 1, &memory));
    warpaes_key* key = nullptr;
    expect("key: must be 16, 24 or 32 bytes (AES-128, -192 or -256), got 17", WARPAES_ERROR_KEY_LENGTH,
           warpaes_key_create(memory_, 17, &key));
    expect("bytes: is null", argument, warpaes_key_create(nullptr, 16, &key));
}

TEST_F(Sentences, OfBatches) {
    constexpr auto argument = WARPAES_ERROR_ARGUMENT;
    warpaes_batch* batch = nullptr;
    warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
    const warpaes_batch_entry nothing = {};
    options.entry_size = 100;
    expect("entry_size: is 100; set it to sizeof(warpaes_batch_entry)", argument,
           warpaes_batch_submit(engine_.get(), &options, &nothing, 1, &batch));
    options = WARPAES_BATCH_OPTIONS_INIT;
    options.finished = [](void*, warpaes_batch*) {};
    expect("options: results, finished and WARPAES_BATCH_CHECK_NONCES apply only to batches that a caller waits for",
           argument, warpaes_batch_enqueue(engine_.get(), &options, &nothing, 1, nullptr));
    options = WARPAES_BATCH_OPTIONS_INIT;
    options.flags = WARPAES_BATCH_CHECK_NONCES;
    expect("options: results, finished and WARPAES_BATCH_CHECK_NONCES apply only to batches that a caller waits for",
           argument, warpaes_batch_enqueue(engine_.get(), &options, &nothing, 1, nullptr));
    ASSERT_EQ(warpaes_batch_submit(engine_.get(), nullptr, &nothing, 1, &batch), WARPAES_OK);
    expect("mode: there is no mode 0", argument, warpaes_batch_wait(batch, WARPAES_UNKNOWN));
    warpaes_entry_result result;
    expect("index: there are 1 entries, got 1", argument, warpaes_batch_query_entry(batch, 1, &result));
    warpaes_batch_destroy(batch);
}

TEST_F(Sentences, OfPlans) {
    const auto plan = [this](const std::function<void(warpaes_work&)>& change) {
        warpaes_work work = WARPAES_WORK_INIT;
        warpaes_plan made = WARPAES_PLAN_INIT;
        change(work);
        return warpaes_engine_plan(engine_.get(), &work, &made);
    };
    using W = warpaes_work;
    constexpr auto argument = WARPAES_ERROR_ARGUMENT;
    for (const std::uint32_t bits : {0U, 127U, 129U, 191U, 193U, 255U, 257U}) {
        expect("key_bits: must be 128, 192 or 256, got " + std::to_string(bits), WARPAES_ERROR_KEY_LENGTH,
               plan([&](W& w) { w.key_bits = bits; }));
    }
    for (const std::uint32_t bits : {128U, 192U, 256U}) {
        EXPECT_EQ(plan([&](W& w) { w.key_bits = bits; }), WARPAES_OK);
    }
    expect("batch: must be 0 or 1", argument, plan([](W& w) { w.batch = 2; }));
    expect("messages: must be 1 unless batch is 1", argument, plan([](W& w) { w.messages = 2; }));
    expect("memory: use PAGE_LOCKED for shared memory in a plan", argument,
           plan([](W& w) { w.memory = WARPAES_MEMORY_SHARED; }));
    constexpr std::uint64_t most = std::uint64_t{1} << 60;
    for (const auto& sizes : {std::pair{most, std::uint64_t{2}}, std::pair{std::uint64_t{1}, most + 1},
                              std::pair{most + 1, std::uint64_t{0}}, std::pair{most / 2, std::uint64_t{3}}}) {
        expect("message_len: all messages together must have at most 2^60 bytes", WARPAES_ERROR_DATA_LENGTH,
               plan([&](W& w) {
                   w.batch = 1;
                   w.messages = sizes.first;
                   w.message_len = sizes.second;
               }));
    }
    for (const auto& sizes : {std::pair{most, std::uint64_t{1}}, std::pair{std::uint64_t{1}, most},
                              std::pair{most, std::uint64_t{0}}, std::pair{most / 2, std::uint64_t{2}}}) {
        EXPECT_EQ(plan([&](W& w) {
                      w.batch = 1;
                      w.messages = sizes.first;
                      w.message_len = sizes.second;
                  }),
                  WARPAES_OK)
            << warpaes_last_error();
    }
    char path[8];
    setenv("WARPAES_CALIBRATION", "12345678", 1);
    expect("capacity: the path needs 9 bytes", WARPAES_ERROR_BUFFER_TOO_SMALL, warpaes_calibration_path(path, 8));
    setenv("WARPAES_CALIBRATION", "none", 1);
    warpaes_calibration calibration = WARPAES_CALIBRATION_INIT;
    calibration.flags = 1u << 3;
    expect("flags: has bits that this version does not support", argument,
           warpaes_engine_calibrate(engine_.get(), &calibration, nullptr));
    warpaes_tuning tuning = WARPAES_TUNING_INIT;
    tuning.flags = WARPAES_CALIBRATE_CPU_ONLY;
    expect("flags: has bits that this version does not support", argument,
           warpaes_engine_tune(engine_.get(), &tuning, nullptr));
    warpaes_launch_figure figure = WARPAES_LAUNCH_FIGURE_INIT;
    expect("index: there are 10 figures, got 10", argument,
           warpaes_engine_launch_figure(engine_.get(), -1, 10, &figure));
}

}  // namespace
}  // namespace abi_tests
