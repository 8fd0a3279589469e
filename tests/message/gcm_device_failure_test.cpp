// Tests AES-GCM on a failing simulated GPU. Each CUDA call fails in turn, once and permanently. If the engine chose the
// GPU, the CPU does the remaining work and produces the same bytes and tags. If the caller requested the GPU, the
// failure is reported and no plaintext remains.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "../gpu_first.hpp"
#include "../page_locked.hpp"
#include "backend/cuda_backend.hpp"
#include "base/error.hpp"
#include "composed_oracle.hpp"
#include "engine/pipeline/memory.hpp"
#include "evp_oracle.hpp"
#include "message/context.hpp"
#include "message/message.hpp"
#include "simt.hpp"

namespace warpaes {
namespace {

using oracle::Bytes;

Bytes random_bytes(std::size_t n, unsigned seed) {
    std::mt19937 generator(seed);
    Bytes bytes(n);
    std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::uint8_t>(generator()); });
    return bytes;
}

class GcmDeviceFailure : public testing::Test {
protected:
    static constexpr std::size_t length = 70000;  // pageable memory is staged for lengths from 64 KiB

    GcmDeviceFailure() {
        simt::reset();
        sealed_.resize(length);
        tag_.assign(whole_.end() - 16, whole_.end());
    }
    ~GcmDeviceFailure() override { simt::reset(); }

    static EngineOptions options(bool forced) {
        return {.backend = forced ? "cuda" : "auto",
                .device = -1,
                .threads = 2,
                .depth = 2,
                .chunk_bytes = 32768,
                .costs = gpu_first()};
    }

    /// Buffers of one kind. In place, input and output are the same buffer.
    struct Buffers {
        Buffers(Memory kind, bool in_place) : kind_(kind), in_place_(in_place) {
            for (auto& memory : memory_) {
                memory = static_cast<std::uint8_t*>(kind == Memory::device ? cuda_backend().device_alloc(0, length)
                                                    : kind == Memory::page_locked ? test::allocate_page_locked(length)
                                                                                  : std::malloc(length));
            }
        }
        ~Buffers() {
            for (auto* memory : memory_) {
                if (kind_ == Memory::device) {
                    cuda_backend().device_free(memory);
                } else if (kind_ == Memory::page_locked) {
                    test::free_page_locked(memory);
                } else {
                    std::free(memory);
                }
            }
        }
        Buffers(const Buffers&) = delete;
        Buffers& operator=(const Buffers&) = delete;
        void fill(const Bytes& bytes) {
            const Bytes poison(length, 0xa5);
            const int device = kind_ == Memory::device ? 0 : -1;
            copy_memory(memory_[1], poison.data(), length, device);
            copy_memory(memory_[0], bytes.data(), length, device);
        }
        std::uint8_t* input() { return memory_[0]; }
        std::uint8_t* output() { return memory_[in_place_ ? 0 : 1]; }

    private:
        std::uint8_t* memory_[2];
        Memory kind_;
        bool in_place_;
    };

    struct Work {
        const char* name;
        const Bytes* input;
        const Bytes* output;
        Bytes* tags;
        /// Runs the operation and returns its notes.
        std::function<std::uint32_t(Engine&, Buffers&, Bytes& tags)> run;
    };

    std::uint32_t message(Engine& engine, Direction direction, Buffers& buffers, Bytes& tag) {
        MessageResult result;
        crypt(engine,
              {.message = {.mode = Mode::gcm,
                           .direction = direction,
                           .length = length,
                           .input = Elements::of(buffers.input()),
                           .output = {buffers.output(), 0},
                           .iv = Elements::of(iv_.data()),
                           .iv_length = iv_.size(),
                           .aad_length = aad_.size(),
                           .aad = Elements::of(aad_.data()),
                           .tag = {tag.data(), 0},
                           .tag_length = 16,
                           .key = &key_,
                           .keys = {}},
               .output_capacity = length},
              result);
        return result.notes;
    }
    std::uint32_t pieces(Engine& engine, Direction direction, Buffers& buffers, Bytes& tag) {
        Context context(engine);
        context.init({.mode = Mode::gcm, .direction = direction, .pkcs7 = false, .data_units = {}, .lengths = {}});
        context.set_key(key_, nullptr);
        context.set_iv(iv_);
        context.aad(aad_.data(), aad_.size());
        constexpr std::size_t first = 69001;
        std::size_t written = 0;
        context.update(buffers.input(), first, buffers.output(), first, written);
        context.update(buffers.input() + first, length - first, buffers.output() + first, length - first, written);
        if (direction == Direction::decrypt) context.set_tag(tag);
        (void)context.final(nullptr, 0, written);
        if (direction == Direction::encrypt) context.get_tag(tag);
        return WARPAES_NOTE_DEVICE_FAILED;  // a context does not report the failure
    }

