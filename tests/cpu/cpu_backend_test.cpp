// Tests the CPU backends' descriptions and lanes.
#include "cpu/cpu_backend.hpp"

#include <malloc.h>
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>
#include <span>
#include <thread>

#include "base/error.hpp"
#include "cpu/features.hpp"
#include "cpu_backends.hpp"

namespace {

/// Counts freed aligned blocks, and the bytes in them that are equal to `mark`.
constexpr std::uint8_t mark = 0x3c;
std::atomic<bool> watching{false};
std::atomic<std::size_t> freed{0}, marked{0};

}  // namespace

void* operator new(std::size_t bytes, std::align_val_t alignment) {
    void* memory = nullptr;
    if (::posix_memalign(&memory, static_cast<std::size_t>(alignment), bytes) != 0) throw std::bad_alloc();
    return memory;
}

void operator delete(void* memory, std::align_val_t) noexcept {
    if (watching && memory != nullptr) {
        const std::span block(static_cast<const std::uint8_t*>(memory), ::malloc_usable_size(memory));
        ++freed;
        marked += static_cast<std::size_t>(std::count(block.begin(), block.end(), mark));
    }
    std::free(memory);
}

void operator delete(void* memory, std::size_t, std::align_val_t alignment) noexcept {
    ::operator delete(memory, alignment);  // AddressSanitizer's function accepts only memory of its own allocator
}

