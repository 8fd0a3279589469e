// GHASH with carry-less multiplication, for any vector width.
//
// A block with its bytes reversed is a field element with its bits reversed, as a 128-bit integer. The product of two
// such integers is the reversed product, one bit too far to the right, so the powers of H are stored divided by x
// (HashKey::descending). The products of up to 64 blocks with H^64 … H^1 are summed before a single reduction.
#pragma once

#include "cpu/simd_vector.hpp"

namespace warpaes::cpu {

/// Reduces a sum of products of blocks with powers of H, lane by lane, in two steps of 64 bits, starting at the lower
/// end. Each step multiplies by x^63 + x^62 + x^57, which is the polynomial in this bit order without its outer terms;
/// exchanging the halves accounts for the outer terms.
template <class V>
WARPAES_INLINE typename V::Reg reduced(typename V::Reg low, typename V::Reg middle, typename V::Reg high) {
    const auto polynomial = V::splat(make128(0, 0xc200000000000000u));
    middle = V::bxor3(middle, V::swap_halves(low), V::template multiply<0x00>(low, polynomial));
    return V::bxor3(high, V::swap_halves(middle), V::template multiply<0x00>(middle, polynomial));
}

/// A GHASH computation in progress. Blocks are added in the order of the message, in groups of vectors. `Reversed`
/// means that the blocks have their bytes reversed, as in POLYVAL.
template <class V, bool Reversed = false>
class Ghash {
public:
    using Reg = typename V::Reg;
    static constexpr std::size_t lanes = V::bytes / 16;

    /// `powers` is HashKey::descending, or only its last `most_together` powers. `digest` is the GHASH of the preceding
    /// data, and `blocks` is the number of blocks that will be added.
    WARPAES_INLINE Ghash(const std::uint8_t* powers, Reg128 digest, std::size_t blocks, std::size_t most_together = 64)
        : end_(powers + 16 * most_together),
          most_together_(most_together),
          left_(blocks),
          digest_(V::from_block(swap_block(digest))) {}

    /// Reduces the next `blocks` blocks together; there may be at most as many as there are powers. Without this call,
    /// as many blocks as possible are reduced together. A group must not extend beyond these blocks.
    WARPAES_INLINE void together(std::size_t blocks) {
        room_ = blocks;
        power_ = end_ - 16 * blocks;
        low_ = middle_ = high_ = V::zero();
    }

    /// begin_group() starts a group of vectors, which are then added individually or in pairs; end_group() ends the
    /// group.
    WARPAES_INLINE void begin_group() {
        if (room_ == 0) together(left_ < most_together_ ? left_ : most_together_);
    }
    /// Adds vector `i` of the group.
    WARPAES_INLINE void add_vector(Reg v, std::size_t i) { add_product(with_digest(element(v), i), i); }
    WARPAES_INLINE void add_pair(Reg v, Reg w, std::size_t i) {
        const Reg a = with_digest(element(v), i), b = element(w);
        const Reg p = V::load(power_ + i * V::bytes, Whole{}), q = V::load(power_ + (i + 1) * V::bytes, Whole{});
        low_ = V::bxor3(low_, V::template multiply<0x00>(a, p), V::template multiply<0x00>(b, q));
        if constexpr (V::folds) {
            middle_ = V::bxor3(middle_, folded_product(a, i), folded_product(b, i + 1));
        } else {
            middle_ = V::bxor3(middle_, V::template multiply<0x01>(a, p), V::template multiply<0x01>(b, q));
            middle_ = V::bxor3(middle_, V::template multiply<0x10>(a, p), V::template multiply<0x10>(b, q));
        }
        high_ = V::bxor3(high_, V::template multiply<0x11>(a, p), V::template multiply<0x11>(b, q));
    }
    /// Adds vectors `from` to `to` - 1 of the group at `group`.
    WARPAES_INLINE void add_vectors(const std::uint8_t* group, std::size_t from, std::size_t to) {
        WARPAES_UNROLL
        for (; from + 1 < to; from += 2) {
            add_pair(V::load(group + from * V::bytes, Whole{}), V::load(group + (from + 1) * V::bytes, Whole{}), from);
        }
        if (from < to) add_vector(V::load(group + from * V::bytes, Whole{}), from);
    }
    template <std::size_t N>
    WARPAES_INLINE void add_vectors(const Reg (&group)[N], std::size_t from, std::size_t to) {
        WARPAES_UNROLL
        for (; from + 1 < to; from += 2) add_pair(group[from], group[from + 1], from);
        if (from < to) add_vector(group[from], from);
    }
    WARPAES_INLINE void end_group(std::size_t blocks) {
        power_ += 16 * blocks;
        left_ -= blocks;
        room_ -= blocks;
        if (room_ == 0) reduce();
    }