    std::vector<Work> all_work() {
        using D = Direction;
        return {
            {"sealing", &text_, &sealed_, &tag_,
             [this](auto& e, auto& b, auto& t) { return message(e, D::encrypt, b, t); }},
            {"opening", &sealed_, &text_, &tag_,
             [this](auto& e, auto& b, auto& t) { return message(e, D::decrypt, b, t); }},
            {"opening pieces", &sealed_, &text_, &tag_,
             [this](auto& e, auto& b, auto& t) { return pieces(e, D::decrypt, b, t); }},
        };
    }

    /// Calls `body` and makes each CUDA call fail in turn.
    static void fail_every_call(const std::function<void()>& body) {
        simt::reset();
        body();
        const std::uint64_t calls = simt::calls("*");
        for (std::uint64_t nth = 1; nth <= calls; ++nth) {
            for (const int times : {1, std::numeric_limits<int>::max() / 2}) {
                simt::reset();
                simt::fail_call("*", static_cast<int>(nth), cudaErrorUnknown, times);
                SCOPED_TRACE(std::to_string(nth) + " x " + std::to_string(times));
                body();
                if (HasFatalFailure()) return;
            }
        }
        simt::reset();
    }

    const Bytes key_bytes_ = random_bytes(32, 60), iv_ = random_bytes(12, 61), aad_ = random_bytes(100, 62),
                text_ = random_bytes(length, 63);
    const ExpandedKey key_{key_bytes_};
    const Bytes whole_ = oracle::evp_gcm(key_bytes_, iv_, text_, aad_);
    Bytes sealed_ = whole_, tag_;
};

TEST_F(GcmDeviceFailure, TheCpuFinishesTheWork) {
    bool page_locked = false;
    for (const Work& work : all_work()) {
        page_locked = !page_locked;
        for (const bool in_place : {false, true}) {
            SCOPED_TRACE(std::string(work.name) + (page_locked ? ", page-locked" : "") +
                         (in_place ? ", in place" : ""));
            Buffers buffers(page_locked ? Memory::page_locked : Memory::pageable, in_place);
            unsigned failures = 0;
            fail_every_call([&] {
                buffers.fill(*work.input);
                Bytes tags = *work.tags;
                Engine engine(options(false));
                failures += (work.run(engine, buffers, tags) & WARPAES_NOTE_DEVICE_FAILED) != 0;
                ASSERT_TRUE(std::equal(work.output->begin(), work.output->end(), buffers.output()));
                ASSERT_EQ(tags, *work.tags);
            });
            EXPECT_GT(failures, 20U);
        }
    }
}

TEST_F(GcmDeviceFailure, AMessageWithoutATagTooAndSaysSo) {
    const Bytes counter = random_bytes(16, 65), want = *oracle::evp("CTR", true, key_bytes_, counter, text_);
    Buffers buffers(Memory::pageable, false);
    unsigned calls = 0, failures = 0;
    fail_every_call([&] {
        buffers.fill(text_);
        Engine engine(options(false));
        MessageResult result;
        crypt(engine,
              {.message = {.mode = Mode::ctr,
                           .direction = Direction::encrypt,
                           .length = length,
                           .input = Elements::of(buffers.input()),
                           .output = {buffers.output(), 0},
                           .iv = Elements::of(counter.data()),
                           .iv_length = counter.size(),
                           .aad = {},
                           .tag = {},
                           .key = &key_,
                           .keys = {}},
               .output_capacity = length},
              result);
        ASSERT_TRUE(std::equal(want.begin(), want.end(), buffers.output()));
        if (calls++ == 0) {
            ASSERT_EQ(result.notes, 0U);
        }
        failures += (result.notes & WARPAES_NOTE_DEVICE_FAILED) != 0;
    });
    EXPECT_GT(failures, 10U);
}

/// Tests a failure while a GPU hashes the associated data. The text is short or empty.
TEST_F(GcmDeviceFailure, ThatAssociatedDataMeetsIsSaidToo) {
    const Bytes aad = random_bytes(length, 66);
    for (const std::size_t bytes : {0U, 100U}) {
        const Bytes text(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(bytes));
        const Bytes wanted = oracle::evp_gcm(key_bytes_, iv_, text, aad);
        for (const bool fails : {false, true}) {
            Bytes sealed(bytes + 16);
            Engine engine(options(false));
            MessageResult result;
            simt::reset();
            if (fails) simt::fail_call("cudaLaunchKernelEx", 1, cudaErrorUnknown);
            crypt(engine,
                  {.message = {.mode = Mode::gcm,
                               .direction = Direction::encrypt,
                               .length = bytes,
                               .input = Elements::of(text.data()),
                               .output = {sealed.data(), 0},
                               .iv = Elements::of(iv_.data()),
                               .iv_length = iv_.size(),
                               .aad_length = length,
                               .aad = Elements::of(aad.data()),
                               .tag = {sealed.data() + bytes, 0},
                               .tag_length = 16,
                               .key = &key_,
                               .keys = {}},
                   .output_capacity = bytes},
                  result);
            EXPECT_GT(simt::calls("cudaLaunchKernelEx"), 0U) << "not on the GPU";
            EXPECT_EQ(sealed, wanted);
            EXPECT_EQ(result.notes, fails ? std::uint32_t{WARPAES_NOTE_DEVICE_FAILED} : 0U);
        }
    }
}

