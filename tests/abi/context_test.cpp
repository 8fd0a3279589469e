// Tests messages in pieces. Any division gives the result of the whole message, and calls out of order are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "evp_oracle.hpp"
#include "support.hpp"

namespace abi_tests {
namespace {

constexpr std::size_t block = 16;

class ContextTest : public BackendTest {
protected:
    void SetUp() override {
        BackendTest::SetUp();
        key_bytes_ = random_.bytes(24);
        key_ = make_key(key_bytes_);
        iv_ = random_.bytes(16);
    }

    /// Returns a context that has started a message.
    Context begin(warpaes_mode mode, warpaes_direction direction, std::uint32_t flags = 0) {
        Context context = make_context(engine_);
        EXPECT_EQ(init(context, mode, direction, flags), WARPAES_OK) << warpaes_last_error();
        return context;
    }
    warpaes_status init(const Context& context, warpaes_mode mode, warpaes_direction direction,
                        std::uint32_t flags = 0) {
        const bool ecb = mode == WARPAES_ECB;
        return context_init(context.get(), mode, direction, key_.get(), ecb ? nullptr : iv_.data(), ecb ? 0 : 16,
                            flags);
    }

    /// Runs one update and appends its output to `out`.
    void update(const Context& context, const std::uint8_t* input, std::size_t length, Bytes& out) {
        PoisonedBuffer piece(length + block, random_.below(16));
        std::size_t written = 12345;
        ASSERT_EQ(warpaes_context_update(context.get(), input, length, piece.data(), piece.size(), &written),
                  WARPAES_OK)
            << warpaes_last_error();
        ASSERT_LE(written, length + block);
        ASSERT_TRUE(piece.intact_after(written)) << "wrote outside its output";
        const Bytes bytes = piece.bytes(written);
        out.insert(out.end(), bytes.begin(), bytes.end());
    }
    void finish(const Context& context, Bytes& out) {
        PoisonedBuffer piece(block);
        std::size_t written = 12345;
        ASSERT_EQ(warpaes_context_final(context.get(), piece.data(), piece.size(), &written), WARPAES_OK)
            << warpaes_last_error();
        ASSERT_TRUE(piece.intact_after(written));
        const Bytes bytes = piece.bytes(written);
        out.insert(out.end(), bytes.begin(), bytes.end());
    }
    /// Processes `input` in pieces of 0 to `longest` bytes.
    Bytes in_pieces(const Context& context, const Bytes& input, std::size_t longest) {
        Bytes out;
        for (std::size_t at = 0; at < input.size() && !HasFatalFailure();) {
            const std::size_t n = std::min(random_.below(longest + 1), input.size() - at);
            update(context, input.data() + at, n, out);
            at += n;
        }
        if (!HasFatalFailure()) finish(context, out);
        return out;
    }
    Bytes whole(warpaes_mode mode, warpaes_direction direction, const Bytes& input, bool padding = false) {
        return oracle::evp(traits(mode).name, direction == WARPAES_ENCRYPT, key_bytes_, iv_, input, padding).value();
    }

