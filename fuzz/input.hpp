// Splits a fuzzer's input into numbers and bytes, starting at the front. Returns zeros after the end of the input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace fuzz {

using Bytes = std::vector<std::uint8_t>;

class Input {
public:
    Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

    std::uint8_t byte() {
        if (size_ == 0) return 0;
        --size_;
        return *data_++;
    }
    bool flag() { return (byte() & 1) != 0; }
    /// Returns a number from 0 to bound - 1. `bound` is at most 2^16.
    std::size_t below(std::size_t bound) {
        const std::size_t low = byte();
        return (bound > 256 ? low | std::size_t{byte()} << 8 : low) % bound;
    }
    template <typename T, std::size_t N>
    const T& pick(const T (&choices)[N]) {
        return choices[below(N)];
    }
    std::uint64_t number() {
        std::uint64_t value = 0;
        for (int i = 0; i < 8; ++i) value = value << 8 | byte();
        return value;
    }
    Bytes bytes(std::size_t n) {
        Bytes result(n);
        const std::size_t have = std::min(n, size_);
        std::copy_n(data_, have, result.begin());
        data_ += have;
        size_ -= have;
        return result;
    }
    Bytes rest() { return bytes(size_); }
    [[nodiscard]] bool empty() const { return size_ == 0; }

private:
    const std::uint8_t* data_;
    std::size_t size_;
};

/// Reports a finding and aborts.
[[noreturn]] inline void fail(const std::string& what) {
    std::fprintf(stderr, "FINDING: %s\n", what.c_str());
    std::abort();
}
inline void require(bool condition, const char* what) {
    if (!condition) fail(what);
}

}  // namespace fuzz
