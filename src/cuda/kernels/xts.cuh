// XTS (IEEE 1619): one thread a block, a warp 32 consecutive blocks of a data unit. See aes/xts.hpp for the field.
//
// A piece is a data unit, or where units are long, a part of one: whole groups of 32 blocks. Every warp has a
// contiguous stretch of pieces. It makes the tweaks of 32 pieces at a time, one a lane, and hands them round; a lane's
// own tweak is the piece's times x^lane, and from group to group x^32 times that, which costs a turn of the words and
// ten instructions: the lookups of the cipher leave room for them. Of units shorter than 32 blocks a warp takes
// several.
//
// The tweaks need the cipher, decryption the tables of the inverse cipher: it has one table of the cipher beside them.
#pragma once

#include "aes/types.hpp"
#include "cuda/kernels/cipher.cuh"
#include "cuda/kernels/memory.cuh"
#include "cuda/kernels/xts_params.cuh"

namespace warpaes::cuda {

/// t * x^n, n below 32.
__device__ __forceinline__ uint4 times_power_of_x(uint4 t, unsigned n) {
    const std::uint32_t out = __funnelshift_l(t.w, 0, n);  // n bits
    return make_uint4((t.x << n) ^ out ^ (out << 1) ^ (out << 2) ^ (out << 7),
                      __funnelshift_l(t.x, t.y, n) ^ (out >> 31) ^ (out >> 30) ^ (out >> 25),
                      __funnelshift_l(t.y, t.z, n), __funnelshift_l(t.z, t.w, n));
}

/// t * x^32
__device__ __forceinline__ uint4 times_x_32(uint4 t) {
    const std::uint32_t out = t.w;
    return make_uint4(out ^ (out << 1) ^ (out << 2) ^ (out << 7), t.x ^ (out >> 31) ^ (out >> 30) ^ (out >> 25), t.y,
                      t.z);
}

/// x^(128 * 2^i), for every place in the longest data unit.
struct LongPowers {
    static constexpr int count = 13;
    std::uint32_t words[count][4];
    int degrees[count];
};

namespace detail {

constexpr LongPowers make_long_powers() {
    LongPowers powers{};
    for (unsigned i = 0; i < LongPowers::count; ++i) {
        const Tweak power = tweak_powers[i + 7];
        for (unsigned bit = 0; bit < 128; ++bit) {
            const std::uint64_t half = bit < 64 ? power.low : power.high;
            if ((half >> (bit % 64)) % 2 == 0) continue;
            powers.words[i][bit / 32] |= std::uint32_t{1} << (bit % 32);
            powers.degrees[i] = static_cast<int>(bit);
        }
    }
    return powers;
}

}  // namespace detail

static __constant__ const LongPowers long_powers_constant = detail::make_long_powers();

/// t * x^(32 groups); `groups` is public, t is not.
__device__ inline uint4 times_groups(uint4 t, unsigned groups) {
    for (; groups % 4 != 0; --groups) t = times_x_32(t);
    groups /= 4;
    for (int i = 0; groups != 0; ++i, groups /= 2) {
        if (groups % 2 == 0) continue;
        uint4 product{};
        for (int bit = long_powers_constant.degrees[i]; bit >= 0; --bit) {
            product = times_power_of_x(product, 1);
            if ((long_powers_constant.words[i][bit / 32] >> (bit % 32)) % 2 != 0) product = product ^ t;
        }
        t = product;
    }
    return t;
}

/// The number of a data unit, as a block in memory order.
__device__ __forceinline__ uint4 unit_number(const XtsParams& p, std::uint64_t unit) {
    const Tweak number = add(p.first_number, unit);
    return make_uint4(static_cast<std::uint32_t>(number.low), static_cast<std::uint32_t>(number.low >> 32),
                      static_cast<std::uint32_t>(number.high), static_cast<std::uint32_t>(number.high >> 32));
}

/// `block` with its first `bytes` bytes (1 to 15) replaced by those at `from`.
__device__ inline uint4 begin_with(uint4 block, const std::uint8_t* from, unsigned bytes) {
    std::uint32_t words[4] = {block.x, block.y, block.z, block.w};
#pragma unroll
    for (unsigned i = 0; i < 15; ++i) {
        if (i >= bytes) continue;
        const unsigned shift = 8 * (i % 4);
        words[i / 4] = (words[i / 4] & ~(0xffu << shift)) | (static_cast<std::uint32_t>(from[i]) << shift);
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
}

__device__ inline void store_beginning(std::uint8_t* to, uint4 block, unsigned bytes) {
#pragma unroll
    for (unsigned i = 0; i < 15; ++i) {
        if (i < bytes) to[i] = static_cast<std::uint8_t>(word_of(block, i / 4) >> (8 * (i % 4)));
    }
}

/// `Plain`: every data unit is whole blocks, and both buffers are aligned to 16 bytes.
template <Direction D, int Rounds, int Tables, bool Plain>
__global__ void __launch_bounds__(1024, 1) xts_kernel(const __grid_constant__ XtsParams p) {
    constexpr bool inverse = D == Direction::decrypt;
    const std::uint32_t alignment = Plain ? 16 : p.alignment;
    const SharedTables<Tables> tables;
    tables.fill(inverse ? td0_constant : te0_constant);
    const SharedTables<inverse ? 1 : Tables> tweak_tables(inverse ? table_bytes<Tables> : 0);
    if constexpr (inverse) tweak_tables.fill(te0_constant);
    const auto add_tweak_and_cipher = [&](uint4 text, uint4 tweak) {
        return cipher<inverse, Rounds>(tables, text ^ tweak, p.round_keys) ^ tweak;
    };

    const unsigned lane = lane_id();
    // Of units at once, which one, and which of its blocks.
    const unsigned units_at_once = warp_lanes / p.width, which = lane / p.width, column = lane % p.width;

    const std::uint64_t block_first = p.pieces * blockIdx.x / gridDim.x;
    const std::uint64_t of_block = p.pieces * (blockIdx.x + 1) / gridDim.x - block_first;
    const unsigned warp = threadIdx.x / warp_lanes, warps = blockDim.x / warp_lanes;
    const std::uint64_t last = block_first + of_block * (warp + 1) / warps;
    for (std::uint64_t batch = block_first + of_block * warp / warps; batch < last; batch += warp_lanes) {
        const unsigned pieces = last - batch < warp_lanes ? static_cast<unsigned>(last - batch) : warp_lanes;
        std::uint64_t unit = (batch + lane) / p.pieces_per_unit;
        auto part = static_cast<unsigned>((batch + lane) % p.pieces_per_unit);
        uint4 tweaks = cipher<false, Rounds>(tweak_tables, unit_number(p, unit), p.tweak_keys);
        tweaks = times_groups(tweaks, part * (p.piece_blocks / warp_lanes));

        unit = batch / p.pieces_per_unit;
        part = static_cast<unsigned>(batch % p.pieces_per_unit);
        for (unsigned i = 0; i < pieces; i += units_at_once) {
            const std::uint64_t my_unit = unit + which;
            const unsigned first_block = part * p.piece_blocks;
            const unsigned blocks = (my_unit + 1 == p.units ? p.last_unit_blocks : p.unit_blocks) - first_block;
            const bool has_end = blocks <= p.piece_blocks;
            unsigned count = has_end ? blocks : p.piece_blocks;
            if (which >= units_at_once || i + which >= pieces) count = 0;
            const std::uint64_t offset =
                my_unit * p.unit_bytes + static_cast<std::uint64_t>(first_block + column) * block_bytes;
            const std::uint8_t* in = p.input + offset;
            std::uint8_t* out = p.output + offset;
            uint4 next{};
            if (column < count) next = load_block(in, alignment);
            uint4 tweak = times_power_of_x(shuffle(tweaks, static_cast<int>((i + which) % warp_lanes)), column);

            for (unsigned at = column; at < count; at += warp_lanes) {
                const uint4 text = next;
                in += warp_lanes * block_bytes;
                if (at + warp_lanes < count) next = load_block(in, alignment);
                bool whole = true;
                if constexpr (!Plain) {
                    const unsigned rest = my_unit + 1 == p.units ? p.last_unit_rest : p.unit_rest;
                    if (rest != 0 && has_end && at + 1 == count) {
                        // Ciphertext stealing (IEEE 1619, 5.3.2 and 5.4.2): this block and the partial one after it.
                        const uint4 after = times_power_of_x(tweak, 1);
                        const std::uint8_t* end = in - (warp_lanes - 1) * block_bytes;
                        const uint4 stolen = add_tweak_and_cipher(text, inverse ? after : tweak);
                        const uint4 result =
                            add_tweak_and_cipher(begin_with(stolen, end, rest), inverse ? tweak : after);
                        store_beginning(out + block_bytes, stolen, rest);
                        store_block(out, result, alignment);
                        whole = false;
                    }
                }
                if (whole) store_block(out, add_tweak_and_cipher(text, tweak), alignment);
                out += warp_lanes * block_bytes;
                tweak = times_x_32(tweak);
            }
            if (++part == p.pieces_per_unit) {
                part = 0;
                unit += units_at_once;
            }
        }
    }
}

}  // namespace warpaes::cuda
