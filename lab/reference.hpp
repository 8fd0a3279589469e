// libcrypto's AES, with which every output is compared before a figure is made of it.
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

/// An output is not what libcrypto makes of the input.
class Mismatch : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// One key, one mode, one direction; no padding. A thread of its own each.
class Reference {
public:
    /// `key`: 16, 24 or 32 bytes.
    Reference(Mode mode, Direction direction, std::span<const std::uint8_t> key);
    /// A message. `iv`: 16 bytes, of ECB none; `output` is as long as `input`, or the same.
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

/// Random bytes for texts, keys and IVs; the same for the same seed.
std::vector<std::uint8_t> random_bytes(std::size_t bytes, std::uint64_t seed);
void fill_random(std::span<std::uint8_t> bytes, std::uint64_t seed);

}  // namespace lab
