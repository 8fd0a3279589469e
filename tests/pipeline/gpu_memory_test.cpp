// Tests, on the simulated GPU, which data a message leaves in GPU memory and page-locked memory, and what CUDA failures
// do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "../page_locked.hpp"
#include "backend/cuda_backend.hpp"
#include "base/error.hpp"
#include "engine/arena.hpp"
#include "engine/chain.hpp"
#include "engine/memory.hpp"
#include "engine/run/executor.hpp"
#include "simt.hpp"

namespace warpaes {
namespace {

using Bytes = std::vector<std::uint8_t>;
using test::allocate_page_locked, test::free_page_locked;

class GpuMemory : public testing::Test {
protected:
    GpuMemory() {
        simt::reset();
        for (std::size_t i = 0; i < plaintext_.size(); ++i) plaintext_[i] = static_cast<std::uint8_t>(i * 151 + 7);
    }
    ~GpuMemory() override {
        simt::on_free({});
        simt::reset();
    }

    /// Processes `bytes` bytes of plaintext_ on a new engine, in a mode that copies everything to the device and back.
    /// The lanes are closed together with the engine.
    Bytes encrypt(std::size_t bytes) {
        Engine engine({.backend = "cuda", .device = -1, .threads = 2, .depth = 2, .chunk_bytes = 65536});
        Bytes out(bytes);
        const Block iv{1, 2, 3};
        run_group(engine, stretch_of(Mode::cfb8, Direction::decrypt, key_, iv, plaintext_.data(), out.data(), bytes));
        return out;
    }

    static bool holds(std::span<const std::uint8_t> memory, std::span<const std::uint8_t> secret) {
        return std::search(memory.begin(), memory.end(), secret.begin(), secret.end()) != memory.end();
    }

    const Bytes key_bytes_ = Bytes(32, 0x3c);
    const ExpandedKey key_{key_bytes_};
    Bytes plaintext_ = Bytes((1 << 20) + 100);  // the last chunk is small
};

/// Either the input or the output is the caller's device memory, which the host cannot read for the next chunk.
TEST_F(GpuMemory, ManyChunksOfWhichOneEndLiesThere) {
    simt::Machine machine = simt::Machine::from_environment();
    machine.guarded = true;
    simt::reset(machine);
    Engine engine({.backend = "cuda", .device = 0, .threads = 2, .depth = 2, .chunk_bytes = 4096});
    constexpr std::size_t bytes = 5 * 4096 + 32;
    const Block iv{1, 2, 3};
    auto* const there = static_cast<std::uint8_t*>(cuda_backend().device_alloc(0, bytes));
    for (const Mode mode : {Mode::ecb, Mode::cbc, Mode::cfb128, Mode::cfb8, Mode::cfb1, Mode::ofb, Mode::ctr}) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            Bytes expected(bytes), here(bytes);
            libcrypto_backend().open_lane(-1, 0)->run(
                stretch_of(mode, direction, key_, iv, plaintext_.data(), expected.data(), bytes));
            cuda_backend().copy(there, plaintext_.data(), bytes, 0, nullptr);
            run_group(engine, stretch_of(mode, direction, key_, iv, there, here.data(), bytes), Memory::device, 0);
            EXPECT_TRUE(here == expected) << static_cast<int>(mode) << " from there";
            run_group(engine, stretch_of(mode, direction, key_, iv, plaintext_.data(), there, bytes), Memory::device,
                      0);
            std::fill(here.begin(), here.end(), std::uint8_t{0});
            cuda_backend().copy(here.data(), there, bytes, 0, nullptr);
            EXPECT_TRUE(here == expected) << static_cast<int>(mode) << " to there";
        }
    }
    cuda_backend().device_free(there);
}

TEST_F(GpuMemory, PageLockedMessagesAreProcessedWhereTheyLie) {
    constexpr std::size_t bytes = (std::size_t{4} << 20) + 3 * 4096;
    std::uint8_t *const in = allocate_page_locked(bytes + 1), *const out = allocate_page_locked(bytes + 1);
    for (std::size_t i = 0; i <= bytes; ++i) in[i] = static_cast<std::uint8_t>(i * 151 + 7);
    const Block iv{1, 2, 3};
    Bytes expected(bytes);
    const auto copies_of = [&](Mode mode, Direction direction, std::size_t at, std::uint64_t chunk_bytes) {
        Engine engine({.backend = "cuda", .device = 0, .threads = 2, .chunk_bytes = chunk_bytes});
        libcrypto_backend().open_lane(-1, 0)->run(
            stretch_of(mode, direction, key_, iv, in + at, expected.data(), bytes));
        const std::uint64_t before = simt::calls("cudaMemcpyAsync");
        run_group(engine, stretch_of(mode, direction, key_, iv, in + at, out, bytes), Memory::page_locked);
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), out)) << static_cast<int>(mode);
        return simt::calls("cudaMemcpyAsync") - before;
    };
    EXPECT_EQ(copies_of(Mode::ctr, Direction::encrypt, 0, 0), 0U);
    EXPECT_EQ(copies_of(Mode::ecb, Direction::decrypt, 0, 0), 0U);
    EXPECT_EQ(copies_of(Mode::cbc, Direction::decrypt, 0, 0), 0U);
    // Covers kernels that process a byte twice, unaligned buffers, and chunks whose length the caller chooses.
    EXPECT_NE(copies_of(Mode::cfb8, Direction::decrypt, 0, 0), 0U);
    EXPECT_EQ(copies_of(Mode::ctr, Direction::encrypt, 1, 0), 5U) << "three chunks in, and the two long chunks out";
    EXPECT_EQ(copies_of(Mode::ctr, Direction::encrypt, 0, std::uint64_t{2} << 20), 4U)
        << "the long chunks, in both directions";
    free_page_locked(out);
    free_page_locked(in);
}

