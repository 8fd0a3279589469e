// Keys for every format, with segments so small that short plaintexts have many of them.
#pragma once

#include <random>
#include <string>

#include "format/stream_key.hpp"
#include "segment_oracle.hpp"

namespace warpaes::test {

inline Bytes pseudorandom(std::size_t n, unsigned seed) {
    std::mt19937 generator(seed);
    Bytes bytes(n);
    for (auto& b : bytes) b = static_cast<std::uint8_t>(generator());
    return bytes;
}

struct SegmentCase {
    const char* name;
    StreamParameters parameters;
};

/// Copies bytes into the library's container that wipes its memory.
inline SecretVector secret(const Bytes& bytes) {
    return {bytes.begin(), bytes.end()};
}

inline StreamKey key_of(const SegmentCase& c, unsigned seed = 1) {
    const bool c2sp = c.parameters.format == SegmentFormat::c2sp;  // C2SP keys have exactly the length of the AES key
    return {c.parameters, secret(pseudorandom(c2sp ? c.parameters.aes_key_bytes : 32, seed)), seed};
}

inline constexpr SegmentCase segment_cases[] = {
    {"gcm_128_41", {SegmentFormat::gcm_hkdf, 16, 41, Hash::sha256, Hash::sha256, 16}},  // segment 0 contains 1 byte
    {"gcm_256_64", {SegmentFormat::gcm_hkdf, 32, 64, Hash::sha256, Hash::sha256, 16}},
    {"gcm_128_256", {SegmentFormat::gcm_hkdf, 16, 256, Hash::sha1, Hash::sha256, 16}},
    {"gcm_256_4096", {SegmentFormat::gcm_hkdf, 32, 4096, Hash::sha512, Hash::sha256, 16}},
    {"ctr_128_64", {SegmentFormat::ctr_hmac, 16, 64, Hash::sha256, Hash::sha256, 32}},
    {"ctr_256_100", {SegmentFormat::ctr_hmac, 32, 100, Hash::sha1, Hash::sha512, 10}},
    {"ctr_256_4096", {SegmentFormat::ctr_hmac, 32, 4096, Hash::sha256, Hash::sha1, 20}},
    {"c2sp_128", {SegmentFormat::c2sp, 16, 16400, Hash::sha512, Hash::sha512, 16}},
    {"c2sp_256", {SegmentFormat::c2sp, 32, 16400, Hash::sha512, Hash::sha512, 16}},
};

inline std::string name_of(const SegmentCase& c) {
    return c.name;
}

}  // namespace warpaes::test
