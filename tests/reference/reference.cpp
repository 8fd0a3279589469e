#include "reference.hpp"

#include <algorithm>
#include <cassert>

namespace reference {

namespace {

// In FIPS 197, section 4, bytes are polynomials over GF(2) modulo m(x) = x^8 + x^4 + x^3 + x + 1.

std::uint8_t xtime(std::uint8_t b) {
    return static_cast<std::uint8_t>((b << 1) ^ ((b & 0x80) != 0 ? 0x1b : 0));
}

std::uint8_t multiply(std::uint8_t a, std::uint8_t b) {
    std::uint8_t product = 0;
    for (; b != 0; b = static_cast<std::uint8_t>(b >> 1), a = xtime(a)) {
        if ((b & 1) != 0) product = static_cast<std::uint8_t>(product ^ a);
    }
    return product;
}

/// Returns b^254. This is b^-1, because b^255 = 1 for every b except 0. For 0 it is 0, as section 5.1.1 requires.
std::uint8_t inverse(std::uint8_t b) {
    std::uint8_t power = 1;
    for (int i = 0; i < 254; ++i) power = multiply(power, b);
    return power;
}

struct SBoxes {
    std::array<std::uint8_t, 256> forward{};
    std::array<std::uint8_t, 256> inverse{};

    /// Section 5.1.1 defines the S-box as the inverse followed by b'_i = b_i + b_{i+4} + b_{i+5} + b_{i+6} + b_{i+7} +
    /// c_i with c = 0x63.
    SBoxes() {
        for (int x = 0; x < 256; ++x) {
            const int b = reference::inverse(static_cast<std::uint8_t>(x));
            int s = 0;
            for (int i = 0; i < 8; ++i) {
                const auto bit = [&](int k) { return b >> ((i + k) % 8) & 1; };
                s |= (bit(0) ^ bit(4) ^ bit(5) ^ bit(6) ^ bit(7) ^ (0x63 >> i & 1)) << i;
            }
            forward[static_cast<std::size_t>(x)] = static_cast<std::uint8_t>(s);
            inverse[static_cast<std::size_t>(s)] = static_cast<std::uint8_t>(x);
        }
    }
};

const SBoxes& s_boxes() {
    static const SBoxes boxes;
    return boxes;
}

// In section 3.4, the state is a matrix with s[r][c] = in[r + 4c].

using State = std::array<std::array<std::uint8_t, 4>, 4>;

State state_of(const Block& in) {
    State s{};
    for (std::size_t r = 0; r < 4; ++r) {
        for (std::size_t c = 0; c < 4; ++c) s[r][c] = in[r + 4 * c];
    }
    return s;
}

Block block_of(const State& s) {
    Block out{};
    for (std::size_t r = 0; r < 4; ++r) {
        for (std::size_t c = 0; c < 4; ++c) out[r + 4 * c] = s[r][c];
    }
    return out;
}

void add_round_key(State& s, const Block& round_key) {
    for (std::size_t r = 0; r < 4; ++r) {
        for (std::size_t c = 0; c < 4; ++c) s[r][c] = static_cast<std::uint8_t>(s[r][c] ^ round_key[r + 4 * c]);
    }
}

void sub_bytes(State& s, const std::array<std::uint8_t, 256>& box) {
    for (auto& row : s) {
        for (auto& byte : row) byte = box[byte];
    }
}

void shift_rows(State& s) {
    for (std::size_t r = 0; r < 4; ++r) std::rotate(s[r].begin(), s[r].begin() + static_cast<int>(r), s[r].end());
}

void inv_shift_rows(State& s) {
    for (std::size_t r = 0; r < 4; ++r) std::rotate(s[r].begin(), s[r].end() - static_cast<int>(r), s[r].end());
}

/// Multiplies each column by the circulant matrix with this first row (section 5.1.3, and 5.3.3 for the inverse).
void mix_columns(State& s, const std::array<std::uint8_t, 4>& row) {
    for (std::size_t c = 0; c < 4; ++c) {
        std::array<std::uint8_t, 4> column{};
        for (std::size_t r = 0; r < 4; ++r) {
            for (std::size_t k = 0; k < 4; ++k) {
                column[r] = static_cast<std::uint8_t>(column[r] ^ multiply(s[k][c], row[(k + 4 - r) % 4]));
            }
        }
        for (std::size_t r = 0; r < 4; ++r) s[r][c] = column[r];
    }
}

constexpr std::array<std::uint8_t, 4> forward_row{0x02, 0x03, 0x01, 0x01};
constexpr std::array<std::uint8_t, 4> inverse_row{0x0e, 0x0b, 0x0d, 0x09};

Block block_at(const Bytes& in, std::size_t offset) {
    Block out{};
    std::copy_n(in.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return out;
}

Block exclusive_or(Block a, const Block& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::uint8_t>(a[i] ^ b[i]);
    return a;
}

void append(Bytes& out, const Block& block) {
    out.insert(out.end(), block.begin(), block.end());
}

bool bit_at(const std::uint8_t* data, std::size_t i) {
    return (data[i / 8] >> (7 - i % 8) & 1) != 0;
}

}  // namespace

/// Implements section 5.2. A word is four bytes.
Aes::Aes(const Bytes& key) : nr_(static_cast<int>(key.size() / 4) + 6) {
    assert(key.size() == 16 || key.size() == 24 || key.size() == 32);
    using Word = std::array<std::uint8_t, 4>;
    const auto sub_word = [](Word w) {
        for (auto& byte : w) byte = s_boxes().forward[byte];
        return w;
    };
    const std::size_t nk = key.size() / 4;
    std::vector<Word> w;
    std::uint8_t rcon = 1;
    for (std::size_t i = 0; i < 4 * static_cast<std::size_t>(nr_ + 1); ++i) {
        if (i < nk) {
            w.push_back({key[4 * i], key[4 * i + 1], key[4 * i + 2], key[4 * i + 3]});
            continue;
        }
        Word temp = w[i - 1];
        if (i % nk == 0) {
            std::rotate(temp.begin(), temp.begin() + 1, temp.end());
            temp = sub_word(temp);
            temp[0] = static_cast<std::uint8_t>(temp[0] ^ rcon);
            rcon = xtime(rcon);
        } else if (nk > 6 && i % nk == 4) {
            temp = sub_word(temp);
        }
        for (std::size_t k = 0; k < 4; ++k) temp[k] = static_cast<std::uint8_t>(temp[k] ^ w[i - nk][k]);
        w.push_back(temp);
    }
    for (std::size_t i = 0; i < w.size(); i += 4) {
        Block round_key{};
        for (std::size_t k = 0; k < 16; ++k) round_key[k] = w[i + k / 4][k % 4];
        round_keys_.push_back(round_key);
    }
}

Block Aes::cipher(const Block& in) const {
    State s = state_of(in);
    add_round_key(s, round_keys_.front());
    for (std::size_t round = 1; round < static_cast<std::size_t>(nr_); ++round) {
        sub_bytes(s, s_boxes().forward);
        shift_rows(s);
        mix_columns(s, forward_row);
        add_round_key(s, round_keys_[round]);
    }
    sub_bytes(s, s_boxes().forward);
    shift_rows(s);
    add_round_key(s, round_keys_.back());
    return block_of(s);
}

Block Aes::inverse_cipher(const Block& in) const {
    State s = state_of(in);
    add_round_key(s, round_keys_.back());
    for (std::size_t round = static_cast<std::size_t>(nr_) - 1; round > 0; --round) {
        inv_shift_rows(s);
        sub_bytes(s, s_boxes().inverse);
        add_round_key(s, round_keys_[round]);
        mix_columns(s, inverse_row);
    }
    inv_shift_rows(s);
    sub_bytes(s, s_boxes().inverse);
    add_round_key(s, round_keys_.front());
    return block_of(s);
}

Bytes ecb(const Aes& aes, Direction direction, const Bytes& in) {
    Bytes out;
    for (std::size_t i = 0; i < in.size(); i += 16) {
        const Block block = block_at(in, i);
        append(out, direction == Direction::encrypt ? aes.cipher(block) : aes.inverse_cipher(block));
    }
    return out;
}

Bytes cbc(const Aes& aes, Direction direction, const Block& iv, const Bytes& in) {
    Bytes out;
    Block previous = iv;
    for (std::size_t i = 0; i < in.size(); i += 16) {
        const Block block = block_at(in, i);
        if (direction == Direction::encrypt) {
            previous = aes.cipher(exclusive_or(block, previous));
            append(out, previous);
        } else {
            append(out, exclusive_or(aes.inverse_cipher(block), previous));
            previous = block;
        }
    }
    return out;
}

Bytes cfb(const Aes& aes, Direction direction, const Block& iv, const Bytes& in, std::size_t s, std::size_t bits) {
    Bytes out((bits + 7) / 8);
    Block shift_register = iv;
    for (std::size_t segment = 0; segment < bits; segment += s) {
        const Block o = aes.cipher(shift_register);
        for (std::size_t i = 0; i < std::min(s, bits - segment); ++i) {
            const std::size_t position = segment + i;
            const bool input_bit = bit_at(in.data(), position);
            const bool output_bit = input_bit != bit_at(o.data(), i);
            if (output_bit) out[position / 8] = static_cast<std::uint8_t>(out[position / 8] | 0x80 >> position % 8);
            // Computes I_{j+1} = LSB_{b-s}(I_j) | C#_j, bit by bit.
            const bool ciphertext_bit = direction == Direction::encrypt ? output_bit : input_bit;
            for (std::size_t k = 0; k < 16; ++k) {
                const bool carry = k < 15 ? bit_at(&shift_register[k + 1], 0) : ciphertext_bit;
                shift_register[k] = static_cast<std::uint8_t>(shift_register[k] << 1 | (carry ? 1 : 0));
            }
        }
    }
    return out;
}

Bytes ofb(const Aes& aes, const Block& iv, const Bytes& in) {
    Bytes out = in;
    Block o = iv;
    for (std::size_t i = 0; i < in.size(); ++i) {
        if (i % 16 == 0) o = aes.cipher(o);
        out[i] = static_cast<std::uint8_t>(in[i] ^ o[i % 16]);
    }
    return out;
}

Bytes ctr(const Aes& aes, const Block& t1, const Bytes& in) {
    Bytes out = in;
    Block t = t1;
    Block o{};
    for (std::size_t i = 0; i < in.size(); ++i) {
        if (i % 16 == 0) {
            o = aes.cipher(t);
            for (std::size_t k = 16; k-- > 0;) {
                if (++t[k] != 0) break;
            }
        }
        out[i] = static_cast<std::uint8_t>(in[i] ^ o[i % 16]);
    }
    return out;
}

namespace gcm {

Block multiply(const Block& x, const Block& y) {
    Block z{};
    Block v = y;
    for (std::size_t i = 0; i < 128; ++i) {
        if (bit_at(x.data(), i)) z = exclusive_or(z, v);
        const bool last = bit_at(v.data(), 127);
        for (std::size_t k = 16; k-- > 0;) {
            const int carry = k > 0 ? v[k - 1] << 7 : 0;
            v[k] = static_cast<std::uint8_t>(v[k] >> 1 | carry);
        }
        if (last) v[0] = static_cast<std::uint8_t>(v[0] ^ 0xe1);  // R = 11100001 || 0^120
    }
    return z;
}

Block inc32(const Block& x) {
    Block out = x;
    for (std::size_t k = 16; k-- > 12;) {
        if (++out[k] != 0) break;
    }
    return out;
}

Block ghash(const Block& h, const Bytes& x) {
    assert(x.size() % 16 == 0);
    Block y{};
    for (std::size_t i = 0; i < x.size(); i += 16) y = multiply(exclusive_or(y, block_at(x, i)), h);
    return y;
}

Bytes gctr(const Aes& aes, const Block& icb, const Bytes& x) {
    Bytes y = x;
    Block cb = icb;
    for (std::size_t i = 0; i < x.size(); i += 16) {
        const Block o = aes.cipher(cb);
        for (std::size_t k = i; k < std::min(i + 16, x.size()); ++k) y[k] = static_cast<std::uint8_t>(x[k] ^ o[k - i]);
        cb = inc32(cb);
    }
    return y;
}

Bytes padded(Bytes x) {
    x.resize((x.size() + 15) / 16 * 16);
    return x;
}

namespace {

/// Returns [a]64 || [b]64.
Block lengths(std::uint64_t a, std::uint64_t b) {
    Block out{};
    for (std::size_t k = 0; k < 8; ++k) {
        out[k] = static_cast<std::uint8_t>(a >> (56 - 8 * k));
        out[k + 8] = static_cast<std::uint8_t>(b >> (56 - 8 * k));
    }
    return out;
}

}  // namespace

Block j0(const Aes& aes, const Bytes& iv) {
    if (iv.size() == 12) {
        Block out{};
        std::copy(iv.begin(), iv.end(), out.begin());
        out[15] = 1;
        return out;
    }
    Bytes x = padded(iv);
    append(x, lengths(0, 8 * iv.size()));
    return ghash(aes.cipher(Block{}), x);
}

Sealed encrypt(const Aes& aes, const Block& j0, const Bytes& p, const Bytes& a) {
    const Block h = aes.cipher(Block{});
    const Bytes c = gctr(aes, inc32(j0), p);
    Bytes x = padded(a);
    const Bytes padded_c = padded(c);
    x.insert(x.end(), padded_c.begin(), padded_c.end());
    append(x, lengths(8 * a.size(), 8 * c.size()));
    const Block s = ghash(h, x);
    return {c, exclusive_or(s, aes.cipher(j0))};
}

}  // namespace gcm

}  // namespace reference
