// Tests that a caller that queries CUDA's last error after its own work does not see an error of the library.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "backend/cuda_backend.hpp"
#include "base/error.hpp"
#include "cuda/run.hpp"
#include "cuda/tuning/architectures.hpp"
#include "simt.hpp"

namespace warpaes {
namespace {

struct Action {
    const char* name;
    std::function<void()> act;
};

class LastError : public testing::Test {
protected:
    static constexpr std::size_t count = 3, segment = 2000;

    LastError() {
        simt::reset();
        text_ = static_cast<std::uint8_t*>(backend_.device_alloc(0, count * segment));
        results_ = static_cast<Block*>(backend_.device_alloc(0, count * sizeof(Block)));
    }
    ~LastError() override {
        simt::reset();
        backend_.device_free(text_);
        backend_.device_free(results_);
    }

    void enqueue_gcm(std::size_t segments) const {
        cuda::enqueue(GcmRun{.direction = Direction::encrypt,
                             .key = &key_,
                             .input = text_,
                             .output = text_,
                             .count = segments,
                             .segment_bytes = segment,
                             .last_bytes = segment,
                             .input_stride = segment,
                             .output_stride = segment,
                             .j0 = j0s_.data(),
                             .result = GcmRun::Result::tag,
                             .results = results_},
                      cuda::limits_of(backend_.info().front().multiprocessors, 227 * 1024, 90), nullptr);
    }
    std::vector<MessageGroup> groups(std::uint8_t* text) const {
        MessageGroup g;
        g.mode = Mode::ctr;
        g.key = &key_;
        g.count = count;
        g.length = segment;
        g.input = {text, segment};
        g.output = {text, segment};
        g.iv = {const_cast<std::uint8_t*>(j0s_[0].data()), sizeof(Block)};
        g.iv_length = sizeof(Block);
        return {g};
    }

    CudaBackend& backend_ = cuda_backend();
    std::uint8_t* text_ = nullptr;
    Block* results_ = nullptr;
    std::vector<Block> j0s_ = std::vector<Block>(count);
    std::vector<std::uint8_t> on_host_ = std::vector<std::uint8_t>(count * segment);
    const ExpandedKey key_{std::vector<std::uint8_t>(16, 1)};
};

TEST_F(LastError, IsTheCallersAlone) {
    const Action actions[] = {
        {"GCM segments", [&] { enqueue_gcm(count); }},
        {"one GCM message", [&] { enqueue_gcm(1); }},
        {"a batch on a stream", [&] { backend_.enqueue(groups(text_), 0, nullptr); }},
        {"a batch", [&] { backend_.open_lane(0, 0, nullptr)->run(groups(on_host_.data())); }},
        {"a lane", [&] { backend_.open_lane(0, 4096, nullptr)->wipe_staging(4096); }},
        {"a shift register in place",
         [&] {
             MessageGroup g = groups(text_)[0];
             g.mode = Mode::cfb8;
             g.direction = Direction::decrypt;
             g.count = 1;
             backend_.run(g, 0, CallerStream{});
         }},
        {"a place", [&] { (void)backend_.place(on_host_.data()); }},
        {"a stretch", [&] { (void)backend_.stretch(text_, true); }},
        {"device memory", [&] { backend_.device_free(backend_.device_alloc(0, 100)); }},
        {"registered memory",
         [&] {
             EXPECT_TRUE(backend_.host_register(on_host_.data(), on_host_.size()));
             backend_.host_unregister(on_host_.data());
         }},
        {"a copy", [&] { backend_.copy(on_host_.data(), text_, 100, 0, nullptr); }},
        {"rows", [&] { backend_.copy_rows(on_host_.data(), 10, text_, 20, 10, 5, 0, nullptr); }},
        {"clearing", [&] { backend_.clear(text_, 100, 0, nullptr); }},
        {"keys", [&] { backend_.wipe_keys_before(std::chrono::steady_clock::time_point::max()); }},
        {"waiting", [&] { backend_.synchronize(0, nullptr); }},
    };
    unsigned failures = 0;
    for (const Action& action : actions) {
        for (const int times : {1, 2}) {
            simt::reset();
            action.act();
            const std::uint64_t calls = simt::calls("*");
            for (std::uint64_t nth = 1; nth <= calls; ++nth) {
                simt::reset();
                simt::fail_call("*", static_cast<int>(nth), cudaErrorUnknown, times);
                try {
                    action.act();
                } catch (const Error& e) {
                    ++failures;
                    const std::string said = e.what();
                    EXPECT_EQ(said.find(": :"), std::string::npos) << said << "; " << action.name << ", call " << nth;
                }
                EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << action.name << ", call " << nth;
                simt::reset();
                (void)cudaDeviceSynchronize();
                (void)cudaHostUnregister(on_host_.data());  // in case registering it failed
                (void)cudaGetLastError();
            }
        }
    }
    EXPECT_GT(failures, 30U) << "almost no call failed, so this tests nothing";
}

TEST_F(LastError, AStreamWhoseCaptureHasFailedIsRefused) {
    simt::reset();
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
    (void)cudaGetLastError();
    try {
        backend_.enqueue(groups(text_), 0, stream);
        FAIL() << "was enqueued";
    } catch (const Error& e) {
        EXPECT_EQ(e.status(), WARPAES_ERROR_DEVICE);
        EXPECT_STREQ(e.what(), "cuda_stream: its capture has already failed");
    }
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    EXPECT_NO_THROW(backend_.enqueue(groups(text_), 0, stream));
    backend_.synchronize(0, stream);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

}  // namespace
}  // namespace warpaes
