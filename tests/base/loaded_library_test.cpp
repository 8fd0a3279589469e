// Tests the detection of a library before and after it is loaded.
#include "base/loaded_library.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

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

}  // namespace
