// Tests long GCM messages in a batch on a caller's stream, which get their own launches, and the kernel that copies the
// descriptors of other batches.
#include <cuda_runtime.h>  // before tuning/host.hpp, whose limits depend on WARPAES_SIMT
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "backend/cuda_backend.hpp"
#include "base/error.hpp"
#include "cuda/tuning/host.hpp"
#include "evp_oracle.hpp"
#include "launch_text.hpp"
#include "simt.hpp"

namespace warpaes {
namespace {

using cuda::StreamMessages;
using oracle::Bytes;

class StreamMessagesTest : public testing::Test {
protected:
    static constexpr std::size_t length = StreamMessages::least, count = 3;

    StreamMessagesTest() {
        simt::reset();
        memory_ = static_cast<std::uint8_t*>(backend_.device_alloc(0, all));
        tags_ = memory_ + count * length;
        statuses_ = reinterpret_cast<std::int32_t*>(tags_ + count * sizeof(Block));
        for (std::size_t i = 0; i < count; ++i) {
            keys_.push_back(std::make_unique<ExpandedKey>(key_bytes(i)));
            aads_.push_back(Bytes(21 + i, static_cast<std::uint8_t>(i)));
        }
    }
    ~StreamMessagesTest() override {
        simt::reset();
        backend_.device_free(memory_);
    }

    /// Messages under different keys are not merged.
    static Bytes key_bytes(std::size_t i) { return Bytes(i == 1 ? 16 : 32, static_cast<std::uint8_t>(7 + i)); }
    static Bytes text(std::size_t i) {
        Bytes text = text_of(length);
        text[0] = static_cast<std::uint8_t>(i);
        return text;
    }
    Bytes sealed(std::size_t i) const { return oracle::evp_gcm(key_bytes(i), iv(i), text(i), aads_[i]); }
    Bytes iv(std::size_t i) const { return {ivs_.begin() + 12 * i, ivs_.begin() + 12 * (i + 1)}; }

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
            g.aad = Elements::of(aads_[i].data());
            g.aad_length = aads_[i].size();
            g.tag = {tags_ + i * sizeof(Block), sizeof(Block)};
            g.tag_length = sizeof(Block);
            g.key = keys_[i].get();
            if (direction == Direction::decrypt) g.statuses = statuses_ + i;
        }
        return groups;
    }
    void write(void* to, const Bytes& from) { backend_.copy(to, from.data(), from.size(), 0, nullptr); }
    Bytes read(const void* from, std::size_t bytes) {
        Bytes to(bytes);
        backend_.copy(to.data(), from, bytes, 0, nullptr);
        return to;
    }
    std::vector<std::int32_t> statuses() {
        std::vector<std::int32_t> found(count);
        backend_.copy(found.data(), statuses_, count * sizeof(std::int32_t), 0, nullptr);
        return found;
    }
    void put_texts() {
        for (std::size_t i = 0; i < count; ++i) write(memory_ + i * length, text(i));
    }
    void put_ciphertexts() {
        for (std::size_t i = 0; i < count; ++i) {
            const Bytes whole = sealed(i);
            write(memory_ + i * length, {whole.begin(), whole.end() - 16});
            write(tags_ + 16 * i, {whole.end() - 16, whole.end()});
        }
        write(statuses_, Bytes(count * sizeof(std::int32_t), 0x5a));
    }

    static constexpr std::size_t all = count * (length + sizeof(Block) + sizeof(std::int32_t));
    CudaBackend& backend_ = cuda_backend();
    std::uint8_t *memory_ = nullptr, *tags_ = nullptr;
    std::int32_t* statuses_ = nullptr;
    std::vector<std::unique_ptr<ExpandedKey>> keys_;
    Bytes ivs_ = text_of(12 * count);
    std::vector<Bytes> aads_;
};

