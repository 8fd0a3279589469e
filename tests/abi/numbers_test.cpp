// Compares random numbers with their definition in warpaes/numbers.h, which this test computes from libcrypto's key
// stream. The bits must be the same in every kind of memory, in any division into pieces, and on every backend.
#include "warpaes/numbers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "device.hpp"

namespace abi_tests {
namespace {

struct Kind {
    warpaes_number kind;
    const char* name;
    std::size_t bytes;     ///< size of a number
    std::size_t in_block;  ///< bytes of numbers for each block of key stream
};
constexpr Kind kinds[] = {{WARPAES_BITS, "bits", 1, 16},
                          {WARPAES_UNIFORM_FLOAT64, "uniform float64", 8, 16},
                          {WARPAES_UNIFORM_FLOAT32, "uniform float32", 4, 16},
                          {WARPAES_UNIFORM_FLOAT16, "uniform float16", 2, 16},
                          {WARPAES_UNIFORM_BFLOAT16, "uniform bfloat16", 2, 16},
                          {WARPAES_NORMAL_FLOAT64, "normal float64", 8, 16},
                          {WARPAES_NORMAL_FLOAT32, "normal float32", 4, 16},
                          {WARPAES_NORMAL_FLOAT16, "normal float16", 2, 8},
                          {WARPAES_NORMAL_BFLOAT16, "normal bfloat16", 2, 8},
                          {WARPAES_INTEGER_UINT64, "integers", 8, 8}};

template <typename T>
T at(const Bytes& bytes, std::size_t i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return value;
}

/// Returns the exact value of a 16-bit floating-point number with `fraction` fraction bits and the exponent bias
/// `bias`.
double wide(std::uint16_t bits, int fraction, int bias) {
    const int exponent = (bits & 0x7fff) >> fraction, digits = bits & ((1 << fraction) - 1);
    const double magnitude = exponent == 0 ? std::ldexp(digits, 1 - bias - fraction)
                                           : std::ldexp(digits + (1 << fraction), exponent - bias - fraction);
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

/// Returns the number of this format that is nearest to `x`. Ties round to even.
double nearest(double x, int fraction, int bias) {
    if (x == 0) return x;
    const int step = std::max(std::ilogb(x), 1 - bias) - fraction;
    return std::ldexp(std::nearbyint(std::ldexp(x, -step)), step);
}

/// Returns a request's parameters except its destination.
warpaes_numbers request(const Kind& kind, const Key& key, const Bytes& counter) {
    warpaes_numbers n = WARPAES_NUMBERS_INIT;
    n.kind = kind.kind;
    n.key = key.get();
    n.counter = counter.data();
    if (kind.kind == WARPAES_INTEGER_UINT64) n.range = 1000003;
    return n;
}

Bytes made(const Engine& engine, warpaes_numbers n, std::size_t bytes) {
    Bytes output(bytes, 0xa5);
    n.output = output.data();
    n.output_len = bytes;
    warpaes_result result = WARPAES_RESULT_INIT;
    EXPECT_EQ(warpaes_numbers_fill(engine.get(), &n, &result), WARPAES_OK) << result.error;
    EXPECT_EQ(result.output_len, bytes);
    return output;
}

class Numbers : public BackendTest {
protected:
    Bytes stream(std::size_t bytes) const {
        return expected(WARPAES_CTR, WARPAES_ENCRYPT, key_bytes_, counter_, Bytes(bytes));
    }
    Bytes make(const Kind& kind, std::size_t bytes) const {
        return made(engine_, request(kind, key_, counter_), bytes);
    }

    Random random_{23};
    Bytes key_bytes_ = random_.bytes(32), counter_ = random_.bytes(16);
    Key key_ = make_key(key_bytes_);
};

TEST_P(Numbers, BitsAreTheKeyStream) {
    for (const unsigned key_length : {16U, 24U, 32U}) {
        key_bytes_ = random_.bytes(key_length);
        key_ = make_key(key_bytes_);
        for (const std::size_t bytes : {0, 1, 15, 16, 17, 4095, 70001}) EXPECT_EQ(make(kinds[0], bytes), stream(bytes));
    }
}

TEST_P(Numbers, UniformByDefinition) {
    const std::size_t bytes = 40008;
    const Bytes bits = stream(bytes);
    const Bytes doubles = make(kinds[1], bytes), floats = make(kinds[2], bytes), halves = make(kinds[3], bytes),
                brains = make(kinds[4], bytes);
    for (std::size_t i = 0; i < bytes / 8; ++i) {
        EXPECT_EQ(at<double>(doubles, i), std::ldexp(static_cast<double>(at<std::uint64_t>(bits, i) >> 11), -53));
    }
    for (std::size_t i = 0; i < bytes / 4; ++i) {
        EXPECT_EQ(at<float>(floats, i), std::ldexp(static_cast<float>(at<std::uint32_t>(bits, i) >> 8), -24));
    }
    for (std::size_t i = 0; i < bytes / 2; ++i) {
        const std::uint16_t w = at<std::uint16_t>(bits, i);
        EXPECT_EQ(wide(at<std::uint16_t>(halves, i), 10, 15), std::ldexp(w >> 5, -11));
        EXPECT_EQ(wide(at<std::uint16_t>(brains, i), 7, 127), std::ldexp(w >> 8, -8));
    }
}

TEST_P(Numbers, UniformBetweenBounds) {
    const std::size_t bytes = 8000;
    const Bytes bits = stream(bytes);
    warpaes_numbers n = request(kinds[1], key_, counter_);
    n.first = -3;
    n.second = 8.7;
    const Bytes doubles = made(engine_, n, bytes);
    n.kind = WARPAES_UNIFORM_FLOAT32;
    const Bytes floats = made(engine_, n, bytes);
    n.kind = WARPAES_UNIFORM_FLOAT16;
    const Bytes halves = made(engine_, n, bytes);
    n.kind = WARPAES_UNIFORM_BFLOAT16;
    const Bytes brains = made(engine_, n, bytes);
    for (std::size_t i = 0; i < bytes / 8; ++i) {
        const double step = static_cast<double>(at<std::uint64_t>(bits, i) >> 11) * 0x1p-53 * 8.7;
        EXPECT_EQ(at<double>(doubles, i), step + -3.0);
    }
    for (std::size_t i = 0; i < bytes / 4; ++i) {
        const float step = static_cast<float>(at<std::uint32_t>(bits, i) >> 8) * 0x1p-24F * 8.7F;
        EXPECT_EQ(at<float>(floats, i), step + -3.0F);
    }
    for (std::size_t i = 0; i < bytes / 2; ++i) {
        // The product is rounded first, then the sum.
        const std::uint16_t w = at<std::uint16_t>(bits, i);
        const double half = nearest(std::ldexp(w >> 5, -11) * 8.703125, 10, 15);
        const double brain = nearest(std::ldexp(w >> 8, -8) * 8.6875, 7, 127);
        EXPECT_EQ(wide(at<std::uint16_t>(halves, i), 10, 15), nearest(half - 3, 10, 15));
        EXPECT_EQ(wide(at<std::uint16_t>(brains, i), 7, 127), nearest(brain - 3, 7, 127));
    }
}

TEST_P(Numbers, BeyondTheLargestOfTheirFormatAreInfinite) {
    warpaes_numbers n = request(kinds[3], key_, counter_);
    for (const double first : {70000.0, -70000.0}) {
        n.first = first;
        const Bytes halves = made(engine_, n, 64);
        for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(at<std::uint16_t>(halves, i), first > 0 ? 0x7c00 : 0xfc00);
    }
}

TEST_P(Numbers, NormalByDefinition) {
    const std::size_t bytes = 40000;
    const Bytes bits = stream(bytes);
    const Bytes doubles = make(kinds[5], bytes), floats = make(kinds[6], bytes), halves = make(kinds[7], bytes / 2),
                brains = make(kinds[8], bytes / 2);
    for (std::size_t i = 0; i < bytes / 16; ++i) {
        const std::uint64_t a = at<std::uint64_t>(bits, 2 * i), b = at<std::uint64_t>(bits, 2 * i + 1);
        const double radius = std::sqrt(-2 * std::log(std::ldexp(static_cast<double>((a >> 11) + 1), -53)));
        const double within = std::ldexp(static_cast<double>(b >> 11 & ((std::uint64_t{1} << 51) - 1)), -51) - 0.5;
        const double angle = (static_cast<double>(b >> 62) + within) * std::numbers::pi / 2;
        EXPECT_NEAR(at<double>(doubles, 2 * i), radius * std::cos(angle), 4e-15);
        EXPECT_NEAR(at<double>(doubles, 2 * i + 1), radius * std::sin(angle), 4e-15);
    }
    for (std::size_t i = 0; i < bytes / 8; ++i) {
        const std::uint32_t a = at<std::uint32_t>(bits, 2 * i), b = at<std::uint32_t>(bits, 2 * i + 1);
        const float unit = static_cast<float>(a >> 1) * 0x1p-31F + 0x1p-32F;
        const double radius = std::sqrt(-2 * std::log(static_cast<double>(unit)));
        const double angle =
            (static_cast<double>(b >> 30) + std::ldexp(b & 0x3fffffff, -30) - 0.5) * std::numbers::pi / 2;
        const double pair[2] = {radius * std::cos(angle), radius * std::sin(angle)};
        for (std::size_t k = 0; k < 2; ++k) {
            const float single = at<float>(floats, 2 * i + k);
            EXPECT_NEAR(single, pair[k], 1e-6);
            // The conversion rounds to nearest, so the error is at most half of 2^-10 or 2^-7 of the value.
            const double half = wide(at<std::uint16_t>(halves, 2 * i + k), 10, 15);
            const double brain = wide(at<std::uint16_t>(brains, 2 * i + k), 7, 127);
            EXPECT_LE(std::abs(half - single), std::max(std::ldexp(std::abs(half), -11), 0x1p-25));
            EXPECT_LE(std::abs(brain - single), std::ldexp(std::abs(brain), -8));
        }
    }
}

TEST_P(Numbers, MeanAndDeviation) {
    for (const Kind& kind : {kinds[5], kinds[6]}) {
        warpaes_numbers n = request(kind, key_, counter_);
        const Bytes standard = made(engine_, n, 8000);
        n.first = 1.7;
        n.second = 0.02;
        const Bytes scaled = made(engine_, n, 8000);
        for (std::size_t i = 0; i < 8000 / kind.bytes; ++i) {
            if (kind.bytes == 8) {
                const double product = at<double>(standard, i) * 0.02;
                EXPECT_EQ(at<double>(scaled, i), product + 1.7);
            } else {
                const float product = at<float>(standard, i) * 0.02F;
                EXPECT_EQ(at<float>(scaled, i), product + 1.7F);
            }
        }
    }
}

TEST_P(Numbers, IntegersByDefinition) {
    const Bytes bits = stream(16000);
    warpaes_numbers n = request(kinds[9], key_, counter_);
    for (const std::uint64_t range :
         {std::uint64_t{1}, std::uint64_t{6}, std::uint64_t{1} << 63, ~std::uint64_t{0}, std::uint64_t{0}}) {
        n.range = range;
        n.low = 0xfffffffffffffff0;
        const Bytes found = made(engine_, n, 8000);
        for (std::size_t i = 0; i < 1000; ++i) {
            // Computes x * range / 2^128 from the halves of x. The lower half only contributes a carry.
            __extension__ using Wide = unsigned __int128;
            const Wide wide_range = range == 0 ? Wide{1} << 64 : Wide{range};
            const std::uint64_t lower = at<std::uint64_t>(bits, 2 * i), upper = at<std::uint64_t>(bits, 2 * i + 1);
            const Wide share = range == 0 ? Wide{upper} : (upper * wide_range + (lower * wide_range >> 64)) >> 64;
            EXPECT_EQ(at<std::uint64_t>(found, i), n.low + static_cast<std::uint64_t>(share)) << range;
        }
    }
}

/// At every origin, a short request produces a prefix of a long request's numbers and writes nothing outside its
/// output.
TEST_P(Numbers, EveryLengthAndPlace) {
    for (const Kind& kind : kinds) {
        SCOPED_TRACE(kind.name);
        const Bytes many = make(kind, 20 * kind.in_block);
        for (std::size_t skipped : {std::size_t{0}, std::size_t{3}}) {
            Bytes counter = counter_;
            for (std::size_t i = 16, carry = skipped; i-- > 0; carry >>= 8) {
                carry += counter[i];
                counter[i] = static_cast<std::uint8_t>(carry);
            }
            warpaes_numbers n = request(kind, key_, counter);
            for (std::size_t bytes = 0; bytes <= 4 * kind.in_block; bytes += kind.bytes) {
                PoisonedBuffer buffer(bytes, bytes % 32);
                n.output = buffer.data();
                n.output_len = bytes;
                ASSERT_EQ(warpaes_numbers_fill(engine_.get(), &n, nullptr), WARPAES_OK) << warpaes_last_error();
                const auto from = many.begin() + static_cast<std::ptrdiff_t>(skipped * kind.in_block);
                EXPECT_EQ(buffer.bytes(bytes), Bytes(from, from + static_cast<std::ptrdiff_t>(bytes)));
                EXPECT_TRUE(buffer.intact_after(bytes));
            }
        }
    }
}

/// Several threads process different pieces. The counter carries into its upper half between these pieces.
TEST_P(Numbers, LongOnesAreThoseOfTheirParts) {
    std::fill(counter_.begin() + 8, counter_.end(), 0xff);
    counter_[14] = 0;
    for (const Kind& kind : kinds) {
        SCOPED_TRACE(kind.name);
        const std::size_t blocks = simulated() ? 3000 : 131001;
        const Bytes many = make(kind, blocks * kind.in_block - kind.bytes);
        const Bytes one_after = stream(16 * blocks);
        if (kind.kind == WARPAES_BITS) {
            EXPECT_EQ(many, Bytes(one_after.begin(), one_after.end() - 1));
        }
        const Engine alone = make_engine(GetParam(), 0, 1);
        EXPECT_EQ(made(alone, request(kind, key_, counter_), many.size()), many);
    }
}

TEST_P(Numbers, SayWhereTheyWereMade) {
    Bytes output(64);
    std::fill(counter_.begin(), counter_.end(), 0xff);
    warpaes_numbers n = request(kinds[2], key_, counter_);
    n.output = output.data();
    n.output_len = 16;
    warpaes_result result = WARPAES_RESULT_INIT;
    ASSERT_EQ(warpaes_numbers_fill(engine_.get(), &n, &result), WARPAES_OK) << result.error;
    EXPECT_EQ(result.backend, GetParam());
    EXPECT_EQ(result.notes, 0U);
    n.output_len = 20;  // the counter would exceed its maximum
    ASSERT_EQ(warpaes_numbers_fill(engine_.get(), &n, &result), WARPAES_OK) << result.error;
    EXPECT_EQ(result.notes, std::uint32_t{WARPAES_NOTE_COUNTER_WRAPPED});
}

TEST_P(Numbers, BadRequestsAreRefused) {
    Bytes output(64, 0xa5);
    const auto refused = [&](const char* sentence, warpaes_status status, const auto& spoil) {
        warpaes_numbers n = request(kinds[2], key_, counter_);
        n.output = output.data();
        n.output_len = output.size();
        spoil(n);
        warpaes_result result = WARPAES_RESULT_INIT;
        EXPECT_EQ(warpaes_numbers_fill(engine_.get(), &n, &result), status) << sentence;
        EXPECT_STREQ(result.error, sentence);
        EXPECT_EQ(output, Bytes(64, 0xa5));
    };
    const warpaes_status argument = WARPAES_ERROR_ARGUMENT;
    for (const int kind : {-1, 10}) {
        const std::string sentence =
            "kind: " + std::to_string(kind) + " is not bits (0), uniform (1 to 4), normal (5 to 8) or integers (9)";
        refused(sentence.c_str(), argument, [&](warpaes_numbers& n) { n.kind = static_cast<warpaes_number>(kind); });
    }
    refused("output_len: must be a multiple of 4, the bytes of a number, got 63", WARPAES_ERROR_DATA_LENGTH,
            [](warpaes_numbers& n) { n.output_len = 63; });
    refused("first, second: must be finite", argument, [](warpaes_numbers& n) { n.first = INFINITY; });
    refused("first, second: must be finite", argument, [](warpaes_numbers& n) { n.second = NAN; });
    refused("low, range: apply only to integers; leave them at 0", argument, [](warpaes_numbers& n) { n.low = 1; });
    refused("low, range: apply only to integers; leave them at 0", argument, [](warpaes_numbers& n) { n.range = 1; });
    for (const warpaes_number kind : {WARPAES_BITS, WARPAES_INTEGER_UINT64}) {
        const char* const sentence = "first, second: apply only to uniform and normal numbers; leave them at 0 and 1";
        refused(sentence, argument, [&](warpaes_numbers& n) { n.kind = kind, n.first = 1; });
        refused(sentence, argument, [&](warpaes_numbers& n) { n.kind = kind, n.second = 2; });
    }
    refused("output: extends past the end of the address space", WARPAES_ERROR_RANGE,
            [](warpaes_numbers& n) { n.output_len = ~std::uint64_t{3}; });
    warpaes_numbers n = request(kinds[2], key_, counter_);
    n.output = output.data();
    n.output_len = 16;
    EXPECT_EQ(warpaes_numbers_fill_async(engine_.get(), &n, nullptr, nullptr), argument);
    EXPECT_STREQ(warpaes_last_error(), "output: must be in device memory for an asynchronous call");
}

WARPAES_FOR_EVERY_BACKEND(Numbers);

/// Every CPU backend and a GPU agree to the last bit.
TEST(NumbersOfAllBackends, AreTheSame) {
    Random random(24);
    const Key key = make_key(random.bytes(16));
    const Bytes counter = random.bytes(16);
    for (const Kind& kind : kinds) {
        SCOPED_TRACE(kind.name);
        std::optional<Bytes> first;
        for (const std::string& backend : usable_backends()) {
            const Bytes its =
                made(make_engine(backend), request(kind, key, counter), 2000 * kind.in_block + kind.bytes);
            if (!first) first = its;
            EXPECT_EQ(its, *first) << backend;
        }
    }
}

class NumbersDevice : public DeviceTest {};

TEST_P(NumbersDevice, AsInHostMemory) {
    const Engine cpu = make_engine(usable_backends().front());
    Key short_key = make_key(random_.bytes(16));
    for (const Key* key : {&key_, &short_key}) {
        for (const Kind& kind : kinds) {
            SCOPED_TRACE(kind.name);
            warpaes_numbers n = request(kind, *key, iv_);
            for (const std::size_t misalignment : {0, 8, 4, 2}) {
                if (misalignment % kind.bytes != 0) continue;
                for (const std::size_t numbers : {std::size_t{1}, std::size_t{7}, std::size_t{3001}}) {
                    const std::size_t bytes = numbers * kind.bytes;
                    const Buffer output = allocate(bytes, misalignment);
                    n.output = output.data();
                    n.output_len = bytes;
                    warpaes_result result = WARPAES_RESULT_INIT;
                    const bool waits = numbers != 7;
                    ASSERT_EQ(waits ? warpaes_numbers_fill(engine_.get(), &n, &result)
                                    : warpaes_numbers_fill_async(engine_.get(), &n, nullptr, &result),
                              WARPAES_OK)
                        << result.error;
                    EXPECT_STREQ(result.backend, "cuda");
                    EXPECT_EQ(result.device, GetParam());
                    EXPECT_EQ(read(output, bytes), made(cpu, n, bytes)) << misalignment << ' ' << numbers;
                }
            }
        }
    }
}

TEST_P(NumbersDevice, NotWhereACpuWasAskedFor) {
    const Engine cpu = make_engine(usable_backends().front());
    const Buffer output = allocate(16);
    warpaes_numbers n = request(kinds[0], key_, iv_);
    n.output = output.data();
    n.output_len = 16;
    EXPECT_EQ(warpaes_numbers_fill(cpu.get(), &n, nullptr), WARPAES_ERROR_BACKEND);
    (void)read(output, 0);  // checks that nothing was written
}

WARPAES_FOR_EVERY_DEVICE(NumbersDevice);

}  // namespace
}  // namespace abi_tests
