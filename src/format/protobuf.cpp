#include "format/protobuf.hpp"

#include "base/error.hpp"

namespace warpaes {

namespace {

enum Wire : std::uint32_t { varint_wire = 0, fixed64_wire = 1, bytes_wire = 2, fixed32_wire = 5 };

[[noreturn]] void refuse(const char* why) {
    throw Error(WARPAES_ERROR_KEYSET, std::string("keyset: a key's value does not match its type: ") + why);
}

}  // namespace

std::uint32_t ProtoField::as_uint32() const {
    if (!is_integer) refuse("bytes in place of a number");
    if (integer > UINT32_MAX) refuse("a number is too large");
    return static_cast<std::uint32_t>(integer);
}

std::span<const std::uint8_t> ProtoField::as_bytes() const {
    if (!is_bytes) refuse("a number in place of bytes");
    return bytes;
}

std::span<const std::uint8_t> ProtoReader::take(std::uint64_t bytes) {
    if (bytes > rest_.size()) refuse("it is truncated");
    const auto taken = rest_.first(static_cast<std::size_t>(bytes));
    rest_ = rest_.subspan(taken.size());
    return taken;
}

std::uint64_t ProtoReader::varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const std::uint8_t byte = take(1).front();
        if (shift == 63 && byte > 1) refuse("a number is too large");
        value |= std::uint64_t{byte & 0x7fu} << shift;
        if ((byte & 0x80) == 0) return value;
    }
    refuse("a number is too long");
}

bool ProtoReader::next(ProtoField& field) {
    if (rest_.empty()) return false;
    const std::uint64_t tag = varint();
    field = {};
    if (tag >> 3 == 0 || tag > UINT32_MAX) refuse("unknown field");
    field.number = static_cast<std::uint32_t>(tag >> 3);
    switch (tag & 7) {
    case varint_wire:
        field.is_integer = true;
        field.integer = varint();
        break;
    case fixed64_wire:
        take(8);
        break;
    case bytes_wire:
        field.is_bytes = true;
        field.bytes = take(varint());
        break;
    case fixed32_wire:
        take(4);
        break;
    default:
        refuse("an unknown kind of field");
    }
    return true;
}

void append_varint(SecretVector& message, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) message.push_back(static_cast<std::uint8_t>(value | 0x80));
    message.push_back(static_cast<std::uint8_t>(value));
}

void append_integer(SecretVector& message, std::uint32_t number, std::uint64_t value) {
    append_varint(message, std::uint64_t{number} << 3 | varint_wire);
    append_varint(message, value);
}

void append_bytes(SecretVector& message, std::uint32_t number, std::span<const std::uint8_t> bytes) {
    append_varint(message, std::uint64_t{number} << 3 | bytes_wire);
    append_varint(message, bytes.size());
    message.insert(message.end(), bytes.begin(), bytes.end());
}

}  // namespace warpaes
