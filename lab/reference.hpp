// libcrypto's AES, the reference. Every output is compared with its output before a time is recorded as a figure.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab/mode.hpp"

struct evp_cipher_ctx_st;

namespace lab {

/// An output differs from libcrypto's.
class Mismatch : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// One key, one mode, one direction; no padding. Not thread-safe: use one object per thread.
class Reference {
public:
    /// `key`: 16, 24 or 32 bytes.
    Reference(Mode mode, Direction direction, std::span<const std::uint8_t> key);
    /// Processes one message. `iv`: 16 bytes; none for ECB. `output` has the length of `input`, and may be the same
    /// buffer.
    void run(std::span<const std::uint8_t> iv, std::span<const std::uint8_t> input, std::span<std::uint8_t> output);
    [[nodiscard]] std::vector<std::uint8_t> run(std::span<const std::uint8_t> iv, std::span<const std::uint8_t> input);

private:
    struct Free {
        void operator()(evp_cipher_ctx_st* context) const;
    };
    std::unique_ptr<evp_cipher_ctx_st, Free> context_;
};

/// Throws Mismatch, naming `what` and the first byte that differs.
void require_equal(std::span<const std::uint8_t> expected, std::span<const std::uint8_t> actual,
                   const std::string& what);

/// Pseudorandom bytes for texts, keys and IVs; equal seeds give equal bytes.
std::vector<std::uint8_t> random_bytes(std::size_t bytes, std::uint64_t seed);
void fill_random(std::span<std::uint8_t> bytes, std::uint64_t seed);

}  // namespace lab
