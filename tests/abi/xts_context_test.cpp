// Tests XTS in pieces, with data units of every size, with and without ciphertext stealing. Any division gives the
// result of the whole message.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "device.hpp"
#include "evp_oracle.hpp"

namespace abi_tests {
namespace {

/// Two keys, and the number of the first data unit.
struct XtsKeys {
    XtsKeys(Random& random, std::size_t bytes)
        : key_bytes(random.bytes(bytes)),
          tweak_bytes(random.bytes(bytes)),
          key(make_key(key_bytes)),
          tweak(make_key(tweak_bytes)),
          number(random.bytes(16)),
          step(random.below(3) == 0 ? 8 : random.below(2)) {}

    [[nodiscard]] warpaes_context_options options(warpaes_direction direction, std::size_t unit) const {
        warpaes_context_options o = WARPAES_CONTEXT_OPTIONS_INIT;
        o.mode = WARPAES_XTS;
        o.direction = direction;
        o.key = key.get();
        o.tweak_key = tweak.get();
        o.iv = number.data();
        o.iv_len = number.size();
        o.data_unit_len = unit;
        o.data_unit_step = step;
        return o;
    }
    [[nodiscard]] Bytes whole(warpaes_direction direction, std::size_t unit, const Bytes& input) const {
        return oracle::xts(direction == WARPAES_ENCRYPT, key_bytes, tweak_bytes, number,
                           unit != 0 ? unit : std::max<std::size_t>(input.size(), 1), input, step != 0 ? step : 1);
    }

    Bytes key_bytes, tweak_bytes;
    Key key, tweak;
    Bytes number;
    std::uint64_t step;
};

class XtsContext : public BackendTest {
protected:
    Context begin(const XtsKeys& keys, warpaes_direction direction, std::size_t unit) {
        Context context = make_context(engine_);
        const warpaes_context_options options = keys.options(direction, unit);
        EXPECT_EQ(warpaes_context_init(context.get(), &options), WARPAES_OK) << warpaes_last_error();
        return context;
    }

    /// Runs one update, which writes only whole data units. `waiting` bytes are still pending from earlier updates.
    void update(const Context& context, const std::uint8_t* input, std::size_t length, std::size_t unit,
                std::size_t waiting, bool in_place, Bytes& out) {
        const std::size_t wanted = (waiting + length) / unit * unit, room = std::max(length, wanted);
        PoisonedBuffer from(length, random_.below(17)), to(room, random_.below(17));
        if (length != 0) std::memcpy((in_place ? to : from).data(), input, length);
        std::size_t written = 12345;
        ASSERT_EQ(warpaes_context_update(context.get(), in_place ? to.data() : from.data(), length, to.data(),
                                         in_place ? room : wanted, &written),
                  WARPAES_OK)
            << warpaes_last_error();
        ASSERT_EQ(written, wanted);
        ASSERT_TRUE(to.intact_after(in_place ? room : wanted)) << "wrote outside its output";
        const Bytes piece = to.bytes(written);
        out.insert(out.end(), piece.begin(), piece.end());
    }
    void finish(const Context& context, std::size_t rest, Bytes& out) {
        PoisonedBuffer last(rest);
        std::size_t written = 12345;
        ASSERT_EQ(warpaes_context_final(context.get(), last.data(), rest, &written), WARPAES_OK)
            << warpaes_last_error();
        ASSERT_EQ(written, rest);
        ASSERT_TRUE(last.intact_after(rest));
        const Bytes piece = last.bytes(rest);
        out.insert(out.end(), piece.begin(), piece.end());
    }
    /// Processes the input in pieces of exactly `piece` bytes, or of 0 to `longest` bytes.
    Bytes in_pieces(const Context& context, const Bytes& input, std::size_t unit, std::size_t longest, bool exactly,
                    bool in_place) {
        Bytes out;
        for (std::size_t at = 0; at < input.size() && !HasFatalFailure();) {
            const std::size_t n = std::min(exactly ? longest : random_.below(longest + 1), input.size() - at);
            update(context, input.data() + at, n, unit, at % unit, in_place, out);
            at += n;
        }
        if (!HasFatalFailure()) finish(context, input.size() % unit, out);
        return out;
    }
    void check(std::size_t unit, std::size_t length, std::size_t longest) {
        const XtsKeys keys(random_, ++turn_ % 2 == 0 ? 16 : 32);
        const Bytes input = random_.bytes(length);
        for (const warpaes_direction direction : directions) {
            const Bytes want = keys.whole(direction, unit, input);
            for (const bool in_place : {false, true}) {
                SCOPED_TRACE(std::to_string(length) + " bytes in units of " + std::to_string(unit) + ", pieces of " +
                             std::to_string(longest) + ", direction " + std::to_string(direction) +
                             (in_place ? ", in place" : ""));
                const Context context = begin(keys, direction, unit);
                ASSERT_TRUE(in_pieces(context, input, unit, longest, turn_ % 3 != 0, in_place) == want);
            }
        }
        // The library's result for the whole message also equals libcrypto's.
        Bytes output(length);
        Call m = make_message(WARPAES_XTS, WARPAES_ENCRYPT, keys.key, keys.number, input.data(), length, output.data(),
                              length);
        m.tweak_key = keys.tweak.get();
        m.data_unit_len = unit;
        m.data_unit_step = keys.step;
        ASSERT_EQ(crypt(engine_, m), WARPAES_OK) << warpaes_last_error();
        ASSERT_TRUE(output == keys.whole(WARPAES_ENCRYPT, unit, input));
    }

