// Tests a context's states in every mode: keys and IVs that are set separately, the current IV, copies, and error
// messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "support.hpp"

namespace abi_tests {
namespace {

constexpr std::size_t text_bytes = 160, aad_bytes = 21, unit = 32;

bool has_tag(warpaes_mode mode) {
    return mode == WARPAES_GCM || mode == WARPAES_CCM || mode == WARPAES_CMAC;
}
bool has_aad(warpaes_mode mode) {
    return mode == WARPAES_GCM || mode == WARPAES_CCM;
}
bool has_iv(warpaes_mode mode) {
    return mode != WARPAES_ECB && mode != WARPAES_CMAC;
}
/// Returns whether another context can continue from the IV that get_iv returns.
bool goes_on(warpaes_mode mode) {
    return has_iv(mode) && !has_tag(mode);
}

/// The output and the tag that a context computes for one message.
struct Outcome {
    Bytes output, tag;
    bool operator==(const Outcome&) const = default;
};

/// A key and, for XTS, the second key.
struct KeyPair {
    explicit KeyPair(Random& random) : key(make_key(random.bytes(32))), tweak(make_key(random.bytes(32))) {}
    [[nodiscard]] const warpaes_key* second(warpaes_mode mode) const {
        return mode == WARPAES_XTS ? tweak.get() : nullptr;
    }
    Key key, tweak;
};

class ContextState : public testing::TestWithParam<std::tuple<std::string, int>> {
protected:
    ContextState()
        : engine_(make_engine(std::get<0>(GetParam()))), mode_(static_cast<warpaes_mode>(std::get<1>(GetParam()))) {}

    /// Returns options without a key or an IV.
    [[nodiscard]] warpaes_context_options options(warpaes_direction direction) const {
        warpaes_context_options o = WARPAES_CONTEXT_OPTIONS_INIT;
        o.mode = mode_;
        o.direction = direction;
        if (mode_ == WARPAES_XTS) o.data_unit_len = unit;
        if (mode_ == WARPAES_CCM) {
            o.text_len = text_bytes;
            o.aad_len = aad_bytes;
            o.tag_len = 16;
        }
        return o;
    }
    Bytes any_iv() { return random_.bytes(!has_iv(mode_) ? 0 : has_tag(mode_) ? 12 : 16); }
    [[nodiscard]] static warpaes_status set_iv(const Context& context, const Bytes& iv) {
        return warpaes_context_set_iv(context.get(), iv.empty() ? nullptr : iv.data(), iv.size());
    }
    [[nodiscard]] warpaes_status set_key(const Context& context, const KeyPair& keys) const {
        return warpaes_context_set_key(context.get(), keys.key.get(), keys.second(mode_));
    }
    /// Returns a context that has started a message.
    Context begin(warpaes_direction direction, const KeyPair& keys, const Bytes& iv) {
        Context context = make_context(engine_);
        warpaes_context_options o = options(direction);
        o.key = keys.key.get();
        o.tweak_key = keys.second(mode_);
        o.iv = iv.empty() ? nullptr : iv.data();
        o.iv_len = iv.size();
        EXPECT_EQ(warpaes_context_init(context.get(), &o), WARPAES_OK) << warpaes_last_error();
        return context;
    }

