// Tests batches on the lane of a simulated or real GPU, with every kind of memory and every division of the work.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "../page_locked.hpp"
#include "../why_skipped.hpp"
#include "backend/cuda_backend.hpp"
#include "batch_cases.hpp"
#include "evp_oracle.hpp"
#include "standards.hpp"
#include "warpaes/warpaes.h"

namespace warpaes::test {
namespace {

class DeviceMemory final : public BatchMemory {
public:
    std::uint8_t* allocate(std::size_t bytes) override {
        return static_cast<std::uint8_t*>(cuda_backend().device_alloc(0, bytes));
    }
    void release(std::uint8_t* memory, std::size_t) noexcept override { cuda_backend().device_free(memory); }
    void write(std::uint8_t* to, std::span<const std::uint8_t> from) override {
        cuda_backend().copy(to, from.data(), from.size(), 0, nullptr);
    }
    void read(std::span<std::uint8_t> to, const std::uint8_t* from) override {
        cuda_backend().copy(to.data(), from, to.size(), 0, nullptr);
    }
};

class PageLockedMemory final : public BatchMemory {
public:
    std::uint8_t* allocate(std::size_t bytes) override { return allocate_page_locked(bytes); }
    void release(std::uint8_t* memory, std::size_t) noexcept override { free_page_locked(memory); }
};

/// One allocation that provides memory for all groups in turn, like a client's arena.
class Arena final : public BatchMemory {
public:
    explicit Arena(BatchMemory& memory) : memory_(memory), base_(memory.allocate(bytes_)) {}
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena() override { memory_.release(base_, bytes_); }
    std::uint8_t* allocate(std::size_t bytes) override {
        if (bytes > bytes_ - used_) throw std::bad_alloc();
        used_ += bytes;
        return base_ + (used_ - bytes);
    }
    void release(std::uint8_t*, std::size_t) noexcept override {}
    void write(std::uint8_t* to, std::span<const std::uint8_t> from) override { memory_.write(to, from); }
    void read(std::span<std::uint8_t> to, const std::uint8_t* from) override { memory_.read(to, from); }

private:
    static constexpr std::size_t bytes_ = std::size_t{32} << 20;
    BatchMemory& memory_;
    std::uint8_t* base_;
    std::size_t used_ = 0;
};

struct Places {
    const char* label;
    BatchMemory* text;
    BatchMemory* rest;
};
void PrintTo(const Places& p, std::ostream* out) {
    *out << p.label;
}

std::vector<Places> all_places() {
    static DeviceMemory device;
    static PageLockedMemory page_locked;
    return {{"pageable", &guarded_memory(), &guarded_memory()},
            {"page_locked", &page_locked, &guarded_memory()},
            {"device", &device, &device},
            {"device_with_rest_on_host", &device, &page_locked},
            {"host_with_rest_on_device", &guarded_memory(), &device}};
}

class CudaBatch : public testing::TestWithParam<Places> {
protected:
    void SetUp() override {
        if (!cuda_backend().usable()) GTEST_SKIP() << needs_gpu(cuda_backend().info().front().reason);
        lane_ = cuda_backend().open_lane(0, 0);
    }
    void check(const std::vector<GroupSpec>& specs, std::uint32_t seed) {
        check_batch([this](std::span<const MessageGroup> groups) { lane_->run(groups); }, specs, seed, *GetParam().text,
                    *GetParam().rest);
    }
    /// Checks groups of one mode and direction.
    void check_mode(Mode mode, Direction direction, const std::vector<GroupSpec>& shapes, std::uint32_t seed) {
        std::vector<GroupSpec> specs = shapes;
        for (GroupSpec& spec : specs) {
            spec.mode = mode;
            spec.direction = direction;
            if (!uses_iv(mode)) spec.iv_length = 0;
        }
        check(specs, seed);
    }
    std::unique_ptr<Lane> lane_;
};

TEST_P(CudaBatch, NoMessages) {
    lane_->run(std::span<const MessageGroup>{});
    check({{.mode = Mode::ctr, .count = 0, .length = 100}, {.mode = Mode::ecb, .count = 3, .length = 0}}, 1);
}

TEST_P(CudaBatch, EachMode) {
    std::uint32_t seed = 1000;
    for (const Mode mode : batch_modes()) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            std::mt19937 random(++seed);
            std::vector<GroupSpec> specs;
            const bool by_bits = mode == Mode::cfb1;
            for (int i = 0; i < 12; ++i) {
                specs.push_back(
                    random_group(random, mode, direction, {.count = 20, .length = by_bits ? 70u : 3000u, .aad = 100}));
            }
            check(specs, 100 * seed);
        }
    }
}

TEST_P(CudaBatch, AllModesAtOnce) {
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
        std::mt19937 random(seed);
        check(random_batch(random, 40, {.count = 10, .length = 600, .aad = 100}), 1000 * seed);
    }
}

/// Tests lengths around the points where the distribution of messages changes.
TEST_P(CudaBatch, EveryLengthOfCounters) {
    std::vector<GroupSpec> shapes;
    for (std::uint64_t blocks = 0; blocks <= 70; ++blocks) {
        shapes.push_back({.count = 1 + blocks % 5, .length = 16 * blocks + blocks % 17, .gap = blocks % 3 * 4});
    }
    for (const std::uint64_t length : {4095u, 4096u, 8175u, 8191u, 8192u, 8193u, 12287u, 12288u, 16384u, 20000u}) {
        shapes.push_back({.count = 3, .length = length, .raw_keys = length % 2 != 0, .gap = length % 16});
    }
    check_mode(Mode::ctr, Direction::encrypt, shapes, 3);
}

