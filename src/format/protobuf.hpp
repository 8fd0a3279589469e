// As much of protobuf's wire format as a key in a keyset takes: integers and bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/secret.hpp"

namespace warpaes {

struct ProtoField {
    std::uint32_t number = 0;
    bool is_bytes = false;  ///< length-delimited; else a varint, or of a fixed size, which nothing here has
    bool is_integer = false;
    std::uint64_t integer = 0;
    std::span<const std::uint8_t> bytes;

    /// The value as what the field is declared to be. Throws Error{KEYSET} if it is something else.
    [[nodiscard]] std::uint32_t as_uint32() const;
    [[nodiscard]] std::span<const std::uint8_t> as_bytes() const;
};

/// Field after field; what the reader does not know it passes over. Throws Error{KEYSET} for what no protobuf is.
class ProtoReader {
public:
    explicit ProtoReader(std::span<const std::uint8_t> message) : rest_(message) {}
    /// False at the end.
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