    /// Passes the bytes [from, to) of the message to the context.
    void update(const Context& context, const Bytes& input, std::size_t from, std::size_t to, Bytes& out) {
        Bytes piece(to - from + unit);
        std::size_t written = 99;
        ASSERT_EQ(
            warpaes_context_update(context.get(), input.data() + from, to - from, piece.data(), piece.size(), &written),
            WARPAES_OK)
            << warpaes_last_error();
        out.insert(out.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(written));
    }
    void end(const Context& context, Bytes& out) {
        Bytes last(unit);
        std::size_t written = 99;
        ASSERT_EQ(warpaes_context_final(context.get(), last.data(), last.size(), &written), WARPAES_OK)
            << warpaes_last_error();
        out.insert(out.end(), last.begin(), last.begin() + static_cast<std::ptrdiff_t>(written));
    }
    void add_aad(const Context& context) {
        if (!has_aad(mode_)) return;
        ASSERT_EQ(warpaes_context_aad(context.get(), aad_.data(), aad_.size()), WARPAES_OK) << warpaes_last_error();
    }
    /// Finishes an encryption that has been started.
    Outcome run(const Context& context) {
        Outcome made;
        add_aad(context);
        for (std::size_t at = 0; at < text_.size();) {
            const std::size_t n = std::min(random_.below(50), text_.size() - at);
            update(context, text_, at, at + n, made.output);
            at += n;
        }
        end(context, made.output);
        if (has_tag(mode_)) made.tag = tag_of(context);
        return made;
    }
    static Bytes tag_of(const Context& context) {
        Bytes tag(16);
        EXPECT_EQ(warpaes_context_get_tag(context.get(), tag.data(), 16), WARPAES_OK) << warpaes_last_error();
        return tag;
    }
    /// Returns the result of warpaes_crypt for the whole message.
    Outcome whole(const KeyPair& keys, const Bytes& iv, const Bytes& text) {
        Outcome made{Bytes(mode_ == WARPAES_CMAC ? 0 : text.size()), Bytes(has_tag(mode_) ? 16 : 0)};
        Call m = make_message(mode_, WARPAES_ENCRYPT, keys.key, iv, text.data(), text.size(), made.output.data(),
                              made.output.size());
        m.iv_len = iv.size();
        if (has_aad(mode_)) {
            m.aad = aad_.data();
            m.aad_len = aad_.size();
        }
        if (has_tag(mode_)) {
            m.tag = made.tag.data();
            m.tag_len = 16;
        }
        m.tweak_key = keys.second(mode_);
        m.data_unit_len = mode_ == WARPAES_XTS ? unit : 0;
        EXPECT_EQ(crypt(libcrypto_, m), WARPAES_OK) << warpaes_last_error();
        return made;
    }

    /// Checks that calls that need a message are refused before it starts and after it ends, with an error message
    /// about the context.
    void expect_no_message(const Context& context, const std::string& words) {
        Bytes out(64), tag(16, 7);
        std::size_t written = 99;
        const auto refused = [&](warpaes_status status) {
            EXPECT_EQ(status, WARPAES_ERROR_STATE);
            EXPECT_EQ(std::string(warpaes_last_error()).find("context: "), 0U) << warpaes_last_error();
            EXPECT_NE(std::string(warpaes_last_error()).find(words), std::string::npos) << warpaes_last_error();
            EXPECT_STREQ(warpaes_context_error(context.get()), warpaes_last_error());
        };
        refused(warpaes_context_update(context.get(), text_.data(), 32, out.data(), 64, &written));
        EXPECT_EQ(written, 0U);
        refused(warpaes_context_final(context.get(), out.data(), 64, &written));
        EXPECT_EQ(written, 0U);
        refused(warpaes_context_get_iv(context.get(), tag.data()));
        refused(warpaes_context_seek(context.get(), 0));
        if (has_aad(mode_)) refused(warpaes_context_aad(context.get(), aad_.data(), 1));
        if (has_tag(mode_)) refused(warpaes_context_set_tag(context.get(), tag.data(), 16));
        EXPECT_EQ(out, Bytes(64));
        EXPECT_EQ(tag, Bytes(16, 7));
    }

