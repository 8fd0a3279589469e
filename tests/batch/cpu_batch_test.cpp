// Tests batches on every CPU backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "../cpu/cpu_backends.hpp"
#include "batch_cases.hpp"
#include "standards.hpp"

namespace warpaes::test {
namespace {

class CpuBatch : public testing::TestWithParam<NamedBackend> {
protected:
    void SetUp() override {
        if (!GetParam().backend->usable()) GTEST_SKIP() << why_not(GetParam());
        lane_ = GetParam().backend->open_lane(-1, 0);
    }
    void check(const std::vector<GroupSpec>& specs, std::uint32_t seed) {
        check_batch([this](std::span<const MessageGroup> groups) { lane_->run(groups); }, specs, seed);
    }
    std::unique_ptr<Lane> lane_;
};

TEST_P(CpuBatch, NoMessages) {
    lane_->run(std::span<const MessageGroup>{});
}

TEST_P(CpuBatch, EachMode) {
    std::uint32_t seed = 1000;
    for (const Mode mode : batch_modes()) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            std::mt19937 random(++seed);
            std::vector<GroupSpec> specs;
            for (int i = 0; i < 40; ++i) specs.push_back(random_group(random, mode, direction));
            check(specs, 100 * seed);
        }
    }
}

TEST_P(CpuBatch, AllModesAtOnce) {
    for (std::uint32_t seed = 1; seed <= 12; ++seed) {
        std::mt19937 random(seed);
        check(random_batch(random, 60), 1000 * seed);
    }
}

TEST_P(CpuBatch, LongMessages) {
    std::mt19937 random(7);
    check(random_batch(random, 30, {.count = 5, .length = 70000, .aad = 66000}), 7);
}

// Serial modes interleave 8 to 32 messages. When a message ends, its vector lane starts the next message; after the
// last message, it is idle.
TEST_P(CpuBatch, AnyNumberOfMessagesOfAnyLength) {
    static constexpr Mode modes[] = {Mode::cbc, Mode::cfb128, Mode::ofb, Mode::ccm, Mode::cmac};
    std::uint32_t seed = 20;
    for (const std::uint64_t count : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 9u, 15u, 16u, 17u, 31u, 32u, 33u, 66u}) {
        for (const Mode mode : modes) {
            std::vector<GroupSpec> specs;
            for (std::uint64_t i = 0; i < count; ++i) {
                const std::uint64_t length = 16 * (i * i % 23);
                specs.push_back({.mode = mode, .length = length, .iv_length = mode == Mode::ccm ? 12u : 16u});
            }
            check(specs, ++seed);
            GroupSpec equal = specs.front();
            equal.count = count;
            equal.length = 16 * 300;  // more blocks than a call processes if a vector lane is idle
            equal.raw_keys = count % 2 == 0;
            check({equal, specs.back()}, ++seed);
        }
    }
}

// Streams with the same key share its round keys. Otherwise, each stream has a copy. The streams of a call have the
// same key, different keys, or the same key in only some of the vectors. The lengths are around the lengths of a block,
// a cache line, two cache lines and the kernels' long texts.
TEST_P(CpuBatch, SameAndDifferentKeys) {
    static constexpr Mode modes[] = {Mode::cbc, Mode::cfb128, Mode::ofb, Mode::ccm, Mode::cmac};
    static constexpr std::uint64_t lengths[] = {16,   48,   64,   80,   128,  1008, 1024, 1040, 1088,
                                                1136, 1152, 1168, 1280, 2048, 2064, 2112, 4112, 4288};
    std::uint32_t seed = 3000;
    for (const Mode mode : modes) {
        for (const std::uint64_t length : lengths) {
            std::vector<GroupSpec> specs;
            for (const std::uint64_t count : {1u, 3u, 16u, 4u, 11u, 32u, 2u, 17u, 1u}) {
                const auto i = static_cast<unsigned>(specs.size());
                specs.push_back({.mode = mode,
                                 .key_bytes = length % 128 == 0 ? 32u : 16u,
                                 .count = count,
                                 .length = length,
                                 .iv_length = mode == Mode::ccm ? 12u : 16u,
                                 .in_place = i % 2 == 1 && mode != Mode::cmac,
                                 .raw_keys = i == 5 && length % 3 == 0,
                                 .gap = i % 3 == 0 ? 16u : 0u,
                                 .shift = 16 * (length / 16 % 4),
                                 .key = i / 2});
            }
            check(specs, ++seed);
            for (GroupSpec& spec : specs) spec.key = 0;
            specs.back().length += mode == Mode::cbc ? 16 : 5;  // one stream continues alone
            check(specs, ++seed);
        }
    }
}

