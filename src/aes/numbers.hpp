// Computes random numbers from blocks of the key stream (include/warpaes/numbers.h), using arithmetic with the same
// results on every machine: integers, and IEEE 754 addition, multiplication, division and square roots, each rounded
// separately. Code that includes this header must be compiled without contraction (-ffp-contract=off; for nvcc,
// --fmad=false).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "aes/types.hpp"

namespace warpaes {

/// The values match `warpaes_number` in the C ABI.
enum class Number : std::int32_t {
    bits = 0,
    uniform_float64 = 1,
    uniform_float32 = 2,
    uniform_float16 = 3,
    uniform_bfloat16 = 4,
    normal_float64 = 5,
    normal_float32 = 6,
    normal_float16 = 7,
    normal_bfloat16 = 8,
    integer_uint64 = 9
};
inline constexpr int number_kinds = 10;

constexpr bool is_normal(Number kind) {
    return kind >= Number::normal_float64 && kind <= Number::normal_bfloat16;
}
/// Size of one number in bytes; bits count as single bytes.
constexpr unsigned number_bytes(Number kind) {
    constexpr unsigned bytes[number_kinds] = {1, 8, 4, 2, 2, 8, 4, 2, 2, 8};
    return bytes[static_cast<int>(kind)];
}
/// Returns the size in bytes of the numbers computed from one block of the key stream.
constexpr unsigned numbers_block_bytes(Number kind) {
    return kind >= Number::normal_float16 ? 8 : 16;
}

/// The range that numbers are mapped to.
struct NumberRange {
    double first = 0, second = 1;  ///< maps a number to first + second * number, for float64
    float first_float = 0,
          second_float = 1;            ///< the same for the other floating-point kinds, rounded to their format
    std::uint64_t low = 0, range = 0;  ///< integers: [low, low + range); range 0 means 2^64
};

/// A block of the key stream, or of the numbers computed from it, as little-endian words.
struct NumberBlock {
    std::uint32_t word[4];
};

/// A number in [0, 1) from the 53 highest of 64 bits.
WARPAES_HD double unit(std::uint64_t bits) {
    return static_cast<double>(bits >> 11) * 0x1p-53;
}
/// A number in [0, 1) from the 24 highest of 32 bits.
WARPAES_HD float unit(std::uint32_t bits) {
    return static_cast<float>(static_cast<std::int32_t>(bits >> 8)) * 0x1p-24F;
}

/// The binary16 number nearest to `x`; ties are rounded to even.
WARPAES_HD float rounded_to_float16(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t magnitude = bits & 0x7fffffffU, sign = bits & 0x80000000U;
    if (magnitude < 0x38800000U) {  // 2^-14: all smaller numbers have steps of 2^-24, like floats from 0.5 to 1
        const float rounded = (std::bit_cast<float>(magnitude) + 0.5F) - 0.5F;
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(rounded) | sign);
    }
    const std::uint32_t rounded = (magnitude + 0xfffU + (magnitude >> 13 & 1)) & ~0x1fffU;
    const bool too_large = rounded >= 0x47800000U && magnitude <= 0x7f800000U;  // 2^16 or more, and not NaN
    return std::bit_cast<float>((too_large ? 0x7f800000U : rounded) | sign);
}
/// The binary16 encoding of a number that binary16 can represent.
WARPAES_HD std::uint32_t as_float16(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t magnitude = bits & 0x7fffffffU, sign = bits >> 16 & 0x8000U;
    if (magnitude < 0x38800000U) {
        return sign | (std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) & 0x7ffU);
    }
    if (magnitude >= 0x7f800000U) return sign | 0x7c00U | (magnitude > 0x7f800000U ? 0x200U : 0U);
    return sign | (magnitude - 0x38000000U) >> 13;
}
/// The bfloat16 number nearest to `x`; ties are rounded to even.
WARPAES_HD float rounded_to_bfloat16(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    if ((bits & 0x7fffffffU) > 0x7f800000U) return x;
    return std::bit_cast<float>((bits + 0x7fffU + (bits >> 16 & 1)) & 0xffff0000U);
}

