// Makes each CUDA call of a job fail in turn. If the engine chose the GPU, the CPU finishes the work. If the caller
// chose the GPU, the job reports the failure and no data remains.
#include <gtest/gtest.h>

#include <csignal>
#include <tuple>

#include "../gpu_first.hpp"
#include "capi/handles.hpp"
#include "runs.hpp"
#include "simt.hpp"
#include "stage.hpp"

namespace faults {
namespace {

constexpr const char* functions[] = {"cudaEventCreateWithFlags",
                                     "cudaEventDestroy",
                                     "cudaEventRecord",
                                     "cudaEventSynchronize",
                                     "cudaFree",
                                     "cudaFreeAsync",
                                     "cudaFreeHost",
                                     "cudaFuncSetAttribute",
                                     "cudaGetDevice",
                                     "cudaHostAlloc",
                                     "cudaLaunchHostFunc",
                                     "cudaLaunchKernelEx",
                                     "cudaMalloc",
                                     "cudaMallocFromPoolAsync",
                                     "cudaMemcpyAsync",
                                     "cudaMemset",
                                     "cudaMemsetAsync",
                                     "cudaMemPoolCreate",
                                     "cudaMemPoolSetAttribute",
                                     "cudaMemcpy2DAsync",
                                     "cudaPointerGetAttributes",
                                     "cudaSetDevice",
                                     "cudaStreamCreateWithFlags",
                                     "cudaStreamDestroy",
                                     "cudaStreamIsCapturing",
                                     "cudaStreamSynchronize",
                                     "cudaStreamWaitEvent",
                                     "cudaThreadExchangeStreamCaptureMode"};

/// Returns an engine that always uses the GPU, because the caller requests it (`forced`) or because the engine chooses
/// it.
Engine make_gpu_engine(bool forced) {
    const warpaes::EngineOptions options{.backend = forced ? "cuda" : "auto",
                                         .device = -1,
                                         .threads = 1,
                                         .depth = 2,
                                         .chunk_bytes = 8192,
                                         .costs = warpaes::gpu_first()};
    return Engine(new warpaes_engine(options));
}

/// The list includes cudaGetDevice, because freeing memory requires its device to be current.
bool is_for_freeing(std::string_view function) {
    return function.find("Free") != std::string_view::npos || function.find("Destroy") != std::string_view::npos ||
           function == "cudaGetDevice" || function == "cudaSetDevice";
}

class Device : public testing::TestWithParam<std::tuple<Work, bool>> {
protected:
    void SetUp() override {
        std::signal(SIGPIPE, SIG_IGN);
        simt::reset();
        stage_ = std::make_unique<Stage>(work().ends);
    }
    void TearDown() override { simt::reset(); }

    static const Work& work() { return std::get<0>(GetParam()); }
    static bool forced() { return std::get<1>(GetParam()); }

    /// Runs a case once on a new engine. With `failing`, calls that create the engine can also fail.
    Result run() {
        const Engine engine = make_gpu_engine(forced());
        return stage_->run(*work().work, engine.get());
    }

    void check(const char* function, unsigned nth, const simt::Failure& failure) {
        const std::string description = std::string(function) + " " + std::to_string(nth) + " " +
                                        cudaGetErrorName(failure.error) + " x " + std::to_string(failure.times);
        simt::reset();
        const simt::Usage before = simt::usage();
        simt::fail_call(function, static_cast<int>(nth), failure.error, failure.times);
        Result result;
        {
            const Watchdog watchdog(description);
            result = run();
        }
        const bool happened = simt::calls(function) >= nth;
        simt::reset();
        std::string wrong = stage_->fault_in(*work().work, result);
        if (wrong.empty() && result.status != WARPAES_OK) {
            if (!forced()) wrong = "the CPU did not finish the work";
            if (result.status != WARPAES_ERROR_DEVICE && result.status != WARPAES_ERROR_DEVICE_MEMORY) {
                wrong = "another status than DEVICE or DEVICE_MEMORY";
            }
        }
        // Memory that could not be freed remains allocated. A lost device loses all of its memory.
        if (!is_for_freeing(function) && failure.times == 1 && simt::usage() != before) {
            wrong = "memory or handles are left on the device";
        }
        ++injected_;
        missed_ += happened ? 0 : 1;
        EXPECT_TRUE(happened || nth != 1) << description << ": no fault was injected";
        noted_ += (result.notes & WARPAES_NOTE_DEVICE_FAILED) != 0;
        EXPECT_EQ(wrong, "") << description << ": " << warpaes_status_message(result.status) << ": " << result.sentence;
        count(name_of(work()) + (forced() ? "_cuda" : "_auto"), function,
              !wrong.empty()                ? Outcome::wrong
              : !happened                   ? Outcome::missed
              : result.status == WARPAES_OK ? Outcome::completed
                                            : Outcome::refused);
    }

    std::unique_ptr<Stage> stage_;
    unsigned noted_ = 0, injected_ = 0, missed_ = 0;
};

TEST_P(Device, EveryCallAtEveryPosition) {
    ASSERT_EQ(run().status, WARPAES_OK) << warpaes_last_error();
    simt::reset();
    const Result clean = run();
    ASSERT_EQ(clean.status, WARPAES_OK) << warpaes_last_error();
    ASSERT_EQ(clean.notes & WARPAES_NOTE_DEVICE_FAILED, 0U);
    std::vector<std::pair<const char*, std::uint64_t>> counts;
    std::uint64_t known = 0;
    for (const char* function : functions) {
        counts.emplace_back(function, simt::calls(function));
        known += counts.back().second;
    }
    if (simt::calls("cudaLaunchKernelEx") == 0) {
        EXPECT_FALSE(forced());
        return;  // serial work and work of unknown length run on the CPU unless the caller requests the GPU
    }
    const std::uint64_t unnamed = simt::calls("cudaGetLastError") + simt::calls("cudaGetErrorString");
    ASSERT_EQ(simt::calls("*"), known + unnamed) << "a function is missing from the list";
    for (const auto& [function, n] : counts) {
        for (unsigned nth = 1; nth <= n; ++nth) {
            for (const simt::Failure& failure : simt::failures) check(function, nth, failure);
        }
    }
    // The second lane may open too late to be used, or not at all. No faults are then injected into its calls.
    EXPECT_LE(missed_, injected_ / 2) << "of " << injected_ << " faults";
    const bool tells = work().ends != EndKind::memory && work().work->name.find("_writer") == std::string::npos;
    if (!forced() && tells) {
        EXPECT_GT(noted_, 10U) << "failures are not noted";
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, Device,
                         testing::Combine(testing::ValuesIn([] {
                                              std::vector<Work> list;
                                              for (const Work& work : all_work()) {
                                                  const bool wanted =
                                                      work.ends == EndKind::file || work.ends == EndKind::memory;
                                                  if (wanted) list.push_back(work);
                                              }
                                              return list;
                                          }()),
                                          testing::Bool()),
                         [](const auto& info) {
                             return name_of(std::get<0>(info.param)) + (std::get<1>(info.param) ? "_cuda" : "_auto");
                         });

}  // namespace
}  // namespace faults
