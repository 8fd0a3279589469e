// Tests that the whole grid shares the wiping of forged messages, even if there are only a few messages, because anyone
// can send forgeries.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "backend/cuda_backend.hpp"
#include "simt.hpp"

namespace warpaes {
namespace {

/// GCM messages in device memory whose tags are all wrong and whose plaintext contains no zeros.
class Wipe : public testing::Test {
protected:
    static constexpr std::uint8_t letter = 0x5b;

    Wipe() {
        simt::Machine machine = simt::Machine::from_environment();
        machine.multiprocessors = 8;
        machine.guarded = false;  // the test reads device memory while a kernel runs
        machine.late = 0;
        simt::reset(machine);
    }
    ~Wipe() override {
        simt::on_block({});
        simt::reset();
    }

    /// Returns the number of output bytes that the busiest thread block wiped.
    template <typename Run>
    std::size_t largest_share(std::size_t count, std::size_t bytes, const Run& run) {
        const std::size_t all = count * bytes;
        auto* const text = static_cast<std::uint8_t*>(backend_.device_alloc(0, all + 4 * count));
        auto* const statuses = reinterpret_cast<std::int32_t*>(text + all);
        MessageGroup g{.mode = Mode::gcm,
                       .direction = Direction::encrypt,
                       .count = count,
                       .length = bytes,
                       .input = {text, bytes},
                       .output = {text, bytes},
                       .iv = {ivs_.data(), 12},
                       .iv_length = 12,
                       .aad = {},
                       .tag = {tags_.data(), 16},
                       .tag_length = 16,
                       .key = &key_,
                       .keys = {}};
        std::fill_n(text, all, letter);
        const auto lane = backend_.open_lane(0, 0);
        lane->run(g);
        std::fill(tags_.begin(), tags_.end(), std::uint8_t{});
        std::vector<std::uint8_t> failed(count);
        g.direction = Direction::decrypt;
        g.failed = failed.data();
        g.statuses = statuses;

        std::size_t zeros = 0, largest = 0;
        bool decrypted = false;
        simt::on_block([&] {
            decrypted = decrypted || std::count(text, text + all, letter) == static_cast<std::ptrdiff_t>(all);
            if (!decrypted) return;
            const auto now = static_cast<std::size_t>(std::count(text, text + all, 0));
            largest = std::max(largest, now - zeros);
            zeros = now;
        });
        run(*lane, g);
        simt::on_block({});
        EXPECT_TRUE(decrypted);
        EXPECT_EQ(std::count(text, text + all, 0), static_cast<std::ptrdiff_t>(all)) << "plaintext is left";
        backend_.device_free(text);
        return largest;
    }
    static void enqueue(Lane&, const MessageGroup& g) {
        cuda_backend().enqueue({&g, 1}, 0, nullptr);
        cuda_backend().synchronize(0, nullptr);
    }
    static void run_here(Lane& lane, const MessageGroup& g) { lane.run(g); }