namespace warpaes::test {
namespace {

warpaes_status status_of_opening(Backend& backend, std::size_t staging_bytes) {
    try {
        (void)backend.open_lane(-1, staging_bytes);
    } catch (const Error& error) {
        return error.status();
    }
    return WARPAES_OK;
}

TEST(CpuBackend, DescribesItself) {
    EXPECT_EQ(libcrypto_backend().name(), "libcrypto");
    EXPECT_EQ(aesni_backend().name(), "aesni");
    EXPECT_EQ(vaes_backend().name(), "vaes");
    EXPECT_EQ(armv8_backend().name(), "armv8");
    EXPECT_TRUE(libcrypto_backend().usable());
    EXPECT_TRUE(libcrypto_backend().info()[0].description.starts_with("OpenSSL 3."));
    for (const auto& [label, backend] : cpu_backends()) {
        ASSERT_EQ(backend->info().size(), 1u) << label;
        EXPECT_EQ(backend->info()[0].name, backend->name()) << label;
        EXPECT_NE(backend->info()[0].description, "") << label;
        EXPECT_EQ(backend->info()[0].device, -1) << label;
    }
}

TEST(CpuBackend, PrefersTheWiderVaes) {
    using cpu::VaesKernels;
    Backend& wide = cpu::vaes_backend(cpu::multiplies_slowly() ? VaesKernels::bits512_folding : VaesKernels::bits512);
    Backend& narrow = cpu::vaes_backend(VaesKernels::bits256);
    EXPECT_NE(&wide, &narrow);
    EXPECT_EQ(&vaes_backend(), wide.usable() ? &wide : &narrow);
}

#if defined(__x86_64__)
// Machines with only one of two related features are rare, so the test sets the bits one by one. Bits are numbered as
// in Intel's manual.
TEST(CpuBackend, EveryBitOfTheCpuCounts) {
    using cpu::CpuWords;
    constexpr CpuWords all{~0u, ~0u, ~0u, ~0u, ~0ul};
    EXPECT_EQ(cpu::why_not_aesni(all), "");
    EXPECT_EQ(cpu::why_not_vaes256(all), "");
    EXPECT_EQ(cpu::why_not_vaes512(all), "");
    struct Missing {
        unsigned CpuWords::*word;
        int bit;
        const char *aesni, *vaes256, *vaes512;
    };
    const Missing cases[] = {
        {&CpuWords::leaf1_c, 1, "PCLMULQDQ", "PCLMULQDQ", "PCLMULQDQ"},
        {&CpuWords::leaf1_c, 9, "AES-NI", "AES-NI", "AES-NI"},  // SSSE3
        {&CpuWords::leaf1_c, 25, "AES-NI", "AES-NI", "AES-NI"},
        {&CpuWords::leaf1_c, 27, "", "256-bit registers", "512-bit registers"},  // OSXSAVE
        {&CpuWords::leaf7_b, 5, "", "AVX2", "AVX2"},
        {&CpuWords::leaf7_b, 16, "", "", "AVX-512 (F"},
        {&CpuWords::leaf7_b, 30, "", "", "AVX-512 (F"},
        {&CpuWords::leaf7_b, 31, "", "", "AVX-512 (F"},
        {&CpuWords::leaf7_c, 9, "", "(VAES)", "(VAES)"},
        {&CpuWords::leaf7_c, 10, "", "(VPCLMULQDQ)", "(VPCLMULQDQ)"},
        {&CpuWords::xcr0, 1, "", "256-bit registers", "512-bit registers"},
        {&CpuWords::xcr0, 2, "", "256-bit registers", "512-bit registers"},
        {&CpuWords::xcr0, 5, "", "", "512-bit registers"},
        {&CpuWords::xcr0, 6, "", "", "512-bit registers"},
        {&CpuWords::xcr0, 7, "", "", "512-bit registers"},
    };
    CpuWords only{};
    const auto expect = [](const std::string& why, const char* part, const Missing& m) {
        EXPECT_EQ(why.empty(), *part == '\0') << m.bit << ": " << why;
        EXPECT_NE(why.find(part), std::string::npos) << m.bit << ": " << why;
    };
    for (const Missing& m : cases) {
        CpuWords words = all;
        words.*m.word &= ~(1u << m.bit);
        only.*m.word |= 1u << m.bit;
        expect(cpu::why_not_aesni(words), m.aesni, m);
        expect(cpu::why_not_vaes256(words), m.vaes256, m);
        expect(cpu::why_not_vaes512(words), m.vaes512, m);
    }
    EXPECT_EQ(cpu::why_not_vaes512(only), "") << "no other bit counts";
}
#endif

#if defined(__x86_64__) && !defined(__clang__)  // clang 14 does not support all of these names
TEST(CpuBackend, DetectionAgreesWithTheCompilers) {
    const bool aesni = __builtin_cpu_supports("aes") != 0 && __builtin_cpu_supports("pclmul") != 0;
    const bool vaes256 = __builtin_cpu_supports("vaes") != 0 && __builtin_cpu_supports("vpclmulqdq") != 0 &&
                         __builtin_cpu_supports("avx2") != 0;
    const bool vaes512 = vaes256 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
                         __builtin_cpu_supports("avx512vl") != 0;
    EXPECT_EQ(cpu::why_not_aesni().empty(), aesni) << cpu::why_not_aesni();
    EXPECT_EQ(cpu::why_not_vaes256().empty(), vaes256) << cpu::why_not_vaes256();
    EXPECT_EQ(cpu::why_not_vaes512().empty(), vaes512) << cpu::why_not_vaes512();
}
#elif !defined(__x86_64__)
TEST(CpuBackend, SaysWhyX86CannotRun) {
    EXPECT_NE(cpu::why_not_aesni(), "");
    EXPECT_FALSE(vaes_backend().usable());
}
#endif

#if defined(__aarch64__)
TEST(CpuBackend, BothBitsOfAnArmCpuCount) {
    constexpr unsigned long aes = HWCAP_AES, pmull = HWCAP_PMULL;
    EXPECT_EQ(cpu::why_not_armv8({.hwcap = aes | pmull}), "");
    EXPECT_NE(cpu::why_not_armv8({.hwcap = ~aes}).find("AES instructions"), std::string::npos);
    EXPECT_NE(cpu::why_not_armv8({.hwcap = ~pmull}).find("PMULL"), std::string::npos);
    EXPECT_EQ(armv8_backend().usable(), (getauxval(AT_HWCAP) & (aes | pmull)) == (aes | pmull));
}
#else
TEST(CpuBackend, SaysWhyArmCannotRun) {
    EXPECT_FALSE(armv8_backend().usable());
    EXPECT_NE(cpu::why_not_armv8({.hwcap = ~0ul}).find("64-bit Arm"), std::string::npos);
}
#endif

TEST(CpuBackend, WithAReasonNotToRunOpensNoLane) {
    cpu::CpuBackend backend("sample", "a sample", "this CPU lacks something", {});
    EXPECT_FALSE(backend.usable());
    EXPECT_EQ(status_of_opening(backend, 0), WARPAES_ERROR_BACKEND);
}

TEST(CpuLane, HasStagingOfTheSizeAskedFor) {
    const auto lane = libcrypto_backend().open_lane(-1, 12345);
    const auto in = lane->input_staging(), out = lane->output_staging();
    EXPECT_EQ(in.size(), 12345u);
    EXPECT_EQ(out.size(), 12345u);
    EXPECT_TRUE(in.data() + in.size() <= out.data() || out.data() + out.size() <= in.data());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(in.data()) % 4096, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(out.data()) % 4096, 0u);
    EXPECT_EQ(lane->device(), -1);

