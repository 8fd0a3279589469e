// Tests the life cycle of the provider in a process: loading and unloading, fork, use by several threads, and use after
// OpenSSL's cleanup.
#include <fcntl.h>
#include <sys/resource.h>

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
    // OpenSSL provides all other algorithms.
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
                      // Uses the parent's context, a new context, and a context in a grandchild.
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

TEST(ProviderLife, SaysWhichKernelsRun) {
    for (const auto& [backend, kernels] :
         {std::pair{"aesni", "AES-NI, 8 blocks in flight"}, {"vaes", "VAES, "}, {"armv8", "Armv8 AES and PMULL"}}) {
        const Library library(std::string("backend = ") + backend + "\n");
        ASSERT_TRUE(library.loaded());
        if (library.cipher("AES-128-GCM") == nullptr) continue;  // a backend for a different processor
        EXPECT_NE(build_info(library).find(kernels), std::string::npos) << build_info(library);
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

/// Reads the number of calls of OFB, and the number of bytes that OFB's kernels processed, from the file.
std::pair<std::uint64_t, std::uint64_t> ofb_in(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::vector<std::uint64_t> numbers(200);
    in.read(reinterpret_cast<char*>(numbers.data()), static_cast<std::streamsize>(8 * numbers.size()));
    constexpr std::size_t ofb = 5, first = 2;  // the file's magic number and the number of loads come first
    return {numbers[first + 8 * ofb], numbers[first + 8 * ofb + 1]};
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
    EXPECT_EQ(counter(library, "warpaes-ofb-kernels-bytes"), bytes + 1000);  // this counter counts only this process
    // The file counts both processes.
    EXPECT_EQ(ofb_in(file.path()), (std::pair<std::uint64_t, std::uint64_t>{2, 1500}));
}

TEST(ProviderLife, ProcessesAndThreadsCountTogether) {
    const TemporaryFile file;
    const Library library("counters = " + file.path() + "\n");
    ASSERT_TRUE(library.loaded());
    constexpr int processes = 4, threads = 4, messages = 100;
    std::vector<pid_t> children;
    for (int p = 0; p < processes; ++p) {
        const pid_t child = ::fork();
        if (child == 0) {
            std::vector<std::thread> all;
            for (int t = 0; t < threads; ++t) {
                all.emplace_back([&] {
                    for (int i = 0; i < messages; ++i) (void)crypt(library, "AES-128-OFB", Bytes(7));
                });
            }
            for (auto& thread : all) thread.join();
            ::_exit(0);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) EXPECT_EQ(child, ::waitpid(child, nullptr, 0));
    const auto [calls, bytes] = ofb_in(file.path());
    EXPECT_EQ(calls, processes * threads * messages);
    EXPECT_EQ(bytes, 7 * processes * threads * messages);
}

/// Other processes may write to the file. Whatever they write, the host must continue, and must keep counting if it
/// can.
TEST(ProviderLife, AFileOfCountersMayBeCutShortOrReplaced) {
    const TemporaryFile file;
    EXPECT_EQ(0, in_a_child([&] {
                  const Library library("counters = " + file.path() + "\n");
                  const auto one_more = [&] { return crypt(library, "AES-128-OFB", Bytes(100)).size() == 100; };
                  if (!one_more() || ofb_in(file.path()).first != 1) return 1;
                  for (const off_t bytes : {0, 3, 8, 100}) {
                      if (::truncate(file.path().c_str(), bytes) != 0) return 2;
                      if (!one_more() || ofb_in(file.path()) != std::pair<std::uint64_t, std::uint64_t>{1, 100})
                          return 3;
                  }
                  // The file is removed, and a new file is created.
                  if (::unlink(file.path().c_str()) != 0) return 4;
                  if (!one_more() || ofb_in(file.path()).first != 1) return 5;
                  // A file of another program stays unchanged. Pending counts are written once that file is removed.
                  const std::string text(2000, 'x');
                  std::ofstream(file.path()) << text;
                  if (!one_more()) return 6;
                  std::ifstream in(file.path());
                  if (std::string(std::istreambuf_iterator<char>(in), {}) != text) return 7;
                  if (::unlink(file.path().c_str()) != 0 || !one_more()) return 8;
                  return ofb_in(file.path()).first == 2 ? 0 : 9;
              }));
}

/// Daemons close all inherited descriptors. The system then reuses their numbers.
TEST(ProviderLife, AHostMayCloseTheFileOfCounters) {
    const TemporaryFile file, other("nothing of the provider's");
    EXPECT_EQ(0, in_a_child([&] {
                  const Library library("counters = " + file.path() + "\n");
                  if (crypt(library, "AES-128-OFB", Bytes(100)).size() != 100) return 1;
                  for (int number = 3; number < 100; ++number) ::close(number);
                  for (int i = 0; i < 100; ++i) (void)::open(other.path().c_str(), O_RDWR);
                  if (crypt(library, "AES-128-OFB", Bytes(100)).size() != 100) return 2;
                  std::ifstream in(other.path());
                  const std::string text(std::istreambuf_iterator<char>(in), {});
                  if (text != "nothing of the provider's") return 3;
                  return ofb_in(file.path()).first == 2 ? 0 : 4;
              }));
}

/// If another process holds the lock, or a file-size limit would end the process, the host continues and counts later.
TEST(ProviderLife, NobodyWaitsToCount) {
    const TemporaryFile file;
    const Library library("counters = " + file.path() + "\n");
    ASSERT_TRUE(library.loaded());
    int ready[2];
    ASSERT_EQ(0, ::pipe(ready));
    const pid_t child = ::fork();
    if (child == 0) {
        const int fd = ::open(file.path().c_str(), O_RDWR);
        struct flock range {};
        range.l_type = F_WRLCK;
        (void)::fcntl(fd, F_SETLK, &range);
        (void)!::write(ready[1], "x", 1);
        for (;;) ::pause();
    }
    char one = 0;
    ASSERT_EQ(1, ::read(ready[0], &one, 1));
    for (int i = 0; i < 50; ++i) (void)crypt(library, "AES-128-OFB", Bytes(10));
    EXPECT_EQ(ofb_in(file.path()).first, 0u);
    ASSERT_EQ(0, ::kill(child, SIGKILL));
    EXPECT_EQ(child, ::waitpid(child, nullptr, 0));
    (void)crypt(library, "AES-128-OFB", Bytes(10));
    EXPECT_EQ(ofb_in(file.path()), (std::pair<std::uint64_t, std::uint64_t>{51, 510}));
    EXPECT_EQ(0, in_a_child([&] {
                  const rlimit none{0, 0};
                  if (::setrlimit(RLIMIT_FSIZE, &none) != 0) return 1;
                  return crypt(library, "AES-128-OFB", Bytes(10)).size() == 10 ? 0 : 2;
              }));
    EXPECT_EQ(ofb_in(file.path()).first, 51u);
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST(ProviderLife, OpensCountersOnce) {
    const TemporaryFile file;
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(Library("counters = " + file.path() + "\n").loaded());
    int found = 0;
    for (int number = 0; number < 200; ++number) {
        char name[256];
        const std::string link = "/proc/self/fd/" + std::to_string(number);
        const ssize_t n = ::readlink(link.c_str(), name, sizeof name);
        found += n > 0 && std::string(name, static_cast<std::size_t>(n)) == file.path() ? 1 : 0;
    }
    EXPECT_EQ(found, 1);
}

TEST(ProviderLife, TakesNoFileOfSomebodyElsesForCounters) {
    const TemporaryFile file("text of a person's");
    const Library library("counters = " + file.path() + "\n");
    ASSERT_TRUE(library.loaded());
    EXPECT_EQ(crypt(library, "AES-128-CTR", Bytes(16)).size(), 16u);
    EXPECT_NE(build_info(library).find("is not a counters file of this version"), std::string::npos);
    std::ifstream in(file.path());
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "text of a person's");
}

TEST(ProviderLife, GoesWithoutCountersThatItMayNotWrite) {
    const Library library("counters = /nowhere/counters\n");
    ASSERT_TRUE(library.loaded());
    EXPECT_EQ(crypt(library, "AES-128-CTR", Bytes(16)).size(), 16u);
    EXPECT_NE(build_info(library).find("counters: cannot open '/nowhere/counters'"), std::string::npos);
}

}  // namespace
}  // namespace warpaes::test
