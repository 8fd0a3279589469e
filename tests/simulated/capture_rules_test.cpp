// Tests which calls CUDA refuses while a stream is in capture, by thread and mode. The table belongs to the simulated
// GPU and must contain every call that a real GPU's driver refuses. The test prints the calls that only the table
// refuses.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#if defined(WARPAES_SIMT)
#include "simt.hpp"
#endif

namespace {

constexpr std::size_t bytes = 4096;

/// Arguments of calls, which are created before the capture begins. Results of calls are destroyed after the capture.
struct Things {
    void *device = nullptr, *to_free = nullptr, *pooled = nullptr, *locked = nullptr, *locked_to_free = nullptr;
    std::vector<std::uint8_t> pageable = std::vector<std::uint8_t>(2 * bytes), registered = pageable;
    cudaStream_t other = nullptr, made_stream = nullptr;
    cudaEvent_t event = nullptr, made_event = nullptr;
    cudaMemPool_t pool = nullptr, made_pool = nullptr;
    void *made = nullptr, *made_locked = nullptr;
};

void must(cudaError_t error, const char* what) {
    ASSERT_EQ(error, cudaSuccess) << what << ": " << cudaGetErrorString(error);
}

cudaMemPoolProps pool_properties() {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    return properties;
}

/// The threads whose calls may be refused.
enum class Rule {
    free,    ///< no thread
    unsafe,  ///< threads for which a capture prohibits unsafe calls
    legacy,  ///< all threads, while a stream ordered with the default stream is in capture
    both,    ///< the threads of both rules above
    device   ///< all threads, while any stream of the device is in capture
};

struct Kind {
    const char* name;
    Rule rule;
    std::function<cudaError_t(Things&)> call;
};

std::vector<Kind> kinds() {
    const auto properties = pool_properties();
    return {
        {"cudaMalloc", Rule::unsafe, [](Things& t) { return cudaMalloc(&t.made, bytes); }},
        {"cudaFree", Rule::unsafe, [](Things& t) { return cudaFree(std::exchange(t.to_free, nullptr)); }},
        {"cudaHostAlloc", Rule::unsafe,
         [](Things& t) { return cudaHostAlloc(&t.made_locked, bytes, cudaHostAllocPortable); }},
        {"cudaFreeHost", Rule::unsafe,
         [](Things& t) { return cudaFreeHost(std::exchange(t.locked_to_free, nullptr)); }},
        {"cudaHostRegister", Rule::unsafe,
         [](Things& t) { return cudaHostRegister(t.pageable.data(), bytes, cudaHostRegisterPortable); }},
        {"cudaHostUnregister", Rule::unsafe, [](Things& t) { return cudaHostUnregister(t.registered.data()); }},
        {"cudaMemPoolCreate", Rule::unsafe, [=](Things& t) { return cudaMemPoolCreate(&t.made_pool, &properties); }},
        {"cudaMallocFromPoolAsync", Rule::unsafe,
         [](Things& t) { return cudaMallocFromPoolAsync(&t.pooled, bytes, t.pool, t.other); }},
        {"cudaMemcpy", Rule::both,
         [](Things& t) { return cudaMemcpy(t.device, t.pageable.data(), bytes, cudaMemcpyHostToDevice); }},
        {"cudaMemset", Rule::both, [](Things& t) { return cudaMemset(t.device, 0, bytes); }},
        {"cudaMemcpyAsync of page-locked memory", Rule::free,
         [](Things& t) { return cudaMemcpyAsync(t.device, t.locked, bytes, cudaMemcpyHostToDevice, t.other); }},
        {"cudaMemcpyAsync of pageable memory", Rule::free,
         [](Things& t) {
             return cudaMemcpyAsync(t.device, t.pageable.data(), bytes, cudaMemcpyHostToDevice, t.other);
         }},
        {"cudaMemcpyAsync on the default stream", Rule::legacy,
         [](Things& t) { return cudaMemcpyAsync(t.device, t.locked, bytes, cudaMemcpyHostToDevice, nullptr); }},
        {"cudaMemsetAsync", Rule::free, [](Things& t) { return cudaMemsetAsync(t.device, 0, bytes, t.other); }},
        {"cudaMemsetAsync on the default stream", Rule::legacy,
         [](Things& t) { return cudaMemsetAsync(t.device, 0, bytes, nullptr); }},
        {"cudaLaunchHostFunc", Rule::free,
         [](Things& t) {
             return cudaLaunchHostFunc(
                 t.other, [](void*) {}, nullptr);
         }},
        {"cudaStreamCreateWithFlags", Rule::free,
         [](Things& t) { return cudaStreamCreateWithFlags(&t.made_stream, cudaStreamNonBlocking); }},
        {"cudaStreamDestroy", Rule::unsafe,
         [](Things& t) { return cudaStreamDestroy(std::exchange(t.other, nullptr)); }},
        {"cudaStreamSynchronize", Rule::unsafe, [](Things& t) { return cudaStreamSynchronize(t.other); }},
        {"cudaStreamSynchronize of the default stream", Rule::both,
         [](Things&) { return cudaStreamSynchronize(nullptr); }},
        {"cudaStreamQuery", Rule::unsafe, [](Things& t) { return cudaStreamQuery(t.other); }},
        {"cudaEventCreateWithFlags", Rule::free,
         [](Things& t) { return cudaEventCreateWithFlags(&t.made_event, cudaEventDisableTiming); }},
        {"cudaEventDestroy", Rule::free, [](Things& t) { return cudaEventDestroy(std::exchange(t.event, nullptr)); }},
        {"cudaEventRecord", Rule::free, [](Things& t) { return cudaEventRecord(t.event, t.other); }},
        {"cudaStreamWaitEvent", Rule::free, [](Things& t) { return cudaStreamWaitEvent(t.other, t.event, 0); }},
        {"cudaEventQuery", Rule::unsafe, [](Things& t) { return cudaEventQuery(t.event); }},
        {"cudaEventSynchronize", Rule::unsafe, [](Things& t) { return cudaEventSynchronize(t.event); }},
        {"cudaDeviceSynchronize", Rule::device, [](Things&) { return cudaDeviceSynchronize(); }},
        {"cudaPointerGetAttributes", Rule::free,
         [](Things& t) {
             cudaPointerAttributes attributes{};
             return cudaPointerGetAttributes(&attributes, t.device);
         }},
        {"cudaGetDevice", Rule::free,
         [](Things&) {
             int device = 0;
             return cudaGetDevice(&device);
         }},
        {"cudaSetDevice", Rule::free, [](Things&) { return cudaSetDevice(0); }},
        {"cudaGetDeviceCount", Rule::free,
         [](Things&) {
             int count = 0;
             return cudaGetDeviceCount(&count);
         }},
        {"cudaGetDeviceProperties", Rule::free,
         [](Things&) {
             cudaDeviceProp properties{};
             return cudaGetDeviceProperties(&properties, 0);
         }},
    };
}

const char* name_of(cudaStreamCaptureMode mode) {
    return mode == cudaStreamCaptureModeGlobal        ? "global"
           : mode == cudaStreamCaptureModeThreadLocal ? "thread_local"
                                                      : "relaxed";
}

struct Situation {
    cudaStreamCaptureMode mode;    ///< mode of the capture
    bool by_another;               ///< whether the call comes from a thread that does not capture
    cudaStreamCaptureMode thread;  ///< mode of the calling thread
    bool blocking;                 ///< whether the stream synchronizes with the default stream

