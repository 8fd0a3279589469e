// Parses NIST's response files (tests/vectors/README.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace vectors {

using Bytes = std::vector<std::uint8_t>;

Bytes from_hex(const std::string& hex);
/// Converts a string of the digits 0 and 1, with the most significant bit first. The unused bits of the last byte are
/// zero.
Bytes from_bits(const std::string& bits);

struct Record {
    bool encrypt;
    /// "KEY", "IV", "PLAINTEXT", "CIPHERTEXT" and "COUNT"; for GCM, also "FAIL".
    std::map<std::string, std::string> fields;

    [[nodiscard]] Bytes bytes(const std::string& name) const;
    /// Like bytes(), for a field that CFB1 files express in bits.
    [[nodiscard]] Bytes bits(const std::string& name) const { return from_bits(fields.at(name)); }
    [[nodiscard]] const std::string& input() const { return fields.at(encrypt ? "PLAINTEXT" : "CIPHERTEXT"); }
    [[nodiscard]] const std::string& output() const { return fields.at(encrypt ? "CIPHERTEXT" : "PLAINTEXT"); }
};

/// Reads a response file. `path` is absolute or relative to the unpacked archive, such as "kat/CBCGFSbox128.rsp".
/// Throws std::runtime_error.
std::vector<Record> read_response_file(const std::string& path);

}  // namespace vectors
