// Makes every CUDA call of a batch fail once. Each failure must be reported, and the lane and the table of keys must
// stay usable.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>

#include "backend/cuda_backend.hpp"
#include "base/error.hpp"
#include "batch_cases.hpp"
#include "evp_oracle.hpp"
#include "simt.hpp"

namespace warpaes::test {
namespace {

std::vector<GroupSpec> a_bit_of_everything() {
    std::vector<GroupSpec> specs;
    for (const Mode mode : batch_modes()) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            GroupSpec spec{.mode = mode, .direction = direction, .count = 2, .length = 64, .aad_length = 3};
            spec.iv_length = !uses_iv(mode) ? 0 : mode == Mode::gcm || mode == Mode::ccm ? 12 : 16;
            spec.data_unit = 32;
            specs.push_back(spec);
            spec.raw_keys = mode != Mode::xts;
            specs.push_back(spec);
        }
    }
    return specs;
}

/// GCM under one key or several keys in one pass: short messages (kernels/gcm_pass.cu) and a long one
/// (kernels/gcm_windows.cu).
std::vector<GroupSpec> one_pass_of_gcm(Direction direction, unsigned keys) {
    GroupSpec spec{.mode = Mode::gcm, .direction = direction, .iv_length = 12, .aad_length = 3, .key = 0};
    std::vector<GroupSpec> specs(2, spec);
    specs[0].count = 40;
    specs[0].length = 120;
    specs[1].length = 20000;
    for (unsigned key = 1; key < keys; ++key) {
        spec.key = key;
        spec.count = 10;
        spec.length = 100;
        specs.push_back(spec);
    }
    return specs;
}

/// Makes each call of a batch fail once. The lane must report more than one failure per `least` calls.
void fail_each_call(const std::vector<GroupSpec>& specs, std::uint64_t least) {
    const auto lane = cuda_backend().open_lane(0, 0);
    const auto run = [&](std::span<const MessageGroup> groups) { lane->run(groups); };
    check_batch(run, specs, 1);
    simt::reset();
    check_batch(run, specs, 1);
    const std::uint64_t calls = simt::calls("*");
    ASSERT_GT(calls, 10u);
    std::uint64_t failures = 0;
    for (std::uint64_t nth = 1; nth <= calls; ++nth) {
        const BatchCase batch(specs, 2);
        simt::fail_call("*", static_cast<int>(nth), cudaErrorLaunchFailure);
        try {
            lane->run(batch.groups());
            // The failed call had no effect on the results: it wiped memory, removed keys or queried memory.
            EXPECT_EQ(batch.complaints(), "") << "call " << nth;
        } catch (const Error& e) {
            ++failures;
            EXPECT_EQ(e.status(), WARPAES_ERROR_DEVICE);
        }
        simt::reset();
        if (nth % 64 == 0) check_batch(run, specs, 3);
    }
    // Queries about memory are frequent, and "ordinary host memory" is a valid answer, so their failures have no
    // effect.
    EXPECT_GT(failures, calls / least);
    check_batch(run, specs, 4);
}

TEST(BatchFailures, EveryCallOnce) {
    fail_each_call(a_bit_of_everything(), 8);
}

TEST(BatchFailures, EveryCallOfGcmInOnePass) {
    for (const unsigned keys : {1u, 3u}) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            std::vector<GroupSpec> specs = one_pass_of_gcm(direction, keys);
            for (GroupSpec& spec : specs) spec.wrong_tags = 40;
            fail_each_call(specs, 8);
        }
    }
}