/// A 16-bit format: bfloat16 if `Brain`, otherwise binary16.
template <bool Brain>
struct Short {
    static constexpr int fraction = Brain ? 8 : 11;  ///< significand bits, including the implicit first bit
    WARPAES_HD static float rounded(float x) { return Brain ? rounded_to_bfloat16(x) : rounded_to_float16(x); }
    WARPAES_HD static std::uint32_t stored(float x) {
        return Brain ? std::bit_cast<std::uint32_t>(x) >> 16 : as_float16(x);
    }
    /// Two numbers, the first in the lower half.
    WARPAES_HD static std::uint32_t pair(float a, float b) { return stored(rounded(a)) | stored(rounded(b)) << 16; }
    /// A uniform number from the lower 16 bits of `bits`.
    WARPAES_HD static float uniform(std::uint32_t bits, const NumberRange& range) {
        constexpr float step = 1.0F / static_cast<float>(1 << fraction);
        const float u = static_cast<float>(static_cast<std::int32_t>((bits & 0xffffU) >> (16 - fraction))) * step;
        return rounded(u * range.second_float) + range.first_float;
    }
};

WARPAES_HD double root_of(double x) {
#if defined(__CUDA_ARCH__)
    return __dsqrt_rn(x);
#else
    return std::sqrt(x);
#endif
}
WARPAES_HD float root_of(float x) {
#if defined(__CUDA_ARCH__)
    return __fsqrt_rn(x);
#else
    return std::sqrt(x);
#endif
}

/// A polynomial; the coefficient of the highest power comes first.
template <typename T, typename... More>
WARPAES_HD T polynomial(T x, T first, More... more) {
    T sum = first;
    ((sum = sum * x + more), ...);
    return sum;
}

/// The natural logarithm of a number in (0, 1], written as m * 2^e with m in [sqrt(1/2), sqrt(2)): ln m is the series
/// of 2 artanh((m - 1) / (m + 1)).
WARPAES_HD double natural_logarithm(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    constexpr std::uint64_t root = 0x3fe6a09e667f3bcdU;  // sqrt(1/2)
    const std::uint64_t below = bits - root;             // its exponent is the exponent of x / sqrt(1/2), as a signed
                                                         // number
    const auto exponent = static_cast<std::int32_t>(static_cast<std::int64_t>(below) >> 52);
    const double mantissa = std::bit_cast<double>((below & 0x000fffffffffffffU) + root);
    const double s = (mantissa - 1.0) / (mantissa + 1.0);
    const double z = s * s;
    const double sum = polynomial(z, 1.0 / 23.0, 1.0 / 21.0, 1.0 / 19.0, 1.0 / 17.0, 1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0,
                                  1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0);
    const double half = s * z * sum + s;
    return static_cast<double>(exponent) * 0x1.62e42fefa39efp-1 + (half + half);
}
/// The natural logarithm, computed as t - t^2 / 2 + t^3 p(t) with t = m - 1. The polynomial p minimises the maximum
/// relative error of the logarithm between sqrt(1/2) and sqrt(2): 2^-27.3 before rounding.
WARPAES_HD float natural_logarithm(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    constexpr std::uint32_t root = 0x3f3504f3U;
    const std::uint32_t below = bits - root;
    const std::int32_t exponent = static_cast<std::int32_t>(below) >> 23;
    const float t = std::bit_cast<float>((below & 0x007fffffU) + root) - 1.0F;
    const float z = t * t;
    const float p = polynomial(t, -0x1.38b582p-4F, 0x1.055b6cp-3F, -0x1.0d8542p-3F, 0x1.22da1cp-3F, -0x1.547244p-3F,
                               0x1.99a008p-3F, -0x1.000226p-2F, 0x1.555554p-2F);
    const float sum = (z * t) * p - z * 0.5F + t;
    return static_cast<float>(exponent) * 0x1.62e430p-1F + sum;
}

