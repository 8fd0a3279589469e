// Tests [H]'s data model. Compares the kernel's output for a payload, in both mappings of threads, with libcrypto's.
#include "lab/payload.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "lab/gpu/payload.hpp"
#include "lab/reference.hpp"

namespace lab {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Runs the kernel with a poisoned output and returns the result.
Bytes run(const PreparedPayload& ready, const KeySchedules& schedules, const Bytes& data, gpu::ThreadMapping mapping,
          const gpu::Runs& runs = {}) {
    gpu::PayloadOnDevice payload;
    payload.load(ready, schedules);
    const gpu::DeviceMemory in = gpu::on_device(data), out(data.size());
    gpu::fill(out.get(), 0x5c, out.size());
    const gpu::Stream stream;
    payload.run(in.get(), out.get(), mapping, runs, stream);
    stream.synchronize();
    return gpu::fetch(out);
}

/// Returns the expected result.
Bytes expected(const PayloadDescriptor& payload, const Bytes& keys, const Bytes& data) {
    Bytes out(data.size(), 0x5c);
    for (const MessageDescriptor& d : payload.messages) {
        for (std::uint64_t i = 0; i < d.messages.count; ++i) {
            const std::uint64_t stride = d.messages.stride != 0 ? d.messages.stride : d.messages.size;
            const auto at = d.messages.offset + i * stride;
            const auto iv = d.ivs.offset + (d.ivs.count > 1 ? i * 16 : 0);
            Reference cipher(d.mode, Direction::encrypt, std::span(keys).subspan((d.first_key + i % d.keys) * 16, 16));
            cipher.run(d.mode == Mode::ecb ? std::span<const std::uint8_t>() : std::span(data).subspan(iv, 16),
                       std::span(data).subspan(at, d.messages.size), std::span(out).subspan(at, d.messages.size));
        }
    }
    return out;
}

TEST(Payload, EveryModeAndMapping) {
    // The payload contains sizes whose sums are not multiples of 32, gaps, separate and shared IVs, and repeated keys.
    const PayloadDescriptor payload{7,
                                    {{Mode::cbc, {0, 48, 3, 64}, {4096, 16, 3}, {}, {}, 0, 1},
                                     {Mode::ctr, {192, 336, 2}, {4144, 16, 1}, {}, {}, 0, 2},
                                     {Mode::ecb, {864, 16, 5, 32}, {}, {}, {}, 1, 3},
                                     {Mode::ofb, {1024, 160, 4}, {4160, 16, 4}, {}, {}, 2, 1},
                                     {Mode::ecb, {0, 0, 9}, {}, {}, {}, 0, 1},
                                     {Mode::cfb128, {1664, 32, 40}, {4160, 16, 1}, {}, {}, 0, 4},
                                     {Mode::ctr, {2944, 16, 70}, {4224, 16, 1}, {}, {}, 3, 1}}};
    Bytes data = random_bytes(4240, 1), keys = random_bytes(64, 2);
    std::fill(data.begin() + 4224, data.end(), std::uint8_t{0xff});  // a counter that passes 2^128 - 1
    data[4224 + 15] = 0xfe;
    std::copy_n(keys.begin(), 16, keys.begin() + 48);
    KeySchedules schedules;
    const PreparedPayload ready = prepare(payload, data.size(), keys, schedules);
    EXPECT_EQ(schedules.size(), 3u);
    EXPECT_EQ(ready.messages.size(), 3u + 2 + 5 + 4 + 40 + 70);
    EXPECT_EQ(ready.threads, 3u + 42 + 5 + 4 + 40 + 70);
    const Bytes right = expected(payload, keys, data);
    for (const auto mapping : {gpu::ThreadMapping::natural, gpu::ThreadMapping::striped}) {
        EXPECT_EQ(run(ready, schedules, data, mapping), right) << static_cast<int>(mapping);
    }
}

TEST(Payload, AKernelOfOneModeDoesThatMode) {
    const Bytes data = random_bytes(4240, 8), keys = random_bytes(16, 9);
    for (const Mode mode : {Mode::ecb, Mode::ctr, Mode::cbc, Mode::cfb128, Mode::ofb}) {
        const Elements ivs = mode == Mode::ecb ? Elements{} : Elements{4224, 16, 1};
        const PayloadDescriptor payload{1, {{mode, {0, 48, 70}, ivs, {}, {}, 0, 1}}};
        KeySchedules schedules;
        gpu::PayloadOnDevice on_device;
        on_device.load(prepare(payload, data.size(), keys, schedules), schedules);
        const gpu::DeviceMemory in = gpu::on_device(data), out(data.size());
        const gpu::Stream stream;
        for (const std::optional<Mode> alone : {std::optional(mode), std::optional<Mode>()}) {
            gpu::fill(out.get(), 0x5c, out.size());
            on_device.run_freely(alone, in.get(), out.get(), stream);
            stream.synchronize();
            EXPECT_EQ(gpu::fetch(out), expected(payload, keys, data)) << static_cast<int>(mode) << alone.has_value();
            EXPECT_GT(gpu::PayloadOnDevice::resources(alone).registers, 0);
        }
        const Mode other = mode == Mode::ecb ? Mode::ctr : Mode::ecb;
        EXPECT_THROW(on_device.run_freely(other, in.get(), out.get(), stream), std::invalid_argument);
    }
}

TEST(Payload, SeveralThreadBlocks) {
    const PayloadDescriptor payload{1,
                                    {{Mode::ctr, {16, 16 * 300, 2}, {0, 16, 1}, {}, {}, 0, 1},
                                     {Mode::cbc, {9616, 32, 200}, {0, 16, 1}, {}, {}, 0, 1}}};
    const Bytes data = random_bytes(9616 + 6400, 3), keys = random_bytes(16, 4);
    KeySchedules schedules;
    const PreparedPayload ready = prepare(payload, data.size(), keys, schedules);
    EXPECT_EQ(ready.first.back(), 799u);
    const Bytes right = expected(payload, keys, data);
    for (const auto mapping : {gpu::ThreadMapping::natural, gpu::ThreadMapping::striped}) {
        EXPECT_EQ(run(ready, schedules, data, mapping), right) << static_cast<int>(mapping);
    }
}

TEST(Payload, RunsOfBlocksFarApart) {
    // There are 40 messages of 8 blocks. Runs of two blocks alternate between messages.
    constexpr std::uint64_t messages = 40, blocks = 8, run_blocks = 2;
    const PayloadDescriptor payload{1, {{Mode::cbc, {16, run_blocks * 16, messages}, {0, 16, 1}, {}, {}, 0, 1}}};
    const Bytes data = random_bytes(16 + messages * blocks * 16, 5), keys = random_bytes(16, 6);
    KeySchedules schedules;
    PreparedPayload ready = prepare(payload, data.size(), keys, schedules);
    for (LogicalMessage& m : ready.messages) m.blocks = blocks;
    const Bytes out =
        run(ready, schedules, data, gpu::ThreadMapping::natural, {run_blocks, messages * run_blocks * 16});
    Reference cipher(Mode::cbc, Direction::encrypt, keys);
    for (std::uint64_t i = 0; i < messages; ++i) {
        Bytes text, got;
        for (std::uint64_t j = 0; j < blocks; ++j) {
            const auto at =
                static_cast<std::ptrdiff_t>(16 + ((j / run_blocks * messages + i) * run_blocks + j % run_blocks) * 16);
            text.insert(text.end(), data.begin() + at, data.begin() + at + 16);
            got.insert(got.end(), out.begin() + at, out.begin() + at + 16);
        }
        EXPECT_EQ(got, cipher.run(std::span(data).first(16), text)) << i;
    }
}

TEST(Payload, DescriptorsThatAreWrongAreRefused) {
    const Bytes keys(32);
    const auto attempt = [&](const MessageDescriptor& d) {
        KeySchedules schedules;
        return prepare({1, {d}}, 1024, keys, schedules).threads;
    };
    const MessageDescriptor good{Mode::ctr, {16, 336, 3}, {0, 16, 1}, {}, {}, 0, 2};
    EXPECT_EQ(attempt(good), 63u);
    MessageDescriptor bad = good;
    bad.messages.offset = 32;  // one block past the end
    EXPECT_THROW(attempt(bad), std::invalid_argument);
    bad = good;
    bad.messages.count = ~std::uint64_t{0} / 16;
    EXPECT_THROW(attempt(bad), std::invalid_argument);
    bad = good;
    bad.messages.size = 330;
    EXPECT_THROW(attempt(bad), std::invalid_argument);
    bad = good;
    bad.ivs.count = 2;
    EXPECT_THROW(attempt(bad), std::invalid_argument);
    bad = good;
    bad.first_key = 1;
    EXPECT_THROW(attempt(bad), std::invalid_argument);
    bad = good;
    bad.tags = {0, 16, 3};
    EXPECT_THROW(attempt(bad), std::invalid_argument);
}

}  // namespace
}  // namespace lab
