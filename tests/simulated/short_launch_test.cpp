// Tests short messages in ECB, CTR and XTS on machines of different sizes: the kernel for each length, and the notice
// of its completion.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "aes/cipher.hpp"
#include "aes/xts.hpp"
#include "backend/cuda_backend.hpp"
#include "backend/stretch.hpp"
#include "cuda/run.hpp"
#include "cuda/tuning/architectures.hpp"
#include "cuda/tuning/blocks.hpp"
#include "cuda/tuning/shapes.hpp"
#include "evp_oracle.hpp"
#include "launch_text.hpp"

namespace warpaes {
namespace {

using cuda::DeviceLimits;
using cuda::Notice;
using cuda::ShortMessage;
using oracle::Bytes;
using Work = Run;  // test fixtures define a different Run

/// Returns work without addresses and a length, which a Device adds.
Work work_of(Mode mode, Direction direction, const ExpandedKey& key, const Block& chain) {
    return {.mode = mode,
            .direction = direction,
            .key = &key,
            .input = nullptr,
            .output = nullptr,
            .length = 0,
            .chain = chain};
}

class ShortLaunch : public testing::Test {
protected:
    void SetUp() override {
        if (!cuda_backend().usable()) GTEST_SKIP() << "no GPU on this machine; every machine simulates this test";
    }

    /// Device memory with input, poisoned output, and the words of a notice.
    class Device {
    public:
        explicit Device(std::size_t bytes)
            : bytes_(bytes), text_(allocate(bytes)), words_(reinterpret_cast<unsigned*>(allocate(64))) {
            cuda_backend().clear(words_, 64, 0, nullptr);
        }
        Device(const Device&) = delete;
        Device& operator=(const Device&) = delete;
        ~Device() {
            cuda_backend().device_free(text_);
            cuda_backend().device_free(words_);
        }

        /// Processes `text`, in place or in separate buffers that start `from` and `to` bytes past a multiple of 16.
        /// Returns the output and whether a kernel reported completion. Checks that no adjacent byte is written.
        std::pair<Bytes, bool> run(Work work, const Bytes& text, std::size_t from, std::size_t to, bool in_place,
                                   const DeviceLimits& limits) {
            CudaBackend& backend = cuda_backend();
            const std::size_t second = (text.size() + 63) / 16 * 16;
            Bytes all(2 * second + 64, 0xa5);
            std::copy(text.begin(), text.end(), all.begin() + static_cast<std::ptrdiff_t>(from));
            EXPECT_LE(all.size(), bytes_);
            backend.copy(text_, all.data(), all.size(), 0, nullptr);
            const std::size_t out = in_place ? from : second + to;
            work.input = text_ + from;
            work.output = text_ + out;
            work.length = text.size();
            const bool tells = cuda::enqueue(work, limits, nullptr, Notice{words_, words_ + 1, ++turn_});
            backend.synchronize(0, nullptr);
            Bytes after(all.size());
            backend.copy(after.data(), text_, after.size(), 0, nullptr);
            unsigned words[2];
            backend.copy(words, words_, sizeof words, 0, nullptr);
            EXPECT_EQ(words[0], 0u) << "the next launch would count these thread blocks";
            if (!tells) --turn_;
            EXPECT_EQ(words[1], turn_);
            const auto result = after.begin() + static_cast<std::ptrdiff_t>(out);
            const Bytes made(result, result + static_cast<std::ptrdiff_t>(text.size()));
            std::copy(made.begin(), made.end(), all.begin() + static_cast<std::ptrdiff_t>(out));
            EXPECT_EQ(after, all) << "beside the output";
            return {made, tells};
        }

    private:
        static std::uint8_t* allocate(std::size_t bytes) {
            return static_cast<std::uint8_t*>(cuda_backend().device_alloc(0, bytes));
        }
        std::size_t bytes_;
        std::uint8_t* text_;
        unsigned* words_;
        unsigned turn_ = 0;
    };