/// Device memory for a batch.
class OnDevice final : public BatchMemory {
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

/// If a call fails after the kernels have decrypted text and before they have compared the tags, the caller's memory
/// must not contain the text.
TEST(BatchFailures, TextsWhoseTagsWereNotComparedAreWiped) {
    OnDevice memory;
    unsigned failed = 0;
    for (const unsigned variant : {0u, 1u, 2u, 3u}) {
        const bool in_place = variant % 2 != 0;
        std::vector<GroupSpec> specs = one_pass_of_gcm(Direction::decrypt, variant < 2 ? 1 : 3);
        specs.push_back({.mode = Mode::gcm, .direction = Direction::decrypt, .count = 2, .length = 64, .iv_length = 9});
        specs.push_back({.mode = Mode::ccm, .direction = Direction::decrypt, .count = 2, .length = 64, .iv_length = 9});
        for (GroupSpec& spec : specs) spec.in_place = in_place;
        for (const char* const function : {"cudaLaunchKernelEx", "cudaMemsetAsync", "cudaEventRecord"}) {
            for (int nth = 1;; ++nth) {
                SCOPED_TRACE(std::string(function) + " " + std::to_string(nth) + (in_place ? " in place" : ""));
                const BatchCase batch(specs, 7, memory, memory);
                simt::reset();
                simt::fail_call(function, nth, cudaErrorUnknown);
                bool fails = false;
                try {
                    cuda_backend().enqueue(batch.groups(), 0, nullptr);
                } catch (const Error&) {
                    fails = true;
                }
                const bool came_so_far = simt::calls(function) >= static_cast<std::uint64_t>(nth);
                simt::reset();
                if (fails) {
                    ++failed;
                    for (std::size_t i = 0; i < specs.size(); ++i) EXPECT_FALSE(batch.shows_plaintext(i)) << specs[i];
                }
                if (!came_so_far) break;
            }
        }
    }
    EXPECT_GT(failed, 10U);
}

/// Counts these blocks in all device memory and all page-locked memory.
std::size_t found(const BatchCase::Blocks& blocks) {
    const std::set<Block> wanted(blocks.begin(), blocks.end());
    const auto begin_of = [](std::span<const std::uint8_t> block) { return 256 * block[0] + block[1]; };
    std::vector<bool> begins(1 << 16);  // most places in memory need no search
    for (const Block& block : wanted) begins[static_cast<std::size_t>(begin_of(block))] = true;
    std::size_t n = 0;
    simt::look_at_memory([&](cudaMemoryType, std::span<const std::uint8_t> memory) {
        Block here;
        for (; memory.size() >= here.size(); memory = memory.subspan(1)) {
            if (!begins[static_cast<std::size_t>(begin_of(memory))]) continue;
            std::copy_n(memory.begin(), here.size(), here.begin());
            if (wanted.contains(here)) ++n;
        }
    });
    return n;
}

/// After a batch has ended, successfully or not, its lane must not contain the messages' raw keys. After the lane has
/// been wiped, it must not contain text either. Device memory must be zero when the lane frees it.
TEST(BatchFailures, NothingIsLeft) {
    std::vector<GroupSpec> specs = a_bit_of_everything();
    for (const GroupSpec& spec : one_pass_of_gcm(Direction::decrypt, 1)) specs.push_back(spec);
    auto lane = cuda_backend().open_lane(0, 0);
    for (const bool fails : {false, true}) {
        SCOPED_TRACE(fails ? "of a batch that failed" : "of a batch that went well");
        const BatchCase batch(specs, 5);
        simt::reset();
        if (fails) simt::fail_call("cudaEventSynchronize", 1, cudaErrorLaunchFailure);
        try {
            lane->run(batch.groups());
            EXPECT_FALSE(fails);
        } catch (const Error&) {
            EXPECT_TRUE(fails);
        }
        EXPECT_EQ(found(batch.blocks_of_keys()), 0u);
        EXPECT_NE(found(batch.blocks_of_texts()), 0u) << "the keys are elsewhere, so this tests nothing";
        lane->wipe_staging(0);
        EXPECT_EQ(found(batch.blocks_of_texts()), 0u);
    }
    std::size_t freed = 0, dirty = 0;
    simt::on_free([&](cudaMemoryType type, std::span<const std::uint8_t> bytes) {
        if (type != cudaMemoryTypeDevice) return;
        ++freed;
        // Unused bytes still contain the allocation's poison.
        for (const std::uint8_t b : bytes) dirty += b != 0 && b != 0xa5 ? 1 : 0;
    });
    lane.reset();
    simt::on_free({});
    EXPECT_GT(freed, 2u);
    EXPECT_EQ(dirty, 0u);
}

/// The encrypted J0 of a message, with which anyone can compute a tag from GHASH, must not remain in scratch memory.
TEST(BatchFailures, NoEncryptedJ0IsLeft) {
    const std::vector<GroupSpec> specs = one_pass_of_gcm(Direction::encrypt, 1);
    const auto key = shared_keys().key(16, 0).bytes();
    const auto lane = cuda_backend().open_lane(0, 0);
    for (const bool fails : {false, true}) {
        SCOPED_TRACE(fails ? "of a batch that failed" : "of a batch that went well");
        const BatchCase batch(specs, 8);
        std::size_t during = 0;
        BatchCase::Blocks masks;
        for (const MessageGroup& g : batch.groups()) {
            for (std::uint64_t i = 0; i < g.count; ++i) {
                std::vector<std::uint8_t> j0(block_bytes);
                std::copy_n(g.iv.first + i * g.iv.stride, 12, j0.begin());
                j0.back() = 1;
                const auto mask = oracle::evp("ECB", true, {key.begin(), key.end()}, {}, j0);
                std::copy_n(mask->begin(), block_bytes, masks.emplace_back().begin());
            }
        }
        simt::reset();
        if (fails) simt::fail_call("cudaEventSynchronize", 1, cudaErrorLaunchFailure);
        simt::on_launch([&](const cudaLaunchConfig_t&) { during = std::max(during, found(masks)); });
        try {
            lane->run(batch.groups());
            EXPECT_FALSE(fails);
        } catch (const Error&) {
            EXPECT_TRUE(fails);
        }
        simt::on_launch({});
        EXPECT_NE(during, 0U) << "the masks are elsewhere, so this tests nothing";
        EXPECT_EQ(found(masks), 0U);
    }
}

/// Nothing must remain either if there are so many groups that several threads prepare them, each in separate memory.
TEST(BatchFailures, NothingIsLeftOfWhatSeveralThreadsMadeReady) {
    constexpr std::size_t count = std::size_t{2} << 15;
    const ExpandedKey key(std::vector<std::uint8_t>(16, 3));
    const Block text{'A', ' ', 's', 'e', 'c', 'r', 'e', 't', '\'', 's', ' ', 't', 'e', 'x', 't', '!'};
    std::vector<Block> plain(count, text), cipher(count);
    MessageGroup group;
    group.mode = Mode::ecb;
    group.direction = Direction::encrypt;
    group.length = block_bytes;
    group.key = &key;
    std::vector<MessageGroup> groups(count, group);
    for (std::size_t i = 0; i < count; ++i) {
        groups[i].input = Elements::of(plain[i].data());
        groups[i].output = {cipher[i].data(), 0};
    }
    Pool pool;
    auto lane = cuda_backend().open_lane(0, 0, &pool);
    simt::reset();
    lane->run(groups);
    EXPECT_EQ(std::count(cipher.begin(), cipher.end(), cipher[0]), static_cast<std::ptrdiff_t>(count));
    EXPECT_NE(found({text}), 0u) << "the keys are elsewhere, so this tests nothing";
    lane->wipe_staging(0);
    EXPECT_EQ(found({text}), 0u);
}

/// Copies rows of pageable memory with gaps. The rows are so large that several threads copy them.
TEST(BatchRows, CopiedBySeveralThreads) {
    constexpr std::size_t count = 37, length = 65536, stride = length + 48;
    const ExpandedKey key(std::vector<std::uint8_t>(16, 9));
    std::vector<std::uint8_t> plain(count * stride), cipher(count * stride, 0xee), back(count * stride, 0xee);
    for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<std::uint8_t>(i * 37 + (i >> 9));
    const Block iv{7};
    MessageGroup group;
    group.mode = Mode::ctr;
    group.direction = Direction::encrypt;
    group.count = count;
    group.length = length;
    group.key = &key;
    group.iv = Elements::of(iv.data());
    group.iv_length = block_bytes;
    Pool pool;
    auto lane = cuda_backend().open_lane(0, 0, &pool);
    group.input = {plain.data(), stride};
    group.output = {cipher.data(), stride};
    lane->run({&group, 1});
    group.input = {cipher.data(), stride};
    group.output = {back.data(), stride};
    lane->run({&group, 1});
    for (std::size_t i = 0; i < count; ++i) {
        const auto row = static_cast<std::ptrdiff_t>(i * stride), end = row + static_cast<std::ptrdiff_t>(length);
        ASSERT_TRUE(std::equal(plain.begin() + row, plain.begin() + end, back.begin() + row)) << i;
        for (std::ptrdiff_t gap = end; gap < end + 48; ++gap) ASSERT_EQ(back[static_cast<std::size_t>(gap)], 0xee) << i;
    }
    ASSERT_NE(0, std::memcmp(plain.data(), cipher.data(), length));
}

/// A lane that is closed immediately, as after a failure, must not leave data either.
TEST(BatchFailures, NothingIsLeftOfALaneThatIsDiscarded) {
    auto lane = cuda_backend().open_lane(0, 4096);
    for (const auto staging : {lane->input_staging(), lane->output_staging()}) {
        std::fill(staging.begin(), staging.end(), std::uint8_t{0x3c});
    }
    std::size_t freed = 0, dirty = 0;
    simt::on_free([&](cudaMemoryType, std::span<const std::uint8_t> bytes) {
        ++freed;
        dirty += static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), 0x3c));
    });
    lane.reset();
    simt::on_free({});
    EXPECT_GT(freed, 0u);
    EXPECT_EQ(dirty, 0u);
}

