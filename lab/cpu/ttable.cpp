#include "lab/cpu/ttable.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "aes/key_schedule.hpp"
#include "aes/t_tables.hpp"

namespace lab {

namespace {

constexpr std::size_t block_bytes = 16;
using Tables = std::array<std::array<std::uint32_t, 256>, 4>;

/// Returns four tables. Table i is the first table rotated by i bytes, and is used for row i of a column.
constexpr Tables rotated(const std::array<std::uint32_t, 256>& first) {
    Tables tables{first};
    for (unsigned i = 1; i < 4; ++i) {
        for (unsigned x = 0; x < 256; ++x) tables[i][x] = (first[x] << (8 * i)) | (first[x] >> (32 - 8 * i));
    }
    return tables;
}

constexpr Tables encryption_tables = rotated(warpaes::te0), decryption_tables = rotated(warpaes::td0);

constexpr std::uint32_t row(std::uint32_t word, unsigned i) {
    return (word >> (8 * i)) & 0xffu;
}

constexpr unsigned lanes = 32, banks = 32;

/// Returns the number of passes of one lookup: the maximum number of different words in one bank.
std::uint64_t passes_of(const std::array<std::uint32_t, lanes>& indices) {
    std::array<std::uint8_t, banks> wanted{};
    for (const std::uint32_t index : indices) wanted[index % banks] |= static_cast<std::uint8_t>(1u << (index / banks));
    int most = 0;
    for (const std::uint8_t words : wanted) most = std::max(most, std::popcount(words));
    return static_cast<std::uint64_t>(most);
}

/// Row i of new column c comes from old column c + `step` * i modulo 4. `step` is 1 for ShiftRows and 3 for its
/// inverse.
template <unsigned step>
void run(const std::uint32_t* keys, int rounds, const Tables& tables, const std::array<std::uint8_t, 256>& last,
         const std::uint8_t* input, std::uint8_t* output, std::size_t blocks) {
    for (; blocks != 0; --blocks, input += block_bytes, output += block_bytes) {
        std::array<std::uint32_t, 4> s, t;
        std::memcpy(s.data(), input, block_bytes);
        const std::uint32_t* key = keys;
        for (unsigned c = 0; c < 4; ++c) s[c] ^= *key++;
        for (int round = 1; round < rounds; ++round) {
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
        std::memcpy(output, t.data(), block_bytes);
    }
}

}  // namespace

TTableCipher::TTableCipher(std::span<const std::uint8_t> key, Direction direction)
    : rounds_(warpaes::rounds_for_key_bytes(key.size())), direction_(direction) {
    if (rounds_ == 0) throw std::invalid_argument("key: must be 16, 24 or 32 bytes");
    warpaes::RoundKeys keys = warpaes::expand_key(key);
    if (direction == Direction::decrypt) keys = warpaes::invert_round_keys(keys, rounds_);
    keys_ = keys.words;
}

void TTableCipher::run(const std::uint8_t* input, std::uint8_t* output, std::size_t blocks) const {
    if (direction_ == Direction::encrypt) {
        lab::run<1>(keys_.data(), rounds_, encryption_tables, warpaes::sbox, input, output, blocks);
    } else {
        lab::run<3>(keys_.data(), rounds_, decryption_tables, warpaes::inv_sbox, input, output, blocks);
    }
}

std::uint64_t shared_memory_passes(std::span<const std::uint8_t> key, std::span<const std::uint8_t, 512> text) {
    const int rounds = warpaes::rounds_for_key_bytes(key.size());
    if (rounds == 0) throw std::invalid_argument("key: must be 16, 24 or 32 bytes");
    const warpaes::RoundKeys keys = warpaes::expand_key(key);
    std::array<std::array<std::uint32_t, 4>, lanes> states;
    std::memcpy(states.data(), text.data(), text.size());
    for (auto& s : states) {
        for (unsigned c = 0; c < 4; ++c) s[c] ^= keys.words[c];
    }
    std::uint64_t passes = 0;
    for (int round = 1; round < rounds; ++round) {
        auto next = states;
        for (unsigned c = 0; c < 4; ++c) {
            for (auto& s : next) s[c] = keys.words[static_cast<std::size_t>(4 * round) + c];
            for (unsigned i = 0; i < 4; ++i) {
                std::array<std::uint32_t, lanes> indices;
                for (unsigned lane = 0; lane < lanes; ++lane) {
                    indices[lane] = row(states[lane][(c + i) % 4], i);
                    next[lane][c] ^= encryption_tables[i][indices[lane]];
                }
                passes += passes_of(indices);
            }
        }
        states = next;
    }
    return passes;
}

}  // namespace lab