TEST_P(CudaBatch, CountersThatCarry) {
    // In a quarter of the cases, the IVs carry.
    std::vector<GroupSpec> shapes;
    for (std::size_t i = 0; i < 20; ++i) {
        shapes.push_back({.count = 8, .length = 100 + 700 * i, .in_place = i % 2 == 0, .raw_keys = i % 3 == 0});
    }
    check_mode(Mode::ctr, Direction::decrypt, shapes, 4);
}

TEST_P(CudaBatch, LongCounters) {
    check({{.mode = Mode::ctr, .length = (65536 + 300) * 16 + 5, .shift = 3},
           {.mode = Mode::ctr, .count = 2, .length = 300000, .gap = 16}},
          5);
}

TEST_P(CudaBatch, ManyGroupsOfOneMessage) {
    std::mt19937 random(6);
    for (const Mode mode : {Mode::ctr, Mode::ecb, Mode::cbc, Mode::xts}) {
        std::vector<GroupSpec> shapes;
        for (int i = 0; i < 300; ++i) {
            GroupSpec spec{.length = 16 * (1 + random() % 40), .data_unit = 64};
            if (mode == Mode::ctr) spec.length -= random() % 16;
            shapes.push_back(spec);
        }
        check_mode(mode, Direction::decrypt, shapes, 7);
    }
}

/// Tests groups with one key and with many keys, for both kinds of kernels. All modes use the same keys.
TEST_P(CudaBatch, OneKeyAndMany) {
    for (const Mode mode : batch_modes()) {
        const bool aead = mode == Mode::gcm || mode == Mode::ccm;
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            for (const std::size_t key_bytes : {16u, 24u, 32u}) {
                if (mode == Mode::xts && key_bytes == 24) continue;
                const std::vector<GroupSpec> one{{.key_bytes = key_bytes,
                                                  .count = 9,
                                                  .length = 1600,
                                                  .iv_length = aead ? 12u : 16u,
                                                  .aad_length = aead ? 20u : 0u,
                                                  .data_unit = 400,
                                                  .wrong_tags = 20,
                                                  .key = 0}};
                check_mode(mode, direction, one, 8);
                std::vector<GroupSpec> many(3, one[0]);
                many[1].count = 1;
                many[1].key = 1;
                many[2].raw_keys = mode != Mode::xts;
                check_mode(mode, direction, many, 9);
            }
        }
    }
}

/// Adjacent messages have different keys, and are shorter or longer than the 32 blocks that a warp processes at a time.
TEST_P(CudaBatch, KeysThatAlternate) {
    for (const Mode mode : {Mode::ecb, Mode::cbc, Mode::cfb128, Mode::xts, Mode::ctr}) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            std::vector<GroupSpec> shapes;
            for (const std::uint64_t blocks : {1u, 5u, 31u, 32u, 33u, 64u, 100u}) {
                for (unsigned key = 0; key < 3; ++key) {
                    const bool raw = mode != Mode::xts && key == 2;
                    shapes.push_back({.key_bytes = blocks % 2 == 0 ? 32u : 16u,
                                      .count = raw ? 20u : 1 + key,
                                      .length = 16 * blocks,
                                      .data_unit = 160,
                                      .in_place = blocks == 33,
                                      .raw_keys = raw,
                                      .gap = key,
                                      .key = raw ? std::nullopt : std::optional<unsigned>(key)});
                }
            }
            check_mode(mode, direction, shapes, 40);
        }
    }
}

/// Data keys and tweak keys are independent of each other: one or several of each. The short messages' keys are read
/// from memory, and the long messages' keys are kernel parameters.
TEST_P(CudaBatch, OneTweakKeyAndMany) {
    for (const std::uint64_t length : {200u, 20001u}) {
        for (const bool one_key : {false, true}) {
            for (const bool one_tweak_key : {false, true}) {
                std::vector<GroupSpec> shapes;
                for (unsigned i = 0; i < 3; ++i) {
                    shapes.push_back({.count = 1 + i,
                                      .length = length,
                                      .data_unit = 512,
                                      .gap = i,
                                      .key = one_key ? 0 : i % 2,
                                      .tweak_key = one_tweak_key ? 2 : 1 + i % 2});
                }
                check_mode(Mode::xts, Direction::encrypt, shapes, 41);
                check_mode(Mode::xts, Direction::decrypt, shapes, 42);
            }
        }
    }
}

/// Tests stretches in place that several warps process. The block before a stretch belongs to another warp.
TEST_P(CudaBatch, InPlaceAcrossWarps) {
    for (const Mode mode : {Mode::cbc, Mode::cfb128}) {
        check_mode(mode, Direction::decrypt,
                   {{.count = 2, .length = 80000, .in_place = true}, {.count = 50, .length = 48, .in_place = true}},
                   10);
    }
}

