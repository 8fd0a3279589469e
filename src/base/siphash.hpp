// SipHash-1-3 (Aumasson and Bernstein, INDOCRYPT 2012, with fewer rounds, as in hash tables): a keyed hash. Without the
// key, an attacker cannot construct collisions.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace warpaes {

class SipHash {
public:
    SipHash(std::uint64_t k0, std::uint64_t k1) noexcept : k0_(k0), k1_(k1) {}

    [[nodiscard]] std::uint64_t operator()(std::span<const std::uint8_t> bytes,
                                           std::uint64_t tweak = 0) const noexcept {
        std::uint64_t v[4] = {k0_ ^ tweak ^ 0x736f6d6570736575u, k1_ ^ 0x646f72616e646f6du, k0_ ^ 0x6c7967656e657261u,
                              k1_ ^ 0x7465646279746573u};
        const std::uint64_t length = bytes.size();
        while (bytes.size() >= 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, bytes.data(), 8);
            absorb(v, word);
            bytes = bytes.subspan(8);
        }
        std::uint64_t last = length << 56;
        for (std::size_t i = 0; i < bytes.size(); ++i) last |= std::uint64_t{bytes[i]} << (8 * i);
        absorb(v, last);
        v[2] ^= 0xff;
        for (int i = 0; i < 3; ++i) round(v);
        return v[0] ^ v[1] ^ v[2] ^ v[3];
    }

private:
    static std::uint64_t rotl(std::uint64_t x, int n) noexcept { return (x << n) | (x >> (64 - n)); }
    static void round(std::uint64_t (&v)[4]) noexcept {
        v[0] += v[1];
        v[1] = rotl(v[1], 13) ^ v[0];
        v[0] = rotl(v[0], 32);
        v[2] += v[3];
        v[3] = rotl(v[3], 16) ^ v[2];
        v[0] += v[3];
        v[3] = rotl(v[3], 21) ^ v[0];
        v[2] += v[1];
        v[1] = rotl(v[1], 17) ^ v[2];
        v[2] = rotl(v[2], 32);
    }
    static void absorb(std::uint64_t (&v)[4], std::uint64_t word) noexcept {
        v[3] ^= word;
        round(v);
        v[0] ^= word;
    }

    std::uint64_t k0_, k1_;
};

}  // namespace warpaes
