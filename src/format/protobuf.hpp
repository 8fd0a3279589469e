// The part of protobuf's wire format that a key in a keyset uses: integers and bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/secret.hpp"

namespace warpaes {

struct ProtoField {
    std::uint32_t number = 0;
    bool is_bytes = false;  ///< the value is length-delimited
    bool is_integer = false;
    std::uint64_t integer = 0;
    std::span<const std::uint8_t> bytes;

    /// These functions return the value, and throw Error{KEYSET} if the field has a different type.
    [[nodiscard]] std::uint32_t as_uint32() const;
    [[nodiscard]] std::span<const std::uint8_t> as_bytes() const;
};

/// Reads one field after another, and skips values of fixed size. Throws Error{KEYSET} for invalid protobuf.
class ProtoReader {
public:
    explicit ProtoReader(std::span<const std::uint8_t> message) : rest_(message) {}
    /// Returns false at the end.
    bool next(ProtoField& field);

private:
    std::uint64_t varint();
    std::span<const std::uint8_t> take(std::uint64_t bytes);

    std::span<const std::uint8_t> rest_;
};

void append_varint(SecretVector& message, std::uint64_t value);
void append_integer(SecretVector& message, std::uint32_t number, std::uint64_t value);
void append_bytes(SecretVector& message, std::uint32_t number, std::span<const std::uint8_t> bytes);

}  // namespace warpaes
