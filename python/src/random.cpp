// Random numbers of random bits, in place, by arithmetic that gives the same on every machine: integers, IEEE 754
// addition, multiplication, division and square roots, each rounded by itself. python/CMakeLists.txt forbids the
// compiler to contract them. docs/python.md says what they are.
//
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cstring>

#include "module.hpp"
#include "view.hpp"

namespace warpaes::python {
namespace {

static_assert(std::endian::native == std::endian::little, "words are those of the keystream, little-endian");

template <typename T>
T load(const std::uint8_t* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}
template <typename T>
void store(std::uint8_t* at, T value) {
    std::memcpy(at, &value, sizeof value);
}

/// [0, 1): the 53 highest bits of 64.
double unit(std::uint64_t bits) {
    return static_cast<double>(bits >> 11) * 0x1p-53;
}
/// (0, 1].
double positive_unit(std::uint64_t bits) {
    return static_cast<double>((bits >> 11) + 1) * 0x1p-53;
}

/// A whole number of at most `fraction` + 1 bits times 2^-`scale`, in a format of 16 bits whose exponents begin at
/// -`bias`.
std::uint16_t short_unit(std::uint32_t number, int scale, int fraction, int bias) {
    if (number == 0) return 0;
    const int exponent = std::bit_width(number) - 1;
    const std::uint32_t bits = number << (fraction - exponent) & ((1U << fraction) - 1);
    return static_cast<std::uint16_t>(static_cast<std::uint32_t>(exponent - scale + bias) << fraction | bits);
}

/// The natural logarithm of a number in (0, 1]: m · 2^e with m in [√½, √2), and 2 artanh((m - 1) / (m + 1)) as a
/// series.
double natural_logarithm(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    auto exponent = static_cast<int>(bits >> 52) - 1022;
    double mantissa = std::bit_cast<double>((bits & 0x000fffffffffffffU) | 0x3fe0000000000000U);  // [½, 1)
    if (mantissa < 0x1.6a09e667f3bcdp-1) {
        mantissa = mantissa * 2.0;
        exponent -= 1;
    }
    const double s = (mantissa - 1.0) / (mantissa + 1.0);
    const double z = s * s;
    double sum = 1.0 / 23.0;
    for (const double divisor : {21.0, 19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0}) sum = sum * z + 1.0 / divisor;
    const double series = s * z * sum + s;
    return static_cast<double>(exponent) * 0x1.62e42fefa39efp-1 + (series + series);
}

/// Sine and cosine of an angle in [-π/4, π/4], by Taylor's series.
double small_sine(double x) {
    const double z = x * x;
    double sum = -1.0 / 1307674368000.0;
    for (const double c :
         {1.0 / 6227020800.0, -1.0 / 39916800.0, 1.0 / 362880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0}) {
        sum = sum * z + c;
    }
    return x * z * sum + x;
}
double small_cosine(double x) {
    const double z = x * x;
    double sum = 1.0 / 20922789888000.0;
    for (const double c : {-1.0 / 87178291200.0, 1.0 / 479001600.0, -1.0 / 3628800.0, 1.0 / 40320.0, -1.0 / 720.0,
                           1.0 / 24.0, -1.0 / 2.0}) {
        sum = sum * z + c;
    }
    return z * sum + 1.0;
}

/// Two normal numbers of two words, by Box and Muller: the angle is the highest two bits' quarter, and what the other
/// 51 of 53 say within it, about its middle.
void normal_pair(std::uint8_t* at) {
    const double radius = std::sqrt(-2.0 * natural_logarithm(positive_unit(load<std::uint64_t>(at))));
    const auto angle = load<std::uint64_t>(at + 8);
    const double within = static_cast<double>((angle >> 11) & 0x7ffffffffffffU) * 0x1p-51 - 0.5;
    const double x = within * 0x1.921fb54442d18p+0;
    const double sine = small_sine(x);
    const double cosine = small_cosine(x);
    constexpr double half = 0x1.6a09e667f3bcdp-1;  // what turns the angle by an eighth, to where the quarter is
    const double c = (cosine - sine) * half;
    const double s = (cosine + sine) * half;
    double first = c;
    double second = s;
    switch (angle >> 62) {
    case 1:
        first = -s, second = c;
        break;
    case 2:
        first = -c, second = -s;
        break;
    case 3:
        first = s, second = -c;
        break;
    default:
        break;
    }
    store(at, radius * first);
    store(at + 8, radius * second);
}

/// shape(kind, buf, low, range): random bits become numbers where they lie. Integers take 16 bytes each and leave 8,
/// from the beginning of the buffer on.
Object shape(PyObject*, const Call& call) {
    const auto [kind_object, buf, low_object, range_object] = arguments(call, "shape", {"kind", "buf", "low", "range"});
    const std::string kind = to_text(kind_object, "kind");
    const View view = host_view(buf, "buf", Access::write);
    const std::uint64_t low = to_u64(low_object, "low");
    const std::uint64_t range = to_u64(range_object, "range");  // 0: 2^64
    const bool is_short = kind == "float16" || kind == "bfloat16";
    const std::size_t unit_bytes = is_short ? 2 : kind == "float32" ? 4 : kind == "float64" ? 8 : 16;
    if (view.size() % unit_bytes != 0) raise(PyExc_ValueError, "buf must be a multiple of %zu bytes", unit_bytes);
    std::uint8_t* at = view.bytes();
    std::uint8_t* end = at + view.size();
    const bool known = unlocked_if(view.size() >= long_work, [&] {
        if (kind == "float64") {
            for (; at != end; at += 8) store(at, unit(load<std::uint64_t>(at)));
        } else if (kind == "float32") {
            for (; at != end; at += 4) store(at, static_cast<float>(load<std::uint32_t>(at) >> 8) * 0x1p-24F);
        } else if (kind == "float16") {
            for (; at != end; at += 2) store(at, short_unit(load<std::uint16_t>(at) >> 5U, 11, 10, 15));
        } else if (kind == "bfloat16") {
            for (; at != end; at += 2) store(at, short_unit(load<std::uint16_t>(at) >> 8U, 8, 7, 127));
        } else if (kind == "normal") {
            for (; at != end; at += 16) normal_pair(at);
        } else if (kind == "integers") {
            __extension__ using Wide = unsigned __int128;
            std::uint8_t* to = at;
            for (; at != end; at += 16, to += 8) {
                // ⌊x · range / 2^128⌋ for a number x of 128 bits
                const auto lower = load<std::uint64_t>(at);
                const auto upper = load<std::uint64_t>(at + 8);
                const Wide carried = (static_cast<Wide>(lower) * range) >> 64;
                const Wide product = static_cast<Wide>(upper) * range + carried;
                store(to, low + (range == 0 ? upper : static_cast<std::uint64_t>(product >> 64)));
            }
        } else {
            return false;
        }
        return true;
    });
    if (!known)
        raise(PyExc_ValueError, "kind must be 'float64', 'float32', 'float16', 'bfloat16', 'normal' or 'integers'");
    return none();
}

PyMethodDef functions[] = {
    method_def<shape>("shape", "shape(kind, buf, low, range)\n--\n\n"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_random(PyObject* module) {
    check(PyModule_AddFunctions(module, functions));
}

}  // namespace warpaes::python