    static DeviceLimits limits_of(int multiprocessors) { return cuda::limits_of(multiprocessors, 227 * 1024, 90); }
    static std::size_t most(int multiprocessors) {
        return static_cast<std::size_t>(multiprocessors) * ShortMessage::threads * block_bytes;
    }
};

TEST_F(ShortLaunch, EveryKeyAndDirection) {
    Device device(20000);
    for (const std::size_t key_bytes : {16, 24, 32}) {
        const Bytes key_text = text_of(key_bytes), iv(16, 0x77), text = text_of(4096);
        const ExpandedKey key(key_text);
        Block chain;
        std::copy(iv.begin(), iv.end(), chain.begin());
        for (const auto& [mode, name] : {std::pair{Mode::ecb, "ECB"}, std::pair{Mode::ctr, "CTR"}}) {
            for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
                const bool encrypts = direction == Direction::encrypt;
                const Work work = work_of(mode, direction, key, chain);
                const auto [made, tells] = device.run(work, text, 0, 0, false, limits_of(1));
                EXPECT_TRUE(tells);
                EXPECT_EQ(made, oracle::evp(name, encrypts, key_text, mode == Mode::ecb ? Bytes{} : iv, text))
                    << name << encrypts << key_bytes;
            }
        }
    }
}

TEST_F(ShortLaunch, LengthsAndAlignments) {
    const Bytes key_text(16, 0x5a), iv(16, 0x11);
    const ExpandedKey key(key_text);
    Block chain;
    std::copy(iv.begin(), iv.end(), chain.begin());
    for (const int multiprocessors : {1, 3}) {
        const std::size_t last = most(multiprocessors);
        Device device(2 * last + 4096);
        for (const std::size_t bytes : {std::size_t{1}, std::size_t{15}, std::size_t{16}, std::size_t{17},
                                        std::size_t{511}, std::size_t{1023}, std::size_t{1024}, std::size_t{1041},
                                        std::size_t{2063}, last - 1, last, last + 1, last + 512, last + 531}) {
            for (const auto& [from, to] : {std::pair{0, 0}, std::pair{4, 0}, std::pair{1, 8}}) {
                const Bytes text = text_of(bytes);
                SCOPED_TRACE(std::to_string(bytes) + " bytes, from " + std::to_string(from));
                for (const Mode mode : {Mode::ctr, Mode::ecb}) {
                    if (mode == Mode::ecb && bytes % block_bytes != 0) continue;
                    const bool ecb = mode == Mode::ecb;
                    const Work work = work_of(mode, Direction::encrypt, key, chain);
                    const auto expected = oracle::evp(ecb ? "ECB" : "CTR", true, key_text, ecb ? Bytes{} : iv, text);
                    for (const bool in_place : {false, true}) {
                        const auto [made, tells] =
                            device.run(work, text, static_cast<std::size_t>(from), static_cast<std::size_t>(to),
                                       in_place, limits_of(multiprocessors));
                        EXPECT_EQ(tells, bytes <= last) << "which kernel";
                        EXPECT_EQ(made, expected);
                    }
                }
            }
        }
    }
}

/// Tests one block, and a length that the kernel for long messages processes.
TEST_F(ShortLaunch, CountersThatCarry) {
    const Bytes key_text(16, 0x3c);
    const ExpandedKey key(key_text);
    Device device(20000);
    for (const unsigned ones : {0u, 1u, 2u, 4u, 7u, 8u, 9u, 15u, 16u}) {
        for (const int last : {0xff, 0xfe, 0x81}) {
            Bytes iv(16, 0x10);
            std::fill(iv.end() - ones, iv.end(), std::uint8_t{0xff});
            iv[15] = static_cast<std::uint8_t>(last);
            Block chain;
            std::copy(iv.begin(), iv.end(), chain.begin());
            const Work work = work_of(Mode::ctr, Direction::encrypt, key, chain);
            for (const std::size_t bytes : {std::size_t{100}, std::size_t{4096}, std::size_t{8200}}) {
                const Bytes text = text_of(bytes);
                EXPECT_EQ(device.run(work, text, 0, 0, false, limits_of(1)).first,
                          oracle::evp("CTR", true, key_text, iv, text))
                    << ones << " bytes of ones, then " << last;
            }
        }
    }
}

/// Tests XTS with data unit numbers that either the caller or the kernel encrypts.
TEST_F(ShortLaunch, DataUnitsWithTweaks) {
    const ExpandedKey key(Bytes(32, 0x21)), tweak_key(Bytes(32, 0x43));
    Block number{};
    number[0] = 0xfd;
    number[7] = 0xff;
    const DeviceLimits limits = limits_of(5);
    Device device(2 * 5 * 4096 + 4096);
    struct Case {
        std::size_t unit, bytes;
        std::uint64_t step;
        bool is_short;
    };
    for (const Case& c :
         {Case{16, 16, 1, true}, Case{16, 512, 1, true}, Case{16, 528, 1, false}, Case{512, 16384, 8, true},
          Case{512, 5 * 512 + 48, 1, true}, Case{4096, 20480, 1, true}, Case{4096, 12304, 1, true},
          Case{20480, 20480, 1, true}, Case{4112, 12336, 1, true}, Case{8192, 20480, 3, true},
          Case{520, 1040, 1, false}, Case{512, 1048, 1, false}, Case{20496, 20496, 1, false}}) {
        SCOPED_TRACE(std::to_string(c.bytes) + " bytes in units of " + std::to_string(c.unit));
        const Bytes text = text_of(c.bytes);
        std::vector<Block> tweaks;
        for (std::size_t at = 0, unit = 0; at < c.bytes; at += c.unit, ++unit) {
            tweaks.push_back(encrypt_block(tweak_key.encrypt(), tweak_key.rounds(),
                                           store_tweak(add_units(load_tweak(number), unit, c.step))));
        }
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            Work work = work_of(Mode::xts, direction, key, number);
            work.tweak_key = &tweak_key;
            work.data_units = {c.unit, c.step};
            const auto [expected, alone] = device.run(work, text, 0, 0, false, limits);
            EXPECT_FALSE(alone);
            work.tweaks = tweaks.data();
            for (const auto& [from, to] : {std::pair{0, 0}, std::pair{1, 4}}) {
                for (const bool in_place : {false, true}) {
                    const auto [made, tells] = device.run(work, text, static_cast<std::size_t>(from),
                                                          static_cast<std::size_t>(to), in_place, limits);
                    EXPECT_EQ(tells, c.is_short);
                    EXPECT_EQ(made, expected);
                }
            }
        }
    }
}

}  // namespace
}  // namespace warpaes
