// The effect of a counter block's last byte on the first round of the cipher: the byte changes only one column,
// independently of the other bytes.
//
// Let s1(j) be the state after round one for counter blocks that differ only in byte 15, whose value is j. That byte is
// row 3 of column 3; ShiftRows moves it to column 0, and the rest of the round is affine. Therefore s1(j) = f(j) ^
// constant, where column 0 of f(j) is S(j ^ k15) times (1, 1, 3, 2) and the other columns are zero. f depends only on
// the key.
#pragma once

#include "aes/key_schedule.hpp"

namespace warpaes {

/// f(j) for every j, as blocks of four little-endian columns.
struct FirstRound {
    /// The padding after the last entry keeps a 64-byte vector load of that entry inside the array. The padding is
    /// never combined with text.
    alignas(64) std::array<std::uint32_t, 4 * 256 + 12> columns{};
};

/// Constant time: the index is a public counter, and the S-box is a circuit.
constexpr FirstRound make_first_round(const RoundKeys& keys) {
    constexpr std::uint32_t bit_of_index[5] = {0xaaaaaaaau, 0xccccccccu, 0xf0f0f0f0u, 0xff00ff00u, 0xffff0000u};
    const std::uint32_t key = keys.words[3] >> 24;
    FirstRound out;
    for (unsigned group = 0; group < 8; ++group) {
        std::uint32_t planes[8] = {};
        for (unsigned bit = 0; bit < 8; ++bit) {
            const std::uint32_t index = bit < 5 ? bit_of_index[bit] : 0u - ((group >> (bit - 5)) & 1u);
            planes[bit] = index ^ (0u - ((key >> bit) & 1u));
        }
        sub_planes_without_constant(planes);
        for (unsigned i = 0; i < 32; ++i) {
            std::uint32_t s = 0x63;
            for (unsigned bit = 0; bit < 8; ++bit) s ^= ((planes[bit] >> i) & 1u) << bit;
            const std::uint32_t s2 = detail::xtime4(s);
            out.columns[4 * (32 * group + i)] = s | s << 8 | (s2 ^ s) << 16 | s2 << 24;
        }
    }
    return out;
}

}  // namespace warpaes
