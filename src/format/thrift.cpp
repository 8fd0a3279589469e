#include "format/thrift.hpp"

#include <limits>

#include "base/error.hpp"

namespace warpaes::thrift {
namespace {

constexpr int deepest = 16;

[[noreturn]] void refuse(const char* sentence) {
    throw Error(WARPAES_ERROR_FORMAT, sentence);
}

Type checked_type(unsigned value) {
    if (value == 0 || value > static_cast<unsigned>(Type::structure)) refuse("a field of an unknown type");
    return static_cast<Type>(value);
}

constexpr std::int64_t unzigzag(std::uint64_t value) {
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

}  // namespace

std::uint8_t Reader::byte() {
    if (at_ >= bytes_.size()) refuse("it ends too early");
    return bytes_[at_++];
}

std::uint64_t Reader::varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const std::uint8_t next = byte();
        if (shift == 63 && next > 1) break;
        value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
        if ((next & 0x80) == 0) return value;
    }
    refuse("a number of more than 64 bits");
}

void Reader::advance(std::uint64_t bytes) {
    if (bytes > bytes_.size() - at_) refuse("a value extends past its end");
    at_ += static_cast<std::size_t>(bytes);
}

Field Reader::field(std::int32_t last) {
    const std::uint8_t head = byte();
    if (head == 0) return {};
    const Type type = checked_type(head & 0x0f);
    const int delta = head >> 4;
    const std::int64_t id = delta != 0 ? last + delta : unzigzag(varint());
    if (id < 0 || id > std::numeric_limits<std::int16_t>::max()) refuse("a field whose number is out of range");
    return {type, static_cast<std::int32_t>(id)};
}

std::int32_t Reader::i32() {
    const std::int64_t value = unzigzag(varint());
    if (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::int32_t>::max()) {
        refuse("a number of more than 32 bits");
    }
    return static_cast<std::int32_t>(value);
}

std::span<const std::uint8_t> Reader::binary() {
    const std::uint64_t length = varint();
    const std::size_t begin = at_;
    advance(length);
    return bytes_.subspan(begin, static_cast<std::size_t>(length));
}

void Reader::skip_elements(std::uint64_t count, Type type, int depth) {
    if (count > bytes_.size() - at_) refuse("a list that is longer than its bytes");
    if (type == Type::bool_true || type == Type::bool_false) return advance(count);
    for (; count != 0; --count) skip(type, depth + 1);
}

void Reader::skip(Type type, int depth) {
    if (depth > deepest) refuse("it is nested too deeply");
    switch (type) {
    case Type::bool_true:
    case Type::bool_false:
        return;
    case Type::byte:
        return advance(1);
    case Type::i16:
    case Type::i32:
    case Type::i64:
        (void)varint();
        return;
    case Type::real:
        return advance(8);
    case Type::binary:
        return advance(varint());
    case Type::list:
    case Type::set: {
        const std::uint8_t head = byte();
        const std::uint64_t count = head >> 4 == 15 ? varint() : head >> 4;
        return skip_elements(count, checked_type(head & 0x0f), depth);
    }
    case Type::map: {
        const std::uint64_t count = varint();
        if (count == 0) return;
        const std::uint8_t head = byte();
        const Type key = checked_type(head >> 4), value = checked_type(head & 0x0f);
        if (count > bytes_.size() - at_) refuse("a map that is longer than its bytes");
        for (std::uint64_t i = 0; i < count; ++i) {
            skip_elements(1, key, depth);
            skip_elements(1, value, depth);
        }
        return;
    }
    case Type::structure: {
        for (Field f = field(0); f.type != Type::stop; f = field(f.id)) skip(f.type, depth + 1);
        return;
    }
    case Type::stop:
        break;
    }
    refuse("a value of an unknown type");
}

std::uint8_t* write_varint(std::uint8_t* to, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) *to++ = static_cast<std::uint8_t>(value | 0x80);
    *to++ = static_cast<std::uint8_t>(value);
    return to;
}

}  // namespace warpaes::thrift