    [[nodiscard]] bool slow() const { return simulated() && GetParam() == "cuda"; }

    Random random_{190};
    unsigned turn_ = 0;
};

TEST_P(XtsContext, PiecesRoundUnitsAndBlocks) {
    for (const std::size_t unit : {16U, 17U, 31U, 32U, 48U, 65U, 512U, 520U, 4096U}) {
        for (const std::size_t rest : {std::size_t{0}, std::size_t{16}, std::size_t{17}, std::size_t{31}, unit - 1}) {
            if (rest >= unit || (rest != 0 && rest < 16)) continue;
            for (const std::size_t longest : {std::size_t{1}, std::size_t{15}, std::size_t{16}, std::size_t{17},
                                              unit - 1, unit, unit + 1, 2 * unit, 3 * unit + 5}) {
                if (longest < 16 && unit > 600) continue;
                if (slow() && (turn_++ % 7 != 0 || longest * 20 < unit)) continue;
                check(unit, (longest >= unit ? 7 : 3) * unit + rest, longest);
                if (HasFatalFailure()) return;
            }
        }
    }
}

TEST_P(XtsContext, LongPieces) {
    const std::size_t length = slow() ? 30000 : 1000000;
    for (const std::size_t unit : {std::size_t{512}, std::size_t{4096}, std::size_t{5000}}) {
        check(unit, length / unit * unit + 100, length / 3);
    }
}

TEST_P(XtsContext, OneUnit) {
    const XtsKeys keys(random_, 16);
    std::size_t written = 99;
    for (const std::size_t length : {16U, 17U, 31U, 32U, 1000U, 4111U}) {
        const Bytes input = random_.bytes(length);
        for (const warpaes_direction direction : directions) {
            for (const bool in_place : {false, true}) {
                const Context context = begin(keys, direction, 0);
                ASSERT_EQ(warpaes_context_update(context.get(), nullptr, 0, nullptr, 0, &written), WARPAES_OK)
                    << "an empty text is not a data unit";
                PoisonedBuffer output(length, 5);
                if (in_place) output.assign(input);
                ASSERT_EQ(warpaes_context_update(context.get(), in_place ? output.data() : input.data(), length,
                                                 output.data(), length, &written),
                          WARPAES_OK)
                    << warpaes_last_error();
                ASSERT_EQ(written, length);
                ASSERT_EQ(output.bytes(length), keys.whole(direction, 0, input));
                ASSERT_TRUE(output.intact_after(length));
                EXPECT_EQ(warpaes_context_update(context.get(), input.data(), 16, output.data(), 16, &written),
                          WARPAES_ERROR_STATE);
                EXPECT_NE(std::string(warpaes_last_error()).find("one update"), std::string::npos);
                EXPECT_EQ(written, 0U);
                ASSERT_EQ(warpaes_context_final(context.get(), nullptr, 0, &written), WARPAES_OK);
                EXPECT_EQ(written, 0U);
            }
        }
    }
    const Bytes input((std::size_t{1} << 24) + 1);
    Bytes output(input.size());
    const Context context = begin(keys, WARPAES_ENCRYPT, 0);
    for (const std::size_t length : {std::size_t{1}, std::size_t{15}, input.size()}) {
        EXPECT_EQ(warpaes_context_update(context.get(), input.data(), length, output.data(), length, &written),
                  WARPAES_ERROR_DATA_LENGTH);
        EXPECT_EQ(std::string(warpaes_last_error()).find("input_len: a data unit"), 0U);
    }
    EXPECT_TRUE(output == Bytes(output.size()));
    EXPECT_EQ(warpaes_context_final(context.get(), nullptr, 0, &written), WARPAES_ERROR_DATA_LENGTH)
        << "like warpaes_crypt with an empty text";
}

TEST_P(XtsContext, ALastUnitThatIsTooShortIsRefusedUntilThereIsMore) {
    const XtsKeys keys(random_, 32);
    const Bytes input = random_.bytes(1100);
    for (const warpaes_direction direction : directions) {
        const Context context = begin(keys, direction, 512);
        Bytes out;
        update(context, input.data(), 1024 + 1, 512, 0, false, out);
        for (std::size_t n = 1; n < 16; ++n) {
            PoisonedBuffer last(512);
            std::size_t written = 99;
            ASSERT_EQ(warpaes_context_final(context.get(), last.data(), 512, &written), WARPAES_ERROR_DATA_LENGTH);
            ASSERT_NE(std::string(warpaes_last_error()).find("leaves " + std::to_string(n) + " bytes"),
                      std::string::npos)
                << warpaes_last_error();
            ASSERT_EQ(written, 0U);
            ASSERT_TRUE(last.intact_after(0));
            update(context, input.data() + 1024 + n, 1, 512, n, false, out);
        }
        finish(context, 16, out);
        EXPECT_EQ(out, keys.whole(direction, 512, Bytes(input.begin(), input.begin() + 1040)));
    }
}

TEST_P(XtsContext, TooSmallAnOutputConsumesNothing) {
    const XtsKeys keys(random_, 16);
    const Bytes input = random_.bytes(300);
    const Context context = begin(keys, WARPAES_ENCRYPT, 100);
    Bytes out;
    std::size_t written = 99;
    for (std::size_t at = 0; at < 280; at += 70) {
        const std::size_t wanted = (at % 100 + 70) / 100 * 100;
        PoisonedBuffer small(100);
        if (wanted != 0) {
            ASSERT_EQ(warpaes_context_update(context.get(), input.data() + at, 70, small.data(), wanted - 1, &written),
                      WARPAES_ERROR_BUFFER_TOO_SMALL);
            ASSERT_EQ(written, wanted);
            ASSERT_EQ(warpaes_context_update(context.get(), input.data() + at, 70, nullptr, wanted, &written),
                      WARPAES_ERROR_ARGUMENT);
            ASSERT_TRUE(small.intact_after(0));
        }
        update(context, input.data() + at, 70, 100, at % 100, false, out);
    }
    PoisonedBuffer last(80);
    ASSERT_EQ(warpaes_context_final(context.get(), last.data(), 79, &written), WARPAES_ERROR_BUFFER_TOO_SMALL);
    EXPECT_EQ(written, 80U);
    ASSERT_EQ(warpaes_context_final(context.get(), nullptr, 80, &written), WARPAES_ERROR_ARGUMENT);
    EXPECT_TRUE(last.intact_after(0));
    finish(context, 80, out);
    EXPECT_EQ(out, keys.whole(WARPAES_ENCRYPT, 100, Bytes(input.begin(), input.begin() + 280)));
}

TEST_P(XtsContext, PartialOverlapIsRefused) {
    const XtsKeys keys(random_, 16);
    const Context context = begin(keys, WARPAES_ENCRYPT, 64);
    Bytes buffer = random_.bytes(400), out;
    const Bytes before = buffer;
    update(context, before.data(), 30, 64, 0, false, out);
    for (const std::ptrdiff_t distance : {-127, -1, 1, 63, 99}) {
        std::size_t written = 99;
        EXPECT_EQ(warpaes_context_update(context.get(), buffer.data() + 150, 100, buffer.data() + 150 + distance, 128,
                                         &written),
                  WARPAES_ERROR_OVERLAP)
            << distance;
    }
    EXPECT_EQ(buffer, before);
    update(context, before.data() + 30, 34, 64, 30, false, out);
    EXPECT_EQ(out, keys.whole(WARPAES_ENCRYPT, 64, Bytes(before.begin(), before.begin() + 64)));
}

TEST_P(XtsContext, NumbersGoOnAtZero) {
    XtsKeys keys(random_, 16);
    keys.number.assign(16, 0xff);
    const Bytes input = random_.bytes(5 * 32);
    const Context context = begin(keys, WARPAES_ENCRYPT, 32);
    EXPECT_EQ(in_pieces(context, input, 32, 20, true, false), keys.whole(WARPAES_ENCRYPT, 32, input));
}

TEST_P(XtsContext, WhatCannotBeIsRefused) {
    const XtsKeys keys(random_, 16), other(random_, 24);
    const Context context = begin(keys, WARPAES_ENCRYPT, 32);
    const Bytes input = random_.bytes(64);
    Bytes out;
    update(context, input.data(), 40, 32, 0, false, out);
    const auto refused = [&](warpaes_status status, const std::string& words, auto change) {
        warpaes_context_options o = keys.options(WARPAES_ENCRYPT, 512);
        change(o);
        EXPECT_EQ(warpaes_context_init(context.get(), &o), status) << words;
        EXPECT_EQ(std::string(warpaes_context_error(context.get())).find(words), 0U)
            << warpaes_context_error(context.get());
    };
    refused(WARPAES_ERROR_ARGUMENT, "tweak_key: is null", [](auto& o) { o.tweak_key = nullptr; });
    refused(WARPAES_ERROR_ARGUMENT, "key: is null", [](auto& o) { o.key = nullptr; });
    refused(WARPAES_ERROR_ARGUMENT, "key, tweak_key: are equal", [](auto& o) { o.tweak_key = o.key; });
    refused(WARPAES_ERROR_KEY_LENGTH, "key", [&](auto& o) { o.key = other.key.get(); });
    refused(WARPAES_ERROR_KEY_LENGTH, "tweak_key", [&](auto& o) { o.tweak_key = other.key.get(); });
    refused(WARPAES_ERROR_IV_LENGTH, "iv", [](auto& o) { o.iv_len = 12; });
    refused(WARPAES_ERROR_ARGUMENT, "flags", [](auto& o) { o.flags = WARPAES_PKCS7; });
    for (const std::uint64_t unit : {std::uint64_t{1}, std::uint64_t{15}, (std::uint64_t{1} << 24) + 1, UINT64_MAX}) {
        refused(WARPAES_ERROR_ARGUMENT, "data_unit_len", [&](auto& o) { o.data_unit_len = unit; });
    }
    refused(WARPAES_ERROR_ARGUMENT, "text_len, aad_len, tag_len", [](auto& o) { o.text_len = 1; });
    refused(WARPAES_ERROR_ARGUMENT, "tweak_key", [](auto& o) {
        o.mode = WARPAES_CTR;
        o.data_unit_len = o.data_unit_step = 0;
    });
    refused(WARPAES_ERROR_ARGUMENT, "data_unit_step", [](auto& o) { o.data_unit_step = (1u << 20) + 1; });
    refused(WARPAES_ERROR_ARGUMENT, "tweak_key, data_unit_len", [](auto& o) { o.mode = WARPAES_CTR; });
    EXPECT_EQ(warpaes_context_aad(context.get(), input.data(), 1), WARPAES_ERROR_STATE);
    EXPECT_EQ(warpaes_context_seek(context.get(), 0), WARPAES_ERROR_RANGE);
    // After all these errors, the message continues.
    update(context, input.data() + 40, 24, 32, 8, false, out);
    finish(context, 0, out);
    EXPECT_EQ(out, keys.whole(WARPAES_ENCRYPT, 32, input));
}

WARPAES_FOR_EVERY_BACKEND(XtsContext);

class XtsContextDevice : public DeviceTest {};

TEST_P(XtsContextDevice, PiecesInDeviceMemory) {
    const XtsKeys keys(random_, 32);
    for (const std::size_t unit : {32U, 50U, 512U}) {
        const Bytes input = random_.bytes(6 * unit + 20);
        for (const warpaes_direction direction : directions) {
            for (const bool in_place : {false, true}) {
                SCOPED_TRACE(std::to_string(unit) + ", direction " + std::to_string(direction) +
                             (in_place ? ", in place" : ""));
                const Buffer in = on_device(input, 3), apart = allocate(input.size(), 7);
                const Buffer& out = in_place ? in : apart;
                const Context context = make_context(engine_);
                const warpaes_context_options options = keys.options(direction, unit);
                ASSERT_EQ(warpaes_context_init(context.get(), &options), WARPAES_OK) << warpaes_last_error();
                std::size_t total = 0, written = 0;
                for (std::size_t at = 0; at < input.size();) {
                    // All pieces share one buffer. An output starts at the same position as its input only at the start
                    // of a data unit.
                    std::size_t n = in_place ? unit * (1 + random_.below(3)) : random_.below(2 * unit);
                    n = std::min(n, input.size() - at);
                    ASSERT_EQ(warpaes_context_update(context.get(), in.data() + at, n, out.data() + total,
                                                     input.size() - total, &written),
                              WARPAES_OK)
                        << warpaes_last_error();
                    at += n;
                    total += written;
                }
                ASSERT_EQ(total, 6 * unit);
                ASSERT_EQ(warpaes_context_final(context.get(), out.data() + total, 20, &written), WARPAES_OK)
                    << warpaes_last_error();
                ASSERT_EQ(written, 20U);
                EXPECT_TRUE(read(out, input.size()) == keys.whole(direction, unit, input));
            }
        }
    }
    // Each piece is processed in place in the same buffer, even if it does not begin with a data unit.
    for (const warpaes_direction direction : directions) {
        const Bytes input = random_.bytes(6 * 32 + 20);
        const Buffer buffer = allocate(200, 3);
        const Context context = make_context(engine_);
        const warpaes_context_options options = keys.options(direction, 32);
        ASSERT_EQ(warpaes_context_init(context.get(), &options), WARPAES_OK);
        Bytes all;
        const auto take = [&](std::size_t written) {
            Bytes piece(written);
            copy(piece.data(), buffer.data(), written);
            all.insert(all.end(), piece.begin(), piece.end());
        };
        std::size_t written = 0;
        for (std::size_t at = 0; at < input.size();) {
            const std::size_t n = std::min(1 + random_.below(100), input.size() - at);
            copy(buffer.data(), input.data() + at, n);
            ASSERT_EQ(warpaes_context_update(context.get(), buffer.data(), n, buffer.data(), 200, &written), WARPAES_OK)
                << warpaes_last_error();
            take(written);
            at += n;
        }
        ASSERT_EQ(warpaes_context_final(context.get(), buffer.data(), 200, &written), WARPAES_OK);
        take(written);
        EXPECT_EQ(all, keys.whole(direction, 32, input));
    }
}

WARPAES_FOR_EVERY_DEVICE(XtsContextDevice);

}  // namespace
}  // namespace abi_tests