TEST_F(GcmDeviceFailure, WhereCudaWasAskedForNoPlaintextIsLeft) {
    for (const Work& work : all_work()) {
        if (work.output != &text_ || std::string_view(work.name) == "opening pieces") continue;
        for (const bool page_locked : {false, true}) {
            SCOPED_TRACE(work.name);
            Buffers buffers(page_locked ? Memory::page_locked : Memory::pageable, page_locked);
            unsigned failures = 0;
            fail_every_call([&] {
                buffers.fill(*work.input);
                Bytes tags = *work.tags;
                try {
                    Engine engine(options(true));
                    work.run(engine, buffers, tags);
                    ASSERT_TRUE(std::equal(text_.begin(), text_.end(), buffers.output()));
                } catch (const Error& e) {
                    ++failures;
                    ASSERT_TRUE(e.status() == WARPAES_ERROR_DEVICE || e.status() == WARPAES_ERROR_BACKEND) << e.what();
                    for (std::size_t at = 0; at + 16 <= length; at += 16) {
                        ASSERT_NE(std::memcmp(buffers.output() + at, text_.data() + at, 16), 0) << at;
                    }
                }
            });
            EXPECT_GT(failures, 20U);
        }
    }
}

TEST_F(GcmDeviceFailure, OfGcmSivNoPlaintextIsLeftOnTheDevice) {
    const Bytes sealed = oracle::gcm_siv::seal(key_bytes_, iv_, {}, text_);
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        const bool encrypt = direction == Direction::encrypt;
        for (const bool in_place : {false, true}) {
            Buffers buffers(Memory::device, in_place);
            Engine engine(options(in_place));
            bool failed = true;
            for (int nth = 3; failed; ++nth) {  // the first two calls query where the buffers are
                SCOPED_TRACE(std::to_string(nth) + (encrypt ? " sealing" : " opening"));
                buffers.fill(encrypt ? text_ : sealed);
                Bytes tag = encrypt ? Bytes(16) : Bytes(sealed.end() - 16, sealed.end());
                simt::reset();
                simt::fail_call("*", nth, cudaErrorUnknown, 1);
                MessageResult result;
                try {
                    const MessageGroup message{.mode = Mode::gcm_siv,
                                               .direction = direction,
                                               .length = length,
                                               .input = {buffers.input(), 0},
                                               .output = {buffers.output(), 0},
                                               .iv = Elements::of(iv_.data()),
                                               .iv_length = iv_.size(),
                                               .aad = {},
                                               .tag = {tag.data(), 0},
                                               .tag_length = 16,
                                               .key = &key_,
                                               .keys = {}};
                    crypt(engine, {.message = message, .output_capacity = length}, result);
                    failed = simt::calls("*") >= static_cast<std::uint64_t>(nth);  // this call may fail
                    ASSERT_TRUE(std::equal(sealed.end() - 16, sealed.end(), tag.begin()));
                    ASSERT_EQ(std::memcmp(buffers.output(), (encrypt ? sealed : text_).data(), length), 0);
                } catch (const Error& e) {
                    ASSERT_EQ(e.status(), WARPAES_ERROR_DEVICE) << e.what();
                    if (encrypt) continue;
                    for (std::size_t at = 0; at + 16 <= length; at += 16) {
                        ASSERT_NE(std::memcmp(buffers.output() + at, text_.data() + at, 16), 0) << at;
                    }
                }
                ASSERT_LT(nth, 1000);
            }
        }
    }
}

/// After a failure, CUDA no longer reports which memory is on the device. The host must not access the device's memory.
TEST_F(GcmDeviceFailure, TheHostDoesNotTouchADevicesMemory) {
    Buffers buffers(Memory::device, false);
    Engine engine(options(true));
    bool failed = true;
    for (int nth = 3; failed; ++nth) {  // the first two calls query where the buffers are
        simt::reset();
        buffers.fill(sealed_);
        simt::fail_call("*", nth, cudaErrorUnknown, std::numeric_limits<int>::max() / 2);
        try {
            message(engine, Direction::decrypt, buffers, tag_);
            failed = false;
        } catch (const Error& e) {
            ASSERT_EQ(e.status(), WARPAES_ERROR_DEVICE) << e.what();
        }
        simt::reset();
        Bytes left(length);
        copy_memory(left.data(), buffers.output(), length, 0);
        ASSERT_NE(left, Bytes(length, 0)) << "call " << nth;
        ASSERT_TRUE(failed || left == text_);
        ASSERT_LT(nth, 1000);
    }
}

}  // namespace
}  // namespace warpaes
