// Reads structs in Thrift's compact protocol.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "view.hpp"

namespace warpaes::python {

struct Thrift {
    enum Kind : int {
        bool_true = 1,
        bool_false,
        byte,
        i16,
        i32,
        i64,
        floating,
        binary,
        list,
        set,
        map,
        structure,
    };
};
inline constexpr int most_thrift_depth = 16;
inline constexpr std::uint64_t most_thrift_fields = 1 << 15;

/// Python's classes for lists and maps. The references are borrowed from the arguments of the call.
struct ThriftClasses {
    PyObject* list;
    PyObject* map;
};

/// Reads structs. Never reads past the end of the data, and creates at most a few Python objects for each byte.
class ThriftReader {
public:
    ThriftReader(const View& data, std::string what, std::uint64_t at, const ThriftClasses& classes)
        : data_(data.bytes()), size_(data.size()), at_(at), what_(std::move(what)), classes_(classes) {}
    [[nodiscard]] std::uint64_t at() const { return at_; }

    Object read_struct(int depth = 0) {
        check_depth(depth);
        Object fields(PyDict_New());
        Field next{0, 0};
        while (read_field(next)) {
            const int kind = next.kind;
            const Object number(PyLong_FromLongLong(next.number));
            if (contains(fields, number)) refuse("a field whose number is out of range or repeats");
            const bool boolean = kind == Thrift::bool_true || kind == Thrift::bool_false;
            const Object value = boolean ? Object(PyBool_FromLong(kind == Thrift::bool_true)) : read_value(kind, depth);
            const Object kind_object(PyLong_FromLong(kind));
            const Object field(PyTuple_Pack(2, kind_object.get(), value.get()));
            check(PyDict_SetItem(fields.get(), number.get(), field.get()));
        }
        return fields;
    }

    struct Field {
        std::int64_t number;
        int kind;
    };
    /// Reads the header of a field. Returns false at the end of the struct.
    bool read_field(Field& field) {
        const int head = read_byte();
        if (head == 0) return false;
        // The sum cannot overflow, because numbers are below `most_thrift_fields`.
        const std::int64_t number = (head >> 4) != 0 ? field.number + (head >> 4) : read_integer();
        const bool in_range = number >= 0 && static_cast<std::uint64_t>(number) < most_thrift_fields;
        if (!in_range) refuse("a field whose number is out of range or repeats");
        ascending_ = ascending_ && number > field.number;
        field = {number, head & 0x0F};
        return true;
    }
    struct ListHead {
        std::uint64_t count;
        int kind;
    };
    ListHead read_list_head() {
        const int head = read_byte();
        const std::uint64_t count = head >> 4 == 15 ? read_varint() : static_cast<std::uint64_t>(head >> 4);
        check_count(count, "a list is longer than the remaining bytes");
        return {count, head & 0x0F};
    }
    std::int64_t read_integer() {
        const std::uint64_t value = read_varint();
        return static_cast<std::int64_t>((value >> 1) ^ (0 - (value & 1)));
    }
    Object read_value(int kind, int depth);
    /// Skips the value of a field or, with `element`, of a list or map.
    void skip(int kind, int depth, bool element = false);
    /// Returns whether all field numbers read so far were in ascending order, so that no struct repeats a field.
    [[nodiscard]] bool ascending() const { return ascending_; }
    /// Returns bytes that were read or skipped.
    [[nodiscard]] std::string_view text(std::uint64_t begin) const {
        return {reinterpret_cast<const char*>(data_ + begin), static_cast<std::size_t>(at_ - begin)};
    }

private:
    [[noreturn]] void refuse(const char* why) const {
        raise(exceptions.format_error, "%s is damaged at byte %llu: %s", what_.c_str(),
              static_cast<unsigned long long>(at_), why);
    }
    void check_depth(int depth) const {
        if (depth > most_thrift_depth) refuse("it is nested too deeply");
    }
    static bool contains(const Object& fields, const Object& number) {
        const int found = PyDict_Contains(fields.get(), number.get());
        check(found);
        return found == 1;
    }
    [[nodiscard]] std::uint64_t left() const { return size_ - at_; }

    int read_byte() {
        if (left() == 0) refuse("it ends too early");
        return data_[at_++];
    }
    std::uint64_t read_varint() {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            if (shift > 63) refuse("a number of more than 64 bits");
            const auto next = static_cast<std::uint64_t>(read_byte());
            if (shift == 63 && next > 1) refuse("a number of more than 64 bits");
            value |= (next & 0x7F) << shift;
            if (next < 0x80) return value;
        }
    }
    void skip_bytes(std::uint64_t count) {
        if (count > left()) refuse("a value extends past its end");
        at_ += count;
    }
    Object read_bytes(std::uint64_t count) {
        if (count > left()) refuse("a value extends past its end");
        Object bytes(
            PyBytes_FromStringAndSize(reinterpret_cast<const char*>(data_ + at_), static_cast<Py_ssize_t>(count)));
        at_ += count;
        return bytes;
    }
    /// Refuses a number of elements that exceeds the number of remaining bytes, because each element has at least one.
    void check_count(std::uint64_t count, const char* why) const {
        if (count > left()) refuse(why);
    }
    Object read_list(int depth) {
        check_depth(depth);
        const ListHead head = read_list_head();
        const Object items(PyList_New(0));
        for (std::uint64_t i = 0; i < head.count; ++i) {
            check(PyList_Append(items.get(), read_value(head.kind, depth + 1).get()));
        }
        const Object kind(PyLong_FromLong(head.kind));
        return Object(PyObject_CallFunctionObjArgs(classes_.list, kind.get(), items.get(), nullptr));
    }
    Object read_map(int depth) {
        check_depth(depth);
        const std::uint64_t count = read_varint();
        const int head = count == 0 ? 0 : read_byte();
        check_count(count, "a map is longer than the remaining bytes");
        const Object items(PyList_New(0));
        for (std::uint64_t i = 0; i < count; ++i) {
            const Object key = read_value(head >> 4, depth + 1), value = read_value(head & 0x0F, depth + 1);
            check(PyList_Append(items.get(), Object(PyTuple_Pack(2, key.get(), value.get())).get()));
        }
        const Object key_kind(PyLong_FromLong(head >> 4)), value_kind(PyLong_FromLong(head & 0x0F));
        return Object(
            PyObject_CallFunctionObjArgs(classes_.map, key_kind.get(), value_kind.get(), items.get(), nullptr));
    }
    bool ascending_ = true;
    const std::uint8_t* data_;
    std::uint64_t size_, at_;
    std::string what_;
    ThriftClasses classes_;
};

}  // namespace warpaes::python