    Random random_{77};
    const Engine engine_, libcrypto_ = make_engine("libcrypto");
    const warpaes_mode mode_;
    const Bytes text_ = random_.bytes(text_bytes), aad_ = random_.bytes(aad_bytes);
};

TEST_P(ContextState, KeyAndIvComeInTurn) {
    const KeyPair first(random_), second(random_);
    const Bytes iv = any_iv(), other_iv = any_iv();
    const Context context = make_context(engine_);
    EXPECT_EQ(set_key(context, first), WARPAES_ERROR_STATE);
    EXPECT_EQ(set_iv(context, iv), WARPAES_ERROR_STATE);
    expect_no_message(context, "not initialised");

    warpaes_context_options o = options(WARPAES_ENCRYPT);
    ASSERT_EQ(warpaes_context_init(context.get(), &o), WARPAES_OK) << warpaes_last_error();
    EXPECT_EQ(set_iv(context, iv), WARPAES_ERROR_STATE);
    EXPECT_NE(std::string(warpaes_last_error()).find("set_key"), std::string::npos) << warpaes_last_error();
    expect_no_message(context, "has no message");
    ASSERT_EQ(set_key(context, first), WARPAES_OK) << warpaes_last_error();
    expect_no_message(context, "has no message");
    ASSERT_EQ(set_iv(context, iv), WARPAES_OK) << warpaes_last_error();
    EXPECT_EQ(run(context), whole(first, iv, text_));
    expect_no_message(context, "has ended");

    // Setting a key ends the message at any point. Setting an IV also ends it, and starts the next message.
    for (const std::size_t gone : {std::size_t{0}, std::size_t{5}, std::size_t{64}, text_bytes}) {
        ASSERT_EQ(set_iv(context, iv), WARPAES_OK);
        Bytes ignored;
        if (gone != 0) add_aad(context);
        update(context, text_, 0, gone, ignored);
        if (gone == text_bytes) end(context, ignored);
        ASSERT_EQ(set_key(context, second), WARPAES_OK) << warpaes_last_error();
        expect_no_message(context, "has no message");
        ASSERT_EQ(set_key(context, second), WARPAES_OK) << "twice";
        ASSERT_EQ(set_iv(context, other_iv), WARPAES_OK);
        update(context, {}, 0, 0, ignored);
        ASSERT_EQ(set_iv(context, iv), WARPAES_OK) << "twice";
        EXPECT_EQ(run(context), whole(second, iv, text_));
        ASSERT_EQ(set_key(context, first), WARPAES_OK);
    }
    // With only a key, the context waits for an IV. ECB and CMAC need no IV, so their messages start at once.
    o.key = first.key.get();
    o.tweak_key = first.second(mode_);
    ASSERT_EQ(warpaes_context_init(context.get(), &o), WARPAES_OK) << warpaes_last_error();
    if (has_iv(mode_)) {
        expect_no_message(context, "has no message");
        ASSERT_EQ(set_iv(context, iv), WARPAES_OK);
    }
    EXPECT_EQ(run(context), whole(first, iv, text_));
}

TEST_P(ContextState, WhatIsRefusedChangesNothing) {
    const KeyPair keys(random_);
    const Bytes iv = any_iv();
    const Context context = begin(WARPAES_ENCRYPT, keys, iv);
    Outcome made;
    add_aad(context);
    update(context, text_, 0, 37, made.output);
    const auto refused = [&](warpaes_status status, warpaes_status wanted, const std::string& words) {
        EXPECT_EQ(status, wanted) << words;
        EXPECT_EQ(std::string(warpaes_context_error(context.get())).find(words), 0U)
            << warpaes_context_error(context.get());
    };
    refused(warpaes_context_set_key(context.get(), nullptr, keys.tweak.get()), WARPAES_ERROR_ARGUMENT, "key: is null");
    refused(warpaes_context_set_key(context.get(), keys.key.get(), mode_ == WARPAES_XTS ? nullptr : keys.tweak.get()),
            WARPAES_ERROR_ARGUMENT, "tweak_key");
    if (mode_ == WARPAES_XTS) {
        refused(warpaes_context_set_key(context.get(), keys.key.get(), keys.key.get()), WARPAES_ERROR_ARGUMENT,
                "key, tweak_key: are equal");
    }
    refused(warpaes_context_set_iv(context.get(), nullptr, 16), WARPAES_ERROR_ARGUMENT, "iv: is null");
    if (mode_ != WARPAES_GCM) {
        refused(warpaes_context_set_iv(context.get(), text_.data(), 3), WARPAES_ERROR_IV_LENGTH, "iv");
    }
    refused(warpaes_context_get_iv(context.get(), nullptr), WARPAES_ERROR_ARGUMENT, "iv: is null");
    refused(warpaes_context_init(context.get(), nullptr), WARPAES_ERROR_ARGUMENT, "options: is null");
    warpaes_context_options o = options(WARPAES_ENCRYPT);
    const std::vector<int> no_mode{1000};  // a constant index would cause a compiler warning
    o.mode = static_cast<warpaes_mode>(no_mode[0]);
    refused(warpaes_context_init(context.get(), &o), WARPAES_ERROR_ARGUMENT, "mode");
    o = options(static_cast<warpaes_direction>(3));
    refused(warpaes_context_init(context.get(), &o), WARPAES_ERROR_ARGUMENT, "direction");
    update(context, text_, 37, text_.size(), made.output);
    end(context, made.output);
    if (has_tag(mode_)) made.tag = tag_of(context);
    EXPECT_EQ(made, whole(keys, iv, text_));
}

TEST_P(ContextState, AnotherContextGoesOnFromTheIv) {
    const KeyPair keys(random_);
    for (const warpaes_direction direction : directions) {
        const Bytes iv = any_iv();
        const Context context = begin(direction, keys, iv), other = make_context(engine_);
        warpaes_context_options o = options(direction);
        ASSERT_EQ(warpaes_context_init(other.get(), &o), WARPAES_OK);
        ASSERT_EQ(set_key(other, keys), WARPAES_OK);
        Bytes now(16, 7), out;
        if (!goes_on(mode_)) {
            EXPECT_EQ(warpaes_context_get_iv(context.get(), now.data()), WARPAES_ERROR_STATE);
            EXPECT_NE(std::string(warpaes_last_error()).find("no IV"), std::string::npos) << warpaes_last_error();
            EXPECT_EQ(now, Bytes(16, 7));
            continue;
        }
        ASSERT_EQ(warpaes_context_get_iv(context.get(), now.data()), WARPAES_OK) << warpaes_last_error();
        EXPECT_EQ(now, iv) << "no input so far";
        // Byte-oriented modes have a current IV after every byte, and XTS after every data unit.
        const std::size_t step = mode_ == WARPAES_CFB8 || mode_ == WARPAES_CFB1 ? 1 : mode_ == WARPAES_XTS ? unit : 16;
        for (std::size_t at = 0; at < text_.size();) {
            const std::size_t n = std::min(1 + random_.below(45), text_.size() - at);
            update(context, text_, at, at + n, out);
            at += n;
            std::fill(now.begin(), now.end(), std::uint8_t{7});
            const warpaes_status status = warpaes_context_get_iv(context.get(), now.data());
            if (at % step != 0) {
                ASSERT_EQ(status, WARPAES_ERROR_STATE) << at;
                ASSERT_NE(std::string(warpaes_context_error(context.get())).find("bytes"), std::string::npos);
                ASSERT_EQ(now, Bytes(16, 7));
                continue;
            }
            ASSERT_EQ(status, WARPAES_OK) << at << ": " << warpaes_last_error();
            Bytes rest, expected;
            ASSERT_EQ(set_iv(other, now), WARPAES_OK);
            update(other, text_, at, text_.size(), rest);
            end(other, rest);
            warpaes_context* raw = nullptr;
            ASSERT_EQ(warpaes_context_copy(context.get(), &raw), WARPAES_OK);
            const Context copy(raw);
            update(copy, text_, at, text_.size(), expected);
            end(copy, expected);
            ASSERT_EQ(rest, expected) << "from " << at;
        }
        end(context, out);
        if (direction == WARPAES_ENCRYPT) {
            EXPECT_EQ(out, whole(keys, iv, text_).output);
        }
        EXPECT_EQ(warpaes_context_get_iv(context.get(), now.data()), WARPAES_ERROR_STATE) << "it has ended";
    }
}

/// Passes a context's state to another context after a long piece, because separate code processes long pieces.
TEST_P(ContextState, AnotherContextGoesOnAfterALongPiece) {
    if (!goes_on(mode_)) return;
    const std::size_t length = simulated() ? 4096 : mode_ == WARPAES_CFB1 ? 20000 / 32 * 32 : 600000 / 32 * 32;
    const KeyPair keys(random_);
    const Bytes iv = any_iv(), input = random_.bytes(2 * length), want = whole(keys, iv, input).output;
    Bytes now(16), out;
    for (int i = 0; i < 2; ++i) {
        const Context context = begin(WARPAES_ENCRYPT, keys, i == 0 ? iv : now);
        const std::size_t from = static_cast<std::size_t>(i) * length;
        update(context, input, from, from + length, out);
        ASSERT_EQ(warpaes_context_get_iv(context.get(), now.data()), WARPAES_OK) << warpaes_last_error();
    }
    EXPECT_TRUE(out == want);
}

TEST_P(ContextState, CopiesInAnyState) {
    const KeyPair keys(random_), others(random_);
    const Bytes iv = any_iv();
    const Outcome want = whole(keys, iv, text_);
    const auto copy_of = [](const Context& context) {
        warpaes_context* raw = nullptr;
        EXPECT_EQ(warpaes_context_copy(context.get(), &raw), WARPAES_OK) << warpaes_last_error();
        return Context(raw);
    };
    Context context = make_context(engine_);
    {
        const Context fresh = copy_of(context);
        expect_no_message(fresh, "not initialised");
    }
    warpaes_context_options o = options(WARPAES_ENCRYPT);
    ASSERT_EQ(warpaes_context_init(context.get(), &o), WARPAES_OK);
    {
        const Context without_key = copy_of(context);
        EXPECT_EQ(set_iv(without_key, iv), WARPAES_ERROR_STATE);
        ASSERT_EQ(set_key(without_key, keys), WARPAES_OK);
        ASSERT_EQ(set_iv(without_key, iv), WARPAES_OK);
        EXPECT_EQ(run(without_key), want);
    }
    ASSERT_EQ(set_key(context, keys), WARPAES_OK);
    {
        const Context without_iv = copy_of(context);
        expect_no_message(without_iv, "has no message");
        ASSERT_EQ(set_iv(without_iv, iv), WARPAES_OK);
        EXPECT_EQ(run(without_iv), want);
    }
    // The context is copied in the middle of a message. The original then continues with different data and is
    // destroyed.
    for (const std::size_t at : {0U, 1U, 16U, 37U, 64U, 159U}) {
        context = make_context(engine_);
        ASSERT_EQ(warpaes_context_init(context.get(), &o), WARPAES_OK);
        ASSERT_EQ(set_key(context, keys), WARPAES_OK);
        ASSERT_EQ(set_iv(context, iv), WARPAES_OK);
        add_aad(context);
        Outcome made;
        update(context, text_, 0, at, made.output);
        const Context copy = copy_of(context);
        Bytes ignored;
        update(context, random_.bytes(text_.size() - at), 0, text_.size() - at, ignored);
        end(context, ignored);
        ASSERT_EQ(set_key(context, others), WARPAES_OK);
        context.reset();
        update(copy, text_, at, text_.size(), made.output);
        end(copy, made.output);
        if (has_tag(mode_)) {
            const Context ended = copy_of(copy);
            made.tag = tag_of(ended);
            expect_no_message(ended, "has ended");
        }
        EXPECT_EQ(made, want) << at;
    }
    if (!has_tag(mode_)) return;
    // A copy of a context includes the expected tag.
    const Bytes& sealed = mode_ == WARPAES_CMAC ? text_ : want.output;
    for (const bool right : {true, false}) {
        const Context decrypt = begin(WARPAES_DECRYPT, keys, iv);
        Bytes tag = want.tag;
        if (!right) tag[3] ^= 1;
        ASSERT_EQ(warpaes_context_set_tag(decrypt.get(), tag.data(), 16), WARPAES_OK) << warpaes_last_error();
        const Context copy = copy_of(decrypt);
        ASSERT_EQ(warpaes_context_set_tag(decrypt.get(), aad_.data(), 16), WARPAES_OK);
        Bytes out;
        add_aad(copy);
        update(copy, sealed, 0, sealed.size(), out);
        std::size_t written = 0;
        EXPECT_EQ(warpaes_context_final(copy.get(), nullptr, 0, &written),
                  right ? WARPAES_OK : WARPAES_ERROR_AUTHENTICATION);
    }
}

TEST_P(ContextState, KeepsTheSentenceOfItsOwnLastError) {
    const KeyPair keys(random_);
    EXPECT_STREQ(warpaes_context_error(nullptr), "");
    const Context one = make_context(engine_), other = make_context(engine_);
    EXPECT_STREQ(warpaes_context_error(one.get()), "");
    EXPECT_EQ(set_iv(one, any_iv()), WARPAES_ERROR_STATE);
    const std::string sentence = warpaes_last_error();
    EXPECT_STREQ(warpaes_context_error(one.get()), sentence.c_str());
    EXPECT_STREQ(warpaes_context_error(other.get()), "");
    // The error state remains, regardless of later calls by this thread or on the other context.
    EXPECT_EQ(warpaes_context_init(other.get(), nullptr), WARPAES_ERROR_ARGUMENT);
    EXPECT_STREQ(warpaes_context_error(other.get()), "options: is null");
    EXPECT_STREQ(warpaes_context_error(one.get()), sentence.c_str());
    const warpaes_context_options o = options(WARPAES_ENCRYPT);
    ASSERT_EQ(warpaes_context_init(one.get(), &o), WARPAES_OK);
    EXPECT_STREQ(warpaes_context_error(one.get()), sentence.c_str());
    EXPECT_EQ(warpaes_context_update(one.get(), nullptr, 0, nullptr, 0, nullptr), WARPAES_ERROR_ARGUMENT);
    EXPECT_STREQ(warpaes_context_error(one.get()), "output_len: is null");
}

std::string mode_and_backend(const testing::TestParamInfo<std::tuple<std::string, int>>& info) {
    constexpr const char* names[] = {"ECB", "CBC", "CFB128", "CFB8", "CFB1", "OFB", "CTR", "XTS", "GCM", "CCM", "CMAC"};
    return std::string(names[std::get<1>(info.param) - 1]) + "_" + std::get<0>(info.param);
}

INSTANTIATE_TEST_SUITE_P(Backend, ContextState,
                         testing::Combine(testing::ValuesIn(usable_backends()),
                                          testing::Range<int>(WARPAES_ECB, WARPAES_CMAC + 1)),
                         mode_and_backend);

}  // namespace
}  // namespace abi_tests