// Tests long texts that begin anywhere in a cache line, because the kernels process them line by line.
TEST_P(CpuBatch, LongTextsAnywhereInALine) {
    for (std::size_t shift = 0; shift < 64; ++shift) {
        std::vector<GroupSpec> specs;
        for (const Mode mode : {Mode::cbc, Mode::cfb128, Mode::ofb, Mode::ccm, Mode::cmac}) {
            specs.push_back({.mode = mode,
                             .count = 9,
                             .length = 2048 + 16 * (shift % 5) + (mode == Mode::cbc ? 0 : shift % 3),
                             .iv_length = mode == Mode::ccm ? 12u : 16u,
                             .gap = shift % 4 == 0 ? 16u : 0u,
                             .shift = shift});
            specs.push_back(specs.back());
            specs.back().length += 4096;
            specs.back().in_place = mode != Mode::cmac;
        }
        check(specs, static_cast<std::uint32_t>(shift));
    }
}

// Tests lengths of associated data around 2^16 - 2^8, where CCM's encoding of the length changes (SP 800-38C, A.2.2).
TEST_P(CpuBatch, AssociatedDataOfCcm) {
    std::vector<GroupSpec> specs;
    for (const std::uint64_t aad : {1u, 13u, 14u, 15u, 30u, 65279u, 65280u, 65536u}) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            specs.push_back(
                {.mode = Mode::ccm, .direction = direction, .length = 33, .iv_length = 11, .aad_length = aad});
        }
    }
    check(specs, 8);
}

// Tests non-temporal stores. The flag is set here for batches of any size, to test every length and every position in a
// cache line.
TEST_P(CpuBatch, BeyondTheCaches) {
    const auto run = [this](std::span<const MessageGroup> groups) {
        std::vector<MessageGroup> marked(groups.begin(), groups.end());
        for (MessageGroup& g : marked) g.beyond_caches = g.input.first != g.output.first;
        lane_->run(marked);
    };
    std::uint32_t seed = 400;
    for (const Mode mode : {Mode::ctr, Mode::gcm, Mode::cbc, Mode::ecb, Mode::cfb128}) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            std::vector<GroupSpec> specs;
            for (const std::uint64_t length : {0u, 16u, 496u, 512u, 528u, 1008u, 1024u, 1040u, 2032u, 2048u, 4096u,
                                               8176u, 8192u, 9216u, 16384u, 65536u, 70000u}) {
                GroupSpec spec{.mode = mode,
                               .direction = direction,
                               .key_bytes = 16 + 8 * (length / 16 % 3),
                               .count = 3 + length % 2,
                               .length = length + (mode == Mode::ctr || mode == Mode::gcm ? length % 13 : 0),
                               .iv_length = mode == Mode::gcm ? 12u : 16u,
                               .aad_length = mode == Mode::gcm ? length % 40 : 0,
                               .wrong_tags = 40,
                               .gap = length % 3 == 0 ? 0u : 16u,
                               .shift = 16 * (length / 16 % 4)};
                if (mode == Mode::cbc || mode == Mode::ecb) spec.length = length / 16 * 16;
                specs.push_back(spec);
                specs.back().raw_keys = true;
                specs.push_back(spec);
                specs.back().gap = 5;
                specs.push_back(spec);
                specs.back().in_place = true;
                if (mode == Mode::gcm) specs.push_back(spec), specs.back().iv_length = 16;
            }
            check_batch(run, specs, ++seed);
        }
    }
    for (std::uint32_t i = 1; i <= 6; ++i) {
        std::mt19937 random(i);
        check_batch(run, random_batch(random, 60), 9000 * i);
    }
}

