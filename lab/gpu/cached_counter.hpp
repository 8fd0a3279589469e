// The counter mode of Lee, Seo, Zhao and Hwang (2022): one table with a copy for each bank, and the first round
// computed once for 65,536 counters that differ in two bytes. AES-128. Written from the description of the
// design.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "lab/gpu/variants.hpp"

namespace lab::gpu {

class CachedCounter {
public:
    /// Computes the cached columns of `bytes` bytes of key stream, on the host. `key`, `counter`: 16 bytes. Throws
    /// std::invalid_argument.
    CachedCounter(std::span<const std::uint8_t> key, std::span<const std::uint8_t> counter, std::size_t bytes);
    ~CachedCounter();
    CachedCounter(const CachedCounter&) = delete;
    CachedCounter& operator=(const CachedCounter&) = delete;

    /// Enqueues CTR. `bytes` is a number of whole blocks, at most that of the constructor. Both pointers are in device
    /// memory and multiples of 16; in place is allowed. Throws std::invalid_argument.
    void run(const std::uint8_t* input, std::uint8_t* output, std::size_t bytes, const Stream& stream) const;

private:
    struct State;
    std::unique_ptr<const State> state_;
};

}  // namespace lab::gpu
