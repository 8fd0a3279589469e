// Compares CTR_DRBG with libcrypto's, and tests its state: seeds from the kernel, forks and limits.
#include "warpaes/drbg.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "composed.hpp"

namespace abi_tests {
namespace {

struct DestroyDrbg {
    void operator()(warpaes_drbg* drbg) const { warpaes_drbg_destroy(drbg); }
};
using Drbg = std::unique_ptr<warpaes_drbg, DestroyDrbg>;

/// Wraps libcrypto's CTR_DRBG, with entropy from its TEST-RAND.
class Oracle {
public:
    Oracle(unsigned key_bits, bool derives, const Bytes& entropy, const Bytes& nonce, const Bytes& personalization) {
        EVP_RAND* const test = EVP_RAND_fetch(nullptr, "TEST-RAND", nullptr);
        parent_ = EVP_RAND_CTX_new(test, nullptr);
        EVP_RAND_free(test);
        unsigned strength = key_bits;
        std::size_t most = 1 << 20;
        const OSSL_PARAM of_parent[] = {OSSL_PARAM_construct_uint(OSSL_RAND_PARAM_STRENGTH, &strength),
                                        OSSL_PARAM_construct_size_t(OSSL_RAND_PARAM_MAX_REQUEST, &most),
                                        OSSL_PARAM_construct_end()};
        require(EVP_RAND_CTX_set_params(parent_, of_parent));
        feed(entropy, nonce);
        require(EVP_RAND_instantiate(parent_, strength, 0, nullptr, 0, nullptr));
        EVP_RAND* const ctr = EVP_RAND_fetch(nullptr, "CTR-DRBG", nullptr);
        drbg_ = EVP_RAND_CTX_new(ctr, parent_);
        EVP_RAND_free(ctr);
        std::string cipher = "AES-" + std::to_string(key_bits) + "-CTR";
        int df = derives ? 1 : 0;
        const OSSL_PARAM own[] = {OSSL_PARAM_construct_utf8_string(OSSL_DRBG_PARAM_CIPHER, cipher.data(), 0),
                                  OSSL_PARAM_construct_int(OSSL_DRBG_PARAM_USE_DF, &df), OSSL_PARAM_construct_end()};
        // If this pointer were null, libcrypto would use its own personalization string.
        static constexpr std::uint8_t nothing = 0;
        require(EVP_RAND_instantiate(drbg_, strength, 0, personalization.empty() ? &nothing : personalization.data(),
                                     personalization.size(), own));
    }
    ~Oracle() {
        EVP_RAND_CTX_free(drbg_);
        EVP_RAND_CTX_free(parent_);
    }
    Oracle(const Oracle&) = delete;
    Oracle& operator=(const Oracle&) = delete;