/// Sine and cosine of an angle in [-pi/4, pi/4], by Taylor series of degrees 15 and 16.
WARPAES_HD double small_sine(double x) {
    const double z = x * x;
    return x * z *
               polynomial(z, -1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0, 1.0 / 362880.0,
                          -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0) +
           x;
}
WARPAES_HD double small_cosine(double x) {
    const double z = x * x;
    return z * polynomial(z, 1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0, -1.0 / 3628800.0,
                          1.0 / 40320.0, -1.0 / 720.0, 1.0 / 24.0, -1.0 / 2.0) +
           1.0;
}
/// Polynomials of degrees 7 and 8 with minimal maximum errors: 2^-28 and 2^-33 before rounding.
WARPAES_HD float small_sine(float x) {
    const float z = x * x;
    return x * z * polynomial(z, -0x1.994eb4p-13F, 0x1.110760p-7F, -0x1.555546p-3F) + x;
}
WARPAES_HD float small_cosine(float x) {
    const float z = x * x;
    return z * z * polynomial(z, 0x1.9a025ap-16F, -0x1.6c0c8cp-10F, 0x1.55554ap-5F) - z * 0.5F + 1.0F;
}

/// A number in (0, 1], and an angle in [-pi/4, pi/4) from all bits except the two highest, which select the quarter.
WARPAES_HD double positive_unit(std::uint64_t bits) {
    return static_cast<double>((bits >> 11) + 1) * 0x1p-53;
}
WARPAES_HD double angle_of(std::uint64_t bits) {
    return (static_cast<double>(bits >> 11 & 0x7ffffffffffffU) * 0x1p-51 - 0.5) * 0x1.921fb54442d18p+0;
}
WARPAES_HD float positive_unit(std::uint32_t bits) {
    return static_cast<float>(static_cast<std::int32_t>(bits >> 1)) * 0x1p-31F + 0x1p-32F;
}
WARPAES_HD float angle_of(std::uint32_t bits) {
    return static_cast<float>(static_cast<std::int32_t>((bits << 2) ^ 0x80000000U)) * 0x1.921fb6p-32F;
}

template <typename T>
struct NormalPair {
    T first, second;
};

/// Computes two normal numbers from two words (Box and Muller). The two highest bits of `b` select the quarter of the
/// circle; its other bits are the angle relative to the quarter's middle.
template <typename T, typename Word>
WARPAES_HD NormalPair<T> normal_pair(Word a, Word b) {
    const T radius = root_of(natural_logarithm(positive_unit(a)) * static_cast<T>(-2));
    const T x = angle_of(b);
    const T sine = small_sine(x), cosine = small_cosine(x);
    const auto quarter = static_cast<unsigned>(b >> (8 * sizeof(Word) - 2));
    const bool swapped = (quarter & 1) != 0;
    const T across = swapped ? sine : cosine, up = swapped ? cosine : sine;
    const bool left = quarter == 1 || quarter == 2, down = quarter >= 2;
    return {radius * (left ? -across : across), radius * (down ? -up : up)};
}

WARPAES_HD std::uint64_t wide(std::uint32_t low, std::uint32_t high) {
    return static_cast<std::uint64_t>(high) << 32 | low;
}
WARPAES_HD void put(NumberBlock& to, int at, double number) {
    const auto bits = std::bit_cast<std::uint64_t>(number);
    to.word[2 * at] = static_cast<std::uint32_t>(bits);
    to.word[2 * at + 1] = static_cast<std::uint32_t>(bits >> 32);
}
WARPAES_HD void put(NumberBlock& to, int at, float number) {
    to.word[at] = std::bit_cast<std::uint32_t>(number);
}
WARPAES_HD std::uint64_t upper_product(std::uint64_t a, std::uint64_t b) {
#if defined(__CUDA_ARCH__)
    return __umul64hi(a, b);
#else
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(a) * b >> 64);
#endif
}

