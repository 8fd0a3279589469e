// Compares every variant of the cipher with FIPS 197 and libcrypto on the simulated GPU.
#include "lab/gpu/variants.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "evp_oracle.hpp"
#include "lab/gpu/variants.cuh"

namespace lab::gpu {
namespace {

using oracle::Bytes;

template <Entry E>
concept Compiles = requires(const Params& p) {
    run_variant<E>(p);
};

constexpr Entry entry(Variant v, Cipher c = {}) {
    return {v, c};
}

static_assert(Compiles<entry({})>);
static_assert(!Compiles<entry({.bytes = 2})>);
static_assert(!Compiles<entry({.table_count = 2})>);
static_assert(!Compiles<entry({}, {.rounds = 11})>);
static_assert(!Compiles<entry({}, {.inverse = true, .counter = true})>);
static_assert(!Compiles<entry({.exchange = Exchange::barrier})>, "nothing to exchange");
static_assert(!Compiles<entry({.bytes = 4})>, "no exchange");
static_assert(!Compiles<entry({.bytes = 4, .exchange = Exchange::barrier})>, "registers that others should see");
static_assert(!Compiles<entry({.bytes = 4, .state = StateMemory::shared_aos, .exchange = Exchange::shuffle})>);
static_assert(!Compiles<entry({.tables = TableMemory::replicated})>, "one-shot");
static_assert(!Compiles<entry({.tables = TableMemory::replicated, .table_count = 0, .persistent = true})>);
static_assert(!Compiles<entry({.bytes = 8, .exchange = Exchange::shuffle, .staged = true})>);
static_assert(!Compiles<entry({.bytes = 1, .table_count = 0, .exchange = Exchange::shuffle, .access = Access::bytes})>);
static_assert(!Compiles<entry({.bytes = 1, .exchange = Exchange::shuffle})>, "words of a byte");
static_assert(!Compiles<entry({.bytes = 8, .exchange = Exchange::shuffle, .text = TextMemory::texture})>);
static_assert(!Compiles<entry({.staged = true, .text = TextMemory::read_only})>);

Bytes random_bytes(std::size_t size, unsigned seed) {
    Bytes bytes(size);
    std::uint32_t state = seed * 2654435761u + 1;
    for (auto& byte : bytes) {
        state = state * 1664525u + 1013904223u;
        byte = static_cast<std::uint8_t>(state >> 24);
    }
    return bytes;
}

Bytes sequence(std::size_t size, unsigned step) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * step);
    return bytes;
}

constexpr std::size_t guard = 48;
constexpr std::uint8_t poison = 0xc3;

struct Job {
    Bytes key, counter, text;
    Geometry geometry{};
    bool in_place = false;
};

Bytes run(const Variants& variants, const Entry& e, const Job& job) {
    const Stream stream;
    Bytes padded = job.text;
    padded.resize(job.text.size() + guard, poison);
    DeviceMemory input = on_device(padded), output(padded.size());
    fill(output.get(), poison, output.size());
    const DeviceMemory& to = job.in_place ? input : output;
    variants.run(e, job.geometry, input.get(), to.get(), job.text.size(), job.counter, stream);
    stream.synchronize();
    Bytes result = fetch(to);
    EXPECT_EQ(Bytes(result.end() - guard, result.end()), Bytes(guard, poison)) << "written past the end";
    if (!job.in_place) {
        EXPECT_EQ(fetch(input), padded) << "the input was written to";
    }
    result.resize(job.text.size());
    return result;
}

Bytes wanted(const Entry& e, const Job& job) {
    return *oracle::evp(e.cipher.counter ? "CTR" : "ECB", !e.cipher.inverse, job.key, job.counter, job.text);
}

class EveryVariant : public testing::TestWithParam<Entry> {
protected:
    const Entry& e = GetParam();
    Bytes key = random_bytes(static_cast<std::size_t>(key_bits(e.cipher)) / 8, 7);
    /// This counter carries into its upper half within a few blocks.
    Bytes counter =
        e.cipher.counter ? Bytes{1, 2, 3, 4, 5, 6, 7, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xf9} : Bytes{};
};

/// Tests the examples in FIPS 197, appendix C. For CTR, which is always AES-128, tests the first two blocks of SP
/// 800-38A, F.5.1.
TEST_P(EveryVariant, Standards) {
    Job job;
    if (e.cipher.counter) {
        ASSERT_EQ(e.cipher.rounds, 10);
        job.key = {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c};
        for (unsigned i = 0xf0; i <= 0xff; ++i) job.counter.push_back(static_cast<std::uint8_t>(i));
        job.text = {0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96, 0xe9, 0x3d, 0x7e, 0x11, 0x73, 0x93, 0x17, 0x2a,
                    0xae, 0x2d, 0x8a, 0x57, 0x1e, 0x03, 0xac, 0x9c, 0x9e, 0xb7, 0x6f, 0xac, 0x45, 0xaf, 0x8e, 0x51};
        EXPECT_EQ(
            run(Variants(job.key), e, job),
            (Bytes{0x87, 0x4d, 0x61, 0x91, 0xb6, 0x20, 0xe3, 0x26, 0x1b, 0xef, 0x68, 0x64, 0x99, 0x0d, 0xb6, 0xce,
                   0x98, 0x06, 0xf6, 0x6b, 0x79, 0x70, 0xfd, 0xff, 0x86, 0x17, 0x18, 0x7b, 0xb9, 0xff, 0xfd, 0xff}));
        return;
    }
    job.key = sequence(static_cast<std::size_t>(key_bits(e.cipher)) / 8, 1);
    const Bytes plain = sequence(16, 0x11);
    const Bytes c1{0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30, 0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a};
    const Bytes c2{0xdd, 0xa9, 0x7c, 0xa4, 0x86, 0x4c, 0xdf, 0xe0, 0x6e, 0xaf, 0x70, 0xa0, 0xec, 0x0d, 0x71, 0x91};
    const Bytes c3{0x8e, 0xa2, 0xb7, 0xca, 0x51, 0x67, 0x45, 0xbf, 0xea, 0xfc, 0x49, 0x90, 0x4b, 0x49, 0x60, 0x89};
    const Bytes& cipher = e.cipher.rounds == 10 ? c1 : e.cipher.rounds == 12 ? c2 : c3;
    job.text = e.cipher.inverse ? cipher : plain;
    EXPECT_EQ(run(Variants(job.key), e, job), e.cipher.inverse ? plain : cipher);
}

