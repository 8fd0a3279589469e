// The cipher for a single block (FIPS 197, 5.1): portable and constant-time. It derives values from a key, one block at
// a time; messages are processed by backends.
#pragma once

#include "aes/key_schedule.hpp"

namespace warpaes {

namespace detail {

/// SubBytes on all 16 bytes at once: plane i contains bit i of every byte.
constexpr std::array<std::uint32_t, 4> sub_state(const std::array<std::uint32_t, 4>& s) {
    std::uint32_t planes[8] = {};
    for (unsigned byte = 0; byte < 16; ++byte)
        for (unsigned bit = 0; bit < 8; ++bit) planes[bit] |= ((s[byte / 4] >> (8 * (byte % 4) + bit)) & 1u) << byte;
    sub_planes_without_constant(planes);
    std::array<std::uint32_t, 4> out{};
    for (unsigned byte = 0; byte < 16; ++byte)
        for (unsigned bit = 0; bit < 8; ++bit) out[byte / 4] |= ((planes[bit] >> byte) & 1u) << (8 * (byte % 4) + bit);
    for (auto& word : out) word ^= 0x63636363u;
    return out;
}

constexpr std::array<std::uint32_t, 4> shift_rows(const std::array<std::uint32_t, 4>& s) {
    std::array<std::uint32_t, 4> out{};
    for (unsigned c = 0; c < 4; ++c)
        for (unsigned row = 0; row < 4; ++row) out[c] |= s[(c + row) % 4] & (0xffu << (8 * row));
    return out;
}

constexpr std::uint32_t mix_column(std::uint32_t v) {
    const std::uint32_t v2 = xtime4(v), v3 = v2 ^ v;
    return v2 ^ rotr32(v3, 8) ^ rotr32(v, 16) ^ rotr32(v, 24);
}

}  // namespace detail

constexpr Block encrypt_block(const RoundKeys& keys, int rounds, const Block& block) {
    std::array<std::uint32_t, 4> s{};
    for (unsigned i = 0; i < 16; ++i) s[i / 4] |= static_cast<std::uint32_t>(block[i]) << (8 * (i % 4));
    for (unsigned c = 0; c < 4; ++c) s[c] ^= keys.words[c];
    for (int r = 1; r <= rounds; ++r) {
        s = detail::shift_rows(detail::sub_state(s));
        for (unsigned c = 0; c < 4; ++c) {
            if (r != rounds) s[c] = detail::mix_column(s[c]);
            s[c] ^= keys.words[static_cast<unsigned>(4 * r) + c];
        }
    }
    Block out{};
    for (unsigned i = 0; i < 16; ++i) out[i] = static_cast<std::uint8_t>(s[i / 4] >> (8 * (i % 4)));
    return out;
}

}  // namespace warpaes
