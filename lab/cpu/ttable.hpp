// AES as textbooks program it for a CPU without AES instructions: four T-tables (aes/t_tables.hpp), one block at a
// time, one thread. [D]'s C++ implementation is of this kind. Its time depends on key and text, through the cache: it
// is here to be measured.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>

#include "aes/key_schedule.hpp"
#include "aes/t_tables.hpp"
#include "aes/types.hpp"

namespace lab {

namespace detail {

using Tables = std::array<std::array<std::uint32_t, 256>, 4>;

/// Table i is the first one rotated by i bytes, for row i of a column.
constexpr Tables rotated(const std::array<std::uint32_t, 256>& first) {
    Tables tables{first};
    for (unsigned i = 1; i < 4; ++i) {
        for (unsigned x = 0; x < 256; ++x) tables[i][x] = (first[x] << (8 * i)) | (first[x] >> (32 - 8 * i));
    }
    return tables;
}

inline constexpr Tables encryption_tables = rotated(warpaes::te0), decryption_tables = rotated(warpaes::td0);

}  // namespace detail

/// ECB under one key in one direction.
class TTableCipher {
public:
    /// `key`: 16, 24 or 32 bytes, else std::invalid_argument.
    TTableCipher(std::span<const std::uint8_t> key, warpaes::Direction direction)
        : rounds_(warpaes::rounds_for_key_bytes(key.size())), direction_(direction) {
        if (rounds_ == 0) throw std::invalid_argument("key: must be 16, 24 or 32 bytes");
        keys_ = warpaes::expand_key(key);
        if (direction == warpaes::Direction::decrypt) keys_ = warpaes::invert_round_keys(keys_, rounds_);
    }

    /// `blocks` blocks of 16 bytes; in place is allowed. Thread-safe.
    void run(const std::uint8_t* input, std::uint8_t* output, std::size_t blocks) const {
        if (direction_ == warpaes::Direction::encrypt) {
            run<1>(detail::encryption_tables, warpaes::sbox, input, output, blocks);
        } else {
            run<3>(detail::decryption_tables, warpaes::inv_sbox, input, output, blocks);
        }
    }

private:
    /// Row i of a new column comes from the column `step` * i further on: ShiftRows, or its inverse.
    template <unsigned step>
    void run(const detail::Tables& tables, const std::array<std::uint8_t, 256>& last, const std::uint8_t* input,
             std::uint8_t* output, std::size_t blocks) const {
        const auto row = [](std::uint32_t word, unsigned i) { return (word >> (8 * i)) & 0xffu; };
        for (; blocks != 0; --blocks, input += warpaes::block_bytes, output += warpaes::block_bytes) {
            std::array<std::uint32_t, 4> s, t;
            std::memcpy(s.data(), input, warpaes::block_bytes);
            const std::uint32_t* key = keys_.words.data();
            for (unsigned c = 0; c < 4; ++c) s[c] ^= *key++;
            for (int round = 1; round < rounds_; ++round) {
                for (unsigned c = 0; c < 4; ++c) {
                    t[c] = *key++ ^ tables[0][row(s[c], 0)] ^ tables[1][row(s[(c + step) % 4], 1)] ^
                           tables[2][row(s[(c + 2 * step) % 4], 2)] ^ tables[3][row(s[(c + 3 * step) % 4], 3)];
                }
                s = t;
            }
            for (unsigned c = 0; c < 4; ++c) {
                t[c] = *key++;
                for (unsigned i = 0; i < 4; ++i) {
                    t[c] ^= static_cast<std::uint32_t>(last[row(s[(c + i * step) % 4], i)]) << (8 * i);
                }
            }
            std::memcpy(output, t.data(), warpaes::block_bytes);
        }
    }

    warpaes::RoundKeys keys_;
    int rounds_;
    warpaes::Direction direction_;
};

}  // namespace lab