TEST_P(EveryVariant, AllSizesRoundWarpsAndThreadBlocks) {
    const Variants variants(key);
    Job job{key, counter, {}, {}};
    for (const unsigned threads : {32u, 96u, 256u}) {
        job.geometry.threads = threads;
        const std::size_t part = threads * static_cast<std::size_t>(e.variant.bytes) / 16;
        for (const std::size_t blocks : {std::size_t{1}, part - 1, part, part + 1, 2 * part + 3}) {
            job.text = random_bytes(16 * blocks, static_cast<unsigned>(blocks));
            EXPECT_EQ(run(variants, e, job), wanted(e, job)) << threads << " threads, " << blocks << " blocks";
        }
    }
}

TEST_P(EveryVariant, InPlaceAndWithFewThreadBlocks) {
    const Variants variants(key);
    Job job{key, counter, {}, {}};
    for (const unsigned blocks : {1u, 3u}) {
        job.geometry = {64, blocks};
        job.text = random_bytes(16 * 300, blocks);
        job.in_place = true;
        if (e.variant.text != TextMemory::global) {
            EXPECT_THROW(run(variants, e, job), std::invalid_argument);
            job.in_place = false;
        }
        EXPECT_EQ(run(variants, e, job), wanted(e, job)) << blocks << " thread blocks";
    }
}

TEST_P(EveryVariant, TakesWhatItSays) {
    const Resources resources = Variants::resources(e, 256);
    EXPECT_EQ(resources.shared_bytes, shared_bytes(e.variant, 256));
    EXPECT_GE(resources.blocks_per_multiprocessor, 1);
    // A query for few threads must not change the result for many threads.
    (void)Variants::resources(e, 32);
    Job job{key, counter, random_bytes(16 * 100, 5), {1024, 0}};
    EXPECT_EQ(run(Variants(key), e, job), wanted(e, job));
}

std::string test_name(const testing::TestParamInfo<Entry>& info) {
    std::string name(name_of(info.param).view());
    for (char& c : name) {
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    }
    return name;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryVariant, testing::ValuesIn(catalogue), test_name);

TEST(Variants, NamesAreDifferent) {
    std::set<std::string> names;
    for (const Entry& e : variants()) names.insert(std::string(name_of(e).view()));
    EXPECT_EQ(names.size(), catalogue.size());
    EXPECT_EQ(name_of(thirteen[12]).view(), "1B shared.4 keys.shared AoS barrier");
    EXPECT_EQ(name_of(Entry{damjanovic, {.rounds = 14, .inverse = true}}).view(),
              "16B shared.4 keys.shared registers persistent staged AES-256-ECB decryption");
}

TEST(Variants, RefusesWhatThereIsNoKernelFor) {
    const Bytes key = random_bytes(16, 1);
    const Variants variants(key);
    const Stream stream;
    DeviceMemory text(64);
    const auto run = [&](const Entry& e, Geometry geometry, std::size_t bytes, const Bytes& counter) {
        variants.run(e, geometry, text.get(), text.get(), bytes, counter, stream);
    };
    EXPECT_NO_THROW(run({}, {}, 64, {}));
    EXPECT_NO_THROW(run({}, {}, 0, {}));
    EXPECT_THROW(run({}, {48, 0}, 64, {}), std::invalid_argument);
    EXPECT_THROW(run({}, {0, 0}, 64, {}), std::invalid_argument);
    EXPECT_THROW(run({}, {1056, 0}, 64, {}), std::invalid_argument);
    EXPECT_THROW(run({}, {}, 63, {}), std::invalid_argument);
    EXPECT_THROW(run({}, {}, 64, Bytes(16)), std::invalid_argument);
    EXPECT_THROW(run({damjanovic, {.rounds = 14}}, {}, 64, {}), std::invalid_argument);
    EXPECT_THROW(run({Variant{.table_count = 2}, {}}, {}, 64, {}), std::invalid_argument);
    EXPECT_THROW(Variants(random_bytes(17, 1)), std::invalid_argument);
}

TEST(Difference, FindsTheFirst) {
    const Stream stream;
    for (const std::size_t size : {std::size_t{1}, std::size_t{16}, std::size_t{5003}}) {
        Bytes a = random_bytes(size, 3);
        const DeviceMemory one = on_device(a);
        EXPECT_EQ(first_difference(one.get(), on_device(a).get(), size, stream), size);
        for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
            Bytes b = a;
            b[at] ^= 1;
            b[size - 1] ^= 2;
            EXPECT_EQ(first_difference(one.get(), on_device(b).get(), size, stream), at);
        }
    }
}

}  // namespace
}  // namespace lab::gpu
