// Keys for every format, with a segment size so small that even short plaintexts consist of many segments.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "format/segment_formats.hpp"
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
    const bool raw = c.parameters.format->tink_type.empty();  // these keys have exactly the length of the AES key
    return {c.parameters, secret(pseudorandom(raw ? c.parameters.aes_key_bytes : 32, seed)), seed};
}

inline std::vector<StreamTemplate> all_templates() {
    std::vector<StreamTemplate> templates;
    for (std::size_t i = 0; const StreamTemplate* const t = template_at(i); ++i) templates.push_back(*t);
    return templates;
}

/// Parameters of Tink's formats, and the templates of every format that has raw keys only.
inline std::vector<SegmentCase> all_segment_cases() {
    std::vector<SegmentCase> cases{
        {"gcm_128_41", {&gcm_hkdf, 16, 41, Hash::sha256, Hash::sha256, 16}},  // segment 0 contains 1 byte
        {"gcm_256_64", {&gcm_hkdf, 32, 64, Hash::sha256, Hash::sha256, 16}},
        {"gcm_128_256", {&gcm_hkdf, 16, 256, Hash::sha1, Hash::sha256, 16}},
        {"gcm_256_4096", {&gcm_hkdf, 32, 4096, Hash::sha512, Hash::sha256, 16}},
        {"ctr_128_64", {&ctr_hmac, 16, 64, Hash::sha256, Hash::sha256, 32}},
        {"ctr_256_100", {&ctr_hmac, 32, 100, Hash::sha1, Hash::sha512, 10}},
        {"ctr_256_4096", {&ctr_hmac, 32, 4096, Hash::sha256, Hash::sha1, 20}},
    };
    for (const StreamTemplate& t : all_templates()) {
        if (t.parameters.format->tink_type.empty()) cases.push_back({t.name.data(), t.parameters});
    }
    return cases;
}

inline const std::vector<SegmentCase> segment_cases = all_segment_cases();

inline std::string name_of(const SegmentCase& c) {
    return c.name;
}

}  // namespace warpaes::test