    [[nodiscard]] bool prohibits() const {
        if (thread == cudaStreamCaptureModeRelaxed) return false;
        if (!by_another) return mode != cudaStreamCaptureModeRelaxed;
        return thread == cudaStreamCaptureModeGlobal && mode == cudaStreamCaptureModeGlobal;
    }
    [[nodiscard]] bool refuses(Rule rule) const {
        switch (rule) {
        case Rule::free:
            return false;
        case Rule::unsafe:
            return prohibits();
        case Rule::legacy:
            return blocking;
        case Rule::both:
            return blocking || prohibits();
        case Rule::device:
            break;
        }
        return true;
    }
    [[nodiscard]] std::string name() const {
        return std::string("capture ") + name_of(mode) + (blocking ? ", blocking stream" : "") +
               (by_another ? ", another thread " : ", same thread ") + name_of(thread);
    }
};

class CaptureRules : public testing::Test {
protected:
    bool done_ = false;

    void SetUp() override {
#if defined(WARPAES_SIMT)
        simt::reset();
#else
        int count = 0;
        if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) GTEST_SKIP() << "needs a GPU";
#endif
    }

    static void make(Things& t) {
        const auto properties = pool_properties();
        must(cudaMalloc(&t.device, bytes), "cudaMalloc");
        must(cudaMalloc(&t.to_free, bytes), "cudaMalloc");
        must(cudaHostAlloc(&t.locked, bytes, cudaHostAllocPortable), "cudaHostAlloc");
        must(cudaHostAlloc(&t.locked_to_free, bytes, cudaHostAllocPortable), "cudaHostAlloc");
        must(cudaHostRegister(t.registered.data(), bytes, cudaHostRegisterPortable), "cudaHostRegister");
        must(cudaStreamCreateWithFlags(&t.other, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
        must(cudaEventCreateWithFlags(&t.event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
        must(cudaMemPoolCreate(&t.pool, &properties), "cudaMemPoolCreate");
        must(cudaEventRecord(t.event, t.other), "cudaEventRecord");
        must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    static void destroy(Things& t) {
        if (t.pooled != nullptr) must(cudaFreeAsync(t.pooled, nullptr), "cudaFreeAsync");
        must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        for (void* const memory : {t.device, t.to_free, t.made}) must(cudaFree(memory), "cudaFree");
        for (void* const memory : {t.locked, t.locked_to_free, t.made_locked})
            must(cudaFreeHost(memory), "cudaFreeHost");
        (void)cudaHostUnregister(t.registered.data());  // one of the calls registered it
        (void)cudaHostUnregister(t.pageable.data());
        for (const cudaStream_t stream : {t.other, t.made_stream}) {
            if (stream != nullptr) must(cudaStreamDestroy(stream), "cudaStreamDestroy");
        }
        for (const cudaEvent_t event : {t.event, t.made_event}) {
            if (event != nullptr) must(cudaEventDestroy(event), "cudaEventDestroy");
        }
#if !defined(WARPAES_SIMT)  // on the simulated GPU, a pool's handle is its device
        for (const cudaMemPool_t pool : {t.pool, t.made_pool}) {
            if (pool != nullptr) must(cudaMemPoolDestroy(pool), "cudaMemPoolDestroy");
        }
#endif
        (void)cudaGetLastError();
    }

    static cudaError_t call(const Kind& kind, Things& things, cudaStreamCaptureMode mode) {
        cudaStreamCaptureMode before = mode;
        must(cudaThreadExchangeStreamCaptureMode(&before), "cudaThreadExchangeStreamCaptureMode");
        const cudaError_t error = kind.call(things);
        must(cudaThreadExchangeStreamCaptureMode(&before), "cudaThreadExchangeStreamCaptureMode");
        (void)cudaGetLastError();
        return error;
    }

    static void check(const Kind& kind, const Situation& situation) {
        SCOPED_TRACE(std::string(kind.name) + "; " + situation.name());
        Things things;
        make(things);
        cudaStream_t stream = nullptr;
        must(cudaStreamCreateWithFlags(&stream, situation.blocking ? cudaStreamDefault : cudaStreamNonBlocking),
             "cudaStreamCreateWithFlags");
        must(cudaStreamBeginCapture(stream, situation.mode), "cudaStreamBeginCapture");
        cudaError_t error = cudaSuccess;
        if (situation.by_another) {
            std::thread([&] { error = call(kind, things, situation.thread); }).join();
        } else {
            error = call(kind, things, situation.thread);
        }
        cudaGraph_t graph = nullptr;
        const cudaError_t end = cudaStreamEndCapture(stream, &graph);
        (void)cudaGetLastError();
        if (graph != nullptr) must(cudaGraphDestroy(graph), "cudaGraphDestroy");
        must(cudaStreamDestroy(stream), "cudaStreamDestroy");
        destroy(things);

        const bool refused = error != cudaSuccess, spoiled = end != cudaSuccess;
        const bool expected = situation.refuses(kind.rule);
#if defined(WARPAES_SIMT)
        EXPECT_EQ(refused, expected) << cudaGetErrorString(error);
        EXPECT_EQ(spoiled, expected) << cudaGetErrorString(end);
#else
        EXPECT_TRUE(expected || !refused) << "CUDA refuses it: " << cudaGetErrorName(error);
        EXPECT_TRUE(expected || !spoiled) << "CUDA ends the capture: " << cudaGetErrorName(end);
        if (expected && !(refused && spoiled)) {
            std::printf("lenient: %s; %s: %s, capture %s\n", kind.name, situation.name().c_str(),
                        cudaGetErrorName(error), cudaGetErrorName(end));
        }
#endif
    }

    static constexpr std::array modes{cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                                      cudaStreamCaptureModeRelaxed};
};

TEST_F(CaptureRules, OfEveryCallInEveryMode) {
    for (const Kind& kind : kinds()) {
        for (const auto mode : modes) {
            for (const bool by_another : {false, true}) {
                for (const auto thread : modes) {
                    for (const bool blocking : {false, true}) check(kind, {mode, by_another, thread, blocking});
                }
            }
        }
    }
}

/// Querying whether the default stream may be used does not invalidate the capture.
TEST_F(CaptureRules, AskingForTheDefaultStreamIsSafe) {
    for (const bool blocking : {false, true}) {
        cudaStream_t stream = nullptr;
        must(cudaStreamCreateWithFlags(&stream, blocking ? cudaStreamDefault : cudaStreamNonBlocking),
             "making a stream");
        must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        EXPECT_EQ(cudaStreamIsCapturing(nullptr, &status), blocking ? cudaErrorStreamCaptureImplicit : cudaSuccess);
        (void)cudaGetLastError();
        EXPECT_EQ(cudaStreamIsCapturing(stream, &status), cudaSuccess);
        EXPECT_EQ(status, cudaStreamCaptureStatusActive);
        // A blocking stream that does not take part in the capture can be used.
        cudaStream_t instead = nullptr;
        cudaStreamCaptureMode relaxed = cudaStreamCaptureModeRelaxed;
        must(cudaThreadExchangeStreamCaptureMode(&relaxed), "cudaThreadExchangeStreamCaptureMode");
        EXPECT_EQ(cudaStreamCreateWithFlags(&instead, cudaStreamDefault), cudaSuccess);
        EXPECT_EQ(cudaLaunchHostFunc(
                      instead, [](void* done) { *static_cast<bool*>(done) = true; }, &done_),
                  cudaSuccess);
        EXPECT_EQ(cudaStreamSynchronize(instead), cudaSuccess);
        EXPECT_TRUE(std::exchange(done_, false));
        EXPECT_EQ(cudaStreamDestroy(instead), cudaSuccess);
        must(cudaThreadExchangeStreamCaptureMode(&relaxed), "cudaThreadExchangeStreamCaptureMode");
        cudaGraph_t graph = nullptr;
        EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
        if (graph != nullptr) must(cudaGraphDestroy(graph), "cudaGraphDestroy");
        must(cudaStreamDestroy(stream), "cudaStreamDestroy");
    }
}

}  // namespace