TEST_P(CudaBatch, DataUnits) {
    std::vector<GroupSpec> shapes;
    for (const std::uint64_t unit : {16u, 17u, 31u, 512u, 520u, 4096u, 40000u}) {
        for (const std::uint64_t length : {16u, 33u, 511u, 512u, 1055u, 9000u, 41000u}) {
            if (length % unit != 0 && length % unit < 16) continue;
            shapes.push_back(
                {.count = 3, .length = length, .data_unit = unit, .in_place = unit % 2 != 0, .gap = length % 3});
        }
    }
    check_mode(Mode::xts, Direction::encrypt, shapes, 11);
    check_mode(Mode::xts, Direction::decrypt, shapes, 12);
}

/// Tests lengths and counts around the sizes of stages and warps. A warp's messages have equal lengths, different
/// lengths, or lengths that cannot be staged.
TEST_P(CudaBatch, SerialMessages) {
    for (const Mode mode : {Mode::cbc, Mode::cfb128, Mode::ofb, Mode::cmac, Mode::ccm}) {
        std::vector<GroupSpec> shapes;
        for (const std::uint64_t blocks : {0u, 1u, 3u, 4u, 5u, 7u, 8u, 9u, 12u, 13u}) {
            for (const std::uint64_t off : {0u, 1u, 15u}) {
                if (mode == Mode::cbc && off != 0) continue;
                const std::uint64_t length = 16 * blocks + off;
                GroupSpec spec{.key_bytes = 16 + 8 * (blocks % 2),
                               .count = 1 + (blocks * 13 + off) % 40,
                               .length = length,
                               .iv_length = mode == Mode::ccm ? 12u : 16u,
                               .aad_length = blocks,
                               .in_place = off == 0,
                               .raw_keys = blocks % 3 != 0,
                               .wrong_tags = 20,
                               .gap = (16 - length % 16) % 16};
                if (blocks == 5) spec.gap += 1;
                if (blocks == 9 || blocks == 12) spec.gap += 4;
                shapes.push_back(spec);
            }
        }
        for (const std::uint64_t count : {31u, 32u, 33u, 200u}) {
            shapes.push_back({.count = count,
                              .length = 320,
                              .iv_length = mode == Mode::ccm ? 13u : 16u,
                              .in_place = true,
                              .raw_keys = count == 33});
        }
        check_mode(mode, Direction::encrypt, shapes, 13);
        if (uses_tag(mode) || mode == Mode::ofb) check_mode(mode, Direction::decrypt, shapes, 14);
    }
}

TEST_P(CudaBatch, Standards) {
    const auto run = [this](std::span<const MessageGroup> groups) { lane_->run(groups); };
    check_cmac_examples(run);
    check_ccm_vectors(run);
}

/// GHASH is computed by one, four and 32 lanes per message, by several warps per message, and by tensor cores.
TEST_P(CudaBatch, GhashInEveryWay) {
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        const GroupSpec many{.count = 4100, .length = 37, .iv_length = 12, .aad_length = 5, .raw_keys = true};
        check_mode(Mode::gcm, direction, {many}, 15);
        std::vector<GroupSpec> some, few;
        for (const std::uint64_t length : {0u, 1u, 16u, 47u, 48u, 64u, 65u, 129u, 500u}) {
            GroupSpec spec{.count = 40, .length = length, .iv_length = 12, .aad_length = length % 40, .wrong_tags = 20};
            some.push_back(spec);
            spec.count = 3;
            spec.iv_length = 1 + static_cast<std::uint32_t>(length % 50);
            few.push_back(spec);
        }
        check_mode(Mode::gcm, direction, some, 16);
        check_mode(Mode::gcm, direction, few, 17);
    }
}

/// More than a thousand messages of 128 bytes or more under the same key are hashed as rows. Rows have one or several
/// chunks, and may have edges (associated data or a partial block). Shorter and longer messages lie between them.
TEST_P(CudaBatch, MessagesOfGcmAsRows) {
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        std::vector<GroupSpec> specs;
        std::uint64_t messages = 0;
        for (std::uint64_t n = 0; messages < 1100; ++n) {
            GroupSpec spec{.count = 1 + n % 23,
                           .length = n % 4 == 3 ? 16 * (n % 50) : n * n % 1301,
                           .iv_length = n % 9 == 5 ? 31u : 12u,
                           .aad_length = n % 5 == 0 ? 0 : n * 7 % 100,
                           .in_place = n % 3 == 0,
                           .wrong_tags = n % 4 == 0 ? 20u : 0u,
                           .gap = n % 2 == 0 ? 0u : n % 19,
                           .shift = n % 6 == 1 ? n % 16 : 0u};
            if (n % 11 == 7) spec.length = 4096 + n % 3;
            if (n % 11 == 7) spec.count = 2;
            messages += spec.count;
            specs.push_back(spec);
        }
        for (const std::uint64_t length : {8191u, 8192u, 8193u, 16383u, 16384u}) {
            specs.push_back({.count = 1, .length = length, .iv_length = 12, .aad_length = 96, .wrong_tags = 50});
        }
        specs.push_back({.count = 2, .length = 40007, .iv_length = 12, .aad_length = 28, .wrong_tags = 30});
        check_mode(Mode::gcm, direction, specs, 24);
        check_mode(Mode::gcm, direction, {{.count = 1024, .length = 128, .iv_length = 12, .aad_length = 1}}, 25);
        check_mode(Mode::gcm, direction, {{.count = 1027, .length = 129, .iv_length = 12, .aad_length = 96}}, 26);
    }
}

