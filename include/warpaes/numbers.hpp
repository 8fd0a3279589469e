// warpaes: random numbers from a key. C++20 over warpaes/numbers.h.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <warpaes/numbers.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <span>
#include <warpaes/warpaes.hpp>

namespace warpaes {
inline namespace cpp {

/// The floating-point types of C++20 for which numbers.h has a kind of number.
template <typename T>
concept FloatOrDouble = std::same_as<T, float> || std::same_as<T, double>;

/// AES-CTR's key stream under `key`, starting at the counter block `counter`, as numbers in host or device memory.
/// Thread-safe. Every machine computes the same numbers. A call that fails throws Error.
class Numbers {
public:
    /// The engine and the key must outlive this object.
    Numbers(const Engine& engine, const Key& key, std::span<const std::uint8_t, 16> counter)
        : engine_(engine.get()), key_(key.get()) {
        std::copy(counter.begin(), counter.end(), counter_.begin());
    }

    void bits(Bytes output) const { fill(WARPAES_BITS, output.data(), output.size(), 0, 1); }
    /// Writes low + (high - low) * u, with u in [0, 1).
    template <FloatOrDouble T>
    void uniform(std::span<T> output, T low = 0, T high = 1) const {
        fill(sizeof(T) == 8 ? WARPAES_UNIFORM_FLOAT64 : WARPAES_UNIFORM_FLOAT32, output.data(), output.size_bytes(),
             low, static_cast<double>(high) - static_cast<double>(low));
    }
    template <FloatOrDouble T>
    void normal(std::span<T> output, T mean = 0, T deviation = 1) const {
        fill(sizeof(T) == 8 ? WARPAES_NORMAL_FLOAT64 : WARPAES_NORMAL_FLOAT32, output.data(), output.size_bytes(), mean,
             deviation);
    }
    /// Writes low + floor(x * range / 2^128), where x is a block of the key stream; a range of 0 means 2^64.
    void integers(std::span<std::uint64_t> output, std::uint64_t low, std::uint64_t range) const {
        fill(WARPAES_INTEGER_UINT64, output.data(), output.size_bytes(), 0, 1, low, range);
    }
    /// Writes numbers of any kind; warpaes/numbers.h describes the values.
    void fill(warpaes_number kind, void* output, std::size_t bytes, double first, double second, std::uint64_t low = 0,
              std::uint64_t range = 0) const {
        warpaes_numbers raw = WARPAES_NUMBERS_INIT;
        raw.kind = kind;
        raw.key = key_;
        raw.counter = counter_.data();
        raw.output = output;
        raw.output_len = bytes;
        raw.first = first;
        raw.second = second;
        raw.low = low;
        raw.range = range;
        warpaes_result result = WARPAES_RESULT_INIT;
        check(warpaes_numbers_fill(engine_, &raw, &result), result.error);
    }

private:
    warpaes_engine* engine_;
    const warpaes_key* key_;
    std::array<std::uint8_t, 16> counter_{};
};

}  // namespace cpp
}  // namespace warpaes
