// Tests byte ranges of a message. The results are correct for any start and end, and only the blocks of the range are
// accessed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "support.hpp"

namespace abi_tests {
namespace {

struct RangeMode {
    warpaes_mode mode;
    warpaes_direction direction;
};
constexpr RangeMode range_modes[] = {
    {WARPAES_ECB, WARPAES_ENCRYPT},  {WARPAES_ECB, WARPAES_DECRYPT},  {WARPAES_CTR, WARPAES_ENCRYPT},
    {WARPAES_CTR, WARPAES_DECRYPT},  {WARPAES_CBC, WARPAES_DECRYPT},  {WARPAES_CFB128, WARPAES_DECRYPT},
    {WARPAES_CFB8, WARPAES_DECRYPT}, {WARPAES_CFB1, WARPAES_DECRYPT},
};

class Range : public BackendTest {
protected:
    void check(const Engine& engine, const RangeMode& m, const Key& key, const Bytes& iv, const Bytes& input,
               const Bytes& whole, std::size_t offset, std::size_t length) {
        PoisonedBuffer output(length, offset % 16);
        Call message = make_message(m.mode, m.direction, key, iv, input.data(), input.size(), output.data(), length);
        message.flags = WARPAES_RANGE;
        message.range_offset = offset;
        message.range_len = length;
        const std::string what = name_of(m.mode, m.direction, 16) + ", bytes " + std::to_string(offset) + " + " +
                                 std::to_string(length) + " of " + std::to_string(input.size());
        ASSERT_EQ(crypt(engine, message), WARPAES_OK) << what << ": " << warpaes_last_error();
        ASSERT_EQ(message.result.output_len, length) << what;
        if (length != 0) {
            ASSERT_STREQ(message.result.backend, GetParam().c_str()) << what;
        }
        const auto first = whole.begin() + static_cast<std::ptrdiff_t>(offset);
        ASSERT_TRUE(output.bytes(length) == Bytes(first, first + static_cast<std::ptrdiff_t>(length))) << what;
        ASSERT_TRUE(output.intact_after(length)) << what;
    }
};

TEST_P(Range, EveryOffsetAndLength) {
    Random random(80);
    const Bytes key_bytes = random.bytes(16);
    const Bytes iv = random.bytes(16);
    const Key key = make_key(key_bytes);
    const std::size_t step = simulated() ? 7 : 1;
    for (const RangeMode& m : range_modes) {
        for (const std::size_t size : {std::size_t{80}, std::size_t{75}}) {
            if (traits(m.mode).whole_blocks && size % 16 != 0) continue;
            const Bytes input = random.bytes(size);
            const Bytes whole = expected(m.mode, m.direction, key_bytes, iv, input);
            for (std::size_t offset = 0; offset <= size; offset += step) {
                for (std::size_t length = 0; length <= size - offset; length += step) {
                    check(engine_, m, key, iv, input, whole, offset, length);
                    ASSERT_FALSE(HasFatalFailure());
                }
            }
        }
    }
}

TEST_P(Range, AcrossChunks) {
    Random random(81);
    const Engine engine = make_engine(GetParam(), 4096, 2);
    const Bytes key_bytes = random.bytes(16);
    const Bytes iv = random.bytes(16);
    const Key key = make_key(key_bytes);
    const Bytes input = random.bytes(10 * 4096);
    for (const RangeMode& m : range_modes) {
        const Bytes whole = expected(m.mode, m.direction, key_bytes, iv, input);
        for (int i = 0; i < (simulated() ? 4 : 40); ++i) {
            const std::size_t offset = random.below(input.size());
            check(engine, m, key, iv, input, whole, offset, random.below(input.size() - offset + 1));
            ASSERT_FALSE(HasFatalFailure());
        }
    }
}

/// Reserves 96 GiB of address space and maps only the pages of the range, so an access outside these pages crashes.
/// First the start of the range lies at the edge of the pages, and then its end. CTR's counter is past 2^32 blocks.
TEST_P(Range, TouchesOnlyItsBlocks) {
    constexpr std::uint64_t size = std::uint64_t{96} << 30;
    constexpr std::uint64_t somewhere = std::uint64_t{70} << 30;
    const std::uint64_t page = SparseBuffer::page();
    Random random(82);
    const Bytes key_bytes = random.bytes(16);
    const Bytes iv = random.bytes(16);
    const Key key = make_key(key_bytes);
    for (const RangeMode& m : range_modes) {
        const bool chained = m.mode != WARPAES_ECB && m.mode != WARPAES_CTR;
        // CFB8 and CFB1 need the 16 bytes before the range. Other modes need the block before the range's first block.
        const std::uint64_t unit = m.mode == WARPAES_CFB8 || m.mode == WARPAES_CFB1 ? 1 : 16;
        for (const std::uint64_t length : {std::uint64_t{1}, std::uint64_t{16}, std::uint64_t{100}, 2 * page + 5}) {
            for (const std::uint64_t into_block : {0U, 1U, 9U, 15U}) {
                for (const bool at_end : {false, true}) {
                    const std::uint64_t before = chained ? 16 : 0;
                    std::uint64_t first_block = somewhere + before;
                    if (at_end) {
                        const std::uint64_t span = (into_block + length + unit - 1) / unit * unit;
                        first_block = somewhere + 4 * page - span;
                    }
                    const std::uint64_t offset = first_block + into_block;
                    const std::uint64_t needed_end = (offset + length + unit - 1) / unit * unit;
                    const std::uint64_t needed_first = first_block - before;
                    SparseBuffer input(size, needed_first, needed_end);
                    Bytes window = random.bytes(needed_end - needed_first);
                    std::memcpy(input.data() + needed_first, window.data(), window.size());

                    Bytes chain = iv;
                    if (chained) chain.assign(window.begin(), window.begin() + 16);
                    if (m.mode == WARPAES_CTR) {
                        std::uint64_t carry = first_block / 16;
                        for (std::size_t i = 16; i-- > 0; carry >>= 8) {
                            carry += chain[i];
                            chain[i] = static_cast<std::uint8_t>(carry);
                        }
                    }
                    const Bytes blocks(window.begin() + static_cast<std::ptrdiff_t>(before), window.end());
                    const Bytes plain = expected(m.mode, m.direction, key_bytes, chain, blocks);
                    const auto wanted = plain.begin() + static_cast<std::ptrdiff_t>(into_block);

                    PoisonedBuffer output(length);
                    Call message =
                        make_message(m.mode, m.direction, key, iv, input.data(), size, output.data(), length);
                    message.flags = WARPAES_RANGE;
                    message.range_offset = offset;
                    message.range_len = length;
                    ASSERT_EQ(crypt(engine_, message), WARPAES_OK) << warpaes_last_error();
                    ASSERT_TRUE(output.bytes(length) == Bytes(wanted, wanted + static_cast<std::ptrdiff_t>(length)))
                        << name_of(m.mode, m.direction, 16) << ", " << into_block << " into its block, " << length
                        << " bytes";
                    ASSERT_TRUE(output.intact_after(length));
                }
            }
        }
    }
}

/// Tests messages that end inside a block, as their buffers do.
TEST_P(Range, EndsWithItsMessage) {
    const std::uint64_t page = SparseBuffer::page();
    Random random(83);
    const Bytes key_bytes = random.bytes(16);
    const Bytes iv = random.bytes(16);
    const Key key = make_key(key_bytes);
    SparseBuffer memory(2 * page, 0, page);
    for (const RangeMode& m : range_modes) {
        if (traits(m.mode).whole_blocks) continue;
        for (const std::size_t size : {11U, 75U}) {
            const Bytes input = random.bytes(size);
            const Bytes whole = expected(m.mode, m.direction, key_bytes, iv, input);
            std::uint8_t* at_end = memory.data() + page - size;
            std::memcpy(at_end, input.data(), size);
            for (std::size_t length = 1; length <= 11; ++length) {
                PoisonedBuffer output(length);
                Call message = make_message(m.mode, m.direction, key, iv, at_end, size, output.data(), length);
                message.flags = WARPAES_RANGE;
                message.range_offset = size - length;
                message.range_len = length;
                ASSERT_EQ(crypt(engine_, message), WARPAES_OK) << warpaes_last_error();
                ASSERT_EQ(output.bytes(length), Bytes(whole.end() - static_cast<std::ptrdiff_t>(length), whole.end()))
                    << name_of(m.mode, m.direction, 16) << ", the last " << length << " of " << size;
            }
        }
    }
}

WARPAES_FOR_EVERY_BACKEND(Range);

}  // namespace
}  // namespace abi_tests