/// Hashes rows under several keys. Some keys have too few messages for rows.
TEST_P(CudaBatch, MessagesOfGcmAsRowsUnderKeys) {
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        std::vector<GroupSpec> specs;
        for (std::uint64_t n = 0; n < 25; ++n) {
            GroupSpec spec{.count = 30 + n % 7 * 8,
                           .length = n % 5 == 4 ? 8192 : 128 + n * n % 900,
                           .iv_length = n % 9 == 5 ? 31u : 12u,
                           .aad_length = n % 5 == 0 ? 0 : n * 7 % 96,
                           .in_place = n % 3 == 0,
                           .wrong_tags = n % 4 == 0 ? 20u : 0u,
                           .gap = n % 2 == 0 ? 16u - (128 + n * n % 900) % 16 : n % 19,
                           .key = static_cast<unsigned>(n * 5 % 3)};
            if (n % 6 == 5) {  // this key is used only by these messages
                spec.raw_keys = true;
                spec.shared_key = true;
                spec.key = std::nullopt;
                if (n == 5) spec.count = 15;
            }
            if (n % 5 == 4) spec.count = 2;
            specs.push_back(spec);
        }
        specs.push_back({.count = 300, .length = 130, .iv_length = 12, .aad_length = 8, .raw_keys = true});
        specs.push_back({.count = 3, .length = 40007, .iv_length = 12, .aad_length = 28, .wrong_tags = 30, .key = 1});
        check_mode(Mode::gcm, direction, specs, 27);
        std::vector<GroupSpec> alike;
        for (unsigned key = 0; key < 3; ++key) {
            alike.push_back({.count = 400, .length = 240, .iv_length = 12, .aad_length = 28, .key = key});
        }
        // A key that is not a handle: these messages are not processed in one pass.
        alike.push_back({.count = 400, .length = 240, .iv_length = 12, .raw_keys = true, .shared_key = true});
        check_mode(Mode::gcm, direction, alike, 28);
    }
}

/// Tests batches that a GPU processes in one pass: every number of rows per message, with and without weights, mixed
/// lengths and alignments, and forged messages among authentic messages.
TEST_P(CudaBatch, MessagesOfGcmInOnePass) {
    constexpr std::uint64_t times = 256;
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        check_mode(Mode::gcm, direction,
                   {{.count = 33 * times, .length = 256, .iv_length = 12, .aad_length = 28, .in_place = true}}, 30);
        check_mode(Mode::gcm, direction,
                   {{.key_bytes = 32, .count = 9 * times, .length = 1499, .iv_length = 12, .wrong_tags = 20}}, 31);
        check_mode(Mode::gcm, direction,
                   {{.key_bytes = 24, .count = 5 * times, .length = 4097, .iv_length = 12, .aad_length = 97}}, 32);
        check_mode(Mode::gcm, direction,
                   {{.count = times, .length = 9000, .iv_length = 12, .aad_length = 16, .shift = 3}}, 33);
        std::vector<GroupSpec> mixed;
        for (std::uint64_t n = 0; n < 12; ++n) {
            mixed.push_back({.count = 1 + n % 3 * times,
                             .length = n % 7 == 0 ? n : n * n * 13 % 901,
                             .iv_length = 12,
                             .aad_length = n % 5 == 0 ? 0 : n * 37 % 125,
                             .in_place = n % 3 == 0,
                             .wrong_tags = n % 4 == 0 ? 20u : 0u,
                             .gap = n % 2 == 0 ? 0u : n % 19,
                             .shift = n % 6 == 1 ? n % 16 : 0u,
                             .key = 0});
        }
        check_mode(Mode::gcm, direction, mixed, 34);
    }
    check_mode(Mode::gcm, Direction::decrypt,
               {{.count = 9 * times, .length = 600, .iv_length = 12, .aad_length = 1, .wrong_tags = 100}}, 35);
}

/// Tests batches that GcmWindows processes: lengths and associated data around its windows of 256 blocks, messages that
/// groups of warps share, and a message whose counter exceeds 16 bits.
TEST_P(CudaBatch, MessagesOfGcmInWindows) {
    constexpr std::uint64_t longest = (33 << 20) + 4000;  // numbers of windows with three digits (GcmWindows::radix)
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        std::vector<GroupSpec> mixed{{.count = 1, .length = longest, .iv_length = 12, .aad_length = 28, .key = 0}};
        for (const std::uint64_t aad : {0, 16, 31, 32, 33, 1024}) {
            for (const std::uint64_t blocks : {1276, 1277, 1278, 1536}) {
                const std::uint64_t n = mixed.size();
                mixed.push_back({.count = 1 + n % 2,
                                 .length = 16 * blocks + n % 3 - 1,
                                 .iv_length = 12,
                                 .aad_length = aad,
                                 .in_place = n % 3 == 0,
                                 .wrong_tags = n % 4 == 0 ? 30u : 0u,
                                 .gap = n % 2 == 0 ? 0u : n % 19,
                                 .shift = n % 6 == 1 ? n % 16 : 0u,
                                 .key = 0});
            }
        }
        mixed.push_back({.count = 2, .length = 20001, .iv_length = 12, .aad_length = 1, .tag_length = 13, .key = 0});
        check_mode(Mode::gcm, direction, mixed, 36);
        check_mode(Mode::gcm, direction,
                   {{.length = 16380, .iv_length = 12, .key = 0},
                    {.count = 2, .length = 5, .iv_length = 12, .key = 0},
                    {.count = 3, .length = 0, .iv_length = 12, .aad_length = 5, .key = 0}},
                   39);
        check_mode(Mode::gcm, direction,
                   {{.key_bytes = 32,
                     .count = 7,
                     .length = 131072,
                     .iv_length = 12,
                     .aad_length = 40,
                     .in_place = true,
                     .wrong_tags = 30}},
                   37);
        check_mode(Mode::gcm, direction,
                   {{.key_bytes = 24, .count = 2, .length = 1 << 20, .iv_length = 12, .wrong_tags = 50, .gap = 5}}, 38);
    }
}