    CudaBackend& backend_ = cuda_backend();
    std::vector<std::uint8_t> ivs_ = std::vector<std::uint8_t>(64 * 12), tags_ = std::vector<std::uint8_t>(64 * 16);
    /// No other test encrypts zeros under this key: their ciphertext could be the tag of an empty message.
    const ExpandedKey key_{std::vector<std::uint8_t>(16, 0x57)};
};

/// A multiprocessor's fair share is an eighth of the output. A thread block must wipe at most half of that.
TEST_F(Wipe, NoThreadBlockWipesMuch) {
    const struct { std::size_t count, bytes; } shapes[] = {{1, 256 << 10}, {4, 64 << 10}, {64, 4 << 10}};
    for (const auto& [count, bytes] : shapes) {
        EXPECT_LE(largest_share(count, bytes, enqueue), count * bytes / 16) << count << " enqueued of " << bytes;
        EXPECT_LE(largest_share(count, bytes, run_here), count * bytes / 16) << count << " of " << bytes;
    }
}

/// If one message is long and all others are short, wiping a forged message does not divide the short messages into as
/// many parts as the long message.
TEST_F(Wipe, PartsAreThoseOfTheTexts) {
    constexpr std::size_t longest = 128 << 10, count = 10, bytes = 16 << 10;
    auto* const text = static_cast<std::uint8_t*>(backend_.device_alloc(0, longest + count * bytes));
    std::vector<std::uint8_t> ivs((count + 1) * 12), tags((count + 1) * 16);
    for (std::size_t i = 0; i <= count; ++i) ivs[12 * i] = static_cast<std::uint8_t>(i);
    std::vector<MessageGroup> groups(2);
    for (MessageGroup& g : groups) {
        const bool first = &g == groups.data();
        g.mode = Mode::gcm;
        g.direction = Direction::encrypt;
        g.count = first ? 1 : count;
        g.length = first ? longest : bytes;
        g.input = {first ? text : text + longest, bytes};
        g.output = {first ? text : text + longest, bytes};
        g.iv = {ivs.data() + (first ? 0 : 12), 12};
        g.iv_length = 12;
        g.tag = {tags.data() + (first ? 0 : 16), 16};
        g.tag_length = 16;
        g.key = &key_;
    }
    std::fill_n(text, longest + count * bytes, letter);
    const auto lane = backend_.open_lane(0, 0);
    lane->run(groups);
    for (MessageGroup& g : groups) g.direction = Direction::decrypt;
    tags[16 * 5] ^= 1;
    std::size_t lanes = 0;
    simt::on_launch([&](const cudaLaunchConfig_t& config) { lanes = config.gridDim.x * config.blockDim.x; });
    lane->run(groups);
    simt::on_launch({});
    EXPECT_EQ(std::count(text, text + longest + count * bytes, letter),
              static_cast<std::ptrdiff_t>(longest + (count - 1) * bytes));
    EXPECT_EQ(std::count(text + longest + 4 * bytes, text + longest + 5 * bytes, 0),
              static_cast<std::ptrdiff_t>(bytes));
    // One warp for each 4 KiB of the texts, plus one for each message, because lengths are rounded up.
    const std::size_t warps = (longest + count * bytes) / 4096 + 1 + count;
    EXPECT_LE(lanes, 32 * (warps + 3)) << "by the last kernel, which wipes";
    backend_.device_free(text);
}

/// Tests a synchronous call, with any kernels, with the tag checked on the device or on the host.
TEST_F(Wipe, OneMessage) {
    constexpr std::size_t around = 32;
    for (const std::size_t shift : {0u, 1u}) {
        for (const std::size_t bytes : {0u, 1u, 100u, 20000u, 32767u, 32768u, 40001u, 200000u, 300001u}) {
            for (const std::size_t tag_bytes : {13u, 16u}) {
                SCOPED_TRACE(std::to_string(bytes) + " bytes at " + std::to_string(shift) + ", tag of " +
                             std::to_string(tag_bytes));
                auto* const memory = static_cast<std::uint8_t*>(backend_.device_alloc(0, bytes + 2 * around + shift));
                std::uint8_t* const text = memory + around + shift;
                std::fill_n(memory, bytes + 2 * around + shift, letter);
                const Block no_aad{};
                std::uint8_t failed = 0;
                MessageGroup g{.mode = Mode::gcm,
                               .direction = Direction::encrypt,
                               .length = bytes,
                               .input = {text, 0},
                               .output = {text, 0},
                               .iv = {ivs_.data(), 0},
                               .iv_length = 12,
                               .aad = {},
                               .tag = {tags_.data(), 0},
                               .tag_length = static_cast<std::uint32_t>(tag_bytes),
                               .key = &key_,
                               .keys = {},
                               .aad_digest = &no_aad,
                               .failed = &failed};
                const std::vector<std::uint8_t> plain(text, text + bytes);
                backend_.run(g, 0, {});
                const std::vector<std::uint8_t> sealed(text, text + bytes);
                g.direction = Direction::decrypt;
                backend_.run(g, 0, {});
                EXPECT_EQ(failed, 0);
                EXPECT_TRUE(std::equal(plain.begin(), plain.end(), text));
                for (const std::size_t wrong : {std::size_t{0}, tag_bytes - 1}) {
                    std::copy(sealed.begin(), sealed.end(), text);
                    failed = 0;
                    tags_[wrong] ^= 0x80;
                    backend_.run(g, 0, {});
                    tags_[wrong] ^= 0x80;
                    EXPECT_EQ(failed, 1);
                    EXPECT_EQ(std::count(text, text + bytes, 0), static_cast<std::ptrdiff_t>(bytes));
                }
                if (tag_bytes == 16) {
                    simt::look_at_memory([&](cudaMemoryType, std::span<const std::uint8_t> left) {
                        EXPECT_EQ(std::search(left.begin(), left.end(), tags_.begin(), tags_.begin() + 16), left.end())
                            << "the right tag remains";
                    });
                }
                EXPECT_EQ(std::count(memory, text, letter), text - memory);
                EXPECT_EQ(std::count(text + bytes, text + bytes + around, letter), static_cast<std::ptrdiff_t>(around));
                backend_.device_free(memory);
            }
        }
    }
}

}  // namespace
}  // namespace warpaes
