// Tests that invalid arguments produce the right status and an error message that names the argument, and leave the
// output unchanged.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "support.hpp"

namespace abi_tests {
namespace {

class MessageErrors : public BackendTest {
protected:
    void SetUp() override {
        BackendTest::SetUp();
        key_ = make_key(Random(1).bytes(16));
        input_ = Random(2).bytes(64);
        iv_ = Random(3).bytes(16);
    }

    /// Checks that a valid message, made invalid by `change`, is refused.
    void expect_refused(const std::string& what, warpaes_status status, const std::string& named,
                        const std::function<void(warpaes_message&)>& change) {
        SCOPED_TRACE(what);
        PoisonedBuffer output(input_.size() + 16);
        Call message = make_message(WARPAES_CBC, WARPAES_DECRYPT, key_, iv_, input_.data(), input_.size(),
                                    output.data(), output.size());
        change(message);
        EXPECT_EQ(crypt(engine_, message), status) << warpaes_last_error();
        const std::string sentence = warpaes_last_error();
        EXPECT_NE(sentence.find(named), std::string::npos) << "does not name " << named << ": " << sentence;
        EXPECT_TRUE(output.intact_after(0)) << "the output was touched";
        if (status != WARPAES_ERROR_BUFFER_TOO_SMALL) {
            EXPECT_EQ(message.result.output_len, 0U);
        }
        EXPECT_EQ(message.result.notes, 0U);
    }

