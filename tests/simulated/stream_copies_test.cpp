// Tests batches on a caller's stream whose texts are also copied to or from page-locked memory.
#include "cuda/stream_copies.hpp"

#include <cuda_runtime.h>  // before tuning/host.hpp, whose limits depend on WARPAES_SIMT
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "backend/cuda_backend.hpp"
#include "base/error.hpp"
#include "cuda/tuning/host.hpp"
#include "evp_oracle.hpp"
#include "launch_text.hpp"
#include "simt.hpp"

namespace warpaes {
namespace {

using oracle::Bytes;

/// Messages under two keys, on the device and in page-locked memory. The streams work as late as CUDA allows, so a
/// missing order between two streams changes the results.
class StreamCopiesTest : public testing::Test {
protected:
    static constexpr std::size_t length = cuda::CopiedParts::least, count = 16;

    StreamCopiesTest() {
        machine_.late = 1;
        simt::reset(machine_);
        memory_ = static_cast<std::uint8_t*>(backend_.device_alloc(0, all));
        host_ = static_cast<std::uint8_t*>(backend_.allocate(Memory::page_locked, -1, count * length));
        tags_ = memory_ + count * length;
        statuses_ = reinterpret_cast<std::int32_t*>(tags_ + count * sizeof(Block));
        for (std::size_t i = 0; i < count; ++i) {
            const Bytes whole = oracle::evp_gcm(key_bytes(i), iv(i), text(i), {});
            sealed_.insert(sealed_.end(), whole.begin(), whole.end() - 16);
            seals_.insert(seals_.end(), whole.end() - 16, whole.end());
            const Bytes plain = text(i);
            plain_.insert(plain_.end(), plain.begin(), plain.end());
        }
    }
    ~StreamCopiesTest() override {
        simt::reset();
        backend_.device_free(memory_);
        backend_.release(Memory::page_locked, host_);
    }

    static Bytes key_bytes(std::size_t i) { return Bytes(32, static_cast<std::uint8_t>(i % 2)); }
    static Bytes text(std::size_t i) {
        Bytes text = text_of(length);
        text[0] = static_cast<std::uint8_t>(i);
        return text;
    }
    Bytes iv(std::size_t i) const { return {ivs_.begin() + 12 * i, ivs_.begin() + 12 * (i + 1)}; }

    void write(void* to, const Bytes& from) { backend_.copy(to, from.data(), from.size(), 0, nullptr); }
    Bytes read(const void* from, std::size_t bytes) {
        Bytes to(bytes);
        backend_.copy(to.data(), from, bytes, 0, nullptr);
        return to;
    }
    Bytes host() const { return {host_, host_ + count * length}; }
    std::vector<std::int32_t> statuses() {
        std::vector<std::int32_t> found(count);
        backend_.copy(found.data(), statuses_, count * sizeof(std::int32_t), 0, nullptr);
        return found;
    }
    void put(Direction direction) {
        const bool encrypts = direction == Direction::encrypt;
        write(memory_, encrypts ? plain_ : Bytes(count * length, 0x3e));
        write(tags_, encrypts ? Bytes(16 * count) : seals_);
        write(statuses_, Bytes(count * sizeof(std::int32_t), 0x5a));
        const Bytes& there = encrypts ? Bytes(count * length, 0x5c) : sealed_;
        std::copy(there.begin(), there.end(), host_);
    }
    std::vector<MessageGroup> groups(Direction direction) {
        std::vector<MessageGroup> groups(count);
        for (std::size_t i = 0; i < count; ++i) {
            MessageGroup& g = groups[i];
            g.mode = Mode::gcm;
            g.direction = direction;
            g.length = length;
            g.input = g.output = {memory_ + i * length, length};
            g.iv = {ivs_.data() + 12 * i, 12};
            g.iv_length = 12;
            g.tag = {tags_ + i * sizeof(Block), sizeof(Block)};
            g.tag_length = sizeof(Block);
            g.key = &keys_[i % 2];
            if (direction == Direction::decrypt) g.statuses = statuses_ + i;
        }
        return groups;
    }
    std::vector<std::uint8_t*> copies() {
        std::vector<std::uint8_t*> copies;
        for (std::size_t i = 0; i < count; ++i) copies.push_back(host_ + i * length);
        return copies;
    }
    void enqueue(Direction direction) {
        simt::reset(machine_);
        backend_.enqueue_copied(groups(direction), copies(), false, 0, nullptr);
    }
    void expect(Direction direction) {
        EXPECT_TRUE(read(memory_, count * length) == (direction == Direction::encrypt ? sealed_ : plain_));
        EXPECT_TRUE(host() == sealed_);
        if (direction == Direction::encrypt) {
            EXPECT_TRUE(read(tags_, 16 * count) == seals_);
        } else {
            EXPECT_EQ(statuses(), std::vector<std::int32_t>(count));
        }
    }

