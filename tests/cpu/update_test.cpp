// Tests kernels of every vector width that continue across updates, compared with block-by-block arithmetic.
#include "cpu/update.hpp"

#include <cstring>

#include "aes/cipher.hpp"
#include "aes/cmac.hpp"
#include "aes/xts.hpp"
#include "cpu/features.hpp"
#include "cpu_backends.hpp"

namespace warpaes::test {
namespace {

struct Width {
    const char* label;
    const cpu::UpdateKernels* kernels;
    std::string (*why_not)(const cpu::CpuWords&);
};

void PrintTo(const Width& w, std::ostream* out) {
    *out << w.label;
}

#if defined(__x86_64__) || defined(__aarch64__)
#if defined(__x86_64__)
constexpr Width widths[] = {{"aesni", &cpu::update_kernels_aesni, cpu::why_not_aesni},
                            {"vaes256", &cpu::update_kernels_vaes256, cpu::why_not_vaes256},
                            {"vaes512", &cpu::update_kernels_vaes512, cpu::why_not_vaes512}};
#else
constexpr Width widths[] = {{"armv8", &cpu::update_kernels_armv8, cpu::why_not_armv8}};
#endif

struct Schedule {
    alignas(64) std::array<std::uint8_t, 240> encrypt{}, decrypt{};
    alignas(64) std::array<std::uint8_t, cpu::update_powers_bytes> powers{};
    const cpu::serial::Kernels* serial;
    RoundKeys keys;
    int rounds;

    explicit Schedule(const Bytes& key)
        : serial(&cpu::serial::kernels(static_cast<int>(key.size() / 4 + 6))),
          keys(expand_key(key)),
          rounds(static_cast<int>(key.size() / 4 + 6)) {
        serial->expand(key.data(), encrypt.data());
        serial->expand_inverse(key.data(), decrypt.data());
        serial->make_few_powers(encrypt.data(), powers.data());
    }
};

class Update : public testing::TestWithParam<Width> {
protected:
    void SetUp() override {
        const std::string why = GetParam().why_not(cpu::this_cpu());
        if (!why.empty()) GTEST_SKIP() << why << "; a machine whose CPU supports it runs this test";
    }
};

/// The contents of the vector registers after a function has returned. in_use() lists the registers that are not zero.
struct Registers {
    alignas(16) std::array<std::array<std::uint8_t, 16>, 24> bytes{};

