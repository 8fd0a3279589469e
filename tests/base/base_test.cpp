// Tests the detection of a library before and after it is loaded, and SipHash.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <utility>

#include "base/loaded_library.hpp"
#include "base/siphash.hpp"

namespace {

using warpaes::LoadedLibrary;

TEST(LoadedLibrary, TheOneOfThisProgram) {
    LoadedLibrary c("libc.so");
    EXPECT_TRUE(c.is_loaded());
    EXPECT_TRUE(c.is_loaded());
}

TEST(LoadedLibrary, NamesAreOfFilesAndNotOfFolders) {
    LoadedLibrary folder("lib/");
    EXPECT_FALSE(folder.is_loaded());
    LoadedLibrary other("libc.so.6.not");
    EXPECT_FALSE(other.is_loaded());
}

TEST(LoadedLibrary, SeenAsSoonAsItIsLoaded) {
    // No program depends on this part of glibc.
    constexpr const char* name = "libBrokenLocale.so.1";
    LoadedLibrary library(name);
    ASSERT_FALSE(library.is_loaded());
    ASSERT_FALSE(library.is_loaded());
    void* const handle = dlopen(name, RTLD_LAZY);
    if (handle == nullptr) GTEST_SKIP() << dlerror() << "; machines with glibc's libraries run this test";
    EXPECT_TRUE(library.is_loaded());
    dlclose(handle);
}

// Compares SipHash-1-3 with the reference implementation. The key is 00 01 … 0f, and a message of n bytes is 00 01 …
// n-1.
TEST(SipHash, KnownAnswers) {
    const warpaes::SipHash hash(0x0706050403020100, 0x0f0e0d0c0b0a0908);
    std::array<std::uint8_t, 64> message{};
    std::iota(message.begin(), message.end(), std::uint8_t{0});
    const std::pair<std::size_t, std::uint64_t> answers[] = {
        {0, 0xabac0158050fc4dc},  {1, 0xc9f49bf37d57ca93},  {7, 0xd3927d989bb11140},  {8, 0x369095118d299a8e},
        {15, 0xd320d86d2a519956}, {16, 0xcc4fdd1a7d908b66}, {63, 0x9d199062b7bbb3a8},
    };
    for (const auto& [bytes, answer] : answers) {
        EXPECT_EQ(hash(std::span(message).first(bytes)), answer) << bytes;
        EXPECT_NE(hash(std::span(message).first(bytes), 1), answer) << bytes << ", with a tweak";
    }
}

}  // namespace