    static constexpr std::size_t all = count * (length + sizeof(Block) + sizeof(std::int32_t));
    CudaBackend& backend_ = cuda_backend();
    simt::Machine machine_ = simt::Machine::from_environment();
    std::uint8_t *memory_ = nullptr, *host_ = nullptr, *tags_ = nullptr;
    std::int32_t* statuses_ = nullptr;
    const ExpandedKey keys_[2] = {ExpandedKey(key_bytes(0)), ExpandedKey(key_bytes(1))};
    Bytes ivs_ = text_of(12 * count), plain_, sealed_, seals_;
};

/// Parts of 1, 3 and 12 messages are copied; a decryption has them in the reverse order.
TEST_F(StreamCopiesTest, AreMadeInParts) {
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        put(direction);
        enqueue(direction);
        EXPECT_EQ(simt::calls("cudaMemcpyAsync"), 3U);
        expect(direction);
    }
}

TEST_F(StreamCopiesTest, OfAlteredMessages) {
    put(Direction::decrypt);
    host_[0] ^= 1;
    host_[3 * length] ^= 1;
    host_[count * length - 1] ^= 1;
    const Bytes altered = host();
    enqueue(Direction::decrypt);
    std::vector<std::int32_t> expected(count);
    for (const std::size_t i : {std::size_t{0}, std::size_t{3}, count - 1}) {
        expected[i] = WARPAES_ERROR_AUTHENTICATION;
        std::fill_n(plain_.begin() + static_cast<std::ptrdiff_t>(i * length), length, std::uint8_t{0});
    }
    EXPECT_EQ(statuses(), expected);
    EXPECT_TRUE(read(memory_, count * length) == plain_);
    EXPECT_TRUE(host() == altered);
}

TEST_F(StreamCopiesTest, FollowEarlierWorkOnTheStream) {
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        put(direction);
        // The stream still reads the memory that the copies overwrite, and then writes it.
        Bytes before(length);
        ASSERT_EQ(cudaMemsetAsync(memory_, 1, length, stream), cudaSuccess);
        ASSERT_EQ(cudaMemcpyAsync(before.data(), memory_, length, cudaMemcpyDeviceToHost, stream), cudaSuccess);
        if (direction == Direction::encrypt) {
            ASSERT_EQ(cudaMemcpyAsync(memory_, plain_.data(), length, cudaMemcpyHostToDevice, stream), cudaSuccess);
        }
        backend_.enqueue_copied(groups(direction), copies(), false, 0, stream);
        ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
        EXPECT_TRUE(before == Bytes(length, 1));
        expect(direction);
    }
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

/// Copies of texts that are not adjacent are separate, and texts without a copy are allowed.
TEST_F(StreamCopiesTest, ToOtherPlacesAndInBothDirections) {
    put(Direction::encrypt);
    std::vector<MessageGroup> groups = this->groups(Direction::encrypt);
    std::vector<std::uint8_t*> copies = this->copies();
    std::swap(copies[0], copies[5]);
    const std::vector<MessageGroup> others = this->groups(Direction::decrypt);
    for (std::size_t i = 8; i < count; ++i) {
        groups[i] = others[i];
        std::copy_n(sealed_.begin() + static_cast<std::ptrdiff_t>(i * length), length, host_ + i * length);
    }
    write(tags_ + 16 * 8, {seals_.begin() + 16 * 8, seals_.end()});
    groups[3].length = 0;
    copies[3] = nullptr;
    simt::reset(machine_);
    backend_.enqueue_copied(groups, copies, false, 0, nullptr);
    const Bytes found = read(memory_, count * length);
    for (std::size_t i = 0; i < count; ++i) {
        if (i == 3) continue;
        const auto at = static_cast<std::ptrdiff_t>(i * length), end = at + static_cast<std::ptrdiff_t>(length);
        const Bytes expected = i < 8 ? Bytes(sealed_.begin() + at, sealed_.begin() + end)
                                     : Bytes(plain_.begin() + at, plain_.begin() + end);
        EXPECT_TRUE(Bytes(found.begin() + at, found.begin() + end) == expected) << i;
        const Bytes sealed(sealed_.begin() + at, sealed_.begin() + end);
        const std::uint8_t* const copy = i == 0 ? host_ + 5 * length : i == 5 ? host_ : host_ + i * length;
        EXPECT_TRUE(Bytes(copy, copy + length) == sealed) << i;
    }
    EXPECT_TRUE(Bytes(host_ + 3 * length, host_ + 4 * length) == Bytes(length, 0x5c));
    const std::vector<std::int32_t> told = statuses();
    EXPECT_TRUE(std::all_of(told.begin() + 8, told.end(), [](std::int32_t status) { return status == 0; }));
}

TEST_F(StreamCopiesTest, OfAGraph) {
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
        backend_.enqueue_copied(groups(direction), copies(), false, 0, stream);
        cudaGraph_t graph = nullptr;
        ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
        cudaGraphExec_t made = nullptr;
        ASSERT_EQ(cudaGraphInstantiate(&made, graph, 0), cudaSuccess);
        for (int launch = 0; launch < 2; ++launch) {
            put(direction);
            ASSERT_EQ(cudaGraphLaunch(made, stream), cudaSuccess);
            ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
            expect(direction);
        }
        EXPECT_EQ(cudaGraphExecDestroy(made), cudaSuccess);
        EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    }
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

/// After a failure, no enqueued work may access memory that the caller then frees. The memory of the host never
/// contains plaintext, and the next call succeeds.
TEST_F(StreamCopiesTest, EndBeforeAFailureIsReported) {
    unsigned failed = 0;
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        for (const char* const function :
             {"cudaEventRecord", "cudaLaunchKernelEx", "cudaMemcpyAsync", "cudaStreamWaitEvent"}) {
            for (int nth = 1;; ++nth) {
                SCOPED_TRACE(std::string(function) + " " + std::to_string(nth));
                put(direction);
                simt::reset(machine_);
                simt::fail_call(function, nth, cudaErrorUnknown);
                bool threw = false;
                try {
                    backend_.enqueue_copied(groups(direction), copies(), false, 0, nullptr);
                } catch (const Error& error) {
                    EXPECT_EQ(error.status(), WARPAES_ERROR_DEVICE);
                    threw = true;
                }
                const bool came_so_far = simt::calls(function) >= static_cast<std::uint64_t>(nth);
                simt::reset(machine_);
                if (threw) {
                    ++failed;
                    const Bytes at_once(memory_, memory_ + count * length), host_at_once = host();
                    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
                    EXPECT_TRUE(std::equal(at_once.begin(), at_once.end(), memory_));
                    EXPECT_TRUE(host_at_once == host());
                    for (std::size_t i = 0; i < count; ++i) {
                        EXPECT_FALSE(std::equal(host_ + i * length, host_ + (i + 1) * length,
                                                plain_.begin() + static_cast<std::ptrdiff_t>(i * length)))
                            << i;
                    }
                    put(direction);
                    enqueue(direction);
                }
                expect(direction);
                if (!came_so_far) break;
            }
        }
    }
    EXPECT_GT(failed, 20U) << "no call failed, so this tests nothing";
}

