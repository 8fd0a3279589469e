// Compares the executor and the intrinsics with scalar models and CUDA's definitions.
#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <thread>

#include "simt_fixture.hpp"

namespace simt_test {
namespace {

using SimtDeathTest = Simt;

TEST_F(Simt, ReducesThroughSharedMemoryInEveryBlock) {
    constexpr unsigned blocks = 5, threads = 1024;
    Buffer<unsigned> sums(blocks);
    ASSERT_EQ(launch(sum_block, blocks, threads, threads * sizeof(unsigned), Block{sums.device(), 3}), cudaSuccess);
    for (unsigned b = 0; b < blocks; ++b) {
        EXPECT_EQ(sums.fetch()[b], 3 * (b * threads * threads + threads * (threads - 1) / 2)) << "block " << b;
    }
}

__global__ void record_indices(uint3* threads, uint3* blocks) {
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const unsigned i = block * blockDim.x * blockDim.y * blockDim.z + thread;
    __syncwarp();
    threads[i] = threadIdx;
    blocks[i] = blockIdx;
}

TEST_F(Simt, CountsThreadsAndBlocksInThreeDimensions) {
    Buffer<uint3> threads(24 * 30), blocks(24 * 30);
    ASSERT_EQ(launch(record_indices, dim3(2, 3, 4), dim3(5, 3, 2), 0, threads.device(), blocks.device()), cudaSuccess);
    const auto& t = threads.fetch();
    const auto& b = blocks.fetch();
    for (unsigned i = 0; i < t.size(); ++i) {
        const unsigned thread = i % 30, block = i / 30;
        EXPECT_EQ((std::array{t[i].x, t[i].y, t[i].z}), (std::array{thread % 5, thread / 5 % 3, thread / 15}));
        EXPECT_EQ((std::array{b[i].x, b[i].y, b[i].z}), (std::array{block % 2, block / 2 % 3, block / 6}));
    }
}

/// The operand of each lane, and the results.
template <typename T>
struct Shuffle {
    int width;
    const unsigned* operands;
    T* results;
};

template <typename T>
T lane_value(unsigned lane) {
    return static_cast<T>(0x0123456789abcdefull * (lane + 1));
}

template <typename T>
__global__ void shuffle_all(Shuffle<T> p) {
    const unsigned lane = threadIdx.x;
    const T value = lane_value<T>(lane);
    const unsigned operand = p.operands[lane];
    p.results[lane] = __shfl_sync(full, value, static_cast<int>(operand), p.width);
    p.results[32 + lane] = __shfl_up_sync(full, value, operand, p.width);
    p.results[64 + lane] = __shfl_down_sync(full, value, operand, p.width);
    p.results[96 + lane] = __shfl_xor_sync(full, value, static_cast<int>(operand), p.width);
}

/// Checks the results against the CUDA programming guide, one segment at a time.
template <typename T>
void test_shuffles() {
    std::mt19937 random(1);
    for (const unsigned width : {1u, 2u, 4u, 8u, 16u, 32u}) {
        std::array<unsigned, 32> operands;
        for (auto& operand : operands) operand = random() % 32;
        Buffer<unsigned> device_operands(32);
        Buffer<T> results(128);
        ASSERT_EQ(cudaMemcpy(device_operands.device(), operands.data(), sizeof(operands), cudaMemcpyHostToDevice),
                  cudaSuccess);
        ASSERT_EQ(launch(shuffle_all<T>, 1, 32, 0,
                         Shuffle<T>{static_cast<int>(width), device_operands.device(), results.device()}),
                  cudaSuccess);
        const auto& r = results.fetch();
        for (unsigned lane = 0; lane < 32; ++lane) {
            const unsigned first = lane / width * width, within = lane % width, b = operands[lane];
            EXPECT_EQ(r[lane], lane_value<T>(first + b % width));
            EXPECT_EQ(r[32 + lane], lane_value<T>(within >= b ? lane - b : lane));
            EXPECT_EQ(r[64 + lane], lane_value<T>(within + b < width ? lane + b : lane));
            // A lane cannot read from a later segment, but it can read from an earlier one.
            EXPECT_EQ(r[96 + lane], lane_value<T>((lane ^ b) < first + width ? lane ^ b : lane));
        }
    }
}

TEST_F(Simt, ShufflesUnsigned) {
    test_shuffles<unsigned>();
}
TEST_F(Simt, ShufflesInt) {
    test_shuffles<int>();
}
TEST_F(Simt, ShufflesUnsignedLong) {
    test_shuffles<std::uint64_t>();
}
TEST_F(Simt, ShufflesUnsignedLongLong) {
    test_shuffles<unsigned long long>();
}

struct Votes {
    unsigned ballot;
    int any, all, none_any, every_all;
};

__global__ void vote(unsigned predicates, Votes* votes) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned odd = 0xaaaaaaaa, mask = lane % 2 ? odd : ~odd;
    const int predicate = static_cast<int>(predicates >> lane & 1);
    votes[threadIdx.x] = {__ballot_sync(mask, predicate), __any_sync(mask, predicate), __all_sync(mask, predicate),
                          __any_sync(mask, 0), __all_sync(mask, 7)};
}

TEST_F(Simt, VotesWithinMasks) {
    for (const unsigned predicates : {0u, ~0u, 0xaaaaaaaau, 0x00010000u, 0xdeadbeefu}) {
        Buffer<Votes> votes(64);
        ASSERT_EQ(launch(vote, 1, 64, 0, predicates, votes.device()), cudaSuccess);
        for (unsigned thread = 0; thread < 64; ++thread) {
            const unsigned mask = thread % 2 ? 0xaaaaaaaa : 0x55555555;
            const Votes& v = votes.fetch()[thread];
            EXPECT_EQ(v.ballot, predicates & mask);
            EXPECT_EQ(v.any, (predicates & mask) != 0);
            EXPECT_EQ(v.all, (predicates & mask) == mask);
            EXPECT_EQ(v.none_any, 0);
            EXPECT_EQ(v.every_all, 1);
        }
    }
}

__global__ void count_votes(int* counts) {
    const int predicate = threadIdx.x % 3 == 0;
    counts[0] = __syncthreads_count(predicate);
    counts[1] = __syncthreads_or(threadIdx.x == 40);
    counts[2] = __syncthreads_or(0);
    counts[3] = __syncthreads_and(threadIdx.x != 40);
    counts[4] = __syncthreads_and(1);
}

TEST_F(Simt, VotesInBlocks) {
    Buffer<int> counts(5);
    ASSERT_EQ(launch(count_votes, 1, 48, 0, counts.device()), cudaSuccess);
    EXPECT_EQ(counts.fetch(), (std::vector<int>{16, 1, 0, 0, 1}));
}

__global__ void vote_of_the_living(unsigned* ballots) {
    if (threadIdx.x % 4 == 1) return;
    ballots[threadIdx.x] = __ballot_sync(full, 1);
}

TEST_F(Simt, DoesNotWaitForExitedLanesNorForThoseOfAPartialWarp) {
    Buffer<unsigned> ballots(45);
    ASSERT_EQ(launch(vote_of_the_living, 1, 45, 0, ballots.device()), cudaSuccess);
    for (unsigned thread = 0; thread < 45; ++thread) {
        const unsigned living = 0xdddddddd & (thread < 32 ? full : 0x1fff);
        EXPECT_EQ(ballots.fetch()[thread], thread % 4 == 1 ? 0 : living) << thread;
    }
}

__global__ void exit_last(unsigned* ballots) {
    if (threadIdx.x == 31) return;  // the other lanes are already waiting
    ballots[threadIdx.x] = __ballot_sync(full, 1);
    __syncwarp(0x7fffffff);
    ballots[threadIdx.x] += __shfl_sync(full, threadIdx.x, 31) == 0xa5a5a5a5;
}

TEST_F(Simt, AnExitCompletesWhatOthersWaitFor) {
    Buffer<unsigned> ballots(32);
    ASSERT_EQ(launch(exit_last, 1, 32, 0, ballots.device()), cudaSuccess);
    for (unsigned lane = 0; lane < 31; ++lane) EXPECT_EQ(ballots.fetch()[lane], 0x80000000);
}

struct Counters {
    int i;
    unsigned u;
    unsigned long long ull;
    unsigned min, max, last, swapped, ors, ands, xors;
};

__global__ void count(Counters* c, unsigned* tickets) {
    const unsigned i = (blockIdx.x + blockIdx.y) * blockDim.x + threadIdx.x;
    tickets[i] = atomicAdd(&c->u, 1);
    atomicAdd(&c->i, -2);
    atomicAdd(&c->ull, 1ull << 33);
    atomicMin(&c->min, 100 - i);
    atomicMax(&c->max, i);
    atomicXor(&c->xors, 1u << i % 32);
    atomicOr(&c->ors, 1u << i % 32);
    atomicAnd(&c->ands, ~(1u << i % 16));
    atomicExch(&c->last, i);
    atomicCAS(&c->swapped, i, i + 1);
}

TEST_F(Simt, CountsAtomically) {
    Buffer<Counters> counters(1);
    Buffer<unsigned> tickets(96);
    Counters start{};
    start.min = 1000;
    start.ands = full;
    ASSERT_EQ(cudaMemcpy(counters.device(), &start, sizeof(start), cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(launch(count, 2, 48, 0, counters.device(), tickets.device()), cudaSuccess);
    const Counters& c = counters.fetch()[0];
    EXPECT_EQ(c.u, 96u);
    EXPECT_EQ(c.i, -192);
    EXPECT_EQ(c.ull, 96ull << 33);
    EXPECT_EQ(c.min, 5u);
    EXPECT_EQ(c.max, 95u);
    EXPECT_EQ(c.xors, full);
    EXPECT_EQ(c.ors, full);
    EXPECT_EQ(c.ands, 0xffff0000u);
    EXPECT_EQ(c.last, 95u);
    EXPECT_EQ(c.swapped, 96u);
    auto sorted = tickets.fetch();
    std::sort(sorted.begin(), sorted.end());
    for (unsigned i = 0; i < 96; ++i) EXPECT_EQ(sorted[i], i);
}

__global__ void look_at_shared_memory(unsigned char* seen, unsigned* misaligned) {
    unsigned char* memory = simt::dynamic_shared();
    if (reinterpret_cast<std::uintptr_t>(memory) % 128 != 0) atomicAdd(misaligned, 1);
    seen[blockIdx.x * blockDim.x + threadIdx.x] = memory[threadIdx.x];
    __syncthreads();
    memory[threadIdx.x] = 1;
}

TEST_F(Simt, SharedMemoryIsPoisonedForEveryBlock) {
    Buffer<unsigned char> seen(300);
    Buffer<unsigned> misaligned(1);
    ASSERT_EQ(launch(look_at_shared_memory, 3, 100, 100, seen.device(), misaligned.device()), cudaSuccess);
    EXPECT_EQ(seen.fetch(), std::vector<unsigned char>(300, 0xa5));
    EXPECT_EQ(misaligned.fetch()[0], 0u);
}

__global__ void read_neighbour(unsigned* values, bool barrier) {
    auto* numbers = shared<unsigned>();
    numbers[threadIdx.x] = threadIdx.x;
    if (barrier) __syncthreads();
    values[threadIdx.x] = numbers[(threadIdx.x + 1) % blockDim.x];
}

TEST_F(Simt, AReversedOrderChangesRacesOnly) {
    for (const bool barrier : {true, false}) {
        std::array<std::vector<unsigned>, 2> results;
        for (const bool backwards : {false, true}) {
            simt::reset({.backwards = backwards});
            Buffer<unsigned> values(100);
            ASSERT_EQ(launch(read_neighbour, 1, 100, 400, values.device(), barrier), cudaSuccess);
            results[backwards] = values.fetch();
        }
        EXPECT_EQ(results[0] == results[1], barrier);
    }
}

TEST_F(Simt, OrderOfTurns) {
    for (const bool backwards : {false, true}) {
        simt::reset({.backwards = backwards});
        Buffer<Counters> counters(1);
        Buffer<unsigned> tickets(96);
        ASSERT_EQ(launch(count, dim3(1, 2), 48, 0, counters.device(), tickets.device()), cudaSuccess);
        EXPECT_EQ(tickets.fetch()[0], backwards ? 95u : 0u);
        EXPECT_EQ(tickets.fetch()[95], backwards ? 0u : 95u);
    }
}

__constant__ unsigned table[4];

__global__ void wait_and_look_up(unsigned* values) {
    __shared__ unsigned flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        while (atomicAdd(&flag, 0) != 63) __nanosleep(20);
    } else {
        atomicAdd(&flag, 1);
    }
    values[threadIdx.x] = __ldg(&table[threadIdx.x % 4]) + (threadIdx.x == 0 ? flag : 0);
}

TEST_F(Simt, SpinsThatSleepAndConstantMemory) {
    const std::array<unsigned, 4> entries{10, 20, 30, 40};
    Buffer<unsigned> values(64);
    ASSERT_EQ(cudaMemcpyToSymbol(table, entries.data(), sizeof(entries)), cudaSuccess);
    EXPECT_EQ(cudaMemcpyToSymbol(table, entries.data(), sizeof(entries), 4), cudaErrorInvalidValue);
    ASSERT_EQ(launch(wait_and_look_up, 1, 64, 0, values.device()), cudaSuccess);
    EXPECT_EQ(values.fetch()[0], 10u + 63);
    EXPECT_EQ(values.fetch()[63], 40u);
}

TEST_F(Simt, HostThreadsLaunchAtTheSameTime) {
    std::vector<std::thread> threads;
    std::array<unsigned, 8> results{};
    for (unsigned t = 0; t < 8; ++t) {
        threads.emplace_back([&results, t] {
            Buffer<unsigned> sums(3);
            for (unsigned i = 0; i < 3; ++i) {
                ASSERT_EQ(launch(sum_block, 3, 256, 1024, Block{sums.device(), t}), cudaSuccess);
            }
            results[t] = sums.fetch()[0] + sums.fetch()[1] + sums.fetch()[2];
        });
    }
    for (auto& thread : threads) thread.join();
    for (unsigned t = 0; t < 8; ++t) EXPECT_EQ(results[t], t * (768 * 767 / 2));
}

// Intrinsics.

/// A model of the PTX ISA's prmt in its default mode, for selectors without the bit that replicates the sign.
unsigned prmt(unsigned a, unsigned b, unsigned c) {
    std::array<std::uint8_t, 8> bytes;
    std::memcpy(bytes.data(), &a, 4);
    std::memcpy(bytes.data() + 4, &b, 4);
    const std::array<std::uint8_t, 4> chosen{bytes[c & 7], bytes[c >> 4 & 7], bytes[c >> 8 & 7], bytes[c >> 12 & 7]};
    unsigned d;
    std::memcpy(&d, chosen.data(), 4);
    return d;
}

TEST_F(Simt, IntegerIntrinsics) {
    std::mt19937_64 random(2);
    for (int i = 0; i < 10000; ++i) {
        const auto a = static_cast<unsigned>(random()), b = static_cast<unsigned>(random());
        const auto s = static_cast<unsigned>(random());
        ASSERT_EQ(__byte_perm(a, b, s), prmt(a, b, s)) << std::hex << a << ' ' << b << ' ' << s;
        const unsigned n = s % 32;
        const unsigned left = n == 0 ? b : b << n | a >> (32 - n);
        const unsigned right = n == 0 ? a : a >> n | b << (32 - n);
        ASSERT_EQ(__funnelshift_l(a, b, s), left);
        ASSERT_EQ(__funnelshift_r(a, b, s), right);
        ASSERT_EQ(__brev(__brev(a)), a);
        const unsigned long long x = random(), y = random();
        ASSERT_EQ(__umul64hi(x, y), static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64));
    }
    EXPECT_EQ(__byte_perm(0x03020100, 0x07060504, 0x0123), 0x00010203u);
    EXPECT_EQ(__funnelshift_lc(1, 2, 32), 1u);
    EXPECT_EQ(__funnelshift_rc(1, 2, 40), 2u);
    EXPECT_EQ(__brev(1), 0x80000000u);
    EXPECT_EQ(__brevll(2), 0x4000000000000000u);
    EXPECT_EQ(__ffs(0), 0);
    EXPECT_EQ(__ffs(8), 4);
    EXPECT_EQ(__ffsll(1ll << 40), 41);
    EXPECT_EQ(__clz(0), 32);
    EXPECT_EQ(__clz(-1), 0);
    EXPECT_EQ(__popc(0xf0f0), 8);
    EXPECT_EQ(__umulhi(0x80000000, 6), 3u);
    EXPECT_EQ(alignof(uint4), 16u);
    EXPECT_EQ(sizeof(uint4), 16u);
}

// Tests uses that CUDA leaves undefined.

__global__ void barrier_after_exit() {
    if (threadIdx.x == 7) return;
    __syncthreads();
}

__global__ void barriers_of_two_branches() {
    if (threadIdx.x < 32) {
        __syncthreads();
    } else {
        __syncthreads();
    }
}

__global__ void barrier_and_warp() {
    if (threadIdx.x < 16) {
        __syncwarp();
    } else {
        __syncthreads();
    }
}

__global__ void different_masks() {
    if (threadIdx.x < 16) {
        __syncwarp(0x0001ffff);
    } else {
        __syncwarp(full);
    }
}

__global__ void mask_without_self() {
    __syncwarp(1);
}

__global__ void odd_width() {
    __shfl_sync(full, 1u, 0, 3);
}

__global__ void call_the_runtime() {
    cudaDeviceSynchronize();
}

TEST_F(SimtDeathTest, DivergentBarriers) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_DEATH(launch(barrier_after_exit, 1, 64, 0), "divergent barrier.*block \\(0,0,0\\)");
    EXPECT_DEATH(launch(barrier_after_exit, 1, 64, 0), "thread \\(7,0,0\\) has exited");
    EXPECT_DEATH(launch(barriers_of_two_branches, 1, 64, 0), "divergent barrier.*different __syncthreads");
    EXPECT_DEATH(launch(barrier_and_warp, 1, 32, 0), "divergent barrier");
}

