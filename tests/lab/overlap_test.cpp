// Tests that chunks that pass through a device produce the kernel's output for every division of a text.
#include "lab/gpu/overlap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "lab/gpu/variants.hpp"
#include "lab/reference.hpp"

namespace lab::gpu {
namespace {

TEST(Overlap, EveryCut) {
    constexpr std::size_t bytes = 16 * 1000;
    const auto key = random_bytes(16, 1), text = random_bytes(bytes, 2);
    const auto expected = Reference(Mode::ecb, Direction::encrypt, key).run({}, text);
    const HostMemory in(bytes, HostMemory::Kind::page_locked), out(bytes + 16, HostMemory::Kind::page_locked);
    std::memcpy(in.get(), text.data(), bytes);
    const Variants variants(key);
    const ChunkKernel kernel = [&](const std::uint8_t* from, std::uint8_t* to, std::size_t, std::size_t size,
                                   const Stream& stream) { variants.run({}, {}, from, to, size, {}, stream); };
    Overlap overlap(bytes, 4);
    const auto check_output = [&] {
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), out.get()));
        EXPECT_TRUE(std::all_of(out.get() + bytes, out.get() + bytes + 16, [](auto b) { return b == 0x5c; }));
        std::memset(out.get(), 0x5c, out.size());
    };
    std::memset(out.get(), 0x5c, out.size());
    const Chunks cuts[] = {{bytes, 1, false}, {bytes, 1, true}, {4096, 1, false},
                           {4096, 3, false},  {4096, 3, true},  {4000, 4, true},
                           {4000, 4, false},  {16, 2, true},    {2 * bytes / 4, 2, true}};
    for (const Chunks& cut : cuts) {
        EXPECT_GT(overlap.run(in.get(), out.get(), bytes, cut, kernel), 0);
        check_output();
    }
    const Steps steps = overlap.steps(in.get(), out.get(), bytes, kernel);
    EXPECT_GT(steps.in, 0);
    EXPECT_GT(steps.kernel, 0);
    EXPECT_GT(steps.out, 0);
    EXPECT_DOUBLE_EQ(steps.sum(), steps.in + steps.kernel + steps.out);
    check_output();
}

TEST(Overlap, WhatDoesNotFitIsRefused) {
    Overlap overlap(64, 2);
    const HostMemory memory(256, HostMemory::Kind::page_locked);
    const ChunkKernel none = [](auto, auto, auto, auto, const Stream&) {};
    for (const Chunks& cut : {Chunks{0, 1, false}, Chunks{64, 2, false}, Chunks{16, 3, false}, Chunks{16, 0, false}}) {
        EXPECT_THROW(overlap.run(memory.get(), memory.get(), 64, cut, none), std::invalid_argument);
    }
    EXPECT_THROW(overlap.steps(memory.get(), memory.get(), 128, none), std::invalid_argument);
}

}  // namespace
}  // namespace lab::gpu