/// All memory is freed exactly once.
TEST(BatchFailures, ALaneFreesWhatItHasAllocated) {
    const auto run = [] {
        const auto lane = cuda_backend().open_lane(0, 4096);
        check_batch([&](std::span<const MessageGroup> groups) { lane->run(groups); }, a_bit_of_everything(), 6);
    };
    run();  // this run allocates the memory that outlives the lane
    simt::reset();
    run();
    EXPECT_GT(simt::calls("cudaMalloc"), 0U);
    EXPECT_EQ(simt::calls("cudaFree"), simt::calls("cudaMalloc"));
    EXPECT_EQ(simt::calls("cudaFreeHost"), simt::calls("cudaHostAlloc"));
}

/// Data in pageable memory is staged in both directions. Data on the GPU is not.
TEST(BatchMemory, StagesOnlyWhatLiesElsewhere) {
    constexpr std::size_t bytes = 4096;
    const ExpandedKey key(std::vector<std::uint8_t>(16, 1));
    std::vector<std::uint8_t> here(bytes);
    auto* const there = static_cast<std::uint8_t*>(cuda_backend().device_alloc(0, bytes));
    const auto taken = [&](std::uint8_t* text) {
        MessageGroup g;
        g.mode = Mode::ecb;
        g.direction = Direction::encrypt;
        g.key = &key;
        g.count = 1;
        g.length = bytes;
        g.input = {text, bytes};
        g.output = {text, bytes};
        const auto lane = cuda_backend().open_lane(0, 0);
        simt::reset();
        lane->run({&g, 1});
        return simt::calls("cudaHostAlloc");
    };
    EXPECT_EQ(taken(here.data()), taken(there) + 2);
    cuda_backend().device_free(there);
}

