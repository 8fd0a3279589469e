// A bounded reader of Thrift's compact protocol. It skips values and reads integers; it builds no objects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace warpaes::thrift {

/// Types of the compact protocol. A field's bool value is encoded in its type and has no further byte.
enum class Type : std::uint8_t {
    stop = 0,
    bool_true = 1,
    bool_false = 2,
    byte = 3,
    i16 = 4,
    i32 = 5,
    i64 = 6,
    real = 7,
    binary = 8,
    list = 9,
    set = 10,
    map = 11,
    structure = 12
};

struct Field {
    Type type = Type::stop;
    std::int32_t id = 0;
};

/// A parser of Thrift's compact protocol. It throws Error{FORMAT} for any value that is invalid, extends past the
/// bytes, or is nested deeper than 16 levels.
class Reader {
public:
    explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

    [[nodiscard]] std::size_t position() const noexcept { return at_; }
    /// Reads the next field of a struct whose previous field had the ID `last`.
    Field field(std::int32_t last);
    std::int32_t i32();
    std::span<const std::uint8_t> binary();
    void skip(Type type, int depth = 0);

private:
    std::uint8_t byte();
    std::uint64_t varint();
    void advance(std::uint64_t bytes);
    void skip_elements(std::uint64_t count, Type type, int depth);

    std::span<const std::uint8_t> bytes_;
    std::size_t at_ = 0;
};

/// Writes a varint of at most 10 bytes and returns the position after it.
std::uint8_t* write_varint(std::uint8_t* to, std::uint64_t value);
constexpr std::uint64_t zigzag(std::int64_t value) {
    return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

}  // namespace warpaes::thrift
