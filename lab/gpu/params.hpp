// Parameters of a variant's kernel. Round keys are passed by value, so that instructions can use them as
// constant-memory operands.
#pragma once

#include <cstdint>

#include "aes/gf256.hpp"
#include "aes/t_tables.hpp"

namespace lab::gpu {

/// Lookup tables of the cipher (T0 to T3 in sequence, then the S-box) or of the inverse cipher.
struct Tables {
    std::uint32_t t[1024];
    std::uint8_t s[256];
};

constexpr Tables make_tables(bool inverse) {
    Tables tables{};
    for (unsigned i = 0; i < 1024; ++i) {
        const std::uint32_t v = inverse ? warpaes::td0[i % 256] : warpaes::te0[i % 256];
        const unsigned bits = 8 * (i / 256);
        tables.t[i] = bits == 0 ? v : v << bits | v >> (32 - bits);
    }
    for (unsigned i = 0; i < 256; ++i) tables.s[i] = inverse ? warpaes::inv_sbox[i] : warpaes::sbox[i];
    return tables;
}

/// `Texture` stands for cudaTextureObject_t, because this header includes no CUDA headers.
struct Params {
    using Texture = unsigned long long;

    const std::uint8_t* input;
    std::uint8_t* output;
    std::uint64_t blocks;
    const Tables* tables;        ///< in device memory, for the kernel's direction
    Texture words, bytes;        ///< the same tables as textures: t as 32-bit words, s as bytes
    Texture text;                ///< the input as a texture of blocks, if the kernel reads it through textures
    const std::uint32_t* keys;   ///< in device memory
    std::uint64_t counter_high;  ///< CTR: high and low half of the first counter block as a number
    std::uint64_t counter_low;
    std::uint32_t round_keys[60];
};

}  // namespace lab::gpu