/// A group of two messages and, directly after them in memory, a group of one. The test changes one property of either
/// group. The messages are processed in one batch or separately.
class Neighbours {
public:
    Neighbours() {
        for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i] = static_cast<std::uint8_t>(i * 89 + i / 256);
        const ExpandedKey& key = keys_[0];
        groups_[0] = {.mode = Mode::gcm,
                      .direction = Direction::encrypt,
                      .count = 2,
                      .length = bytes,
                      .input = {at(0), bytes},
                      .output = {at(1024), bytes},
                      .iv = {at(2048), gcm_nonce_bytes},
                      .iv_length = gcm_nonce_bytes,
                      .aad_length = 20,
                      .aad = {at(3072), 0},
                      .tag = {at(3584), 16},
                      .tag_length = 16,
                      .key = &key,
                      .keys = {},
                      .direct = true};
        groups_[1] = groups_[0].slice(1, 1);
        MessageGroup& last = groups_[1];
        for (Elements MessageGroup::*const part :
             {&MessageGroup::input, &MessageGroup::output, &MessageGroup::iv, &MessageGroup::tag}) {
            (last.*part).first += (last.*part).stride;
        }
    }
    MessageGroup& first() { return groups_[0]; }
    MessageGroup& last() { return groups_[1]; }
    [[nodiscard]] std::uint8_t* at(std::size_t i) { return memory_.data() + i; }
    [[nodiscard]] const ExpandedKey& other_key() const { return keys_[1]; }

    /// Returns the outputs and tags.
    std::vector<std::uint8_t> run(Lane& lane, bool together) {
        const std::vector<std::uint8_t> before = memory_;
        if (together) {
            lane.run(groups_);
        } else {
            for (const MessageGroup& group : groups_) {
                for (std::uint64_t i = 0; i < group.count; ++i) {
                    const MessageGroup one = group.slice(i, 1);
                    lane.run({&one, 1});
                }
            }
        }
        const std::vector<std::uint8_t> after = memory_;
        std::copy(before.begin(), before.end(), memory_.begin());
        return after;
    }

private:
    static constexpr std::uint64_t bytes = 80;
    std::vector<std::uint8_t> memory_ = std::vector<std::uint8_t>(4096);
    ExpandedKey keys_[2]{ExpandedKey(std::vector<std::uint8_t>(16, 1)), ExpandedKey(std::vector<std::uint8_t>(16, 2))};
    MessageGroup groups_[2]{};
};

// A last message that differs from the other messages at most in its smaller length is computed in one run with them.
// All other messages are computed separately. The results must be the same.
TEST_P(CpuBatch, NeighboursThatDifferInOneThing) {
    const std::pair<const char*, void (*)(Neighbours&)> differences[] = {
        {"nothing", [](Neighbours&) {}},
        {"shorter", [](Neighbours& n) { n.last().length = 7; }},
        {"longer", [](Neighbours& n) { n.last().length = 96; }},
        {"IV of 16 bytes", [](Neighbours& n) { n.last().iv_length = 16; }},
        {"IV of 13 bytes", [](Neighbours& n) { n.last().iv_length = 13; }},
        {"IV of 11 bytes", [](Neighbours& n) { n.last().iv_length = 11; }},
        {"only the first's IV has 16 bytes",
         [](Neighbours& n) {
             n.first().count = 1;
             n.first().iv.stride = n.first().iv_length = 16;
             n.last().input.first = n.first().input.at(1);
             n.last().output.first = n.first().output.at(1);
             n.last().tag.first = n.first().tag.at(1);
             n.last().iv.first = n.first().iv.at(1);
         }},
        {"IV elsewhere", [](Neighbours& n) { n.last().iv.first += 1; }},
        {"input elsewhere", [](Neighbours& n) { n.last().input.first += 16; }},
        {"output elsewhere", [](Neighbours& n) { n.last().output.first += 16; }},
        {"tag elsewhere", [](Neighbours& n) { n.last().tag.first += 16; }},
        {"shorter tag", [](Neighbours& n) { n.last().tag_length = 12; }},
        {"longer associated data", [](Neighbours& n) { n.last().aad_length = 21; }},
        {"no associated data", [](Neighbours& n) { n.last().aad_length = 0; }},
        {"other associated data", [](Neighbours& n) { n.last().aad.first += 1; }},
        {"each its own", [](Neighbours& n) { n.first().aad.stride = 1; }},
        {"direction", [](Neighbours& n) { n.last().direction = Direction::decrypt; }},
        {"mode", [](Neighbours& n) { n.last().mode = Mode::ccm; }},
        {"key", [](Neighbours& n) { n.last().key = &n.other_key(); }},
        {"two more", [](Neighbours& n) { n.last().count = 2; }},
        {"none before", [](Neighbours& n) { n.first().count = 0; }},
    };
    for (const auto& [what, change] : differences) {
        Neighbours neighbours;
        change(neighbours);
        EXPECT_TRUE(neighbours.run(*lane_, true) == neighbours.run(*lane_, false)) << what;
    }
}