/// Device memory is overwritten when the caller frees it, whatever its contents are.
TEST_F(GpuMemory, WhatACallerGivesBackIsOverwritten) {
    auto* const memory = static_cast<std::uint8_t*>(cuda_backend().device_alloc(0, 1000));
    cuda_backend().copy(memory, Bytes(1000, 7).data(), 1000, 0, nullptr);
    std::size_t freed = 0;
    bool clean = true;
    simt::on_free([&](cudaMemoryType, std::span<const std::uint8_t> bytes) {
        freed += bytes.size();
        clean = clean && std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t b) { return b == 0; });
    });
    cuda_backend().device_free(memory);
    simt::on_free({});
    EXPECT_GE(freed, 1000U);
    EXPECT_TRUE(clean);
}

/// Sixteen bytes of the text, the ciphertext or a round key in freed memory are a leak. Both sizes matter: 100 bytes
/// are copied only to the lane's device buffers, and a megabyte is staged in several chunks.
TEST_F(GpuMemory, NothingIsLeftInWhatIsFreed) {
    for (const std::size_t bytes : {std::size_t{100}, plaintext_.size()}) {
        const Bytes ciphertext = encrypt(bytes);
        Bytes round_key(16);
        std::memcpy(round_key.data(), key_.encrypt().words.data() + 8, round_key.size());

        std::size_t device_bytes = 0, host_bytes = 0;
        bool leaked = false;
        simt::on_free([&](cudaMemoryType type, std::span<const std::uint8_t> memory) {
            (type == cudaMemoryTypeHost ? host_bytes : device_bytes) += memory.size();
            for (std::size_t at = 0; at + 16 <= bytes; at += 4096) {
                leaked = leaked || holds(memory, std::span(plaintext_).subspan(at, 16)) ||
                         holds(memory, std::span(ciphertext).subspan(at, 16));
            }
            leaked = leaked || holds(memory, round_key);
        });
        encrypt(bytes);
        simt::on_free({});
        EXPECT_FALSE(leaked) << bytes;
        EXPECT_GE(device_bytes, std::min<std::size_t>(bytes, 65536)) << "no device memory was freed during the test";
        EXPECT_EQ(host_bytes != 0, bytes > 65536) << "staging is for long messages";
    }
}

/// Makes each call that a result depends on fail in turn.
TEST_F(GpuMemory, AFailingCallIsAnErrorAndLeavesNothingBehind) {
    encrypt(200000);  // allocates the memory that the process keeps
    const simt::Usage before = simt::usage();
    const Bytes right = encrypt(200000);
    for (const char* function : {"cudaStreamCreateWithFlags", "cudaEventCreateWithFlags", "cudaHostAlloc", "cudaMalloc",
                                 "cudaMemcpyAsync", "cudaLaunchKernelEx", "cudaStreamSynchronize"}) {
        simt::reset();
        encrypt(200000);
        const std::uint64_t calls = simt::calls(function);
        ASSERT_GT(calls, 0U) << function;
        for (std::uint64_t nth = 1; nth <= calls; ++nth) {
            simt::reset();
            simt::fail_call(function, static_cast<int>(nth), cudaErrorUnknown);
            try {
                // The distribution of work differs from run to run. If a run makes fewer calls than were counted, no
                // call fails.
                EXPECT_EQ(encrypt(200000), right) << function << " " << nth;
            } catch (const Error& e) {
                EXPECT_EQ(e.status(), WARPAES_ERROR_DEVICE) << e.what();
                EXPECT_NE(std::string(e.what()).find("cuda: "), std::string::npos) << e.what();
            }
            simt::reset();
            EXPECT_EQ(simt::usage(), before) << "after the failure of " << function << " " << nth;
        }
    }
    EXPECT_EQ(encrypt(200000), right);
}