/// The same under several keys: with and without weights, with groups whose keys alternate, and with more keys than one
/// pass accepts.
TEST_P(CudaBatch, MessagesOfGcmInOnePassUnderKeys) {
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        std::vector<GroupSpec> alike, unequal;
        for (unsigned key = 0; key < 3; ++key) {
            alike.push_back({.count = 1000 + 700 * key,
                             .length = 96,
                             .iv_length = 12,
                             .aad_length = 28,
                             .in_place = key == 1,
                             .key = key});
            unequal.push_back({.key_bytes = 32,
                               .count = 130 - 60 * key,
                               .length = 1000 + key,
                               .iv_length = 12,
                               .wrong_tags = 20,
                               .key = key});
        }
        check_mode(Mode::gcm, direction, alike, 40);
        check_mode(Mode::gcm, direction, unequal, 41);
        std::vector<GroupSpec> many;
        for (std::uint64_t n = 0; n < 330; ++n) {
            many.push_back({.count = 1 + n % 9 % 4 % 3,
                            .length = n % 7 == 0 ? n % 49 : n * n * 13 % 301,
                            .iv_length = 12,
                            .aad_length = n % 5 == 0 ? 0 : n * 37 % 125,
                            .in_place = n % 3 == 0,
                            .wrong_tags = n % 4 == 0 ? 20u : 0u,
                            .gap = n % 2 == 0 ? 0u : n % 19,
                            .shift = n % 6 == 1 ? n % 16 : 0u});
        }
        check_mode(Mode::gcm, direction, many, 42);
    }
    check_mode(Mode::gcm, Direction::decrypt,
               {{.key_bytes = 24, .count = 200, .length = 300, .iv_length = 12, .wrong_tags = 100, .key = 0},
                {.key_bytes = 24, .count = 90, .length = 300, .iv_length = 12, .wrong_tags = 100, .key = 1}},
               43);
}

/// Windows under several keys: keys whose windows several thread blocks share, and keys that share a thread block.
TEST_P(CudaBatch, MessagesOfGcmInWindowsUnderKeys) {
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        std::vector<GroupSpec> few, many;
        for (std::uint64_t n = 0; n < 12; ++n) {
            few.push_back({.count = 1 + n % 2,
                           .length = 16 * (n % 3 == 0 ? 1277 : 4000) + n % 3 - 1,
                           .iv_length = 12,
                           .aad_length = n % 4 == 0 ? 1024 : n,
                           .in_place = n % 3 == 0,
                           .wrong_tags = n % 4 == 0 ? 30u : 0u,
                           .gap = n % 2 == 0 ? 0u : n % 19,
                           .shift = n % 6 == 1 ? n % 16 : 0u,
                           .key = static_cast<unsigned>(n * 5 % 3)});
        }
        check_mode(Mode::gcm, direction, few, 44);
        for (std::uint64_t n = 0; n < 300; ++n) {
            many.push_back({.length = n % 100 == 0  ? 70000
                                      : n % 30 == 0 ? 9000
                                                    : n,
                            .iv_length = 12,
                            .wrong_tags = 10});
        }
        check_mode(Mode::gcm, direction, many, 45);
        check_mode(Mode::gcm, direction,
                   {{.key_bytes = 32, .length = 300000, .iv_length = 12, .aad_length = 28, .in_place = true, .key = 0},
                    {.key_bytes = 32, .count = 3, .length = 131072, .iv_length = 12, .wrong_tags = 40, .key = 1}},
                   46);
    }
}

/// Tests groups under one key or three keys with random lengths of tags, IVs and associated data, random strides and
/// places, and forged messages. Most of the groups are processed in one pass.
TEST_P(CudaBatch, RandomMessagesOfGcmUnderSharedKeys) {
    for (std::uint32_t seed = 1; seed <= 18; ++seed) {
        std::mt19937 random(seed);
        const Direction direction = seed % 2 == 0 ? Direction::encrypt : Direction::decrypt;
        std::vector<GroupSpec> specs;
        for (unsigned i = 0; i < 8; ++i) {
            const std::uint64_t longest = i == 0 ? 40000 : 9000;
            GroupSpec spec = random_group(random, Mode::gcm, direction, {.count = 12, .length = longest, .aad = 1100});
            spec.key_bytes = 16 + seed % 3 * 8;
            spec.raw_keys = false;
            spec.key = seed > 12 ? i % 3 : 1;
            if (i % 7 != 6) spec.iv_length = 12;
            if (seed % 4 < 2) spec.gap = spec.shift = 0;
            specs.push_back(spec);
        }
        check(specs, 700 + seed);
    }
}

