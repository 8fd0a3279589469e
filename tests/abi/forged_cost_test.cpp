// Tests that rejecting a forged message does not throw an exception. Throwing takes as long as decrypting 50 KiB, and
// anyone can send forged messages. The test counts exceptions.
#include <dlfcn.h>

#include <atomic>
#include <functional>

#include "support.hpp"

namespace {

std::atomic<unsigned> thrown{0};

}  // namespace

#pragma GCC visibility push(default)
// The C++ ABI reserves this function's name.
extern "C" void counted_throw(void* exception, void* type, void (*destroy)(void*)) __asm__("__cxa_throw");
extern "C" void counted_throw(void* exception, void* type, void (*destroy)(void*)) {
    static const auto real = reinterpret_cast<decltype(&counted_throw)>(dlsym(RTLD_NEXT, "__cxa_throw"));
    ++thrown;
    real(exception, type, destroy);
    __builtin_unreachable();
}
#pragma GCC visibility pop

namespace abi_tests {
namespace {

unsigned exceptions(const std::function<void()>& work) {
    const unsigned before = thrown;
    work();
    return thrown - before;
}

class ForgedMessages : public BackendTest {
protected:
    /// Returns a message of zeros, with a zero tag if its mode has one. It is not authentic.
    warpaes_message message(warpaes_mode mode, std::size_t length) {
        warpaes_message m = WARPAES_MESSAGE_INIT;
        const bool tagged = mode == WARPAES_GCM || mode == WARPAES_CCM || mode == WARPAES_CMAC || mode >= WARPAES_SIV;
        m.mode = mode;
        m.direction = WARPAES_DECRYPT;
        m.key = key_.get();
        m.iv = zeros_.data();
        m.iv_len = mode == WARPAES_CBC || mode == WARPAES_SIV                          ? 16
                   : mode == WARPAES_CMAC || mode == WARPAES_KW || mode == WARPAES_KWP ? 0
                                                                                       : 12;
        m.input = zeros_.data();
        m.input_len = length;
        m.output = output_.data();
        m.output_capacity = output_.size();
        m.tag = tagged ? tag_.data() : nullptr;
        m.tag_len = tagged ? 16 : 0;
        m.mac_key = mode == WARPAES_SIV ? other_.get() : nullptr;
        m.flags = mode == WARPAES_CBC ? std::uint32_t{WARPAES_PKCS7} : 0;
        return m;
    }

    static constexpr std::size_t most = 1 << 17;
    Key key_ = make_key(Bytes(16, 1)), other_ = make_key(Bytes(16, 2));
    Bytes zeros_ = Bytes(most), output_ = Bytes(most), tag_ = Bytes(16);
};

TEST_P(ForgedMessages, ThrowNothingInCalls) {
    for (const warpaes_mode mode :
         {WARPAES_CBC, WARPAES_GCM, WARPAES_CCM, WARPAES_CMAC, WARPAES_KW, WARPAES_KWP, WARPAES_SIV, WARPAES_GCM_SIV}) {
        for (const std::size_t length : {std::size_t{64}, std::size_t{4096}, most}) {
            const warpaes_message m = message(mode, length);
            warpaes_result result = WARPAES_RESULT_INIT;
            const auto wanted = mode == WARPAES_CBC ? WARPAES_ERROR_PADDING : WARPAES_ERROR_AUTHENTICATION;
            EXPECT_EQ(exceptions([&] {
                          EXPECT_EQ(warpaes_crypt(engine_.get(), &m, &result), wanted);
                          EXPECT_EQ(warpaes_crypt(engine_.get(), &m, nullptr), wanted);
                      }),
                      0U)
                << "mode " << mode << ", " << length << " bytes";
            EXPECT_STREQ(result.error, warpaes_last_error());
            EXPECT_STRNE(result.error, "");
        }
    }
}

TEST_P(ForgedMessages, ThrowNothingInContexts) {
    for (const warpaes_mode mode : {WARPAES_CBC, WARPAES_GCM, WARPAES_CCM, WARPAES_CMAC}) {
        const Context context = make_context(engine_);
        warpaes_context_options o = WARPAES_CONTEXT_OPTIONS_INIT;
        o.flags = mode == WARPAES_CBC ? std::uint32_t{WARPAES_PKCS7} : 0;
        o.mode = mode;
        o.direction = WARPAES_DECRYPT;
        o.key = key_.get();
        o.iv = mode == WARPAES_CMAC ? nullptr : zeros_.data();
        o.iv_len = mode == WARPAES_CMAC ? 0 : mode == WARPAES_CBC ? 16 : 12;
        if (mode == WARPAES_CCM) {
            o.text_len = 64;
            o.tag_len = 16;
        }
        const auto wanted = mode == WARPAES_CBC ? WARPAES_ERROR_PADDING : WARPAES_ERROR_AUTHENTICATION;
        EXPECT_EQ(exceptions([&] {
                      std::size_t written = 0;
                      EXPECT_EQ(warpaes_context_init(context.get(), &o), WARPAES_OK) << warpaes_last_error();
                      if (mode != WARPAES_CBC) {
                          EXPECT_EQ(warpaes_context_set_tag(context.get(), tag_.data(), 16), WARPAES_OK);
                      }
                      EXPECT_EQ(
                          warpaes_context_update(context.get(), zeros_.data(), 64, output_.data(), most, &written),
                          WARPAES_OK);
                      EXPECT_EQ(warpaes_context_final(context.get(), output_.data(), most, &written), wanted);
                  }),
                  0U)
            << mode;
        EXPECT_STRNE(warpaes_context_error(context.get()), "");
    }
}

TEST_P(ForgedMessages, ThrowNothingInBatches) {
    for (const warpaes_mode mode : {WARPAES_GCM, WARPAES_CCM, WARPAES_CMAC}) {
        warpaes_batch_entry e = {};
        e.mode = mode;
        e.direction = WARPAES_DECRYPT;
        e.count = 100;
        e.length = 1000;
        e.input = {{zeros_.data()}, 1000};
        e.output = {{output_.data()}, 1000};
        e.iv = {{zeros_.data()}, 0};
        e.iv_len = mode == WARPAES_CMAC ? 0 : 12;
        e.tag = {{tag_.data()}, 0};
        e.tag_len = 16;
        e.key = key_.get();
        EXPECT_EQ(exceptions([&] {
                      warpaes_batch* batch = nullptr;
                      EXPECT_EQ(warpaes_batch_submit(engine_.get(), nullptr, &e, 1, &batch), WARPAES_OK);
                      EXPECT_EQ(warpaes_batch_wait(batch, WARPAES_UNKNOWN), WARPAES_ERROR_AUTHENTICATION);
                      EXPECT_STRNE(warpaes_batch_entry_error(batch, 0), "");
                      warpaes_batch_destroy(batch);
                  }),
                  0U)
            << mode;
    }
}

// Checks that the test would count an exception that the library throws.
TEST_P(ForgedMessages, OthersAreCounted) {
    warpaes_message m = message(WARPAES_GCM, 64);
    m.tag_len = 3;
    EXPECT_EQ(exceptions([&] { EXPECT_EQ(warpaes_crypt(engine_.get(), &m, nullptr), WARPAES_ERROR_ARGUMENT); }), 1U);
}

// Returns the CPU backends, because a GPU engine refuses modes that only CPUs implement.
std::vector<std::string> cpus() {
    std::vector<std::string> names = usable_backends();
    std::erase(names, "cuda");
    return names;
}
INSTANTIATE_TEST_SUITE_P(Backend, ForgedMessages, testing::ValuesIn(cpus()), backend_test_name);

}  // namespace
}  // namespace abi_tests