TEST_F(StreamMessagesTest, AreEncryptedWithoutDescriptors) {
    put_texts();
    simt::reset(simt::machine());
    backend_.enqueue(groups(Direction::encrypt), 0, nullptr);
    EXPECT_EQ(simt::calls("cudaLaunchKernelEx"), count);
    EXPECT_EQ(simt::calls("cudaMemcpyAsync"), 0U);
    for (std::size_t i = 0; i < count; ++i) {
        Bytes found = read(memory_ + i * length, length);
        const Bytes tag = read(tags_ + 16 * i, 16);
        found.insert(found.end(), tag.begin(), tag.end());
        EXPECT_TRUE(found == sealed(i)) << i;
    }
}

TEST_F(StreamMessagesTest, AreDecryptedAndAuthenticated) {
    for (const bool tags_on_host : {false, true}) {
        put_ciphertexts();
        Bytes altered = read(tags_ + 16, 16);
        altered[15] ^= 1;
        write(tags_ + 16, altered);
        Bytes tags = read(tags_, 16 * count);
        std::vector<MessageGroup> groups = this->groups(Direction::decrypt);
        for (std::size_t i = 0; tags_on_host && i < count; ++i) groups[i].tag.first = tags.data() + 16 * i;
        simt::reset(simt::machine());
        backend_.enqueue(groups, 0, nullptr);
        EXPECT_EQ(simt::calls("cudaLaunchKernelEx"), 2 * count);
        EXPECT_EQ(simt::calls("cudaMemcpyAsync"), 0U);
        // The function has read all host memory.
        std::fill(tags.begin(), tags.end(), std::uint8_t{});
        EXPECT_EQ(statuses(), (std::vector<std::int32_t>{0, WARPAES_ERROR_AUTHENTICATION, 0}));
        EXPECT_TRUE(read(memory_, length) == text(0));
        EXPECT_TRUE(read(memory_ + length, length) == Bytes(length));
        EXPECT_TRUE(read(memory_ + 2 * length, length) == text(2));
    }
}

/// An enqueued table also has statuses if it encrypts.
TEST_F(StreamMessagesTest, OfATableHaveStatusesWhenEncrypted) {
    for (const bool own : {true, false}) {
        put_texts();
        std::vector<MessageGroup> groups = this->groups(Direction::encrypt);
        for (std::size_t i = 0; i < count; ++i) {
            groups[i].statuses = statuses_ + i;
            if (!own) groups[i].length = 1000;
        }
        write(statuses_, Bytes(count * sizeof(std::int32_t), 0x5a));
        simt::reset(simt::machine());
        backend_.enqueue(groups, 0, nullptr);
        EXPECT_EQ(statuses(), std::vector<std::int32_t>(count)) << (own ? "long" : "short");
    }
}

/// Tests a group of two messages, whose parts have strides. The other group has another key, so the batch does not take
/// one pass.
TEST_F(StreamMessagesTest, OfAGroupOfSeveral) {
    put_ciphertexts();
    for (std::size_t i = 0; i < 2; ++i) {
        const Bytes own = oracle::evp_gcm(key_bytes(0), iv(i), text(i), aads_[0]);
        write(memory_ + i * length, {own.begin(), own.end() - 16});
        write(tags_ + 16 * i, {own.end() - 16, own.end()});
    }
    std::vector<MessageGroup> groups = this->groups(Direction::decrypt);
    groups.erase(groups.begin() + 1);
    groups[0].count = 2;
    groups[0].iv.stride = 12;
    simt::reset(simt::machine());
    backend_.enqueue(groups, 0, nullptr);
    EXPECT_EQ(simt::calls("cudaLaunchKernelEx"), 2 * count);
    EXPECT_EQ(statuses(), std::vector<std::int32_t>(count));
    for (std::size_t i = 0; i < count; ++i) EXPECT_TRUE(read(memory_ + i * length, length) == text(i)) << i;
}