    /// Adds a group of N vectors.
    template <std::size_t N>
    WARPAES_INLINE void add(const Reg (&v)[N], std::size_t blocks = N * lanes) {
        begin_group();
        add_vectors(v, 0, N);
        end_group(blocks);
    }
    template <std::size_t N>
    WARPAES_INLINE void add(const std::uint8_t* group) {
        begin_group();
        add_vectors(group, 0, N);
        end_group(N * lanes);
    }
    /// Adds any number of bytes; a partial block is padded with zeros.
    template <std::size_t N>
    WARPAES_INLINE void add(const std::uint8_t* data, std::size_t bytes) {
        for (; bytes >= N * V::bytes; bytes -= N * V::bytes, data += N * V::bytes) {
            if constexpr (N == 1) {
                const Reg v[1] = {V::load(data, Whole{})};
                add(v);
            } else {
                add<N>(data);
            }
        }
        if constexpr (N > 1) {
            add<N / 2>(data, bytes);
        } else if (bytes != 0) {
            const Reg v[1] = {V::load(data, Part{bytes})};
            add(v, (bytes + 15) / 16);
        }
    }

    /// Adds the block that contains the lengths.
    WARPAES_INLINE void add_lengths(std::uint64_t aad_bits, std::uint64_t text_bits) {
        begin_group();
        const auto block = make128(aad_bits, text_bits);
        add_product(with_digest(V::from_block(block), 0), 0);
        end_group(1);
    }

    /// Returns the digest; valid after all blocks have been added.
    [[nodiscard]] WARPAES_INLINE Reg128 digest() const { return swap_block(V::first_block(digest_)); }

private:
    WARPAES_INLINE static Reg element(Reg block) { return Reversed ? block : V::swap_bytes(block); }
    /// Adds the current digest to the first of the blocks that are reduced together.
    WARPAES_INLINE Reg with_digest(Reg a, std::size_t i) {
        if (i != 0) return a;
        const Reg sum = V::bxor(a, digest_);
        digest_ = V::zero();
        return sum;
    }
    WARPAES_INLINE void add_product(Reg a, std::size_t i) {
        const Reg p = V::load(power_ + i * V::bytes, Whole{});
        low_ = V::bxor(low_, V::template multiply<0x00>(a, p));
        if constexpr (V::folds) {
            middle_ = V::bxor(middle_, folded_product(a, i));
        } else {
            middle_ = V::bxor3(middle_, V::template multiply<0x01>(a, p), V::template multiply<0x10>(a, p));
        }
        high_ = V::bxor(high_, V::template multiply<0x11>(a, p));
    }
    /// Karatsuba's third product: the product of the sums of the halves.
    WARPAES_INLINE Reg folded_product(Reg a, std::size_t i) const {
        const Reg p = V::load(power_ + folded_powers + i * V::bytes, Whole{});
        return V::template multiply<0x00>(V::bxor(a, V::swap_halves(a)), p);
    }
    WARPAES_INLINE void reduce() {
        if constexpr (V::folds) middle_ = V::bxor3(middle_, low_, high_);
        digest_ = V::from_block(V::sum_of_blocks(reduced<V>(low_, middle_, high_)));
    }

    const std::uint8_t* end_;
    std::size_t most_together_;
    const std::uint8_t* power_ = nullptr;
    std::size_t left_;
    std::size_t room_ = 0;  ///< number of blocks left until the next reduction
    Reg low_ = V::zero(), middle_ = V::zero(), high_ = V::zero();
    Reg digest_;  ///< the digest is in lane 0
};

/// Hashes data that precedes the text, padded to whole blocks.
template <class V>
WARPAES_INLINE void hash_before_text(Ghash<V>& hash, std::size_t powers, const std::uint8_t* data, std::size_t bytes) {
    while (bytes != 0) {
        const std::size_t n = bytes < 16 * powers ? bytes : 16 * powers;
        hash.together((n + 15) / 16);
        hash.template add<1>(data, n);
        data += n;
        bytes -= n;
    }
}

}  // namespace warpaes::cpu
