// AES and its modes, transcribed from FIPS 197, SP 800-38A and SP 800-38D, to be read next to the standards. This code
// is the tests' oracle. It is slow, and its table lookups and branches depend on secrets, so do not use it for any
// other purpose.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace reference {

using Bytes = std::vector<std::uint8_t>;
using Block = std::array<std::uint8_t, 16>;

/// The cipher of FIPS 197 with a key of 16, 24 or 32 bytes.
class Aes {
public:
    explicit Aes(const Bytes& key);
    /// CIPH_K in SP 800-38A (FIPS 197, section 5.1).
    [[nodiscard]] Block cipher(const Block& in) const;
    /// CIPH^-1_K (FIPS 197, section 5.3).
    [[nodiscard]] Block inverse_cipher(const Block& in) const;
    [[nodiscard]] int rounds() const { return nr_; }

private:
    int nr_;
    std::vector<Block> round_keys_;
};

enum class Direction { encrypt, decrypt };

/// The modes of SP 800-38A, section 6. ECB and CBC accept whole blocks; the other modes accept any length.
Bytes ecb(const Aes& aes, Direction direction, const Bytes& in);
Bytes cbc(const Aes& aes, Direction direction, const Block& iv, const Bytes& in);
/// Computes CFB with segments of `s` bits. Processes `bits` bits of `in`. The unused low bits of the result's last byte
/// are zero.
Bytes cfb(const Aes& aes, Direction direction, const Block& iv, const Bytes& in, std::size_t s, std::size_t bits);
Bytes ofb(const Aes& aes, const Block& iv, const Bytes& in);
/// Computes CTR with the counter blocks t1, t1 + 1, … modulo 2^128 (appendix B.1 with m = 128).
Bytes ctr(const Aes& aes, const Block& t1, const Bytes& in);

/// SP 800-38D, sections 6 and 7, with the names and arguments of the standard.
namespace gcm {

/// Returns the product of two blocks (section 6.3).
Block multiply(const Block& x, const Block& y);
/// Adds one to the last s = 32 bits, modulo 2^32 (section 6.2).
Block inc32(const Block& x);
/// Computes GHASH (section 6.4). `x` consists of whole blocks.
Block ghash(const Block& h, const Bytes& x);
/// Computes GCTR (section 6.5).
Bytes gctr(const Aes& aes, const Block& icb, const Bytes& x);
/// Returns the pre-counter block for an IV of any nonzero length (section 7.1, steps 1 and 2).
Block j0(const Aes& aes, const Bytes& iv);
/// The ciphertext and all 16 bytes of the tag (section 7.1, steps 3 to 6).
struct Sealed {
    Bytes c;
    Block t;
};
Sealed encrypt(const Aes& aes, const Block& j0, const Bytes& p, const Bytes& a);
/// Returns `x`, padded with zeros to whole blocks.
Bytes padded(Bytes x);

}  // namespace gcm

}  // namespace reference