/// A machine that does not support cudaHostRegister.
class ConfidentialMemory : public GpuMemory {
protected:
    ConfidentialMemory() {
        simt::Machine machine = simt::Machine::from_environment();
        machine.confidential = true;
        simt::reset(machine);
    }

    /// Checks the encryption of the arena's bytes, whose last part is encrypted to the position of its first part.
    void expect_to_work(const Arena& arena, Memory kind) {
        ASSERT_EQ(place_of(arena.data()).kind, kind);
        ASSERT_EQ(place_of(arena.data() + arena.bytes() - 1).kind, kind);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.data()) % 4096, 0U);
        EXPECT_TRUE(std::all_of(arena.data(), arena.data() + arena.bytes(), [](std::uint8_t b) { return b == 0; }));
        const std::size_t bytes = arena.bytes() / 16 * 16;
        std::copy_n(plaintext_.begin(), bytes, arena.data());
        const Block iv{1, 2, 3};
        Bytes expected(bytes);
        for (const Mode mode : {Mode::ctr, Mode::cfb8}) {
            std::copy_n(arena.data(), bytes, expected.data());
            libcrypto_backend().open_lane(-1, 0)->run(
                stretch_of(mode, Direction::decrypt, key_, iv, arena.data(), expected.data(), bytes));
            run_group(engine_, stretch_of(mode, Direction::decrypt, key_, iv, arena.data(), arena.data(), bytes), kind);
            EXPECT_TRUE(std::equal(expected.begin(), expected.end(), arena.data())) << static_cast<int>(mode);
        }
    }

    Engine engine_{{.backend = "cuda", .device = 0, .threads = 2, .depth = 2, .chunk_bytes = 65536}};
};

TEST_F(ConfidentialMemory, AnArenaIsTheDriversMemory) {
    for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{4096}, std::uint64_t{300001}}) {
        std::size_t freed = 0;
        bool clean = true;
        {
            const Arena arena(engine_, Memory::page_locked, false, -1, bytes);
            EXPECT_FALSE(locks_ordinary_memory());
            expect_to_work(arena, Memory::page_locked);
            simt::on_free([&](cudaMemoryType type, std::span<const std::uint8_t> memory) {
                if (type != cudaMemoryTypeHost) return;
                freed += memory.size();
                clean = clean && !holds(memory, std::span(plaintext_).subspan(0, 16));
            });
        }
        simt::on_free({});
        EXPECT_GE(freed, bytes);
        EXPECT_TRUE(clean) << "freed without being wiped";
    }
}

TEST_F(ConfidentialMemory, ASharedArenaIsPageable) {
    const Arena arena(engine_, Memory::page_locked, true, -1, 300001);
    EXPECT_GE(arena.descriptor(), 0);
    expect_to_work(arena, Memory::pageable);
}

TEST_F(ConfidentialMemory, WithoutMemoryOfTheDriverAnArenaIsPageable) {
    simt::fail_call("cudaHostAlloc", 1, cudaErrorNotSupported);
    const Arena arena(engine_, Memory::page_locked, false, -1, 300001);
    expect_to_work(arena, Memory::pageable);
}

TEST_F(ConfidentialMemory, OtherFailuresAreErrorsAndLeaveNothing) {
    { const Arena first(engine_, Memory::page_locked, false, -1, 100); }
    const simt::Usage before = simt::usage();
    for (const cudaError_t error : {cudaErrorMemoryAllocation, cudaErrorUnknown}) {
        for (const char* function : {"cudaHostRegister", "cudaHostAlloc"}) {
            simt::fail_call(function, 1, error);
            try {
                const Arena arena(engine_, Memory::page_locked, false, -1, 100);
                ADD_FAILURE() << function;
            } catch (const Error& e) {
                const bool memory = error == cudaErrorMemoryAllocation;
                EXPECT_EQ(e.status(), memory ? WARPAES_ERROR_OUT_OF_MEMORY : WARPAES_ERROR_DEVICE) << e.what();
            }
            EXPECT_EQ(simt::usage(), before) << function;
        }
    }
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "the caller sees an error of the library";
    encrypt(200000);
    const Arena arena(engine_, Memory::page_locked, false, -1, 100);
    EXPECT_EQ(place_of(arena.data()).kind, Memory::page_locked);
}

TEST_F(GpuMemory, TooLittleDeviceMemoryIsAnErrorOfItsOwn) {
    simt::Machine machine = simt::Machine::from_environment();
    machine.memory = 100000;  // less than a chunk in each direction
    simt::reset(machine);
    try {
        encrypt(plaintext_.size());
        FAIL() << "there is no room for it";
    } catch (const Error& e) {
        EXPECT_EQ(e.status(), WARPAES_ERROR_DEVICE_MEMORY) << e.what();
    }
}

}  // namespace
}  // namespace warpaes