/// Tests one pass under up to 64 keys, so that a thread block reaches many of them, and one more key.
TEST_P(CudaBatch, MessagesOfGcmInOnePassUnderManyKeys) {
    static const KeyPool pool(14, 65);
    for (const unsigned keys : {7u, 64u, 65u}) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            for (const bool is_long : {false, true}) {
                SCOPED_TRACE(std::to_string(keys) + (is_long ? " keys, long" : " keys"));
                std::vector<GroupSpec> specs;
                for (unsigned key = 0; key < keys; ++key) {
                    specs.push_back({.mode = Mode::gcm,
                                     .direction = direction,
                                     .key_bytes = 32,
                                     .count = is_long ? 1 + key % 2 : 400 / keys + key % 5,
                                     .length = (is_long ? 5000u : 500u) + key % 7,
                                     .iv_length = 12,
                                     .aad_length = 28,
                                     .wrong_tags = 20,
                                     .key = key});
                }
                BatchCase batch(specs, 800 + keys, *GetParam().text, *GetParam().rest, pool);
                lane_->run(batch.groups());
                EXPECT_EQ(batch.complaints(), "");
            }
        }
    }
}

TEST_P(CudaBatch, LongMessagesOfGcm) {
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        std::vector<GroupSpec> own;
        for (const std::uint64_t length : {131072u, 131073u, 196607u, 400001u}) {
            own.push_back({.count = 2,
                           .length = length,
                           .iv_length = 12,
                           .aad_length = length % 3 == 0 ? 70001u : length % 40,
                           .raw_keys = true,
                           .wrong_tags = 30});
        }
        check_mode(Mode::gcm, direction, own, 18);
        GroupSpec alike{.count = 60, .length = 20000, .iv_length = 12, .aad_length = 13, .wrong_tags = 20, .gap = 3};
        check_mode(Mode::gcm, direction, {alike}, 19);
    }
}

/// Tests lengths around the points where rows become longer, and more messages than are hashed at once. The messages
/// have separate keys, or each group has one key.
TEST_P(CudaBatch, LongMessagesOfGcmUnderKeys) {
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        std::vector<GroupSpec> own, groups;
        for (const std::uint64_t length : {16383u, 16384u, 16385u, 16415u, 20000u, 32767u, 32768u, 32800u, 65535u,
                                           65537u, 98304u, 140000u, 300016u}) {
            GroupSpec spec{.key_bytes = 16 + 8 * (length % 3),
                           .count = 3,
                           .length = length,
                           .iv_length = length % 5 == 0 ? 33u : 12u,
                           .aad_length = length % 4 == 0 ? 0u : length % 100,
                           .in_place = length % 2 == 0,
                           .raw_keys = true,
                           .wrong_tags = 30,
                           .gap = length % 7 == 0 ? 1u : (16 - length % 16) % 16};
            own.push_back(spec);
            spec.count = 1;
            spec.key_bytes = 16;
            spec.raw_keys = false;
            spec.key = static_cast<unsigned>(length % 3);
            groups.push_back(spec);
        }
        check_mode(Mode::gcm, direction, own, 20);
        check_mode(Mode::gcm, direction, groups, 21);
        const GroupSpec many{
            .count = 70, .length = 16400, .iv_length = 12, .aad_length = 13, .raw_keys = true, .wrong_tags = 20};
        check_mode(Mode::gcm, direction, {many}, 22);
    }
}

/// Returns long and short messages, all or some of them forged. Long messages are divided between warps. Some messages
/// end in the middle of a warp's part.
std::vector<GroupSpec> forged_groups(unsigned percent) {
    std::vector<GroupSpec> groups;
    for (const Mode mode : {Mode::gcm, Mode::ccm}) {
        for (const std::uint64_t length : {0u, 1u, 15u, 64u, 1500u, 4096u, 16400u, 65536u, 70001u, 200003u}) {
            if (mode == Mode::ccm && length > 5000) continue;
            groups.push_back({.mode = mode,
                              .direction = Direction::decrypt,
                              .count = length > 5000 ? 3u : 35u,
                              .length = length,
                              .iv_length = 12,
                              .aad_length = length % 20,
                              .in_place = length % 4 == 0,
                              .raw_keys = length % 3 == 0,
                              .wrong_tags = percent,
                              .gap = length % 7,
                              .shift = length % 16});
        }
    }
    return groups;
}

TEST_P(CudaBatch, ForgedMessagesOfAllLengths) {
    for (const unsigned percent : {100u, 50u, 3u}) check(forged_groups(percent), 23 + percent);
}

/// Long messages in device memory are processed in separate launches.
TEST_P(CudaBatch, ForgedMessagesOfOneKey) {
    for (const unsigned percent : {100u, 50u, 10u}) {
        check({{.mode = Mode::gcm,
                .direction = Direction::decrypt,
                .count = 21,
                .length = 5003,
                .iv_length = 12,
                .wrong_tags = percent,
                .gap = 16},
               {.mode = Mode::gcm,
                .direction = Direction::decrypt,
                .count = 3,
                .length = 70000,
                .iv_length = 12,
                .in_place = true,
                .wrong_tags = percent,
                .shift = 5}},
              30 + percent);
    }
}