TEST_F(SimtDeathTest, WarpFunctionsThatCannotComplete) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_DEATH(launch(different_masks, 1, 32, 0), "wait for each other at different calls");
    EXPECT_DEATH(launch(mask_without_self, 1, 32, 0), "mask that does not name it");
    EXPECT_DEATH(launch(odd_width, 1, 32, 0), "width is not a power of two.*odd_width");
}

TEST_F(SimtDeathTest, RuntimeInsideAKernel) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_DEATH(launch(call_the_runtime, 1, 1, 0), "cudaDeviceSynchronize");
}

#ifdef __SANITIZE_ADDRESS__
__global__ void write_beyond(unsigned char* memory, unsigned offset) {
    (memory == nullptr ? simt::dynamic_shared() : memory)[offset] = 1;
}

TEST_F(SimtDeathTest, MemoryOutOfBounds) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    Buffer<unsigned char> buffer(1000);
    EXPECT_EQ(launch(write_beyond, 1, 1, 100, nullptr, 99u), cudaSuccess);
    EXPECT_DEATH(launch(write_beyond, 1, 1, 100, nullptr, 100u), "heap-buffer-overflow");
    EXPECT_EQ(launch(write_beyond, 1, 1, 0, buffer.device(), 999u), cudaSuccess);
    EXPECT_DEATH(launch(write_beyond, 1, 1, 0, buffer.device(), 1000u), "heap-buffer-overflow");
}

