// libcrypto's AES, the reference. An experiment records a time only after the output has been compared with
// libcrypto's.
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

/// Thrown if an output differs from libcrypto's.
class Mismatch : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Encrypts or decrypts with one key in one mode, without padding. Not thread-safe: use one object per thread.
class Reference {
public:
    /// `key`: 16, 24 or 32 bytes.
    Reference(Mode mode, Direction direction, std::span<const std::uint8_t> key);
    /// Processes one message. `iv` has 16 bytes, or is empty for ECB. `output` has the length of `input`, and may be
    /// the same buffer.
    void run(std::span<const std::uint8_t> iv, std::span<const std::uint8_t> input, std::span<std::uint8_t> output);
    [[nodiscard]] std::vector<std::uint8_t> run(std::span<const std::uint8_t> iv, std::span<const std::uint8_t> input);

private:
    struct Free {
        void operator()(evp_cipher_ctx_st* context) const;
    };
    std::unique_ptr<evp_cipher_ctx_st, Free> context_;
};

/// Throws Mismatch if the buffers differ. The message contains `what` and the position of the first difference.
void require_equal(std::span<const std::uint8_t> expected, std::span<const std::uint8_t> actual,
                   const std::string& what);

/// Returns pseudorandom bytes for texts, keys and IVs. Equal seeds produce equal bytes.
std::vector<std::uint8_t> random_bytes(std::size_t bytes, std::uint64_t seed);
void fill_random(std::span<std::uint8_t> bytes, std::uint64_t seed);

}  // namespace lab
