// The provider within a process: loaded and let go of, forked, shared by threads, used when OpenSSL is gone.
#include <atomic>
#include <csignal>
#include <thread>

#include "support.hpp"

namespace warpaes::test {
namespace {

Bytes crypt(const Library& library, const std::string& name, const Bytes& text) {
    const auto cipher = library.cipher(name);
    EXPECT_NE(cipher, nullptr) << name;
    if (cipher == nullptr) return {};
    return updated(started(cipher.get(), true, key_for(cipher.get()), random_bytes(16)).get(), text);
}

TEST(ProviderLife, IsLoadedAndUnloadedAThousandTimes) {
    const Bytes text = random_bytes(100);
    Bytes first;
    for (int i = 0; i < 1000; ++i) {
        const Library library;
        ASSERT_TRUE(library.loaded());
        const Bytes out = crypt(library, "AES-128-CTR", text);
        if (i == 0) first = out;
        ASSERT_EQ(out, first) << i;
    }
}

TEST(ProviderLife, IsThePreferredOne) {
    const Library library;
    ASSERT_TRUE(library.loaded());
    const std::shared_ptr<EVP_CIPHER> cipher(EVP_CIPHER_fetch(library.context(), "AES-256-GCM", nullptr),
                                             EVP_CIPHER_free);
    ASSERT_NE(cipher, nullptr);
    EXPECT_STREQ(OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(cipher.get())), "warpaes");
    // What it does not offer is OpenSSL's.
    const std::shared_ptr<EVP_CIPHER> cbc(EVP_CIPHER_fetch(library.context(), "AES-256-CBC", nullptr), EVP_CIPHER_free);
    ASSERT_NE(cbc, nullptr);
    EXPECT_STREQ(OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(cbc.get())), "default");
    EXPECT_EQ(library.cipher("AES-256-GCM", "fips"), nullptr);
    EXPECT_EQ(EVP_CIPHER_fetch(library.context(), "AES-256-GCM", "fips=yes"), nullptr);
}

TEST(ProviderLife, SurvivesFork) {
    const Library library("threads = 2\nthreshold = 64K\n");
    ASSERT_TRUE(library.loaded());
    const auto cipher = library.cipher("AES-128-CTR");
    ASSERT_NE(cipher, nullptr);
    const Bytes text = random_bytes(4 << 20), key = key_for(cipher.get()), iv = random_bytes(16);
    const CipherContext before = started(cipher.get(), true, key, iv);
    const Bytes expected = updated(started(cipher.get(), true, key, iv).get(), text);
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(0, in_a_child([&] {
                      // A context of the parent's, one of its own, and a grandchild's.
                      if (updated(before.get(), text) != expected) return 1;
                      if (updated(started(cipher.get(), true, key, iv).get(), text) != expected) return 2;
                      return in_a_child([&] {
                          return updated(started(cipher.get(), true, key, iv).get(), text) == expected ? 0 : 3;
                      });
                  }));
    }
    EXPECT_EQ(updated(before.get(), text), expected);
}

TEST(ProviderLife, ForksWhileOthersAreAtWork) {
    const Library library("threads = 2\nthreshold = 64K\n");
    ASSERT_TRUE(library.loaded());
    const auto cipher = library.cipher("AES-256-GCM");
    ASSERT_NE(cipher, nullptr);
    const Bytes text = random_bytes(1 << 20), key = key_for(cipher.get()), iv = random_bytes(12);
    const Bytes expected = updated(started(cipher.get(), true, key, iv).get(), text);
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
            while (!stop) {
                if (updated(started(cipher.get(), true, key, iv).get(), text) != expected) std::abort();
            }
        });
    }
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(0, in_a_child([&] {
                      return updated(started(cipher.get(), true, key, iv).get(), text) == expected ? 0 : 1;
                  }));
    }
    stop = true;
    for (auto& thread : threads) thread.join();
}

