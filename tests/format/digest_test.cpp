// Tests digests when libcrypto cannot allocate memory.
#include "format/digest.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <new>

namespace {

thread_local bool has_no_memory = false;

}  // namespace

/// The linker finds this function before libcrypto's.
extern "C" EVP_MD_CTX* EVP_MD_CTX_new() {
    static auto* const real = reinterpret_cast<decltype(&EVP_MD_CTX_new)>(::dlsym(RTLD_NEXT, "EVP_MD_CTX_new"));
    return has_no_memory ? nullptr : real();
}

namespace warpaes::test {
namespace {

class Nowhere final : public Sink {
public:
    bool is_sequential() const noexcept override { return true; }
    void write(std::uint64_t /*offset*/, std::span<const std::uint8_t> /*bytes*/) override {}
};

TEST(DigestSink, WithoutMemoryForItsContext) {
    Nowhere sink;
    EXPECT_NE(DigestSink(sink).digest(), Sha256{});
    has_no_memory = true;
    EXPECT_THROW(DigestSink{sink}, std::bad_alloc);
    has_no_memory = false;
}

}  // namespace
}  // namespace warpaes::test
