// XTS (IEEE 1619): one thread per block; a warp processes 32 consecutive blocks of a data unit. aes/xts.hpp describes
// the field.
//
// A piece is a data unit or, if units are long, a part of a unit that consists of whole groups of 32 blocks. Every warp
// processes a contiguous range of pieces. It computes the tweaks of 32 pieces at a time, one per lane, and distributes
// them by shuffles. A lane's own tweak is the tweak of the piece times x^lane. Between groups, the tweak is multiplied
// by x^32, which moves the words by one and takes ten additional instructions; the lookups of the cipher leave issue
// slots for these instructions. If units are shorter than 32 blocks, a warp processes several units at once.
//
// Tweaks require the cipher, and decryption requires the tables of the inverse cipher, so for decryption there is one
// table of the cipher in addition to those tables.
#pragma once

#include "aes/types.hpp"
#include "cuda/kernels/cipher.cuh"
#include "cuda/kernels/memory.cuh"
#include "cuda/kernels/params.cuh"
#include "cuda/tuning/xts.hpp"

namespace warpaes::cuda {

/// Returns t * x^n, for n below 32.
__device__ __forceinline__ uint4 times_power_of_x(uint4 t, unsigned n) {
    const std::uint32_t out = __funnelshift_l(t.w, 0, n);  // the n bits that are shifted out
    return make_uint4((t.x << n) ^ out ^ (out << 1) ^ (out << 2) ^ (out << 7),
                      __funnelshift_l(t.x, t.y, n) ^ (out >> 31) ^ (out >> 30) ^ (out >> 25),
                      __funnelshift_l(t.y, t.z, n), __funnelshift_l(t.z, t.w, n));
}

/// Returns t * x^32.
__device__ __forceinline__ uint4 times_x_32(uint4 t) {
    const std::uint32_t out = t.w;
    return make_uint4(out ^ (out << 1) ^ (out << 2) ^ (out << 7), t.x ^ (out >> 31) ^ (out >> 30) ^ (out >> 25), t.y,
                      t.z);
}

/// x^(256 i) and x^(16384 i): with two of these factors and a few multiplications by x^32, every position in the
/// longest data unit can be reached.
struct LongPowers {
    static constexpr unsigned count = 64;
    std::uint32_t near[count][4];
    std::uint32_t far[count][4];
};

namespace detail {

constexpr LongPowers make_long_powers() {
    LongPowers powers{};
    Tweak near{1, 0}, far{1, 0};
    for (unsigned i = 0; i < LongPowers::count; ++i) {
        for (unsigned word = 0; word < 4; ++word) {
            const unsigned shift = 32 * (word % 2);
            powers.near[i][word] = static_cast<std::uint32_t>((word < 2 ? near.low : near.high) >> shift);
            powers.far[i][word] = static_cast<std::uint32_t>((word < 2 ? far.low : far.high) >> shift);
        }
        near = multiply(near, tweak_powers[8]);
        far = multiply(far, tweak_powers[14]);
    }
    return powers;
}

}  // namespace detail

static __constant__ const LongPowers long_powers_constant = detail::make_long_powers();

__device__ inline uint4 times(uint4 t, const std::uint32_t (&power)[4]) {
    const std::uint32_t words[4] = {t.x, t.y, t.z, t.w}, bits[4] = {power[0], power[1], power[2], power[3]};
    std::uint32_t product[8] = {};
#pragma unroll 1
    for (int bit = 31; bit >= 0; --bit) {
#pragma unroll
        for (int i = 7; i > 0; --i) product[i] = __funnelshift_l(product[i - 1], product[i], 1);
        product[0] <<= 1;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const std::uint32_t mask = 0u - ((bits[i] >> bit) & 1u);
#pragma unroll
            for (int j = 0; j < 4; ++j) product[i + j] ^= words[j] & mask;
        }
    }
    // Reduce the product: multiply the part beyond x^127 by x^7 + x^2 + x + 1. The part of the result that is again
    // beyond x^127 has at most 7 bits.
    const auto carry = [](std::uint32_t v) { return (v >> 31) ^ (v >> 30) ^ (v >> 25); };
    product[4] ^= carry(product[7]);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const std::uint32_t out = product[4 + i];
        product[i] ^= out ^ (out << 1) ^ (out << 2) ^ (out << 7) ^ (i > 0 ? carry(product[3 + i]) : 0);
    }
    return make_uint4(product[0], product[1], product[2], product[3]);
}

