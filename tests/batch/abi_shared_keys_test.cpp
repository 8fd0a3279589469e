// Tests one key in batches of several modes in turn. The cached key material must be complete, whichever mode used the
// key first.
#include <gtest/gtest.h>

#include <array>

#include "abi_batch.hpp"
#include "evp_oracle.hpp"

namespace warpaes::test {
namespace {

using oracle::Bytes;

/// the key in SP 800-38B, D.1
const Bytes example_key{0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c};
const Bytes example_text{0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96,
                         0xe9, 0x3d, 0x7e, 0x11, 0x73, 0x93, 0x17, 0x2a};
const Bytes example_tag{0x07, 0x0a, 0x16, 0xb4, 0x6b, 0x4d, 0x41, 0x44, 0xf7, 0x9b, 0xdd, 0x9d, 0xd0, 0x4a, 0x28, 0x7c};

struct Single {
    Bytes text, output{}, iv{}, tag{};

    [[nodiscard]] warpaes_batch_entry entry(Mode mode, Direction direction, const warpaes_key* key) {
        output.assign(text.size(), 0xa5);
        warpaes_batch_entry e{};
        e.mode = static_cast<warpaes_mode>(mode);
        e.direction = static_cast<warpaes_direction>(direction);
        e.count = 1;
        e.length = text.size();
        e.input.at.pointer = text.data();
        if (mode != Mode::cmac) e.output.at.pointer = output.data();
        e.iv.at.pointer = iv.data();
        e.iv_len = static_cast<std::uint32_t>(iv.size());
        e.tag.at.pointer = tag.data();
        e.tag_len = static_cast<std::uint32_t>(tag.size());
        e.key = key;
        return e;
    }
};

class SharedKeys : public testing::TestWithParam<std::string> {
public:
    /// Runs two messages in a batch, so that the kernels for many keys run.
    void run(std::array<warpaes_batch_entry, 2> entries) {
        warpaes_batch* handle = nullptr;
        ASSERT_EQ(warpaes_batch_submit(engine_.get(), nullptr, entries.data(), entries.size(), &handle), WARPAES_OK);
        const AbiBatchHandle batch(handle);
        (void)warpaes_batch_wait(handle, WARPAES_UNKNOWN);
        for (std::size_t i = 0; i < 2; ++i) statuses_[i] = results_of(handle, 2)[i].status;
    }
    /// Runs a first batch in this mode under both keys.
    void use(Mode mode, Direction direction) {
        const bool aead = mode == Mode::gcm || mode == Mode::ccm;
        Single a, b;
        std::array<warpaes_batch_entry, 2> entries;
        for (Single* const s : {&a, &b}) {
            s->text.assign(48, 7);
            s->iv.assign(!uses_iv(mode) ? 0 : aead ? 12 : 16, 9);
            s->tag.assign(uses_tag(mode) ? 16 : 0, 0);
            auto& e = entries[s == &a ? 0 : 1] = s->entry(mode, direction, s == &a ? key_.get() : other_.get());
            if (mode == Mode::xts) e.tweak_key = s == &a ? other_.get() : key_.get();
        }
        run(entries);
        const bool opens = uses_tag(mode) && direction == Direction::decrypt;
        for (const warpaes_status s : statuses_) EXPECT_EQ(s, opens ? WARPAES_ERROR_AUTHENTICATION : WARPAES_OK);
    }

    void check_cmac() {
        Single a{.text = example_text, .tag = Bytes(16)}, b{.text = Bytes(5), .tag = Bytes(16)};
        run({a.entry(Mode::cmac, Direction::encrypt, key_.get()),
             b.entry(Mode::cmac, Direction::encrypt, other_.get())});
        EXPECT_EQ(a.tag, example_tag);
        EXPECT_EQ(b.tag, oracle::evp_cmac(other_bytes_, b.text));
    }
    void check_gcm() {
        Single a{.text = Bytes(40, 1), .iv = Bytes(12, 2), .tag = Bytes(16)};
        Single b{.text = Bytes(33, 3), .iv = Bytes(20, 4), .tag = Bytes(16)};
        run({a.entry(Mode::gcm, Direction::encrypt, key_.get()), b.entry(Mode::gcm, Direction::encrypt, other_.get())});
        for (Single* const s : {&a, &b}) {
            Bytes both = s->output;
            both.insert(both.end(), s->tag.begin(), s->tag.end());
            EXPECT_EQ(both, oracle::evp_gcm(s == &a ? example_key : other_bytes_, s->iv, s->text, {}));
        }
    }
    /// If H were zero, the tag of any ciphertext would be E(K, J0).
    void check_forgery() {
        Bytes j0(16);
        j0[15] = 1;
        Single a{.text = Bytes(40, 0x66), .iv = Bytes(12), .tag = *oracle::evp("ECB", true, example_key, {}, j0)};
        Single b{.text = Bytes(16), .iv = Bytes(12), .tag = Bytes(16)};
        run({a.entry(Mode::gcm, Direction::decrypt, key_.get()), b.entry(Mode::gcm, Direction::encrypt, other_.get())});
        EXPECT_EQ(statuses_[0], WARPAES_ERROR_AUTHENTICATION);
        EXPECT_EQ(a.output, Bytes(40)) << "not wiped";
        EXPECT_EQ(statuses_[1], WARPAES_OK);
    }

protected:
    void SetUp() override {
        engine_ = make_engine(GetParam());
        ASSERT_NE(engine_, nullptr) << warpaes_last_error();
    }

    AbiEngine engine_;
    Bytes other_bytes_ = Bytes(16, 0x42);
    AbiKey key_, other_;
    std::array<warpaes_status, 2> statuses_{};
};

TEST_P(SharedKeys, AreCompleteWhicheverModeCameFirst) {
    for (const Mode mode : batch_modes()) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            using Check = void (SharedKeys::*)();
            for (const Check check : {&SharedKeys::check_cmac, &SharedKeys::check_gcm, &SharedKeys::check_forgery}) {
                SCOPED_TRACE(std::string(batch_mode_name(mode)) +
                             (direction == Direction::encrypt ? " encrypt" : " decrypt") + " first");
                key_ = make_key(example_key);
                other_ = make_key(other_bytes_);
                use(mode, direction);
                (this->*check)();
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Backend, SharedKeys, testing::ValuesIn(usable_backends()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace warpaes::test
