// Tests that short messages neither allocate memory nor acquire a lock. The test counts such calls.
#include <dlfcn.h>
#include <pthread.h>

#include <functional>

#include "support.hpp"

namespace {

thread_local bool counting = false;
thread_local unsigned allocations = 0, locks = 0;

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t n, std::size_t bytes);

void* malloc(std::size_t bytes) {
    if (counting) ++allocations;
    return __libc_malloc(bytes);
}

void* calloc(std::size_t n, std::size_t bytes) {
    if (counting) ++allocations;
    return __libc_calloc(n, bytes);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
    static const auto real = reinterpret_cast<decltype(&pthread_mutex_lock)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
    if (counting) ++locks;
    return real(mutex);
}

}  // extern "C"
#pragma GCC visibility pop

namespace abi_tests {
namespace {

struct Counted {
    unsigned allocations = 0, locks = 0;
};

Counted count(const std::function<void()>& work) {
    allocations = locks = 0;
    counting = true;
    work();
    counting = false;
    return {allocations, locks};
}

/// Runs messages in one mode with lengths up to `most` bytes, in both directions.
class Calls {
public:
    static constexpr std::size_t most = 20000;

    Calls(const Engine& engine, warpaes_mode mode, std::size_t key_bytes)
        : engine_(engine),
          mode_(mode),
          key_(make_key(Random(1).bytes(key_bytes))),
          tweak_key_(make_key(Random(2).bytes(key_bytes))) {}

    warpaes_status run(warpaes_direction direction, std::size_t length) {
        const std::size_t iv_bytes = mode_ == WARPAES_ECB ? 0 : mode_ == WARPAES_GCM ? 12 : 16;
        warpaes_message m = WARPAES_MESSAGE_INIT;
        m.mode = mode_;
        m.direction = direction;
        m.key = key_.get();
        m.iv = iv_.data();
        m.iv_len = iv_bytes;
        m.input = m.output = text_.data();
        m.input_len = m.output_capacity = length;
        if (mode_ == WARPAES_XTS) {
            m.tweak_key = tweak_key_.get();
            m.data_unit_len = 512;
        }
        if (mode_ == WARPAES_GCM) {
            m.aad = aad_.data();
            m.aad_len = aad_.size();
            m.tag = tag_.data();
            m.tag_len = tag_.size();
        }
        warpaes_result result = WARPAES_RESULT_INIT;
        with_result_ = !with_result_;
        return warpaes_crypt(engine_.get(), &m, with_result_ ? &result : nullptr);
    }

private:
    const Engine& engine_;
    warpaes_mode mode_;
    bool with_result_ = false;
    Key key_, tweak_key_;
    Bytes text_ = Bytes(most), iv_ = Random(3).bytes(16), aad_ = Bytes(20), tag_ = Bytes(16);
};

struct Direct {
    warpaes_mode mode;
    bool encrypts;  ///< decryption is always supported
    std::size_t most = Calls::most;
};
constexpr Direct direct[] = {{WARPAES_ECB, true},        {WARPAES_CBC, false}, {WARPAES_CFB128, false},
                             {WARPAES_CFB8, false, 256}, {WARPAES_CTR, true},  {WARPAES_XTS, true},
                             {WARPAES_GCM, true}};

void expect_nothing(const Engine& engine, const std::string& name) {
    for (const Direct& d : direct) {
        Calls calls(engine, d.mode, 16);
        for (const std::size_t length : {64, 256, 1504, 4096, 16000}) {
            if (length > d.most) continue;  // the planner handles longer messages
            // The first message under a key prepares the key for the mode. The very first message reads the
            // calibration.
            if (d.encrypts) {
                ASSERT_EQ(calls.run(WARPAES_ENCRYPT, length), WARPAES_OK) << warpaes_last_error();
            }
            if (d.mode != WARPAES_GCM) {
                ASSERT_EQ(calls.run(WARPAES_DECRYPT, length), WARPAES_OK) << warpaes_last_error();
            }
            bool right = true;
            const Counted counted = count([&] {
                for (int i = 0; i < 10; ++i) {
                    if (d.encrypts) right = calls.run(WARPAES_ENCRYPT, length) == WARPAES_OK && right;
                    right = calls.run(WARPAES_DECRYPT, length) == WARPAES_OK && right;
                }
            });
            EXPECT_TRUE(right) << name << ", mode " << d.mode << ", " << length << " bytes: " << warpaes_last_error();
            EXPECT_EQ(counted.allocations, 0u) << name << ", mode " << d.mode << ", " << length << " bytes";
            EXPECT_EQ(counted.locks, 0u) << name << ", mode " << d.mode << ", " << length << " bytes";
        }
    }
}

TEST(ShortMessageCost, IsNoAllocationAndNoLock) {
    for (const std::string& backend : usable_backends()) {
        if (backend == "libcrypto" || backend == "cuda") continue;  // EVP calls and GPU calls allocate memory
        expect_nothing(make_engine(backend), backend);
    }
}

TEST(ShortMessageCost, IsNoAllocationAndNoLockWithoutABackendAskedForEither) {
    if (usable_backends().size() < 2 || usable_backends()[1] == "cuda") {
        GTEST_SKIP() << "libcrypto is the best backend here; machines whose CPU has AES-NI and PCLMULQDQ run this test";
    }
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    options.backend = "auto";
    warpaes_engine* engine = nullptr;
    ASSERT_EQ(warpaes_engine_create(&options, &engine), WARPAES_OK) << warpaes_last_error();
    expect_nothing(Engine(engine), "auto");
}

TEST(ShortMessageCost, OfOthersIsCounted) {
    const Engine engine = make_engine("libcrypto");
    Calls calls(engine, WARPAES_CTR, 16);
    const Counted counted = count([&] { (void)calls.run(WARPAES_ENCRYPT, 64); });
    EXPECT_GT(counted.allocations, 0u);
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    EXPECT_EQ(count([&] {
                  pthread_mutex_lock(&mutex);
                  pthread_mutex_unlock(&mutex);
              }).locks,
              1u);
}

}  // namespace
}  // namespace abi_tests