/// Returns t * x^(32 groups); `groups` is public, and t is secret.
__device__ inline uint4 times_groups(uint4 t, unsigned groups) {
    for (; groups % 8 != 0; --groups) t = times_x_32(t);
    const unsigned near = groups / 8 % LongPowers::count, far = groups / 8 / LongPowers::count;
    if (near != 0) t = times(t, long_powers_constant.near[near]);
    if (far != 0) t = times(t, long_powers_constant.far[far]);
    return t;
}

/// Returns the number of the data unit that is `distance` after the first unit, as a block in memory order.
__device__ __forceinline__ uint4 unit_number(const Tweak& first, std::uint64_t distance) {
    const Tweak number = add(first, distance);
    return make_uint4(static_cast<std::uint32_t>(number.low), static_cast<std::uint32_t>(number.low >> 32),
                      static_cast<std::uint32_t>(number.high), static_cast<std::uint32_t>(number.high >> 32));
}

/// Returns `block` with its first `bytes` bytes (1 to 15) replaced by the bytes at `from`.
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

/// Uses a 32-bit division if possible, because a 64-bit division is a subroutine on a GPU.
__device__ __forceinline__ std::uint64_t unit_of_piece(std::uint64_t piece, std::uint32_t pieces_per_unit) {
    return (piece >> 32) == 0 ? static_cast<std::uint32_t>(piece) / pieces_per_unit : piece / pieces_per_unit;
}

/// `Plain` means that every data unit consists of whole blocks, and both buffers are aligned to 16 bytes.
template <Direction D, int Rounds, int Tables, bool Plain>
__global__ void __launch_bounds__(xts_threads, 1) xts_kernel(const __grid_constant__ XtsParams p) {
    constexpr bool inverse = D == Direction::decrypt;
    const std::uint32_t alignment = Plain ? 16 : p.alignment;
    const SharedTables<Tables> tables;
    tables.fill(inverse ? td0_table : te0_table);
    const SharedTables<inverse ? 1 : Tables> tweak_tables(inverse ? table_bytes<Tables> : 0);
    if constexpr (inverse) tweak_tables.fill(te0_table);
    const auto add_tweak_and_cipher = [&](uint4 text, uint4 tweak) {
        return cipher<inverse, Rounds>(tables, text ^ tweak, p.round_keys) ^ tweak;
    };

    const unsigned lane = lane_id();
    // `which` is the lane's unit among the units processed at once, and `column` is the lane's block in this unit.
    const unsigned units_at_once = warp_lanes / p.width, which = lane / p.width, column = lane % p.width;

    constexpr unsigned warps = xts_threads / warp_lanes;
    const unsigned warp = threadIdx.x / warp_lanes, block = blockIdx.x;
    const std::uint64_t block_first =
        p.pieces_per_block * block + (block < p.blocks_with_more ? block : p.blocks_with_more);
    const std::uint64_t of_block = p.pieces_per_block + (block < p.blocks_with_more ? 1 : 0);
    const std::uint64_t first = block_first + of_block * warp / warps,
                        last = block_first + of_block * (warp + 1) / warps;
    std::uint64_t unit = unit_of_piece(first, p.pieces_per_unit);
    auto part = static_cast<std::uint32_t>(first - unit * p.pieces_per_unit);
    for (std::uint64_t batch = first; batch < last; batch += warp_lanes) {
        const unsigned pieces = last - batch < warp_lanes ? static_cast<unsigned>(last - batch) : warp_lanes;
        if (units_at_once > 1) unit = batch;
        const unsigned my_part = part + lane;
        uint4 tweaks = cipher<false, Rounds>(
            tweak_tables, unit_number(p.first_number, (unit + my_part / p.pieces_per_unit) * p.unit_step),
            p.tweak_keys);
        if (p.pieces_per_unit > 1) {
            tweaks = times_groups(tweaks, my_part % p.pieces_per_unit * (p.piece_blocks / warp_lanes));
        }

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
                if constexpr (Plain) {
                    store_block(out, add_tweak_and_cipher(text, tweak), alignment);
                } else {
                    const unsigned rest = my_unit + 1 == p.units ? p.last_unit_rest : p.unit_rest;
                    const bool steals = rest != 0 && has_end && at + 1 == count;
                    const uint4 after = times_power_of_x(tweak, 1);
                    uint4 result = add_tweak_and_cipher(text, steals && inverse ? after : tweak);
                    if (steals) {
                        // Ciphertext stealing (IEEE 1619, 5.3.2 and 5.4.2) for this block and the following partial
                        // block.
                        const uint4 stolen = result;
                        const std::uint8_t* end = in - (warp_lanes - 1) * block_bytes;
                        result = add_tweak_and_cipher(begin_with(stolen, end, rest), inverse ? tweak : after);
                        store_beginning(out + block_bytes, stolen, rest);
                    }
                    store_block(out, result, alignment);
                }
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