/// If a message cannot have its own launches, the whole batch uses the kernels for batches.
TEST_F(StreamMessagesTest, OfOtherKindsTakeTheKernelsForBatches) {
    const auto launches_of = [&](const std::function<void(MessageGroup&)>& change) {
        std::vector<MessageGroup> groups = this->groups(Direction::encrypt);
        change(groups[1]);
        simt::reset(simt::machine());
        backend_.enqueue(groups, 0, nullptr);
        backend_.synchronize(0, nullptr);
        return simt::calls("cudaLaunchKernelEx");
    };
    put_texts();
    EXPECT_EQ(launches_of([](MessageGroup&) {}), count);
    EXPECT_GT(launches_of([](MessageGroup& g) { g.length -= 1; }), count);
    EXPECT_GT(launches_of([](MessageGroup& g) { g.tag_length = 12; }), count);
    EXPECT_GT(launches_of([&](MessageGroup& g) { g.iv.first = tags_ - 16; }), count);
    EXPECT_GT(launches_of([&](MessageGroup& g) { g.aad.first = tags_ - 32; }), count);
}

TEST_F(StreamMessagesTest, OfAGraphTakeTheKernelsForBatches) {
    put_texts();
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    simt::reset(simt::machine());
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    backend_.enqueue(groups(Direction::encrypt), 0, stream);
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    EXPECT_EQ(simt::calls("cudaUserObjectCreate"), 1U);
    EXPECT_LE(simt::calls("cudaMallocFromPoolAsync"), 1U) << "at most the scratch memory of all messages";
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

/// After a failure, no enqueued work may access memory that the caller then frees.
TEST_F(StreamMessagesTest, EndBeforeAFailureIsReported) {
    put_texts();
    simt::Machine machine = simt::Machine::from_environment();
    machine.late = 1;
    for (int nth = 1; nth <= static_cast<int>(count); ++nth) {
        simt::reset(machine);
        simt::fail_call("cudaLaunchKernelEx", nth, cudaErrorUnknown);
        EXPECT_THROW(backend_.enqueue(groups(Direction::encrypt), 0, nullptr), Error);
        std::vector<std::uint8_t> at_once(memory_, memory_ + count * length);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        EXPECT_TRUE(std::equal(at_once.begin(), at_once.end(), memory_)) << nth;
    }
}

/// A kernel copies short descriptors, because a copy engine would first copy everything that other streams have
/// enqueued.
TEST(StreamBatchDescriptors, AreCopiedByAKernel) {
    simt::reset();
    CudaBackend& backend = cuda_backend();
    const ExpandedKey key(Bytes(16, 1)), other(Bytes(16, 2));
    for (const std::size_t messages : {std::size_t{2}, cuda::SideCopies::most_by_kernel / 64}) {
        auto* const memory = static_cast<std::uint8_t*>(backend.device_alloc(0, 32 * messages));
        backend.clear(memory, 32 * messages, 0, nullptr);
        Bytes ivs = text_of(16 * messages);
        std::vector<MessageGroup> groups(messages);
        for (std::size_t i = 0; i < messages; ++i) {
            groups[i].mode = Mode::ctr;
            groups[i].length = 32;
            groups[i].input = groups[i].output = {memory + 32 * i, 32};
            groups[i].iv = {ivs.data() + 16 * i, 16};
            groups[i].iv_length = 16;
            groups[i].key = i % 2 == 0 ? &key : &other;
        }
        simt::reset(simt::machine());
        backend.enqueue(groups, 0, nullptr);
        EXPECT_EQ(simt::calls("cudaMemcpyAsync"), messages == 2 ? 0U : 1U);
        Bytes found(32 * messages);
        backend.copy(found.data(), memory, found.size(), 0, nullptr);
        for (std::size_t i = 0; i < messages; ++i) {
            const Bytes expected = *oracle::evp("CTR", true, Bytes(16, i % 2 == 0 ? 1 : 2),
                                                Bytes(ivs.begin() + 16 * i, ivs.begin() + 16 * (i + 1)), Bytes(32));
            ASSERT_TRUE(std::equal(expected.begin(), expected.end(), found.begin() + 32 * i)) << i;
        }
        backend.device_free(memory);
    }
    simt::reset();
}

}  // namespace
}  // namespace warpaes