TEST(ProviderLife, SixteenThreadsShareKeysAndCopyContexts) {
    const Library library("threads = 2\nthreshold = 64K\n");
    ASSERT_TRUE(library.loaded());
    const auto gcm = library.cipher("AES-256-GCM"), ctr = library.cipher("AES-128-CTR");
    ASSERT_TRUE(gcm && ctr);
    const Bytes text = random_bytes(100'000), iv = random_bytes(16);
    const CipherContext shared_gcm = started(gcm.get(), true, key_for(gcm.get()), iv);
    const CipherContext shared_ctr = started(ctr.get(), true, key_for(ctr.get()), iv);
    const auto run = [&](const CipherContext& from) {
        const CipherContext copy(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
        EXPECT_EQ(1, EVP_CIPHER_CTX_copy(copy.get(), from.get()));
        return updated(copy.get(), text);
    };
    const Bytes gcm_text = run(shared_gcm), ctr_text = run(shared_ctr);
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int i = 0; i < 16; ++i) {
        threads.emplace_back([&] {
            for (int n = 0; n < 50; ++n) {
                if (run(shared_gcm) != gcm_text || run(shared_ctr) != ctr_text) ++wrong;
                const Library own;
                if (crypt(own, "AES-128-CTR", Bytes(16)).size() != 16) ++wrong;
            }
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
}

TEST(ProviderLife, IsUsedAndFreedWhenOpenSslIsGone) {
    EXPECT_EQ(0, in_a_child([] {
                  const TemporaryFile config(
                      "openssl_conf = init\n[init]\nproviders = all\n[all]\ndefault = one\nwarpaes = "
                      "two\n[one]\nactivate = 1\n"
                      "[two]\nmodule = " WARPAES_PROVIDER "\nactivate = 1\n");
                  if (OSSL_LIB_CTX_load_config(nullptr, config.path().c_str()) != 1) return 1;
                  EVP_CIPHER* const cipher = EVP_CIPHER_fetch(nullptr, "AES-128-GCM", "provider=warpaes");
                  if (cipher == nullptr) return 2;
                  EVP_CIPHER_CTX* const c = EVP_CIPHER_CTX_new();
                  const Bytes key = random_bytes(16), iv = random_bytes(12);
                  unsigned char out[64];
                  int n = 0;
                  if (EVP_EncryptInit_ex2(c, cipher, key.data(), iv.data(), nullptr) != 1) return 3;
                  OPENSSL_cleanup();
                  if (EVP_EncryptUpdate(c, out, &n, key.data(), 16) != 1 || n != 16) return 4;
                  EVP_CIPHER_CTX_free(c);
                  return 0;
              }));
}

TEST(ProviderLife, OffersNothingWithAConfigurationThatIsNone) {
    for (const char* const line : {"backend = fast\n", "threads = many\n", "threshold = 1T\n", "cbc = perhaps\n",
                                   "device = -3\n", "device-memory = 2\n"}) {
        const Library library(line);
        ASSERT_TRUE(library.loaded());
        EXPECT_EQ(library.cipher("AES-128-GCM"), nullptr);
        EXPECT_NE(library.cipher("AES-128-GCM", "default"), nullptr);
        const std::string name(line, std::strcspn(line, " "));
        EXPECT_NE(build_info(library).find("offers nothing: " + name + ": "), std::string::npos) << build_info(library);
    }
}

TEST(ProviderLife, LeavesEverythingToOpenSslIfItIsToldTo) {
    const Library library("backend = libcrypto\n");
    ASSERT_TRUE(library.loaded());
    EXPECT_EQ(library.cipher("AES-128-GCM"), nullptr);
    const std::shared_ptr<EVP_CIPHER> cipher(EVP_CIPHER_fetch(library.context(), "AES-128-GCM", nullptr),
                                             EVP_CIPHER_free);
    EXPECT_NE(cipher, nullptr);
}

TEST(ProviderLife, CountsWhatRan) {
    const TemporaryFile file;
    const Library library("threads = 2\nthreshold = 64K\ncounters = " + file.path() + "\n");
    ASSERT_TRUE(library.loaded());
    const auto before = [&](const char* name) { return counter(library, name); };
    const std::uint64_t calls = before("warpaes-ofb-kernels-calls"), bytes = before("warpaes-ofb-kernels-bytes");
    (void)crypt(library, "AES-128-OFB", Bytes(1000));
    EXPECT_EQ(counter(library, "warpaes-ofb-kernels-calls"), calls + 1);
    EXPECT_EQ(counter(library, "warpaes-ofb-kernels-bytes"), bytes + 1000);
    EXPECT_EQ(0, in_a_child([&] { return crypt(library, "AES-128-OFB", Bytes(500)).size() == 500 ? 0 : 1; }));
    EXPECT_EQ(counter(library, "warpaes-ofb-kernels-bytes"), bytes + 1000);  // of this process
    // The file has both.
    std::ifstream in(file.path(), std::ios::binary);
    std::vector<std::uint64_t> numbers(200);
    in.read(reinterpret_cast<char*>(numbers.data()), static_cast<std::streamsize>(8 * numbers.size()));
    constexpr std::size_t ofb = 5, first = 2;  // behind the file's mark and the number of loads
    EXPECT_EQ(numbers[first + 8 * ofb], 2u);
    EXPECT_EQ(numbers[first + 8 * ofb + 1], 1500u);
}

TEST(ProviderLife, MapsCountersOnce) {
    const TemporaryFile file;
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(Library("counters = " + file.path() + "\n").loaded());
    std::ifstream maps("/proc/self/maps");
    int found = 0;
    for (std::string line; std::getline(maps, line);) found += line.ends_with(file.path()) ? 1 : 0;
    EXPECT_EQ(found, 1);
}

TEST(ProviderLife, GoesWithoutCountersThatItMayNotWrite) {
    const Library library("counters = /nowhere/counters\n");
    ASSERT_TRUE(library.loaded());
    EXPECT_EQ(crypt(library, "AES-128-CTR", Bytes(16)).size(), 16u);
    EXPECT_NE(build_info(library).find("counters: cannot open '/nowhere/counters'"), std::string::npos);
}

}  // namespace
}  // namespace warpaes::test