    Random random_{29};
    Bytes key_bytes_;
    Bytes iv_;
    Key key_;
};

TEST_P(ContextTest, AnyPiecesGiveTheWhole) {
    for (const ModeTraits& mode : all_modes()) {
        for (const warpaes_direction direction : directions) {
            const Context context = begin(mode.mode, direction);
            for (const std::size_t longest : {1U, 5U, 16U, 40U, 1000U}) {
                for (int round = 0; round < (simulated() ? 1 : 6); ++round) {
                    std::size_t length = random_.below(simulated() ? 5 * longest : 30 * longest);
                    if (mode.whole_blocks) length = length / block * block;
                    const Bytes input = random_.bytes(length);
                    ASSERT_EQ(init(context, mode.mode, direction), WARPAES_OK);
                    ASSERT_TRUE(in_pieces(context, input, longest) == whole(mode.mode, direction, input))
                        << name_of(mode.mode, direction, 24) << ", " << length << " bytes in pieces up to " << longest;
                }
            }
        }
    }
}

TEST_P(ContextTest, PaddedInAnyPieces) {
    for (const warpaes_mode mode : {WARPAES_ECB, WARPAES_CBC}) {
        const Context encrypt = begin(mode, WARPAES_ENCRYPT, WARPAES_PKCS7);
        const Context decrypt = begin(mode, WARPAES_DECRYPT, WARPAES_PKCS7);
        for (std::size_t length = 0; length <= 70; length += simulated() ? 14 : 1) {
            for (const std::size_t longest : {1U, 7U, 16U, 33U, 100U}) {
                const Bytes text = random_.bytes(length);
                const Bytes padded = whole(mode, WARPAES_ENCRYPT, text, true);
                ASSERT_EQ(init(encrypt, mode, WARPAES_ENCRYPT, WARPAES_PKCS7), WARPAES_OK);
                ASSERT_EQ(init(decrypt, mode, WARPAES_DECRYPT, WARPAES_PKCS7), WARPAES_OK);
                ASSERT_EQ(in_pieces(encrypt, text, longest), padded) << length;
                ASSERT_EQ(in_pieces(decrypt, padded, longest), text) << length;
            }
        }
    }
}

/// Tests pieces that are so long that the backend processes their blocks in chunks.
TEST_P(ContextTest, LongPieces) {
    for (const ModeTraits& mode : all_modes()) {
        if (mode.mode == WARPAES_CFB1) continue;
        for (const warpaes_direction direction : directions) {
            const Bytes input = random_.bytes(block * (simulated() ? 2000 : 40000));
            const Context context = begin(mode.mode, direction);
            ASSERT_TRUE(in_pieces(context, input, input.size() / 3) == whole(mode.mode, direction, input))
                << name_of(mode.mode, direction, 24);
        }
    }
}

TEST_P(ContextTest, EmptyMessages) {
    for (const ModeTraits& mode : all_modes()) {
        for (const warpaes_direction direction : directions) {
            const Context context = begin(mode.mode, direction);
            std::size_t written = 99;
            EXPECT_EQ(warpaes_context_update(context.get(), nullptr, 0, nullptr, 0, &written), WARPAES_OK)
                << warpaes_last_error();
            EXPECT_EQ(written, 0U);
            EXPECT_EQ(warpaes_context_final(context.get(), nullptr, 0, &written), WARPAES_OK) << warpaes_last_error();
            EXPECT_EQ(written, 0U);
        }
    }
}

/// Tests updates in place, with pieces of whole blocks for ECB and CBC and with pieces of any size for other modes.
TEST_P(ContextTest, InPlace) {
    for (const ModeTraits& mode : all_modes()) {
        for (const warpaes_direction direction : directions) {
            const Bytes input = random_.bytes(simulated() ? 320 : 3200);
            const Bytes want = whole(mode.mode, direction, input);
            Bytes buffer = input;
            const Context context = begin(mode.mode, direction);
            for (std::size_t at = 0; at < buffer.size();) {
                std::size_t n = random_.below(100) + 1;
                if (mode.whole_blocks) n = n / block * block + block;
                n = std::min(n, buffer.size() - at);
                std::size_t written = 0;
                ASSERT_EQ(warpaes_context_update(context.get(), buffer.data() + at, n, buffer.data() + at, n, &written),
                          WARPAES_OK)
                    << warpaes_last_error();
                ASSERT_EQ(written, n);
                at += n;
            }
            ASSERT_TRUE(buffer == want) << name_of(mode.mode, direction, 24);
        }
    }
}

/// Updates ECB and CBC in place while a partial block is pending. The output starts with a block whose first bytes came
/// from an earlier update.
TEST_P(ContextTest, InPlaceAcrossBlocks) {
    for (const warpaes_mode mode : {WARPAES_ECB, WARPAES_CBC}) {
        for (const warpaes_direction direction : directions) {
            const Bytes input = random_.bytes(block * 60);
            const Context context = begin(mode, direction);
            Bytes out;
            for (std::size_t at = 0; at < input.size();) {
                const std::size_t n = std::min(random_.below(100), input.size() - at);
                PoisonedBuffer buffer(n + block);
                std::memcpy(buffer.data(), input.data() + at, n);
                std::size_t written = 0;
                ASSERT_EQ(warpaes_context_update(context.get(), buffer.data(), n, buffer.data(), n + block, &written),
                          WARPAES_OK)
                    << warpaes_last_error();
                const Bytes piece = buffer.bytes(written);
                out.insert(out.end(), piece.begin(), piece.end());
                ASSERT_TRUE(buffer.intact_after(std::max(n, written)));
                at += n;
            }
            ASSERT_TRUE(out == whole(mode, direction, input)) << name_of(mode, direction, 24);
        }
    }
}

TEST_P(ContextTest, PartialOverlapIsRefusedAndNothingConsumed) {
    for (const ModeTraits& mode : all_modes()) {
        const Bytes input = random_.bytes(64);
        const Context context = begin(mode.mode, WARPAES_DECRYPT);
        PoisonedBuffer buffer(160);
        std::memcpy(buffer.data(), input.data(), 64);
        std::size_t written = 0;
        EXPECT_EQ(warpaes_context_update(context.get(), buffer.data(), 64, buffer.data() + 16, 96, &written),
                  WARPAES_ERROR_OVERLAP)
            << mode.name;
        EXPECT_TRUE(buffer.intact_after(64)) << mode.name;
        Bytes out;
        update(context, input.data(), 64, out);
        EXPECT_EQ(out, whole(mode.mode, WARPAES_DECRYPT, input)) << mode.name;
    }
}

/// An update with too small a buffer consumes nothing. The same update with a large enough buffer then succeeds.
TEST_P(ContextTest, TooSmallAnOutputConsumesNothing) {
    for (const ModeTraits& mode : all_modes()) {
        for (const warpaes_direction direction : directions) {
            const Bytes input = random_.bytes(96);
            const Context context = begin(mode.mode, direction);
            Bytes out;
            for (std::size_t at = 0; at < input.size(); at += 24) {
                PoisonedBuffer small(8);
                std::size_t written = 99;
                ASSERT_EQ(warpaes_context_update(context.get(), input.data() + at, 24, small.data(), 8, &written),
                          WARPAES_ERROR_BUFFER_TOO_SMALL);
                ASSERT_NE(std::string(warpaes_last_error()).find("output_capacity"), std::string::npos);
                ASSERT_EQ(written, traits(mode.mode).whole_blocks ? (at % 16 + 24) / 16 * 16 : 24U);
                ASSERT_TRUE(small.intact_after(0));
                update(context, input.data() + at, 24, out);
                ASSERT_FALSE(HasFatalFailure());
            }
            finish(context, out);
            ASSERT_EQ(out, whole(mode.mode, direction, input)) << name_of(mode.mode, direction, 24);
        }
    }
    const Context padded = begin(WARPAES_CBC, WARPAES_ENCRYPT, WARPAES_PKCS7);
    PoisonedBuffer small(16);
    std::size_t written = 99;
    EXPECT_EQ(warpaes_context_final(padded.get(), small.data(), 15, &written), WARPAES_ERROR_BUFFER_TOO_SMALL);
    EXPECT_EQ(written, 16U);
    EXPECT_TRUE(small.intact_after(0));
    EXPECT_EQ(warpaes_context_final(padded.get(), small.data(), 16, &written), WARPAES_OK) << warpaes_last_error();
    EXPECT_EQ(written, 16U);
    EXPECT_EQ(small.bytes(16), whole(WARPAES_CBC, WARPAES_ENCRYPT, {}, true));
}

TEST_P(ContextTest, ExactCapacityIsEnough) {
    const Bytes input = random_.bytes(40);
    const Context context = begin(WARPAES_CBC, WARPAES_ENCRYPT);
    PoisonedBuffer out(32);
    std::size_t written = 0;
    EXPECT_EQ(warpaes_context_update(context.get(), input.data(), 40, out.data(), 32, &written), WARPAES_OK)
        << warpaes_last_error();
    EXPECT_EQ(written, 32U);
    EXPECT_EQ(warpaes_context_update(context.get(), input.data(), 7, nullptr, 0, &written), WARPAES_OK)
        << "15 pending bytes are not a block: " << warpaes_last_error();
    EXPECT_EQ(written, 0U);
}

TEST_P(ContextTest, ResetStartsAgain) {
    for (const ModeTraits& mode : all_modes()) {
        for (const warpaes_direction direction : directions) {
            const Context context = begin(mode.mode, direction);
            const Bytes input = random_.bytes(64);
            Bytes ignored;
            update(context, input.data(), 37, ignored);
            for (int round = 0; round < 2; ++round) {
                const Bytes iv = random_.bytes(16);
                const bool ecb = mode.mode == WARPAES_ECB;
                ASSERT_EQ(warpaes_context_set_iv(context.get(), ecb ? nullptr : iv.data(), ecb ? 0 : 16), WARPAES_OK)
                    << warpaes_last_error();
                EXPECT_EQ(in_pieces(context, input, 20),
                          oracle::evp(mode.name, direction == WARPAES_ENCRYPT, key_bytes_, iv, input))
                    << name_of(mode.mode, direction, 24);
            }
        }
    }
}

TEST_P(ContextTest, CopiesGoOnIndependently) {
    for (const ModeTraits& mode : all_modes()) {
        for (const warpaes_direction direction : directions) {
            const Bytes head = random_.bytes(37);
            const Bytes tails[] = {random_.bytes(59), random_.bytes(59)};
            Context original = begin(mode.mode, direction);
            Bytes out;
            update(original, head.data(), head.size(), out);
            warpaes_context* raw = nullptr;
            ASSERT_EQ(warpaes_context_copy(original.get(), &raw), WARPAES_OK) << warpaes_last_error();
            const Context copy(raw);
            for (int i = 0; i < 2; ++i) {
                Bytes result = out;
                const Bytes rest = in_pieces(i == 0 ? original : copy, tails[i], 20);
                result.insert(result.end(), rest.begin(), rest.end());
                Bytes input = head;
                input.insert(input.end(), tails[i].begin(), tails[i].end());
                EXPECT_EQ(result, whole(mode.mode, direction, input)) << name_of(mode.mode, direction, 24);
                original.reset();  // the copy outlives the original
            }
        }
    }
}

TEST_P(ContextTest, SeekGoesAnywhere) {
    const Bytes input = random_.bytes(5000);
    for (const std::uint8_t counter_byte : {std::uint8_t{0x10}, std::uint8_t{0xff}}) {
        iv_.assign(16, counter_byte);
        const Bytes want = whole(WARPAES_CTR, WARPAES_ENCRYPT, input);
        const Context context = begin(WARPAES_CTR, WARPAES_ENCRYPT);
        std::vector<std::size_t> offsets{0, 1, 15, 16, 17, 4095, 4096, 3, 2500, 4999, 0};
        for (int i = 0; i < (simulated() ? 5 : 100); ++i) offsets.push_back(random_.below(input.size()));
        for (const std::size_t offset : offsets) {
            ASSERT_EQ(warpaes_context_seek(context.get(), offset), WARPAES_OK) << warpaes_last_error();
            const std::size_t n = std::min(random_.below(100), input.size() - offset);
            Bytes out;
            update(context, input.data() + offset, n / 2, out);
            update(context, input.data() + offset + n / 2, n - n / 2, out);
            ASSERT_TRUE(std::equal(out.begin(), out.end(), want.begin() + static_cast<std::ptrdiff_t>(offset)))
                << "at " << offset;
        }
    }
}

/// Seeks to byte offsets up to almost 2^64. All bits of the initial counter except the first are ones, so that carries
/// reach every part of the counter.
TEST_P(ContextTest, SeekFar) {
    iv_.assign(16, 0xff);
    iv_[0] = 0x7f;
    const Bytes zeros(48, 0);
    for (const std::uint64_t offset : {std::uint64_t{1} << 36, (std::uint64_t{1} << 63) + 5, ~std::uint64_t{0} - 60}) {
        const Context context = begin(WARPAES_CTR, WARPAES_ENCRYPT);
        ASSERT_EQ(warpaes_context_seek(context.get(), offset), WARPAES_OK) << warpaes_last_error();
        Bytes out;
        update(context, zeros.data(), 32, out);

        Bytes counter = iv_;
        std::uint64_t carry = offset / 16;
        for (std::size_t i = 16; i-- > 0; carry >>= 8) {
            carry += counter[i];
            counter[i] = static_cast<std::uint8_t>(carry);
        }
        const Bytes stream = expected(WARPAES_CTR, WARPAES_ENCRYPT, key_bytes_, counter, zeros);
        const auto first = stream.begin() + static_cast<std::ptrdiff_t>(offset % 16);
        EXPECT_EQ(out, Bytes(first, first + 32)) << offset;
    }
}

TEST_P(ContextTest, PaddingIsChecked) {
    const Context context = begin(WARPAES_CBC, WARPAES_DECRYPT, WARPAES_PKCS7);
    const Bytes bad = whole(WARPAES_CBC, WARPAES_ENCRYPT, Bytes(32, 0));
    Bytes out;
    update(context, bad.data(), bad.size(), out);
    EXPECT_EQ(out.size(), 16U) << "the last block is held back";
    PoisonedBuffer last(16);
    std::size_t written = 99;
    EXPECT_EQ(warpaes_context_final(context.get(), last.data(), 16, &written), WARPAES_ERROR_PADDING);
    EXPECT_NE(std::string(warpaes_last_error()).find("padding"), std::string::npos);
    EXPECT_EQ(written, 0U);
    EXPECT_TRUE(last.intact_after(0)) << "released the block whose padding is wrong";
}

TEST_P(ContextTest, TheLastBlockNeedsAPlace) {
    const Context context = begin(WARPAES_CBC, WARPAES_ENCRYPT, WARPAES_PKCS7);
    Bytes out;
    const Bytes text(5, 1);
    update(context, text.data(), text.size(), out);
    std::size_t written = 99;
    EXPECT_EQ(warpaes_context_final(context.get(), nullptr, 16, &written), WARPAES_ERROR_ARGUMENT);
    EXPECT_STREQ(warpaes_last_error(), "output: is null");
}

TEST_P(ContextTest, MessagesThatEndInsideABlock) {
    for (const std::uint32_t flags : {0U, static_cast<std::uint32_t>(WARPAES_PKCS7)}) {
        for (const std::size_t length : {5U, 21U}) {
            const Context context = begin(WARPAES_CBC, WARPAES_DECRYPT, flags);
            const Bytes input = random_.bytes(length);
            Bytes out;
            update(context, input.data(), length, out);
            std::size_t written = 99;
            PoisonedBuffer last(16);
            EXPECT_EQ(warpaes_context_final(context.get(), last.data(), 16, &written), WARPAES_ERROR_DATA_LENGTH);
            EXPECT_NE(std::string(warpaes_last_error()).find("input"), std::string::npos);
            EXPECT_TRUE(last.intact_after(0));
        }
    }
    const Context empty = begin(WARPAES_CBC, WARPAES_DECRYPT, WARPAES_PKCS7);
    std::size_t written = 99;
    PoisonedBuffer last(16);
    EXPECT_EQ(warpaes_context_final(empty.get(), last.data(), 16, &written), WARPAES_ERROR_DATA_LENGTH)
        << "a padded message has at least one block";
}

TEST_P(ContextTest, CallsOutOfOrder) {
    Context context = make_context(engine_);
    const Bytes input = random_.bytes(32);
    PoisonedBuffer output(64);
    std::size_t written = 99;
    const auto expect_state_error = [&](warpaes_status status) {
        EXPECT_EQ(status, WARPAES_ERROR_STATE);
        EXPECT_NE(std::string(warpaes_last_error()).find("context"), std::string::npos) << warpaes_last_error();
        EXPECT_TRUE(output.intact_after(0));
    };
    expect_state_error(warpaes_context_update(context.get(), input.data(), 32, output.data(), 64, &written));
    expect_state_error(warpaes_context_final(context.get(), output.data(), 64, &written));
    expect_state_error(warpaes_context_set_iv(context.get(), iv_.data(), 16));
    expect_state_error(warpaes_context_seek(context.get(), 0));

    ASSERT_EQ(init(context, WARPAES_CTR, WARPAES_ENCRYPT), WARPAES_OK);
    ASSERT_EQ(warpaes_context_final(context.get(), nullptr, 0, &written), WARPAES_OK);
    expect_state_error(warpaes_context_update(context.get(), input.data(), 32, output.data(), 64, &written));
    expect_state_error(warpaes_context_final(context.get(), output.data(), 64, &written));
    expect_state_error(warpaes_context_seek(context.get(), 0));
    ASSERT_EQ(warpaes_context_set_iv(context.get(), iv_.data(), 16), WARPAES_OK) << warpaes_last_error();
    Bytes out;
    update(context, input.data(), 32, out);
    EXPECT_EQ(out, whole(WARPAES_CTR, WARPAES_ENCRYPT, input));

    for (const std::uint32_t flags : {0U, static_cast<std::uint32_t>(WARPAES_PKCS7)}) {
        for (const warpaes_direction direction : directions) {
            const Context ended = begin(WARPAES_CBC, direction, flags);
            Bytes ignored;
            const Bytes text = whole(WARPAES_CBC, WARPAES_ENCRYPT, Bytes(20, 1), true);
            update(ended, text.data(), text.size(), ignored);
            finish(ended, ignored);
            expect_state_error(warpaes_context_update(ended.get(), input.data(), 32, output.data(), 64, &written));
            expect_state_error(warpaes_context_final(ended.get(), output.data(), 64, &written));
        }
    }
}

TEST_P(ContextTest, WrongArguments) {
    const Context context = begin(WARPAES_CBC, WARPAES_ENCRYPT);
    PoisonedBuffer output(64);
    std::size_t written = 99;
    const auto expect = [&](warpaes_status got, warpaes_status want, const std::string& named) {
        EXPECT_EQ(got, want) << named;
        EXPECT_NE(std::string(warpaes_last_error()).find(named), std::string::npos) << warpaes_last_error();
        EXPECT_TRUE(output.intact_after(0));
    };
    warpaes_context* raw = nullptr;
    expect(warpaes_context_create(nullptr, &raw), WARPAES_ERROR_ARGUMENT, "engine");
    expect(warpaes_context_create(engine_.get(), nullptr), WARPAES_ERROR_ARGUMENT, "context");
    expect(warpaes_context_copy(nullptr, &raw), WARPAES_ERROR_ARGUMENT, "context");
    expect(warpaes_context_copy(context.get(), nullptr), WARPAES_ERROR_ARGUMENT, "copy");
    std::uint8_t tag[16];
    expect(warpaes_context_get_tag(nullptr, tag, sizeof tag), WARPAES_ERROR_ARGUMENT, "context");
    expect(warpaes_context_set_tag(nullptr, tag, sizeof tag), WARPAES_ERROR_ARGUMENT, "context");
    const auto try_init = [&](int mode, int direction, const warpaes_key* key, const std::uint8_t* iv,
                              std::size_t iv_len, std::uint32_t flags) {
        return context_init(context.get(), static_cast<warpaes_mode>(mode), static_cast<warpaes_direction>(direction),
                            key, iv, iv_len, flags);
    };
    expect(context_init(nullptr, WARPAES_CBC, WARPAES_ENCRYPT, key_.get(), iv_.data(), 16, 0), WARPAES_ERROR_ARGUMENT,
           "context");
    expect(try_init(0, 1, key_.get(), iv_.data(), 16, 0), WARPAES_ERROR_ARGUMENT, "mode");
    expect(try_init(WARPAES_CBC, 0, key_.get(), iv_.data(), 16, 0), WARPAES_ERROR_ARGUMENT, "direction");
    expect(try_init(WARPAES_CBC, 1, nullptr, iv_.data(), 16, 0), WARPAES_ERROR_ARGUMENT, "key");
    expect(try_init(WARPAES_CBC, 1, key_.get(), nullptr, 16, 0), WARPAES_ERROR_ARGUMENT, "iv");
    expect(try_init(WARPAES_CBC, 1, key_.get(), iv_.data(), 15, 0), WARPAES_ERROR_IV_LENGTH, "iv");
    expect(try_init(WARPAES_CBC, 1, key_.get(), iv_.data(), 0, 0), WARPAES_ERROR_IV_LENGTH, "iv");
    expect(warpaes_context_init(context.get(), nullptr), WARPAES_ERROR_ARGUMENT, "options");
    expect(try_init(WARPAES_ECB, 1, key_.get(), iv_.data(), 16, 0), WARPAES_ERROR_IV_LENGTH, "iv");
    expect(try_init(WARPAES_CTR, 1, key_.get(), iv_.data(), 16, WARPAES_PKCS7), WARPAES_ERROR_ARGUMENT, "flags");
    expect(try_init(WARPAES_CBC, 1, key_.get(), iv_.data(), 16, WARPAES_RANGE), WARPAES_ERROR_ARGUMENT, "flags");
    expect(warpaes_context_update(nullptr, iv_.data(), 16, output.data(), 64, &written), WARPAES_ERROR_ARGUMENT,
           "context");
    expect(warpaes_context_update(context.get(), nullptr, 16, output.data(), 64, &written), WARPAES_ERROR_ARGUMENT,
           "input");
    expect(warpaes_context_update(context.get(), iv_.data(), 16, nullptr, 64, &written), WARPAES_ERROR_ARGUMENT,
           "output");
    expect(warpaes_context_update(context.get(), iv_.data(), 16, output.data(), 64, nullptr), WARPAES_ERROR_ARGUMENT,
           "output_len");
    expect(warpaes_context_final(nullptr, output.data(), 64, &written), WARPAES_ERROR_ARGUMENT, "context");
    expect(warpaes_context_final(context.get(), output.data(), 64, nullptr), WARPAES_ERROR_ARGUMENT, "output_len");
    expect(warpaes_context_set_iv(nullptr, iv_.data(), 16), WARPAES_ERROR_ARGUMENT, "context");
    expect(warpaes_context_set_iv(context.get(), iv_.data(), 3), WARPAES_ERROR_IV_LENGTH, "iv");
    expect(warpaes_context_seek(nullptr, 0), WARPAES_ERROR_ARGUMENT, "context");
    expect(warpaes_context_seek(context.get(), 16), WARPAES_ERROR_RANGE, "CTR");

    // The message continues correctly after all these errors.
    const Bytes input = random_.bytes(64);
    EXPECT_EQ(in_pieces(context, input, 20), whole(WARPAES_CBC, WARPAES_ENCRYPT, input));
    warpaes_context_destroy(nullptr);
}

WARPAES_FOR_EVERY_BACKEND(ContextTest);

}  // namespace
}  // namespace abi_tests