    std::fill(in.begin(), in.end(), std::uint8_t{1});
    std::fill(out.begin(), out.end(), std::uint8_t{1});
    const auto zero = [](std::uint8_t b) { return b == 0; };
    lane->wipe_staging(100);
    EXPECT_TRUE(std::all_of(in.begin(), in.begin() + 100, zero) && in[100] == 1);
    EXPECT_TRUE(std::all_of(out.begin(), out.begin() + 100, zero) && out[100] == 1);
    lane->wipe_staging(in.size());
    EXPECT_TRUE(std::all_of(in.begin(), in.end(), zero));
    EXPECT_TRUE(std::all_of(out.begin(), out.end(), zero));
}

TEST(CpuLane, LeavesNothingInItsStaging) {
    auto lane = libcrypto_backend().open_lane(-1, 12345);
    for (const auto staging : {lane->input_staging(), lane->output_staging()}) {
        std::fill(staging.begin(), staging.end(), mark);
    }
    watching = true;
    lane.reset();
    watching = false;
    EXPECT_EQ(freed, 2u);
    EXPECT_EQ(marked, 0u);
}

TEST(CpuLane, MayHaveNoStaging) {
    const auto lane = libcrypto_backend().open_lane(-1, 0);
    EXPECT_TRUE(lane->input_staging().empty());
    EXPECT_TRUE(lane->output_staging().empty());
    lane->wipe_staging(0);
}

TEST(CpuLane, TooMuchStagingIsOutOfMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers end the process at such an allocation; builds without sanitizers run this test";
#endif
    EXPECT_EQ(status_of_opening(libcrypto_backend(), std::numeric_limits<std::size_t>::max() / 4),
              WARPAES_ERROR_OUT_OF_MEMORY);
}

TEST(CpuLane, LanesOfManyThreadsAreIndependent) {
    const Bytes input = random_bytes(100000, 1);
    for (const auto& [label, backend] : cpu_backends()) {
        if (!backend->usable()) continue;
        SCOPED_TRACE(label);
        std::vector<std::thread> threads;
        for (std::uint32_t t = 0; t < 4; ++t) {
            threads.emplace_back([&input, t, backend = backend] {
                const auto lane = backend->open_lane(-1, 0);
                for (const Mode mode : {Mode::ctr, Mode::cbc, Mode::ofb}) {
                    check_run(*lane, mode, Direction::decrypt, random_bytes(16 + 8 * (t % 3), t),
                              random_bytes(16, t + 9), input, input.size() / 16 * 16, {t, t, t % 2 == 0});
                }
            });
        }
        for (auto& thread : threads) thread.join();
    }
}

}  // namespace
}  // namespace warpaes::test