TEST_F(SimtDeathTest, DeviceMemoryTouchedFromElsewhere) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    Buffer<unsigned char> buffer(1000);
    EXPECT_DEATH(buffer.device()[5] = 1, "use-after-poison");
    simt::reset({.devices = 2});
    ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
    EXPECT_DEATH(launch(write_beyond, 1, 1, 0, buffer.device(), 5u), "use-after-poison");
}
#endif

__global__ void multiply_matrices(const unsigned* a, const unsigned* b, unsigned* d) {
    const unsigned g = threadIdx.x / 4, q = threadIdx.x % 4;
    const auto count = [&](unsigned row, unsigned column) -> unsigned& { return d[row * 8 + column]; };
    simt::BinaryProduct operands{{a[g * 8 + q], a[(g + 8) * 8 + q], a[g * 8 + q + 4], a[(g + 8) * 8 + q + 4]},
                                 {b[g * 8 + q], b[g * 8 + q + 4]},
                                 {1, 2, 3, 4}};
    simt::binary_mma(operands);
    for (unsigned i = 0; i < 4; ++i) count(g + i / 2 * 8, 2 * q + i % 2) = operands.d[i];
}

TEST_F(SimtDeathTest, BitProductsBefore8) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    simt::Machine machine;
    machine.become(7, 5);
    simt::reset(machine);
    Buffer<unsigned> matrix(16 * 8);
    EXPECT_DEATH(launch(multiply_matrices, 1, 32, 0, matrix.device(), matrix.device(), matrix.device()),
                 "products of bits need compute capability 8.0.*mma.sync");
}

// The rows of `a` and the columns of `b` have 256 bits in 8 words.
TEST_F(Simt, MultipliesMatricesOfBits) {
    std::mt19937 random(1);
    Buffer<unsigned> a(16 * 8), b(8 * 8), d(16 * 8);
    std::array<unsigned, 128> left{};
    std::array<unsigned, 64> right{};
    for (unsigned& word : left) word = static_cast<unsigned>(random());
    for (unsigned& word : right) word = static_cast<unsigned>(random());
    ASSERT_EQ(cudaMemcpy(a.device(), left.data(), sizeof left, cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(b.device(), right.data(), sizeof right, cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(launch(multiply_matrices, 1, 32, 0, a.device(), b.device(), d.device()), cudaSuccess);
    for (unsigned row = 0; row < 16; ++row) {
        for (unsigned column = 0; column < 8; ++column) {
            unsigned common = 1 + column % 2 + row / 8 * 2;
            for (unsigned w = 0; w < 8; ++w) {
                common += static_cast<unsigned>(__popc(left[row * 8 + w] & right[column * 8 + w]));
            }
            EXPECT_EQ(d.fetch()[row * 8 + column], common) << row << ", " << column;
        }
    }
}

}  // namespace
}  // namespace simt_test