TEST_P(CpuBatch, Standards) {
    const auto run = [this](std::span<const MessageGroup> groups) { lane_->run(groups); };
    check_cmac_examples(run);
    check_ccm_vectors(run);
}

/// Runs groups of the same form together.
void run_alike(Lane& lane, std::span<const MessageGroup> groups) {
    MessageGroup form = groups.front();
    std::vector<AlikeGroup> alike;
    std::vector<std::uint8_t> failed;
    for (const MessageGroup& g : groups) {
        alike.push_back({g.input.first, g.output.first, g.iv.first, g.aad.first, g.tag.first, g.key, g.count});
        if (g.failed != nullptr) failed.insert(failed.end(), g.failed, g.failed + g.count);
    }
    if (form.failed != nullptr) form.failed = failed.data();
    lane.run_alike(form, alike);
    for (auto it = failed.begin(); const MessageGroup& g : groups) {
        if (g.failed == nullptr) continue;
        std::copy_n(it, g.count, g.failed);
        it += static_cast<std::ptrdiff_t>(g.count);
    }
}

TEST_P(CpuBatch, GroupsOfOneForm) {
    static constexpr std::uint64_t lengths[] = {0, 16, 64, 496, 512, 1024, 1040, 4096, 8192, 20000};
    const auto run = [this](std::span<const MessageGroup> groups) { run_alike(*lane_, groups); };
    std::uint32_t seed = 5000;
    for (const Mode mode : batch_modes()) {
        if (mode == Mode::xts) continue;
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            for (const std::uint64_t length : lengths) {
                ++seed;
                GroupSpec spec{.mode = mode,
                               .direction = direction,
                               .key_bytes = 16 + 8 * (seed % 3),
                               .count = 1 + seed % 2 * 2,
                               .length = needs_whole_blocks(mode) ? length / 16 * 16 : length,
                               .iv_length = !uses_iv(mode)                           ? 0u
                                            : mode == Mode::gcm || mode == Mode::ccm ? 12u
                                                                                     : 16u,
                               .aad_length = uses_tag(mode) && mode != Mode::cmac ? seed % 40 : 0,
                               .tag_length = uses_tag(mode) ? 16u : 0u,
                               .in_place = has_output(mode) && seed % 4 == 0,
                               .reports = seed % 5 != 0,
                               .wrong_tags = direction == Direction::decrypt && uses_tag(mode) ? 30u : 0u,
                               .gap = seed % 3};
                check_batch(run, std::vector<GroupSpec>(7, spec), seed);  // with keys of the pool and other keys
                std::vector<GroupSpec> specs(5, spec);
                for (unsigned i = 0; i < specs.size(); ++i) {
                    specs[i].key = i;
                    specs[i].count = 1 + (seed + i) % 4;
                }
                check_batch(run, specs, ++seed);
            }
        }
    }
}