/// The batch runs on a caller's stream, with statuses on the device.
void check_enqueued(const std::vector<GroupSpec>& specs, std::uint32_t seed, BatchMemory& device) {
    check_batch(
        [&](std::span<const MessageGroup> groups) {
            std::vector<MessageGroup> on_stream(groups.begin(), groups.end());
            std::uint64_t messages = 0;
            for (const MessageGroup& g : groups) messages += g.count;
            const std::size_t bytes = static_cast<std::size_t>(messages) * sizeof(std::int32_t);
            std::uint8_t* const statuses = device.allocate(bytes);
            device.write(statuses, std::vector<std::uint8_t>(bytes, 0x5a));
            auto* next = reinterpret_cast<std::int32_t*>(statuses);
            for (MessageGroup& g : on_stream) {
                g.statuses = next;
                next += g.count;
            }
            cuda_backend().enqueue(on_stream, 0, nullptr);
            cuda_backend().synchronize(0, nullptr);
            std::vector<std::int32_t> found(static_cast<std::size_t>(messages));
            device.read({reinterpret_cast<std::uint8_t*>(found.data()), bytes}, statuses);
            device.release(statuses, bytes);
            auto status = found.begin();
            for (const MessageGroup& g : groups) {
                for (std::uint64_t i = 0; i < g.count; ++i, ++status) {
                    ASSERT_TRUE(*status == WARPAES_OK || *status == WARPAES_ERROR_AUTHENTICATION) << *status;
                    if (g.failed != nullptr && *status != WARPAES_OK) g.failed[i] = 1;
                }
            }
        },
        specs, seed, device, device);
}

TEST(CudaStreamBatch, ForgedMessagesOfAllLengths) {
    if (!cuda_backend().usable()) GTEST_SKIP() << needs_gpu(cuda_backend().info().front().reason);
    DeviceMemory device;
    for (const unsigned percent : {100u, 50u, 3u}) check_enqueued(forged_groups(percent), 50 + percent, device);
}

/// The longest messages of GcmPass: the counters of their last two blocks have more than 16 bits. Two multiprocessors,
/// as the simulated GPU has, process these messages in equal time, so GcmPass is chosen.
TEST(CudaGcmPass, MessagesOfOneMebibyte) {
    if (!cuda_backend().usable()) GTEST_SKIP() << needs_gpu(cuda_backend().info().front().reason);
    const auto lane = cuda_backend().open_lane(0, 0);
    DeviceMemory device;
    const GroupSpec spec{.mode = Mode::gcm,
                         .direction = Direction::decrypt,
                         .count = 32,
                         .length = 1 << 20,
                         .iv_length = 12,
                         .wrong_tags = 20};
    check_batch([&](std::span<const MessageGroup> groups) { lane->run(groups); }, {{spec}}, 40, device, device);
}

INSTANTIATE_TEST_SUITE_P(All, CudaBatch, testing::ValuesIn(all_places()),
                         [](const auto& info) { return std::string(info.param.label); });

/// Adjacent groups in one allocation are copied together.
TEST(CudaBatchArena, GroupsAreCopiedTogether) {
    if (!cuda_backend().usable()) GTEST_SKIP() << needs_gpu(cuda_backend().info().front().reason);
    const auto lane = cuda_backend().open_lane(0, 0);
    PageLockedMemory page_locked;
    for (const std::uint64_t most : {200u, 3000u, 40000u}) {
        for (std::uint32_t seed = 1; seed <= 3; ++seed) {
            Arena text(page_locked), rest(page_locked);
            std::mt19937 random(seed);
            std::vector<GroupSpec> specs;
            for (int i = 0; i < 100; ++i) {
                GroupSpec spec{.mode = i % 2 == 0 ? Mode::ctr : Mode::ecb,
                               .count = 1 + random() % 4,
                               .length = 16 * (random() % (most / 16)),
                               .iv_length = i % 2 == 0 ? 16u : 0u,
                               .in_place = random() % 3 == 0,
                               .gap = random() % 2 * 16};
                specs.push_back(spec);
            }
            check_batch([&](std::span<const MessageGroup> groups) { lane->run(groups); }, specs, seed, text, rest);
        }
    }
}

/// Tests messages of the same shape at equal distances that are listed individually.
TEST(CudaBatchArena, MessagesListedOneByOne) {
    if (!cuda_backend().usable()) GTEST_SKIP() << needs_gpu(cuda_backend().info().front().reason);
    const auto lane = cuda_backend().open_lane(0, 0);
    PageLockedMemory page_locked;
    DeviceMemory device;
    for (BatchMemory* const memory : {static_cast<BatchMemory*>(&page_locked), static_cast<BatchMemory*>(&device)}) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            for (const bool reports : {false, true}) {
                Arena text(*memory), rest(*memory);
                const std::vector<GroupSpec> specs(60, {.mode = Mode::gcm,
                                                        .direction = direction,
                                                        .length = 48,
                                                        .iv_length = 12,
                                                        .aad_length = 5,
                                                        .raw_keys = true,
                                                        .reports = reports,
                                                        .wrong_tags = 30});
                check_batch([&](std::span<const MessageGroup> groups) { lane->run(groups); }, specs, 7, text, rest);
            }
        }
    }
}

