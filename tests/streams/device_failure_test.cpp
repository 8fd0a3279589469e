// Tests readers and writers on a simulated GPU that fails, below the C ABI. Each CUDA call fails in turn, once and
// permanently. With host memory, the CPU does the remaining work. With device memory, the failure is an error, and the
// output receives only zeros or authentic text.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "../format/segment_oracle.hpp"
#include "../gpu_first.hpp"
#include "../pipeline/support.hpp"
#include "backend/cuda_backend.hpp"
#include "engine/pipeline/memory.hpp"
#include "format/reader.hpp"
#include "format/segment_formats.hpp"
#include "format/writer.hpp"
#include "simt.hpp"

namespace warpaes::test {
namespace {

class StreamDeviceFailure : public testing::Test {
protected:
    StreamDeviceFailure() { simt::reset(); }
    ~StreamDeviceFailure() override { simt::reset(); }

    /// Returns options with which the engine chooses the GPU for all work, because the work is long enough rather than
    /// because the caller requests it.
    static EngineOptions automatic() {
        return {.backend = "auto", .threads = 2, .depth = 2, .chunk_bytes = 8192, .costs = gpu_first()};
    }
    static std::unique_ptr<Source> source(const Bytes& file) {
        return std::make_unique<MemorySource>(
            MemoryBuffer{const_cast<std::uint8_t*>(file.data()), file.size(), true, -1});
    }
    [[nodiscard]] Bytes sealed(const Bytes& header) const { return seal(key_, aad_, header, text_); }

    /// Runs `work` and makes each call fail in turn, independently of other calls.
    template <typename Work>
    void fail_every_call(const Work& work) {
        for (const char* function : {"cudaStreamCreateWithFlags", "cudaHostAlloc", "cudaMalloc", "cudaMemcpyAsync",
                                     "cudaMemcpy2DAsync", "cudaLaunchKernelEx", "cudaEventSynchronize", "*"}) {
            simt::reset();
            work();
            const std::uint64_t calls = simt::calls(function);
            for (std::uint64_t nth = 1; nth <= calls; nth += 1 + calls / 24) {
                for (const int times : {1, std::numeric_limits<int>::max() / 2}) {
                    simt::reset();
                    simt::fail_call(function, static_cast<int>(nth), cudaErrorUnknown, times);
                    SCOPED_TRACE(std::string(function) + " " + std::to_string(nth) + " x " + std::to_string(times));
                    work();
                }
            }
        }
        simt::reset();
    }

    const Bytes input_key_ = random_bytes(32, 1);
    const StreamKey key_{
        {&gcm_hkdf, 32, 4096, Hash::sha256, Hash::sha256, 16}, {input_key_.begin(), input_key_.end()}, 1};
    const std::vector<const StreamKey*> keys_{&key_};
    const Bytes aad_ = random_bytes(5, 2);
    const Bytes text_ = random_bytes(50000, 3);
    Bytes header_ = [] {
        Bytes header = random_bytes(40, 4);
        header[0] = 40;
        return header;
    }();
};

TEST_F(StreamDeviceFailure, ReadsIntoHostMemoryAreFinishedByTheCpu) {
    const Bytes file = sealed(header_);
    fail_every_call([&] {
        Engine engine(automatic());
        SegmentReader reader(engine, source(file), keys_, aad_);
        Bytes output(text_.size(), 0xa5);
        EXPECT_EQ(reader.read(0, output.data(), output.size()), text_.size());
        EXPECT_TRUE(output == text_);
        EXPECT_EQ(reader.read(5001, output.data(), 10), 10U);
        EXPECT_TRUE(std::equal(output.begin(), output.begin() + 10, text_.begin() + 5001));
    });
}

TEST_F(StreamDeviceFailure, ReadsIntoDeviceMemoryAreRightOrLeaveNothing) {
    const Bytes file = sealed(header_);
    unsigned failures = 0;
    std::vector<std::uint8_t*> used;
    fail_every_call([&] {
        std::uint8_t* memory = nullptr;
        try {
            Engine engine(automatic());
            SegmentReader reader(engine, source(file), keys_, aad_);
            memory = static_cast<std::uint8_t*>(cuda_backend().device_alloc(0, text_.size()));
            std::fill_n(memory, text_.size(), std::uint8_t{0xa5});  // simulated device memory, which the host can
                                                                    // access
            reader.read(0, memory, text_.size());
            EXPECT_TRUE(std::equal(text_.begin(), text_.end(), memory));
        } catch (const Error& e) {
            ++failures;
            EXPECT_TRUE(e.status() == WARPAES_ERROR_DEVICE || e.status() == WARPAES_ERROR_DEVICE_MEMORY) << e.what();
            if (memory != nullptr) {
                // A lost device's memory cannot be wiped. The text that remains in it is authentic.
                const bool wiped =
                    std::count(memory, memory + text_.size(), 0) == static_cast<std::ptrdiff_t>(text_.size());
                std::size_t strange = 0;
                for (std::size_t i = 0; i < text_.size(); ++i) {
                    strange += memory[i] != text_[i] && memory[i] != 0xa5 && memory[i] != 0 ? 1 : 0;
                }
                EXPECT_TRUE(wiped || strange == 0);
            }
        }
        if (memory != nullptr) used.push_back(memory);  // freeing it now might also fail
    });
    for (std::uint8_t* memory : used) cuda_backend().device_free(memory);
    EXPECT_GT(failures, 20U);
}

TEST_F(StreamDeviceFailure, WritesFromHostMemoryAreFinishedByTheCpu) {
    fail_every_call([&] {
        Engine engine(automatic());
        auto owned = std::make_unique<TestSink>(TestSink::Kind::positional);
        const TestSink& sink = *owned;
        bool committed = false;
        SegmentWriter writer(
            engine, std::move(owned), [&] { committed = true; }, key_, aad_);
        writer.write(text_.data(), 100);
        writer.write(text_.data() + 100, text_.size() - 100);
        writer.finish();
        EXPECT_TRUE(committed);
        EXPECT_TRUE(sink.bytes() == sealed(Bytes(sink.bytes().begin(), sink.bytes().begin() + 40)));
    });
}

}  // namespace
}  // namespace warpaes::test