// CTR messages of a key that has the table for the first round, in groups that are large enough to use it. Messages
// begin at any counter, so groups of vectors cross counters that end in a zero byte, and 32 bits overflow.
TEST_P(CpuBatch, CtrWithTheTableForTheFirstRound) {
    constexpr std::size_t most = 40000;
    std::mt19937 random(29);
    const auto input = random_bytes(2 * most, 30);
    for (const std::size_t key_bytes : key_lengths) {
        const Bytes bytes = random_bytes(key_bytes, static_cast<std::uint32_t>(key_bytes));
        const ExpandedKey key(bytes);
        (void)key.first_round();
        std::vector<std::size_t> lengths{1023, 1024, 1025,  1535,  1536,  1537, 4095,
                                         4096, 4097, 16384, 32767, 32768, most};
        for (int i = 0; i < 40; ++i) lengths.push_back(1024 + random() % 5000);
        for (const std::size_t length : lengths) {
            const std::size_t count = 65536 / length + 1, stride = length + random() % 5;
            Bytes ivs = random_bytes(16 * count, static_cast<std::uint32_t>(random()));
            for (std::size_t m = 0; m < count; m += 3) std::fill_n(&ivs[16 * m + 12], 3, std::uint8_t{0xff});
            for (std::size_t m = 0; m < count; m += 5) ivs[16 * m + 15] = static_cast<std::uint8_t>(64 * m);
            const std::size_t input_stride = random() % 7;  // messages may share input
            Bytes output(count * stride + 1, 0x5a);
            const MessageGroup group{.mode = Mode::ctr,
                                     .direction = Direction::encrypt,
                                     .count = count,
                                     .length = length,
                                     .input = Elements::of(input.data() + random() % 64, input_stride),
                                     .output = {output.data(), stride},
                                     .iv = Elements::of(ivs.data(), 16),
                                     .iv_length = 16,
                                     .aad = {},
                                     .tag = {},
                                     .key = &key,
                                     .keys = {}};
            lane_->run(group);
            for (std::size_t m = 0; m < count; ++m) {
                const std::uint8_t *const in = group.input.at(m), *const out = group.output.at(m);
                const Bytes iv(group.iv.at(m), group.iv.at(m) + 16);
                ASSERT_EQ(Bytes(out, out + length), *oracle::evp("CTR", true, bytes, iv, Bytes(in, in + length)))
                    << length << " bytes, message " << m;
                ASSERT_TRUE(std::all_of(out + length, out + stride, [](std::uint8_t b) { return b == 0x5a; }));
            }
            ASSERT_EQ(output.back(), 0x5a);
        }
    }
}

// Tests the test code itself, which must detect the faults that a backend could have.
TEST(BatchCases, SeeWhatIsWrong) {
    const GroupSpec spec{.mode = Mode::gcm, .count = 3, .length = 40, .iv_length = 12, .tag_length = 12, .gap = 5};
    GroupSpec opens = spec;
    opens.direction = Direction::decrypt;
    opens.wrong_tags = 100;
    const auto complaints_after = [](const GroupSpec& s, const std::function<void(const MessageGroup&)>& spoil) {
        BatchCase batch(std::span(&s, 1), 5);
        libcrypto_backend().open_lane(-1, 0)->run(batch.groups());
        spoil(batch.groups()[0]);
        return batch.complaints();
    };
    EXPECT_EQ(complaints_after(spec, [](const MessageGroup&) {}), "");
    EXPECT_EQ(complaints_after(opens, [](const MessageGroup&) {}), "");
    EXPECT_NE(complaints_after(spec, [](const MessageGroup& g) { g.output.at(2)[39] ^= 1; }), "");
    EXPECT_NE(complaints_after(spec, [](const MessageGroup& g) { g.output.at(0)[40] = 0; }), "");
    EXPECT_NE(complaints_after(spec, [](const MessageGroup& g) { g.input.at(1)[3] ^= 1; }), "");
    EXPECT_NE(complaints_after(spec, [](const MessageGroup& g) { g.tag.at(1)[12] ^= 1; }), "");
    EXPECT_NE(complaints_after(spec, [](const MessageGroup& g) { g.tag.at(0)[0] ^= 1; }), "");
    EXPECT_NE(complaints_after(spec, [](const MessageGroup& g) { g.failed[0] = 1; }), "");
    EXPECT_NE(complaints_after(opens, [](const MessageGroup& g) { g.failed[2] = 0; }), "");
    EXPECT_NE(complaints_after(opens, [](const MessageGroup& g) { g.output.at(1)[0] = 7; }), "");
}

INSTANTIATE_TEST_SUITE_P(All, CpuBatch, testing::ValuesIn(cpu_backends()),
                         [](const auto& info) { return std::string(info.param.label); });

}  // namespace
}  // namespace warpaes::test
