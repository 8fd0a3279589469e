// Tests misbehaving hosts: partial, repeated and missing configurations, modules that are closed too early, contexts
// that outlive everything else, and invalid pointers.
#include <dlfcn.h>
#include <openssl/rand.h>

#include <atomic>
#include <thread>

#include "support.hpp"

namespace warpaes::test {
namespace {

const char* const settings_of_provider = "[two]\nmodule = " WARPAES_PROVIDER "\nactivate = 1\n";
const char* const rest_of_config =
    "openssl_conf = init\n[init]\nproviders = all\n[all]\ndefault = one\nwarpaes = two\n[one]\nactivate = 1\n";

struct Context {
    OSSL_LIB_CTX* library = OSSL_LIB_CTX_new();
    Context() = default;
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    ~Context() { OSSL_LIB_CTX_free(library); }
    bool load(const std::string& text) const {
        const TemporaryFile file(text);
        return OSSL_LIB_CTX_load_config(library, file.path().c_str()) == 1;
    }
    [[nodiscard]] std::shared_ptr<EVP_CIPHER> cipher(const char* name) const {
        return {EVP_CIPHER_fetch(library, name, "provider=warpaes"), EVP_CIPHER_free};
    }
};

TEST(ProviderHost, ItsSectionMayBeInAnotherFile) {
    const TemporaryFile part(std::string(settings_of_provider) + "cbc = yes\n");
    const Context context;
    ASSERT_TRUE(context.load(std::string(rest_of_config) + ".include = " + part.path() + "\n"));
    EXPECT_NE(context.cipher("AES-128-CBC"), nullptr);
}

TEST(ProviderHost, IsActivatedTwice) {
    const Context context;
    const std::string text = std::string(rest_of_config) + settings_of_provider;
    ASSERT_TRUE(context.load(text));
    const auto first = context.cipher("AES-128-CTR");
    ASSERT_NE(first, nullptr);
    const CipherContext c = started(first.get(), true, key_for(first.get()), random_bytes(16));
    (void)context.load(text);
    OSSL_PROVIDER* const again = OSSL_PROVIDER_load(context.library, "warpaes");
    EXPECT_NE(again, nullptr);
    const auto second = context.cipher("AES-128-CTR");
    ASSERT_NE(second, nullptr);
    const CipherContext other = started(second.get(), true, key_for(second.get()), random_bytes(16));
    EXPECT_EQ(updated(c.get(), Bytes(100)), updated(other.get(), Bytes(100)));
    EXPECT_EQ(1, OSSL_PROVIDER_unload(again));
    EXPECT_NE(context.cipher("AES-128-CTR"), nullptr);
}

TEST(ProviderHost, TwoLibraryContextsHaveSettingsOfTheirOwn) {
    const Library with("cbc = yes\nthreshold = 64K\nthreads = 2\n");
    const Bytes text = random_bytes(1 << 20);
    const auto there = with.cipher("AES-128-CBC");
    ASSERT_NE(there, nullptr);
    const CipherContext c = started(there.get(), false, key_for(there.get()), random_bytes(16));
    Bytes first;
    {
        const Library without;
        EXPECT_EQ(without.cipher("AES-128-CBC"), nullptr);
        const auto ctr = without.cipher("AES-128-CTR");
        ASSERT_NE(ctr, nullptr);
        const CipherContext other = started(ctr.get(), true, key_for(ctr.get()), random_bytes(16));
        first = updated(c.get(), text);
        EXPECT_EQ(updated(other.get(), text).size(), text.size());
    }
    const CipherContext same = started(there.get(), false, key_for(there.get()), random_bytes(16));
    EXPECT_EQ(updated(same.get(), text), first);
}

/// The host's OPENSSL_CONF does not affect the provider's own library context.
TEST(ProviderHost, TheConfigurationMayBeMissing) {
    EXPECT_EQ(0, in_a_child([] {
                  (void)::setenv("OPENSSL_CONF", "/nowhere/openssl.cnf", 1);
                  const Library library;
                  const auto cipher = library.cipher("AES-128-GCM");
                  if (cipher == nullptr) return 1;
                  // OpenSSL's generator creates a random IV.
                  const CipherContext c = started(cipher.get(), true, key_for(cipher.get()), {});
                  return updated(c.get(), Bytes(100)).size() == 100 ? 0 : 2;
              }));
}

TEST(ProviderHost, TheModuleMayBeClosedWhileContextsLive) {
    EXPECT_EQ(0, in_a_child([] {
                  void* const module = ::dlopen(WARPAES_PROVIDER, RTLD_NOW);
                  if (module == nullptr) return 1;
                  auto* const library = new Library;
                  const auto cipher = library->cipher("AES-128-GCM");
                  if (cipher == nullptr) return 2;
                  const CipherContext c = started(cipher.get(), true, key_for(cipher.get()), random_bytes(12));
                  for (int i = 0; i < 3; ++i) (void)::dlclose(module);
                  delete library;
                  if (updated(c.get(), Bytes(5000)).size() != 5000) return 3;
                  const CipherContext copy(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
                  if (EVP_CIPHER_CTX_copy(copy.get(), c.get()) != 1) return 4;
                  return updated(copy.get(), Bytes(5000)).size() == 5000 ? 0 : 5;
              }));
}

/// Sixteen threads copy a context with the same key, in every state of a message.
TEST(ProviderHost, SixteenThreadsShareAKeyAtEveryState) {
    const Library library("threads = 2\nthreshold = 64K\ncbc = yes\n");
    struct Case {
        std::shared_ptr<EVP_CIPHER> cipher;
        std::vector<CipherContext> states;
        std::vector<Bytes> expected;
    };
    const Bytes text = random_bytes(70'000);
    const auto go_on = [&](const CipherContext& from) {
        const CipherContext copy(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
        EXPECT_EQ(1, EVP_CIPHER_CTX_copy(copy.get(), from.get()));
        Bytes out = updated(copy.get(), text);
        unsigned char last[16];
        int n = 0;
        if (EVP_CipherFinal_ex(copy.get(), last, &n) == 1) out.insert(out.end(), last, last + n);
        return out;
    };
    std::vector<Case> cases;
    for (const char* const name :
         {"AES-128-GCM", "AES-256-CTR", "AES-128-CBC", "AES-128-CFB", "AES-256-XTS", "AES-128-OFB"}) {
        Case& one = cases.emplace_back();
        one.cipher = library.cipher(name);
        ASSERT_NE(one.cipher, nullptr) << name;
        for (const std::size_t before : {0, 1, 16, 37, 5000}) {
            if (std::strstr(name, "XTS") != nullptr && before != 0) continue;
            one.states.push_back(started(one.cipher.get(), true, key_for(one.cipher.get()), random_bytes(16)));
            EXPECT_EQ(1, EVP_CIPHER_CTX_set_padding(one.states.back().get(), 1));
            if (before != 0) (void)updated(one.states.back().get(), Bytes(before, 3));
            one.expected.push_back(go_on(one.states.back()));
        }
    }
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 16; ++t) {
        threads.emplace_back([&] {
            for (int n = 0; n < 5; ++n) {
                for (const Case& one : cases) {
                    for (std::size_t s = 0; s < one.states.size(); ++s) {
                        if (go_on(one.states[s]) != one.expected[s]) ++wrong;
                    }
                }
            }
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
}

/// OpenSSL's random generator uses the preferred provider's AES, so a generator in our provider would not be faster.
TEST(ProviderHost, RandomNumbersAreMadeWithItsKernels) {
    const Library library;
    Bytes bytes(10'000);
    const std::uint64_t before = counter(library, "warpaes-ctr-kernels-bytes");
    ASSERT_EQ(1, RAND_bytes_ex(library.context(), bytes.data(), bytes.size(), 0));
    ASSERT_EQ(1, RAND_bytes_ex(library.context(), bytes.data(), bytes.size(), 0));
    // A context reports its counts when it is freed. The generator's context exists as long as its library context.
    {
        const Library other;
        ASSERT_EQ(1, RAND_bytes_ex(other.context(), bytes.data(), bytes.size(), 0));
    }
    EXPECT_GE(counter(library, "warpaes-ctr-kernels-bytes"), before + bytes.size());
}

/// With missing buffers and empty texts, the results are the default provider's, except where the default provider
/// crashes.
TEST(ProviderHost, PointersThatPointNowhere) {
    const Library library("cbc = yes\n");
    struct Call {
        bool out, in;
        int bytes;
    };
    const Call calls[] = {{true, true, 0}, {true, false, 0}, {false, true, 0}, {false, false, 0}, {false, true, 16}};
    for (const char* const name : {"AES-128-ECB", "AES-128-CBC", "AES-128-CFB", "AES-128-CFB8", "AES-128-CFB1",
                                   "AES-128-OFB", "AES-128-CTR", "AES-128-XTS", "AES-128-GCM"}) {
        for (const Call& call : calls) {
            for (const bool encrypt : {true, false}) {
                int result[2];
                for (const bool ours : {false, true}) {
                    const auto cipher = library.cipher(name, ours ? "warpaes" : "default");
                    ASSERT_NE(cipher, nullptr) << name;
                    result[ours ? 1 : 0] = in_a_child([&] {
                        const CipherContext c = started(cipher.get(), encrypt, key_for(cipher.get()), random_bytes(16));
                        unsigned char out[64] = {}, in[64] = {};
                        int n = 0;
                        const int done =
                            EVP_CipherUpdate(c.get(), call.out ? out : nullptr, &n, call.in ? in : nullptr, call.bytes);
                        return (done == 1 ? 100 : 50) + n;
                    });
                }
                if (result[0] < 0) continue;  // the default provider crashed
                EXPECT_EQ(result[1], result[0]) << name << call.out << call.in << call.bytes << encrypt;
            }
        }
    }
}

}  // namespace
}  // namespace warpaes::test