    Key key_;
    Bytes input_;
    Bytes iv_;
};

TEST_P(MessageErrors, TheMessageThatTheOthersSpoilWorks) {
    crypt(engine_, GetParam(), WARPAES_CBC, WARPAES_DECRYPT, key_, iv_, input_);
}

TEST_P(MessageErrors, AssociatedDataOfAModeThatHasNone) {
    for (const std::uint64_t length : {std::uint64_t{1}, std::numeric_limits<std::uint64_t>::max()}) {
        expect_refused(std::to_string(length), WARPAES_ERROR_ARGUMENT, "aad, tag",
                       [length](warpaes_message& m) { m.aad_len = length; });
    }
}

// One rule applies to all modes: a field that a mode does not use must be 0 or null.
TEST_P(MessageErrors, FieldsOfOtherModes) {
    const Key other = make_key(Random(5).bytes(16));
    Bytes tag(16);
    warpaes_status status = WARPAES_ERROR_INTERNAL;
    const warpaes_part part{tag.data(), 1};
    struct Field {
        const char* named;
        std::function<void(warpaes_message&)> set;
        std::function<bool(int mode)> has;
    };
    const auto tagged = [](int m) {
        return m == WARPAES_GCM || m == WARPAES_CCM || m == WARPAES_CMAC || m >= WARPAES_SIV;
    };
    const auto with_aad = [&](int m) { return tagged(m) && m != WARPAES_CMAC; };
    const auto xts = [](int m) { return m == WARPAES_XTS; };
    const auto siv = [](int m) { return m == WARPAES_SIV; };
    const auto none = [](int) { return false; };
    const Field fields[] = {{"aad", [&](auto& m) { m.aad_len = 1; }, with_aad},
                            {"tag", [&](auto& m) { m.tag = tag.data(); }, tagged},
                            {"tag", [&](auto& m) { m.tag_len = 16; }, tagged},
                            {"tweak_key", [&](auto& m) { m.tweak_key = other.get(); }, xts},
                            {"data_unit_len", [](auto& m) { m.data_unit_len = 16; }, xts},
                            {"data_unit_step", [](auto& m) { m.data_unit_step = 1; }, xts},
                            {"mac_key", [&](auto& m) { m.mac_key = other.get(); }, siv},
                            {"aad_list", [&](auto& m) { m.aad_list = &part; }, siv},
                            {"aad_count", [](auto& m) { m.aad_count = 1; }, siv},
                            {"device_status", [&](auto& m) { m.device_status = &status; }, none}};
    for (int mode = WARPAES_ECB; mode <= WARPAES_GCM_SIV; ++mode) {
        for (const warpaes_direction direction : directions) {
            for (const Field& field : fields) {
                if (field.has(mode)) continue;
                expect_refused("mode " + std::to_string(mode) + ", " + field.named, WARPAES_ERROR_ARGUMENT, field.named,
                               [&](warpaes_message& m) {
                                   m.mode = static_cast<warpaes_mode>(mode);
                                   m.direction = direction;
                                   m.iv_len = mode == WARPAES_ECB || mode == WARPAES_CMAC || mode == WARPAES_KW ||
                                                      mode == WARPAES_KWP
                                                  ? 0
                                              : mode == WARPAES_CCM || mode == WARPAES_GCM_SIV ? 12
                                                                                               : 16;
                                   if (mode == WARPAES_XTS) m.tweak_key = other.get();
                                   if (mode == WARPAES_SIV) m.mac_key = other.get();
                                   if (tagged(mode)) {
                                       m.tag = tag.data();
                                       m.tag_len = 16;
                                   }
                                   field.set(m);
                               });
            }
        }
    }
    EXPECT_EQ(status, WARPAES_ERROR_INTERNAL);
}

TEST_P(MessageErrors, NullAndUnknownValues) {
    Call message;
    EXPECT_EQ(warpaes_crypt(engine_.get(), nullptr, &message.result), WARPAES_ERROR_ARGUMENT);
    EXPECT_NE(std::string(warpaes_last_error()).find("message"), std::string::npos);
    EXPECT_STREQ(message.result.error, warpaes_last_error());
    EXPECT_EQ(crypt(Engine(), message), WARPAES_ERROR_ARGUMENT);
    EXPECT_NE(std::string(warpaes_last_error()).find("engine"), std::string::npos);

    for (const std::uint32_t size : {0U, 4U, 128U}) {
        expect_refused("struct_size " + std::to_string(size), WARPAES_ERROR_ARGUMENT, "struct_size",
                       [size](warpaes_message& m) { m.struct_size = size; });
    }
    for (const int mode : {-1, 0, 63, 64, 1000}) {
        expect_refused("mode " + std::to_string(mode), WARPAES_ERROR_ARGUMENT, "mode",
                       [mode](warpaes_message& m) { m.mode = static_cast<warpaes_mode>(mode); });
    }
    for (const int direction : {-1, 0, 3}) {
        expect_refused("direction " + std::to_string(direction), WARPAES_ERROR_ARGUMENT, "direction",
                       [direction](warpaes_message& m) { m.direction = static_cast<warpaes_direction>(direction); });
    }
    for (const std::uint32_t flags : {1U << 3, 1U << 31}) {
        expect_refused("flags " + std::to_string(flags), WARPAES_ERROR_ARGUMENT, "flags",
                       [flags](warpaes_message& m) { m.flags = flags; });
    }
    expect_refused("key null", WARPAES_ERROR_ARGUMENT, "key", [](warpaes_message& m) { m.key = nullptr; });
    expect_refused("iv null", WARPAES_ERROR_ARGUMENT, "iv", [](warpaes_message& m) { m.iv = nullptr; });
    expect_refused("input null", WARPAES_ERROR_ARGUMENT, "input", [](warpaes_message& m) { m.input = nullptr; });
    expect_refused("output null", WARPAES_ERROR_ARGUMENT, "output", [](warpaes_message& m) { m.output = nullptr; });
}

TEST_P(MessageErrors, IvLength) {
    for (const std::uint64_t length : {std::uint64_t{0}, std::uint64_t{12}, std::uint64_t{15}, std::uint64_t{17},
                                       std::numeric_limits<std::uint64_t>::max()}) {
        for (const ModeTraits& mode : all_modes()) {
            if (mode.mode == WARPAES_ECB) continue;
            expect_refused(mode.name + " iv_len " + std::to_string(length), WARPAES_ERROR_IV_LENGTH, "iv",
                           [&](warpaes_message& m) {
                               m.mode = mode.mode;
                               m.iv_len = length;
                           });
        }
    }
    expect_refused("ECB with an IV", WARPAES_ERROR_IV_LENGTH, "iv", [](warpaes_message& m) { m.mode = WARPAES_ECB; });
}

TEST_P(MessageErrors, DataLength) {
    for (const warpaes_mode mode : {WARPAES_ECB, WARPAES_CBC}) {
        for (const warpaes_direction direction : directions) {
            for (const std::uint64_t length : {1U, 15U, 17U, 63U}) {
                expect_refused(name_of(mode, direction, 16) + " " + std::to_string(length), WARPAES_ERROR_DATA_LENGTH,
                               "input_len", [&](warpaes_message& m) {
                                   m.mode = mode;
                                   m.direction = direction;
                                   m.iv_len = mode == WARPAES_ECB ? 0 : 16;
                                   m.input_len = length;
                               });
            }
        }
    }
    for (const std::uint64_t length : {0U, 15U, 33U}) {
        expect_refused("padded ciphertext of " + std::to_string(length), WARPAES_ERROR_DATA_LENGTH, "input_len",
                       [&](warpaes_message& m) {
                           m.flags = WARPAES_PKCS7;
                           m.input_len = length;
                       });
    }
    expect_refused("absurd length", WARPAES_ERROR_DATA_LENGTH, "input_len", [](warpaes_message& m) {
        m.mode = WARPAES_CTR;
        m.input_len = std::numeric_limits<std::uint64_t>::max();
        m.output_capacity = m.input_len;
    });
    expect_refused("absurd length, padded", WARPAES_ERROR_DATA_LENGTH, "input_len", [](warpaes_message& m) {
        m.direction = WARPAES_ENCRYPT;
        m.flags = WARPAES_PKCS7;
        m.input_len = std::numeric_limits<std::uint64_t>::max();
    });
}

TEST_P(MessageErrors, BuffersBeyondTheEndOfMemory) {
    constexpr std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
    const auto at_the_end = reinterpret_cast<std::uint8_t*>(max - 47);
    for (const warpaes_mode mode : {WARPAES_CTR, WARPAES_CFB1, WARPAES_XTS, WARPAES_GCM, WARPAES_CCM, WARPAES_CMAC}) {
        const bool tagged = mode == WARPAES_GCM || mode == WARPAES_CCM || mode == WARPAES_CMAC;
        const Key tweak_key = make_key(Random(4).bytes(16));
        Bytes tag(16);
        const auto refused = [&](const std::string& name, const std::function<void(warpaes_message&)>& change) {
            expect_refused("mode " + std::to_string(mode), WARPAES_ERROR_RANGE, name + ": extends", [&](auto& m) {
                m.mode = mode;
                m.iv_len = mode == WARPAES_CMAC ? 0 : mode == WARPAES_CCM ? 8 : 16;
                if (mode == WARPAES_XTS) m.tweak_key = tweak_key.get();
                if (tagged) {
                    m.tag = tag.data();
                    m.tag_len = 16;
                }
                change(m);
            });
        };
        refused("input", [&](auto& m) { m.input = at_the_end; });
        if (mode != WARPAES_CMAC) refused("output", [&](auto& m) { m.output = at_the_end; });
        if (tagged) refused("tag", [&](auto& m) { m.tag = at_the_end + 40; });
        for (const std::uint64_t length : {(std::uint64_t{1} << 56) + 1, max / 16}) {
            if (tagged && mode != WARPAES_CMAC) {
                refused("aad", [&](auto& m) {
                    m.aad = tag.data();
                    m.aad_len = length;
                });
            }
            if (mode != WARPAES_CTR && mode != WARPAES_CFB1 && mode != WARPAES_CMAC) continue;
            refused("input", [&](auto& m) {
                m.input_len = std::min(length, std::uint64_t{1} << 60);
                m.output_capacity = max;
            });
        }
    }
    expect_refused("bits", WARPAES_ERROR_RANGE, "input: extends", [](warpaes_message& m) {
        m.mode = WARPAES_CFB1;
        m.flags = WARPAES_LENGTH_IN_BITS;
        m.input_len = max;
        m.output_capacity = max;
    });
    // Tests the same error with a message in pieces.
    const Context context = make_context(engine_);
    std::size_t written = 1;
    for (const warpaes_mode mode : {WARPAES_CBC, WARPAES_CTR, WARPAES_GCM}) {
        Bytes output(64);
        ASSERT_EQ(context_init(context.get(), mode, WARPAES_ENCRYPT, key_.get(), iv_.data(), 16, 0), WARPAES_OK);
        ASSERT_EQ(warpaes_context_update(context.get(), input_.data(), 5, output.data(), 64, &written), WARPAES_OK);
        for (const std::uint64_t length : {max, max - 4, std::uint64_t{1} << 57}) {
            EXPECT_EQ(warpaes_context_update(context.get(), input_.data(), length, output.data(), max, &written),
                      WARPAES_ERROR_RANGE)
                << warpaes_last_error();
        }
        if (mode != WARPAES_GCM) continue;
        ASSERT_EQ(context_init(context.get(), mode, WARPAES_ENCRYPT, key_.get(), iv_.data(), 16, 0), WARPAES_OK);
        EXPECT_EQ(warpaes_context_aad(context.get(), input_.data(), std::uint64_t{1} << 57), WARPAES_ERROR_RANGE);
        EXPECT_EQ(warpaes_context_aad(context.get(), nullptr, 1), WARPAES_ERROR_ARGUMENT);
    }
}

TEST_P(MessageErrors, FlagsThatContradictEachOther) {
    for (const warpaes_mode mode : {WARPAES_CFB128, WARPAES_CFB8, WARPAES_CFB1, WARPAES_OFB, WARPAES_CTR}) {
        expect_refused(traits(mode).name + " padded", WARPAES_ERROR_ARGUMENT, "flags", [&](warpaes_message& m) {
            m.mode = mode;
            m.flags = WARPAES_PKCS7;
        });
    }
    for (const ModeTraits& mode : all_modes()) {
        if (mode.mode == WARPAES_CFB1) continue;
        expect_refused(mode.name + " in bits", WARPAES_ERROR_ARGUMENT, "flags", [&](warpaes_message& m) {
            m.mode = mode.mode;
            m.iv_len = mode.mode == WARPAES_ECB ? 0 : 16;
            m.flags = WARPAES_LENGTH_IN_BITS;
        });
    }
    expect_refused("padded range", WARPAES_ERROR_ARGUMENT, "flags", [](warpaes_message& m) {
        m.flags = WARPAES_PKCS7 | WARPAES_RANGE;
        m.range_len = 16;
    });
}

TEST_P(MessageErrors, Capacity) {
    for (const std::uint64_t capacity : {0U, 1U, 63U}) {
        expect_refused("capacity " + std::to_string(capacity), WARPAES_ERROR_BUFFER_TOO_SMALL, "output_capacity",
                       [capacity](warpaes_message& m) { m.output_capacity = capacity; });
    }
    PoisonedBuffer output(64);
    Call message =
        make_message(WARPAES_CTR, WARPAES_ENCRYPT, key_, iv_, input_.data(), input_.size(), output.data(), 63);
    EXPECT_EQ(crypt(engine_, message), WARPAES_ERROR_BUFFER_TOO_SMALL);
    EXPECT_EQ(message.result.output_len, 64U) << "output_len contains the required size";
    message.flags = WARPAES_RANGE;
    message.range_offset = 3;
    message.range_len = 40;
    message.output_capacity = 39;
    EXPECT_EQ(crypt(engine_, message), WARPAES_ERROR_BUFFER_TOO_SMALL);
    EXPECT_EQ(message.result.output_len, 40U);
    message.output_capacity = 40;
    EXPECT_EQ(crypt(engine_, message), WARPAES_OK) << warpaes_last_error();
}

TEST_P(MessageErrors, Ranges) {
    struct Case {
        std::uint64_t offset;
        std::uint64_t length;
    };
    constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
    for (const Case& c : {Case{0, 65}, Case{64, 1}, Case{65, 0}, Case{1, 64}, Case{huge, 1}, Case{1, huge},
                          Case{huge - 7, 16}, Case{huge, huge}}) {
        expect_refused("range " + std::to_string(c.offset) + " + " + std::to_string(c.length), WARPAES_ERROR_RANGE,
                       "range", [&](warpaes_message& m) {
                           m.flags = WARPAES_RANGE;
                           m.range_offset = c.offset;
                           m.range_len = c.length;
                       });
    }
    struct Serial {
        warpaes_mode mode;
        warpaes_direction direction;
    };
    for (const Serial& s : {Serial{WARPAES_CBC, WARPAES_ENCRYPT}, Serial{WARPAES_CFB128, WARPAES_ENCRYPT},
                            Serial{WARPAES_CFB8, WARPAES_ENCRYPT}, Serial{WARPAES_CFB1, WARPAES_ENCRYPT},
                            Serial{WARPAES_OFB, WARPAES_ENCRYPT}, Serial{WARPAES_OFB, WARPAES_DECRYPT}}) {
        expect_refused("a range of " + name_of(s.mode, s.direction, 16), WARPAES_ERROR_RANGE, "range",
                       [&](warpaes_message& m) {
                           m.mode = s.mode;
                           m.direction = s.direction;
                           m.flags = WARPAES_RANGE;
                           m.range_len = 16;
                       });
    }
}

TEST_P(MessageErrors, Overlap) {
    for (const ModeTraits& mode : all_modes()) {
        for (const warpaes_direction direction : directions) {
            for (const std::ptrdiff_t distance : {-63, -16, -1, 1, 15, 16, 32, 63}) {
                PoisonedBuffer buffer(256);
                std::uint8_t* in = buffer.data() + 96;
                Call message = make_message(mode.mode, direction, key_, iv_, in, 64, in + distance, 64);
                EXPECT_EQ(crypt(engine_, message), WARPAES_ERROR_OVERLAP)
                    << name_of(mode.mode, direction, 16) << " " << distance;
                EXPECT_NE(std::string(warpaes_last_error()).find("output"), std::string::npos);
                EXPECT_TRUE(buffer.intact_after(0)) << name_of(mode.mode, direction, 16) << " " << distance;
            }
            for (const std::ptrdiff_t distance : {-64, 64}) {
                PoisonedBuffer buffer(256);
                std::uint8_t* in = buffer.data() + 96;
                Call message = make_message(mode.mode, direction, key_, iv_, in, 64, in + distance, 64);
                EXPECT_EQ(crypt(engine_, message), WARPAES_OK) << "neighbours do not overlap";
            }
        }
    }
    // A range cannot be processed in place.
    PoisonedBuffer buffer(64);
    Call message = make_message(WARPAES_CTR, WARPAES_DECRYPT, key_, iv_, buffer.data(), 64, buffer.data(), 64);
    message.flags = WARPAES_RANGE;
    message.range_len = 64;
    EXPECT_EQ(crypt(engine_, message), WARPAES_ERROR_OVERLAP);
    EXPECT_TRUE(buffer.intact_after(0));
    // For a padded message, no part of the output may overlap the input, not even the part past the input's length.
    PoisonedBuffer padded(96);
    message = make_message(WARPAES_CBC, WARPAES_ENCRYPT, key_, iv_, padded.data() + 16, 16, padded.data(), 32);
    message.flags = WARPAES_PKCS7;
    EXPECT_EQ(crypt(engine_, message), WARPAES_ERROR_OVERLAP);
    EXPECT_TRUE(padded.intact_after(0));
}

TEST_P(MessageErrors, AsynchronousCallsTakeDeviceMemory) {
    PoisonedBuffer output(64);
    Call message =
        make_message(WARPAES_CTR, WARPAES_ENCRYPT, key_, iv_, input_.data(), input_.size(), output.data(), 64);
    EXPECT_EQ(crypt_async(engine_, message), WARPAES_ERROR_ARGUMENT);
    EXPECT_NE(std::string(warpaes_last_error()).find("input"), std::string::npos) << warpaes_last_error();
    EXPECT_TRUE(output.intact_after(0));
}

TEST_P(MessageErrors, NewerStructs) {
    struct Newer {
        warpaes_message message;
        std::uint64_t unknown;
    };
    PoisonedBuffer output(64);
    Newer newer{make_message(WARPAES_CTR, WARPAES_ENCRYPT, key_, iv_, input_.data(), 64, output.data(), 64), 0};
    newer.message.struct_size = sizeof newer;
    EXPECT_EQ(warpaes_crypt(engine_.get(), &newer.message, nullptr), WARPAES_OK) << warpaes_last_error();
    EXPECT_EQ(newer.message.struct_size, sizeof newer);
    newer.unknown = 1;
    EXPECT_EQ(warpaes_crypt(engine_.get(), &newer.message, nullptr), WARPAES_ERROR_ARGUMENT)
        << "a request that it does not support";
}

WARPAES_FOR_EVERY_BACKEND(MessageErrors);

}  // namespace
}  // namespace abi_tests