/// The second call continues the parts of the first one, and the stream waits for the copies of both.
TEST_F(StreamCopiesTest, OfSeveralCalls) {
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        put(direction);
        simt::reset(machine_);
        const std::vector<MessageGroup> groups = this->groups(direction);
        const std::vector<std::uint8_t*> copies = this->copies();
        for (const bool more : {true, false}) {
            const std::size_t first = more ? 0 : 1, messages = more ? 1 : count - 1;
            backend_.enqueue_copied(std::span(groups).subspan(first, messages),
                                    std::span(copies).subspan(first, messages), more, 0, nullptr);
        }
        // Parts of 1 and then of 3 and 12 messages, or of 1 and then of 11, 3 and 1.
        EXPECT_EQ(simt::calls("cudaMemcpyAsync"), direction == Direction::encrypt ? 3U : 4U);
        expect(direction);
    }
}

/// Two threads use a stream. The first one has left copies to its next call, and the second one uses the same queue
/// when the first one makes that call.
TEST_F(StreamCopiesTest, OfTwoThreadsOnAStream) {
    put(Direction::encrypt);
    const std::vector<MessageGroup> groups = this->groups(Direction::encrypt);
    const std::vector<std::uint8_t*> copies = this->copies();
    cuda::StreamCopies queues;
    const auto enqueue = [&](std::span<const MessageGroup> part) { backend_.enqueue(part, 0, nullptr); };
    const auto call = [&](std::size_t first, std::size_t messages, bool more,
                          const cuda::StreamCopies::Enqueue& enqueue) {
        queues.enqueue(std::span(groups).subspan(first, messages), std::span(copies).subspan(first, messages), more,
                       nullptr, enqueue);
    };
    call(0, 1, true, enqueue);
    bool called = false;
    call(1, 1, true, [&](std::span<const MessageGroup> part) {
        enqueue(part);
        call(2, count - 3, false, enqueue);
        ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
        EXPECT_TRUE(Bytes(host_, host_ + length) == Bytes(sealed_.begin(), sealed_.begin() + length));
        EXPECT_TRUE(std::equal(host_ + 2 * length, host_ + (count - 1) * length, sealed_.begin() + 2 * length));
        called = true;
    });
    EXPECT_TRUE(called);
    call(count - 1, 1, false, enqueue);
    expect(Direction::encrypt);
}