/// Tests XTS messages at equal distances under different tweak keys.
TEST(CudaBatchArena, NeighboursUnderOtherTweakKeys) {
    if (!cuda_backend().usable()) GTEST_SKIP() << needs_gpu(cuda_backend().info().front().reason);
    const auto lane = cuda_backend().open_lane(0, 0);
    DeviceMemory device;
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        Arena text(device), rest(device);
        const GroupSpec spec{.mode = Mode::xts,
                             .direction = direction,
                             .length = 48,
                             .data_unit = 32,
                             .in_place = true,
                             .reports = false,
                             .key = 0};
        check_batch([&](std::span<const MessageGroup> groups) { lane->run(groups); }, std::vector<GroupSpec>(30, spec),
                    8, text, rest);
    }
}

/// Tests messages at equal distances that differ only in their growing tag lengths.
TEST(CudaBatchArena, NeighboursWithOtherTags) {
    if (!cuda_backend().usable()) GTEST_SKIP() << needs_gpu(cuda_backend().info().front().reason);
    const auto lane = cuda_backend().open_lane(0, 0);
    DeviceMemory device;
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        Arena text(device), rest(device);
        GroupSpec spec{.mode = Mode::gcm,
                       .direction = direction,
                       .length = 48,
                       .iv_length = 12,
                       .in_place = true,
                       .reports = false,
                       .key = 0};
        std::vector<GroupSpec> specs;
        for (spec.tag_length = 4; spec.tag_length <= 16; spec.tag_length += 4) specs.push_back(spec);
        check_batch([&](std::span<const MessageGroup> groups) { lane->run(groups); }, specs, 8, text, rest);
    }
}

/// Tests messages at equal distances that cross the boundary between two adjacent allocations. No copy may cross the
/// boundary.
TEST(CudaBatchArena, AcrossAllocationsSideBySide) {
    if (!cuda_backend().usable()) GTEST_SKIP() << needs_gpu(cuda_backend().info().front().reason);
    const auto lane = cuda_backend().open_lane(0, 0);
    constexpr std::size_t half = std::size_t{1} << 16, length = 4096, count = 2 * half / length;
    void* const mapped = mmap(nullptr, 4 * half, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    auto* const memory = static_cast<std::uint8_t*>(mapped);
    for (std::size_t i = 0; i < 4; ++i) ASSERT_TRUE(cuda_backend().host_register(memory + i * half, half));
    std::mt19937 random(9);
    const oracle::Bytes key_bytes(16, 5);
    const ExpandedKey key(key_bytes);
    oracle::Bytes text(2 * half);
    for (auto& b : text) b = static_cast<std::uint8_t>(random());
    std::copy(text.begin(), text.end(), memory);
    std::vector<MessageGroup> groups(count);
    for (std::size_t i = 0; i < count; ++i) {
        groups[i].mode = Mode::ecb;
        groups[i].direction = Direction::encrypt;
        groups[i].length = length;
        groups[i].input.first = memory + i * length;
        groups[i].output.first = memory + 2 * half + i * length;
        groups[i].key = &key;
    }
    lane->run(groups);
    EXPECT_TRUE(
        std::equal(memory + 2 * half, memory + 4 * half, oracle::evp("ECB", true, key_bytes, {}, text)->begin()));
    for (std::size_t i = 0; i < 4; ++i) cuda_backend().host_unregister(memory + i * half);
    munmap(mapped, 4 * half);
}

/// Tests so many groups, of one or several messages, that several threads prepare them.
TEST(CudaBatchArena, VeryManyGroups) {
    if (!cuda_backend().usable()) GTEST_SKIP() << needs_gpu(cuda_backend().info().front().reason);
    const auto lane = cuda_backend().open_lane(0, 0);
    constexpr std::size_t count = 70000;
    std::mt19937 random(3);
    const oracle::Bytes key_bytes(16, 5);
    const ExpandedKey key(key_bytes);
    PageLockedMemory page_locked;
    for (BatchMemory* const memory : {&guarded_memory(), static_cast<BatchMemory*>(&page_locked)}) {
        for (const bool same : {false, true}) {
            std::vector<std::size_t> lengths(count);
            std::size_t total = 0;
            for (auto& n : lengths) total += n = same ? 16 : 16 * (1 + random() % 2);
            oracle::Bytes text(total);
            for (auto& b : text) b = static_cast<std::uint8_t>(random());
            std::uint8_t* const in = memory->allocate(total);
            std::uint8_t* const out = memory->allocate(total);
            memory->write(in, text);
            std::vector<MessageGroup> groups(count);
            std::size_t at = 0;
            for (std::size_t i = 0; i < count; at += lengths[i++]) {
                groups[i].mode = Mode::ecb;
                groups[i].direction = Direction::encrypt;
                groups[i].length = lengths[i];
                groups[i].input.first = in + at;
                groups[i].output.first = out + at;
                groups[i].key = &key;
            }
            lane->run(groups);
            oracle::Bytes result(total);
            memory->read(result, out);
            EXPECT_TRUE(result == *oracle::evp("ECB", true, key_bytes, {}, text));
            memory->release(in, total);
            memory->release(out, total);
        }
    }
}

}  // namespace
}  // namespace warpaes::test