    void reseed(const Bytes& entropy, const Bytes& additional) {
        feed(entropy, {});
        require(EVP_RAND_reseed(drbg_, 0, nullptr, 0, additional.data(), additional.size()));
    }
    Bytes generate(std::size_t bytes, const Bytes& additional) {
        Bytes out(bytes);
        require(EVP_RAND_generate(drbg_, out.data(), bytes, 0, 0, additional.data(), additional.size()));
        return out;
    }

private:
    static void require(int result) {
        if (result != 1) throw std::runtime_error("libcrypto refused what the test asked of it");
    }
    void feed(Bytes entropy, Bytes nonce) {
        std::vector<OSSL_PARAM> params{
            OSSL_PARAM_construct_octet_string(OSSL_RAND_PARAM_TEST_ENTROPY, entropy.data(), entropy.size())};
        if (!nonce.empty()) {
            params.push_back(OSSL_PARAM_construct_octet_string(OSSL_RAND_PARAM_TEST_NONCE, nonce.data(), nonce.size()));
        }
        params.push_back(OSSL_PARAM_construct_end());
        require(EVP_RAND_CTX_set_params(parent_, params.data()));
    }
    EVP_RAND_CTX *parent_, *drbg_;
};

class DrbgTest : public ComposedTest {
protected:
    Drbg create(const warpaes_drbg_options& options) {
        warpaes_drbg* drbg = nullptr;
        EXPECT_EQ(warpaes_drbg_create(engine_.get(), &options, &drbg), WARPAES_OK) << warpaes_last_error();
        return Drbg(drbg);
    }
    static warpaes_drbg_options options_of(unsigned key_bits, bool derives, const Bytes& entropy = {},
                                           const Bytes& nonce = {}, const Bytes& personalization = {}) {
        warpaes_drbg_options o = WARPAES_DRBG_OPTIONS_INIT;
        o.key_bits = key_bits;
        o.flags = derives ? 0 : WARPAES_DRBG_WITHOUT_DF;
        const auto give = [](const Bytes& bytes, const void*& data, std::uint64_t& length) {
            data = bytes.empty() ? nullptr : bytes.data();
            length = bytes.size();
        };
        give(entropy, o.entropy, o.entropy_len);
        give(nonce, o.nonce, o.nonce_len);
        give(personalization, o.personalization, o.personalization_len);
        return o;
    }
    static Bytes generate(const Drbg& drbg, std::size_t bytes, const Bytes& additional = {}, std::uint32_t flags = 0) {
        PoisonedBuffer out(bytes, 3);
        EXPECT_EQ(warpaes_drbg_generate(drbg.get(), out.data(), bytes, additional.data(), additional.size(), flags),
                  WARPAES_OK)
            << warpaes_last_error();
        EXPECT_TRUE(out.intact_after(bytes));
        return out.bytes(bytes);
    }
    static constexpr bool both[] = {true, false};
};

TEST_P(DrbgTest, AgreesWithLibcrypto) {
    for (const unsigned bits : {128U, 192U, 256U}) {
        for (const bool derives : both) {
            const std::size_t seed = bits / 8 + 16;
            for (std::size_t turn = 0; turn < 40; ++turn) {
                SCOPED_TRACE(std::to_string(bits) + (derives ? " bits, derived " : " bits, ") + std::to_string(turn));
                const auto entropy = [&] { return random_.bytes(derives ? bits / 8 + random_.below(70) : seed); };
                const auto input = [&] { return random_.bytes(turn % 3 == 0 ? 0 : random_.below(seed + 1)); };
                const Bytes first = entropy(), nonce = derives ? random_.bytes(bits / 16 + random_.below(30)) : Bytes{};
                const Bytes personalization = input();
                Oracle oracle(bits, derives, first, nonce, personalization);
                const Drbg drbg = create(options_of(bits, derives, first, nonce, personalization));
                for (int call = 0; call < 6; ++call) {
                    if (call % 3 == 2) {
                        const Bytes fresh = entropy(), additional = input();
                        oracle.reseed(fresh, additional);
                        ASSERT_EQ(warpaes_drbg_reseed(drbg.get(), fresh.data(), fresh.size(), additional.data(),
                                                      additional.size()),
                                  WARPAES_OK)
                            << warpaes_last_error();
                    }
                    // libcrypto ignores requests for 0 bytes.
                    const std::size_t n = turn == 39 ? 65536 - random_.below(20) : 1 + random_.below(300);
                    const Bytes additional = input();
                    ASSERT_EQ(generate(drbg, n, additional), oracle.generate(n, additional)) << call;
                }
            }
        }
    }
}

TEST_P(DrbgTest, LongInputs) {
    const Bytes entropy = random_.bytes(5000), nonce = random_.bytes(1000), text = random_.bytes(70001);
    Oracle oracle(256, true, entropy, nonce, text);
    const Drbg drbg = create(options_of(256, true, entropy, nonce, text));
    EXPECT_EQ(generate(drbg, 65536, text), oracle.generate(65536, text));
    EXPECT_EQ(generate(drbg, 1), oracle.generate(1, {}));
}

TEST_P(DrbgTest, SeedsOfTheKernelAreDifferent) {
    for (const bool derives : both) {
        std::set<Bytes> seen;
        for (int i = 0; i < 5; ++i) seen.insert(generate(create(options_of(128, derives)), 32));
        EXPECT_EQ(seen.size(), 5U);
    }
    warpaes_drbg* drbg = nullptr;
    ASSERT_EQ(warpaes_drbg_create(engine_.get(), nullptr, &drbg), WARPAES_OK) << warpaes_last_error();
    const Drbg owner(drbg);
    EXPECT_NE(generate(owner, 32), generate(owner, 32));
}

TEST_P(DrbgTest, PredictionResistanceAndReseedingTakeFreshEntropy) {
    for (const bool derives : both) {
        const Bytes entropy = random_.bytes(48), nonce = derives ? random_.bytes(16) : Bytes{};
        const auto o = options_of(256, derives, entropy, nonce);
        const Bytes without = generate(create(o), 32);
        EXPECT_EQ(without, generate(create(o), 32));
        EXPECT_NE(without, generate(create(o), 32, {}, WARPAES_DRBG_PREDICTION_RESISTANCE));
        const Drbg reseeded = create(o);
        ASSERT_EQ(warpaes_drbg_reseed(reseeded.get(), nullptr, 0, nullptr, 0), WARPAES_OK) << warpaes_last_error();
        EXPECT_NE(without, generate(reseeded, 32));
    }
}

TEST_P(DrbgTest, AChildReseedsBeforeItGivesAnything) {
    const Bytes entropy = random_.bytes(48), nonce = random_.bytes(16);
    const Drbg drbg = create(options_of(256, true, entropy, nonce));
    (void)generate(drbg, 10);
    std::set<Bytes> seen;
    for (int child = 0; child < 2; ++child) {
        int ends[2];
        ASSERT_EQ(pipe(ends), 0);
        const pid_t pid = fork();
        if (pid == 0) {
            Bytes out(32);
            if (warpaes_drbg_generate(drbg.get(), out.data(), 32, nullptr, 0, 0) != WARPAES_OK) _exit(1);
            _exit(write(ends[1], out.data(), 32) == 32 ? 0 : 1);
        }
        Bytes out(32);
        EXPECT_EQ(read(ends[0], out.data(), 32), 32);
        int status = 1;
        waitpid(pid, &status, 0);
        EXPECT_EQ(status, 0);
        close(ends[0]);
        close(ends[1]);
        seen.insert(out);
    }
    seen.insert(generate(drbg, 32));
    EXPECT_EQ(seen.size(), 3U) << "two processes generated the same random numbers";
    // The parent's state is unchanged.
    Oracle oracle(256, true, entropy, nonce, {});
    (void)oracle.generate(10, {});
    EXPECT_EQ(seen.count(oracle.generate(32, {})), 1U);
}

TEST_P(DrbgTest, WhatCannotBeIsRefusedWithASentence) {
    const Bytes bytes = random_.bytes(100);
    const auto refused = [&](warpaes_status status, const std::string& about, warpaes_drbg_options o) {
        char error[WARPAES_ERROR_BYTES] = "";
        o.error = error;
        warpaes_drbg* drbg = reinterpret_cast<warpaes_drbg*>(&o);
        EXPECT_EQ(warpaes_drbg_create(engine_.get(), &o, &drbg), status) << about;
        EXPECT_EQ(drbg, nullptr);
        EXPECT_EQ(std::string(error).rfind(about + ": ", 0), 0U) << error;
        EXPECT_STREQ(error, warpaes_last_error());
    };
    const auto with = [&](bool derives, std::size_t entropy, std::size_t nonce, std::size_t personalization = 0) {
        const auto cut = [&](std::size_t n) { return n == 0 ? nullptr : bytes.data(); };
        warpaes_drbg_options o = options_of(128, derives);
        o.entropy = cut(entropy);
        o.entropy_len = entropy;
        o.nonce = cut(nonce);
        o.nonce_len = nonce;
        o.personalization = cut(personalization);
        o.personalization_len = personalization;
        return o;
    };
    refused(WARPAES_ERROR_KEY_LENGTH, "key_bits", options_of(64, true));
    refused(WARPAES_ERROR_DATA_LENGTH, "entropy", with(true, 15, 8));
    refused(WARPAES_ERROR_DATA_LENGTH, "nonce", with(true, 16, 7));
    refused(WARPAES_ERROR_DATA_LENGTH, "nonce", with(true, 16, 0));
    refused(WARPAES_ERROR_DATA_LENGTH, "entropy", with(false, 31, 0));
    refused(WARPAES_ERROR_DATA_LENGTH, "entropy", with(false, 33, 0));
    refused(WARPAES_ERROR_ARGUMENT, "nonce", with(false, 32, 8));
    refused(WARPAES_ERROR_DATA_LENGTH, "personalization", with(false, 32, 0, 33));
    warpaes_drbg_options o = with(true, 16, 8);
    o.personalization = bytes.data();
    o.personalization_len = 1ULL << 32;
    refused(WARPAES_ERROR_DATA_LENGTH, "personalization", o);
    o = with(true, 16, 8);
    o.entropy = nullptr;
    refused(WARPAES_ERROR_ARGUMENT, "entropy", o);
    o = with(true, 16, 8);
    o.flags = 4;
    refused(WARPAES_ERROR_ARGUMENT, "flags", o);
    o = with(true, 16, 8);
    o.reserved = 1;
    refused(WARPAES_ERROR_ARGUMENT, "reserved", o);
    o = with(true, 16, 8);
    o.struct_size = 71;
    warpaes_drbg* none = nullptr;
    EXPECT_EQ(warpaes_drbg_create(engine_.get(), &o, &none), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(warpaes_drbg_create(nullptr, nullptr, &none), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(warpaes_drbg_create(engine_.get(), nullptr, nullptr), WARPAES_ERROR_ARGUMENT);

    const Drbg drbg = create(with(false, 32, 0));
    Bytes out(65537, 7);
    const auto asked = [&](warpaes_status status, const std::string& about, warpaes_status got) {
        EXPECT_EQ(got, status);
        EXPECT_EQ(std::string(warpaes_last_error()).rfind(about + ": ", 0), 0U) << warpaes_last_error();
        EXPECT_EQ(out, Bytes(65537, 7));
    };
    warpaes_drbg* const d = drbg.get();
    asked(WARPAES_ERROR_DATA_LENGTH, "output_len", warpaes_drbg_generate(d, out.data(), 65537, nullptr, 0, 0));
    asked(WARPAES_ERROR_ARGUMENT, "output", warpaes_drbg_generate(d, nullptr, 1, nullptr, 0, 0));
    asked(WARPAES_ERROR_ARGUMENT, "additional", warpaes_drbg_generate(d, out.data(), 1, nullptr, 1, 0));
    asked(WARPAES_ERROR_DATA_LENGTH, "additional", warpaes_drbg_generate(d, out.data(), 1, bytes.data(), 33, 0));
    asked(WARPAES_ERROR_ARGUMENT, "flags", warpaes_drbg_generate(d, out.data(), 1, nullptr, 0, 1));
    asked(WARPAES_ERROR_ARGUMENT, "drbg", warpaes_drbg_generate(nullptr, out.data(), 1, nullptr, 0, 0));
    asked(WARPAES_ERROR_DATA_LENGTH, "entropy", warpaes_drbg_reseed(d, bytes.data(), 31, nullptr, 0));
    asked(WARPAES_ERROR_DATA_LENGTH, "additional", warpaes_drbg_reseed(d, bytes.data(), 32, bytes.data(), 33));
    asked(WARPAES_ERROR_ARGUMENT, "drbg", warpaes_drbg_reseed(nullptr, bytes.data(), 32, nullptr, 0));
    // None of the refused calls changed the generator's state.
    EXPECT_EQ(generate(drbg, 32), generate(create(with(false, 32, 0)), 32));
}

WARPAES_FOR_EVERY_CPU_BACKEND(DrbgTest);

}  // namespace
}  // namespace abi_tests