/// A wipe of a part of the staging memory does not change the rest.
TEST(BatchFailures, StagingIsWipedAsFarAsItWasUsed) {
    const auto lane = cuda_backend().open_lane(0, 5000);
    for (const auto staging : {lane->input_staging(), lane->output_staging()}) {
        std::fill(staging.begin(), staging.end(), std::uint8_t{1});
    }
    lane->wipe_staging(100);
    for (const auto staging : {lane->input_staging(), lane->output_staging()}) {
        EXPECT_EQ(std::count(staging.begin(), staging.end(), 0), 100);
        EXPECT_EQ(staging[100], 1);
    }
}

/// If memory is replaced by a larger block while a worker holds the lane, the old block must not contain data either.
TEST(BatchFailures, NothingIsLeftInWhatGrew) {
    std::vector<GroupSpec> specs = a_bit_of_everything();
    auto lane = cuda_backend().open_lane(0, 0);
    const auto run = [&](std::span<const MessageGroup> groups) { lane->run(groups); };
    check_batch(run, specs, 6);
    for (GroupSpec& spec : specs) spec.length = 2048;
    std::size_t freed = 0, dirty = 0;
    simt::on_free([&](cudaMemoryType, std::span<const std::uint8_t> bytes) {
        ++freed;
        for (const std::uint8_t b : bytes) dirty += b != 0 && b != 0xa5 ? 1 : 0;
    });
    check_batch(run, specs, 7);
    simt::on_free({});
    EXPECT_GT(freed, 2u);
    EXPECT_EQ(dirty, 0u);
}

}  // namespace
}  // namespace warpaes::test