    [[gnu::always_inline]] void read() {
#if defined(__x86_64__)
        asm volatile(
            "movups %%xmm0, (%0)\n movups %%xmm1, 16(%0)\n movups %%xmm2, 32(%0)\n movups %%xmm3, 48(%0)\n"
            "movups %%xmm4, 64(%0)\n movups %%xmm5, 80(%0)\n movups %%xmm6, 96(%0)\n movups %%xmm7, 112(%0)\n"
            "movups %%xmm8, 128(%0)\n movups %%xmm9, 144(%0)\n movups %%xmm10, 160(%0)\n movups %%xmm11, 176(%0)\n"
            "movups %%xmm12, 192(%0)\n movups %%xmm13, 208(%0)\n movups %%xmm14, 224(%0)\n movups %%xmm15, 240(%0)" ::
                "r"(bytes.data())
            : "memory");
#else
        asm volatile(
            "stp q0, q1, [%0]\n stp q2, q3, [%0, 32]\n stp q4, q5, [%0, 64]\n stp q6, q7, [%0, 96]\n"
            "stp q16, q17, [%0, 128]\n stp q18, q19, [%0, 160]\n stp q20, q21, [%0, 192]\n stp q22, q23, [%0, 224]\n"
            "stp q24, q25, [%0, 256]\n stp q26, q27, [%0, 288]\n stp q28, q29, [%0, 320]\n stp q30, q31, [%0, 352]" ::
                "r"(bytes.data())
            : "memory");
#endif
    }
    [[nodiscard]] std::vector<std::size_t> in_use() const {
        std::vector<std::size_t> numbers;
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            if (bytes[i] != std::array<std::uint8_t, 16>{}) numbers.push_back(i);
        }
        return numbers;
    }
};

// Kernels must leave no key material in vector registers, because no code after them wipes the registers.
TEST_P(Update, OfASchedulesMakingNothingStaysInVectorRegisters) {
    for (const std::size_t bytes : {16u, 24u, 32u}) {
        const Bytes key = random_bytes(bytes, static_cast<std::uint32_t>(bytes));
        Schedule s(key);
        Registers encrypt, decrypt, powers;
        s.serial->expand(key.data(), s.encrypt.data());
        encrypt.read();
        s.serial->expand_inverse(key.data(), s.decrypt.data());
        decrypt.read();
        s.serial->make_few_powers(s.encrypt.data(), s.powers.data());
        powers.read();
        for (const Registers& left : {encrypt, decrypt, powers}) {
            EXPECT_EQ(left.in_use(), std::vector<std::size_t>{}) << bytes;
        }
    }
}

TEST_P(Update, SchedulesAndPowersAreThoseOfTheStandard) {
    for (const std::size_t bytes : {16u, 24u, 32u}) {
        const Bytes key = random_bytes(bytes, static_cast<std::uint32_t>(bytes));
        Schedule s(key);
        const std::size_t used = 16 * static_cast<std::size_t>(s.rounds + 1);
        const RoundKeys inverse = invert_round_keys(s.keys, s.rounds);
        EXPECT_EQ(0, std::memcmp(s.encrypt.data(), s.keys.words.data(), used));
        EXPECT_EQ(0, std::memcmp(s.decrypt.data(), inverse.words.data(), used));
        GetParam().kernels->extend_powers(s.powers.data());
        const HashKey h = make_hash_key(load_element(encrypt_block(s.keys, s.rounds, Block{})));
        const auto* const expected = &h.descending[HashKey::count - cpu::update_powers];
        EXPECT_EQ(0, std::memcmp(s.powers.data(), expected, 16 * cpu::update_powers));
        EXPECT_EQ(s.powers[16 * cpu::update_powers], 0);
    }
}

TEST_P(Update, GcmGoesOnFromItsState) {
    for (const std::size_t key_bytes : {16u, 24u, 32u}) {
        Schedule s(random_bytes(key_bytes, 5));
        GetParam().kernels->extend_powers(s.powers.data());
        const FieldElement h = load_element(encrypt_block(s.keys, s.rounds, Block{}));
        for (const bool encrypt : {true, false}) {
            for (const bool public_counters : {true, false}) {
                Block counter = to_block(random_bytes(16, 6));
                counter[12] = counter[13] = 0xff;  // the counter wraps in the middle of the message
                Block digest = to_block(random_bytes(16, 7)), few_digest = digest, few_counter = counter;
                Block expected_counter = counter;
                FieldElement expected = load_element(digest);
                for (const std::size_t blocks :
                     {1u, 2u, 3u, 7u, 8u, 9u, 16u, 31u, 32u, 33u, 64u, 100u, 4096u, 4999u, 5u}) {
                    const Bytes in = random_bytes(16 * blocks, static_cast<std::uint32_t>(blocks));
                    Bytes out(in.size()), wanted(in.size());
                    for (std::size_t i = 0; i < blocks; ++i) {
                        const Block stream = encrypt_block(s.keys, s.rounds, expected_counter);
                        expected_counter = inc32(expected_counter);
                        Block hashed;
                        for (std::size_t b = 0; b < 16; ++b) {
                            wanted[16 * i + b] = static_cast<std::uint8_t>(in[16 * i + b] ^ stream[b]);
                            hashed[b] = encrypt ? wanted[16 * i + b] : in[16 * i + b];
                        }
                        expected = multiply(expected ^ load_element(hashed), h);
                    }
                    cpu::GcmUpdate update{.encrypt = encrypt,
                                          .public_counters = public_counters,
                                          .rounds = s.rounds,
                                          .keys = s.encrypt.data(),
                                          .powers = s.powers.data(),
                                          .input = in.data(),
                                          .output = out.data(),
                                          .blocks = blocks,
                                          .counter = counter.data(),
                                          .digest = digest.data()};
                    GetParam().kernels->gcm(update);
                    ASSERT_TRUE(out == wanted) << blocks;
                    ASSERT_EQ(digest, store_element(expected)) << blocks;
                    ASSERT_EQ(counter, expected_counter);
                    // The kernel for few blocks must also be correct for many blocks.
                    update.counter = few_counter.data();
                    update.digest = few_digest.data();
                    Bytes in_place = in;
                    update.input = update.output = in_place.data();
                    s.serial->gcm(update);
                    ASSERT_TRUE(in_place == wanted) << blocks;
                    ASSERT_EQ(few_digest, digest);
                    ASSERT_EQ(few_counter, counter);

                    Block hashed = digest, few_hashed = digest;
                    FieldElement sum = expected;
                    hash_blocks(h, in.data(), in.size(), sum);
                    GetParam().kernels->hash(s.powers.data(), hashed.data(), in.data(), blocks);
                    s.serial->hash(s.powers.data(), few_hashed.data(), in.data(), blocks);
                    ASSERT_EQ(hashed, store_element(sum)) << blocks;
                    ASSERT_EQ(few_hashed, hashed);
                }
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Cpu, Update, testing::ValuesIn(widths), [](const auto& i) { return i.param.label; });

TEST(SerialUpdate, ModesAreLibcryptos) {
    const std::string why = widths[0].why_not(cpu::this_cpu());
    if (!why.empty()) GTEST_SKIP() << why << "; a machine whose CPU supports it runs this test";
    for (const std::size_t key_bytes : {16u, 24u, 32u}) {
        const Bytes key = random_bytes(key_bytes, 9), chain = random_bytes(16, 10);
        const Schedule s(key);
        const auto expected = [&](const char* mode, bool encrypt, const Bytes& in) {
            return *oracle::evp(mode, encrypt, key, std::string(mode) == "ECB" ? Bytes{} : chain, in, false,
                                std::nullopt);
        };
        for (std::size_t blocks = 1; blocks <= 20; ++blocks) {
            const Bytes in = random_bytes(16 * blocks, 11);
            const auto run = [&](const char* mode, bool encrypt, const auto& kernel) {
                Bytes out(in.size()), in_place = in, c = chain, d = chain;
                kernel(c.data(), in.data(), out.data());
                kernel(d.data(), in_place.data(), in_place.data());
                EXPECT_EQ(out, expected(mode, encrypt, in)) << mode << blocks;
                EXPECT_EQ(out, in_place) << mode;
                EXPECT_EQ(c, d) << mode;
                return c;
            };
            const std::uint8_t* const e = s.encrypt.data();
            const std::uint8_t* const d = s.decrypt.data();
            using P = std::uint8_t*;
            using C = const std::uint8_t*;
            const Bytes cbc = run("CBC", true, [&](P c, C i, P o) { s.serial->cbc(e, c, i, o, blocks); });
            const Bytes sealed = expected("CBC", true, in);
            EXPECT_TRUE(std::equal(cbc.begin(), cbc.end(), sealed.end() - 16));
            run("CFB128", true, [&](P c, C i, P o) { s.serial->cfb(e, c, i, o, blocks); });
            run("OFB", true, [&](P c, C i, P o) { s.serial->ofb(e, c, i, o, blocks); });
            run("CFB8", true, [&](P c, C i, P o) { s.serial->cfb8(e, c, i, o, 16 * blocks); });
            for (const bool encrypt : {true, false}) {
                run("CFB1", encrypt, [&](P c, C i, P o) { s.serial->cfb1(e, c, i, o, 128 * blocks, encrypt); });
            }
            Bytes mac = chain;
            s.serial->mac(e, mac.data(), in.data(), blocks);
            EXPECT_EQ(mac, cbc);
            if (blocks > cpu::serial::few_blocks) continue;
            run("ECB", true, [&](P, C i, P o) { s.serial->ecb(e, i, o, blocks); });
            run("ECB", false, [&](P, C i, P o) { s.serial->ecb_inverse(d, i, o, blocks); });
            run("CBC", false, [&](P c, C i, P o) { s.serial->cbc_inverse(d, c, i, o, blocks); });
            run("CTR", true, [&](P c, C i, P o) { s.serial->ctr(e, c, i, o, blocks); });
        }
        // Tests a 128-bit counter that wraps.
        Bytes last(16, 0xff), zeros(32), out(32);
        last[15] = 0xfe;
        s.serial->ctr(s.encrypt.data(), last.data(), zeros.data(), out.data(), 2);
        EXPECT_EQ(last, Bytes(16, 0));
    }
}
#endif

}  // namespace
}  // namespace warpaes::test
