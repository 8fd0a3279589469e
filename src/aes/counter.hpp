// The 128-bit big-endian counter of SP 800-38A, appendix B.1 (m = b = 128), with arithmetic modulo 2^128.
#pragma once

#include <cstdint>

#include "aes/types.hpp"

namespace warpaes {

/// A counter block as two native 64-bit halves.
struct Counter {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
};

constexpr Counter load_counter(const Block& block) {
    return load_halves<Counter>(block);
}

constexpr Block store_counter(Counter c) {
    return store_halves(c);
}

constexpr Counter add(Counter c, std::uint64_t blocks) {
    const std::uint64_t low = c.low + blocks;
    return {c.high + (low < c.low ? 1u : 0u), low};
}

constexpr Block add(const Block& counter, std::uint64_t blocks) {
    return store_counter(add(load_counter(counter), blocks));
}

/// Whether `blocks` consecutive counters starting at `counter` pass from 2^128 - 1 to 0. Wrapping is allowed, because
/// all counters of a message still differ, and OpenSSL also allows it. Wrapping is reported because a later IV under
/// the same key may repeat a counter.
constexpr bool wraps(const Block& counter, std::uint64_t blocks) {
    const Counter c = load_counter(counter);
    return blocks != 0 && c.high == ~std::uint64_t{0} && blocks - 1 > ~std::uint64_t{0} - c.low;
}

}  // namespace warpaes
