// CFB8 and CFB1 decryption: one encryption per byte or per bit, applied to the 128 preceding bits of ciphertext. Never
// in place: the launcher passes a copy of the ciphertext if necessary.
#pragma once

#include "aes/types.hpp"
#include "cuda/kernels/cipher.cuh"
#include "cuda/kernels/memory.cuh"
#include "cuda/kernels/params.cuh"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

/// Returns the 16 bytes before byte `at` of the ciphertext; the initial shift register precedes its first byte.
__device__ __forceinline__ uint4 window_before(const std::uint8_t* text, uint4 initial, std::uint64_t at) {
    if (at >= block_bytes) return load_block(text + at - block_bytes, 1);
    std::uint32_t words[4] = {};
#pragma unroll
    for (unsigned i = 0; i < block_bytes; ++i) {
        const auto from = static_cast<unsigned>(at) + i;
        const std::uint32_t byte =
            from < block_bytes ? (word_of(initial, from / 4) >> (8 * (from % 4))) & 0xff : text[from - block_bytes];
        words[i / 4] |= byte << (8 * (i % 4));
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
}

/// Returns the shift register after `bits` (1 to 7) more bits: `window`, a block in memory order, with the high bits of
/// `next` shifted in.
__device__ __forceinline__ uint4 shift_in(uint4 window, std::uint32_t next, unsigned bits) {
    const std::uint32_t a = byte_swap(window.x), b = byte_swap(window.y), c = byte_swap(window.z),
                        d = byte_swap(window.w);
    return make_uint4(byte_swap(__funnelshift_l(b, a, bits)), byte_swap(__funnelshift_l(c, b, bits)),
                      byte_swap(__funnelshift_l(d, c, bits)), byte_swap(__funnelshift_l(next << 24, d, bits)));
}

/// Decrypts the byte `text`, which follows `window`, with one encryption, or for CFB1 with eight. If fewer than eight
/// bits are `left` in CFB1, only these bits are decrypted, and the other bits are zero.
template <Mode M, typename Encrypt>
__device__ __forceinline__ std::uint8_t decrypted_byte(uint4 window, std::uint32_t text, std::uint64_t left,
                                                       const Encrypt& encrypt) {
    if constexpr (M == Mode::cfb8) return static_cast<std::uint8_t>(text ^ encrypt(window).x);
    const unsigned bits = left < 8 ? static_cast<unsigned>(left) : 8;
    std::uint32_t out = 0;
    for (unsigned bit = 0; bit < bits; ++bit) {
        const uint4 key_stream = encrypt(bit == 0 ? window : shift_in(window, text, bit));
        out |= ((text << bit) ^ key_stream.x) & 0x80u ? 0x80u >> bit : 0u;
    }
    return static_cast<std::uint8_t>(out);
}

/// One thread per byte.
template <Mode M, int Rounds, int Tables>
__global__ void __launch_bounds__(most_table_threads, 1) segments_kernel(const __grid_constant__ Params p) {
    const SharedTables<Tables> tables;
    tables.fill(te0_table);
    const std::uint64_t bytes = M == Mode::cfb1 ? (p.length + 7) / 8 : p.length;
    const auto encrypt = [&](uint4 block) { return cipher<false, Rounds>(tables, block, p.round_keys); };
    const std::uint64_t step = global_threads();
    for (std::uint64_t at = global_thread(); at < bytes; at += step) {
        p.output[at] = decrypted_byte<M>(window_before(p.input, p.chain, at), p.input[at], p.length - 8 * at, encrypt);
    }
}

}  // namespace warpaes::cuda