/// The copies of a stream are complete when that stream is, whatever other streams do.
TEST_F(StreamCopiesTest, OfTwoStreams) {
    cudaStream_t streams[2] = {};
    for (cudaStream_t& each : streams) {
        ASSERT_EQ(cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking), cudaSuccess);
    }
    put(Direction::encrypt);
    const std::vector<MessageGroup> groups = this->groups(Direction::encrypt);
    const std::vector<std::uint8_t*> copies = this->copies();
    const auto half = [&](std::size_t i) {
        backend_.enqueue_copied(std::span(groups).subspan(8 * i, 8), std::span(copies).subspan(8 * i, 8), false, 0,
                                streams[i]);
    };
    simt::reset(machine_);
    half(0);
    half(1);
    ASSERT_EQ(cudaStreamSynchronize(streams[1]), cudaSuccess);
    EXPECT_TRUE(
        std::equal(host_ + 8 * length, host_ + 16 * length, sealed_.begin() + static_cast<std::ptrdiff_t>(8 * length)));
    ASSERT_EQ(cudaStreamSynchronize(streams[0]), cudaSuccess);
    expect(Direction::encrypt);
    for (const cudaStream_t each : streams) EXPECT_EQ(cudaStreamDestroy(each), cudaSuccess);
}

}  // namespace
}  // namespace warpaes