/// Computes the numbers from one block of the key stream and returns them in the first numbers_block_bytes(Kind) bytes
/// of the result.
template <Number Kind>
WARPAES_HD NumberBlock numbers_of(const NumberBlock& stream, const NumberRange& range) {
    const std::uint32_t(&w)[4] = stream.word;
    NumberBlock made = stream;
    if constexpr (Kind == Number::uniform_float64) {
        for (int i = 0; i < 2; ++i) put(made, i, unit(wide(w[2 * i], w[2 * i + 1])) * range.second + range.first);
    } else if constexpr (Kind == Number::uniform_float32) {
        for (int i = 0; i < 4; ++i) put(made, i, unit(w[i]) * range.second_float + range.first_float);
    } else if constexpr (Kind == Number::uniform_float16 || Kind == Number::uniform_bfloat16) {
        using Format = Short<Kind == Number::uniform_bfloat16>;
        for (int i = 0; i < 4; ++i) {
            made.word[i] = Format::pair(Format::uniform(w[i], range), Format::uniform(w[i] >> 16, range));
        }
    } else if constexpr (Kind == Number::normal_float64) {
        const NormalPair<double> n = normal_pair<double>(wide(w[0], w[1]), wide(w[2], w[3]));
        put(made, 0, n.first * range.second + range.first);
        put(made, 1, n.second * range.second + range.first);
    } else if constexpr (is_normal(Kind)) {
        for (int i = 0; i < 2; ++i) {
            const NormalPair<float> n = normal_pair<float>(w[2 * i], w[2 * i + 1]);
            const float first = n.first * range.second_float + range.first_float;
            const float second = n.second * range.second_float + range.first_float;
            if constexpr (Kind == Number::normal_float32) {
                put(made, 2 * i, first);
                put(made, 2 * i + 1, second);
            } else {
                made.word[i] = Short<Kind == Number::normal_bfloat16>::pair(first, second);
            }
        }
    } else if constexpr (Kind == Number::integer_uint64) {
        // floor(x * range / 2^128); the product with x's lower half contributes only its carry
        const std::uint64_t lower = wide(w[0], w[1]), upper = wide(w[2], w[3]);
        const std::uint64_t carried = upper_product(lower, range.range), sum = upper * range.range + carried;
        const std::uint64_t share = upper_product(upper, range.range) + (sum < carried ? 1 : 0);
        const std::uint64_t number = range.low + (range.range == 0 ? upper : share);
        made.word[0] = static_cast<std::uint32_t>(number);
        made.word[1] = static_cast<std::uint32_t>(number >> 32);
    }
    return made;
}

/// Calls `f.template operator()<Kind>()`, where Kind is `kind`.
template <typename F>
WARPAES_HD void with_number(Number kind, const F& f) {
    switch (kind) {
    case Number::bits:
        return f.template operator()<Number::bits>();
    case Number::uniform_float64:
        return f.template operator()<Number::uniform_float64>();
    case Number::uniform_float32:
        return f.template operator()<Number::uniform_float32>();
    case Number::uniform_float16:
        return f.template operator()<Number::uniform_float16>();
    case Number::uniform_bfloat16:
        return f.template operator()<Number::uniform_bfloat16>();
    case Number::normal_float64:
        return f.template operator()<Number::normal_float64>();
    case Number::normal_float32:
        return f.template operator()<Number::normal_float32>();
    case Number::normal_float16:
        return f.template operator()<Number::normal_float16>();
    case Number::normal_bfloat16:
        return f.template operator()<Number::normal_bfloat16>();
    case Number::integer_uint64:
        return f.template operator()<Number::integer_uint64>();
    }
}

}  // namespace warpaes
