// Converts structs between Thrift's compact protocol and the Python objects of warpaes.parquet._thrift. Speed matters,
// because a footer with hundreds of column chunks contains tens of thousands of values.
//
// SPDX-License-Identifier: Apache-2.0
#include "thrift.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "message.hpp"
#include "module.hpp"
#include "view.hpp"

namespace warpaes::python {

Object ThriftReader::read_value(int kind, int depth) {
    switch (kind) {
    case Thrift::bool_true:
    case Thrift::bool_false:
        return Object(PyBool_FromLong(read_byte() == Thrift::bool_true));
    case Thrift::byte:
        return Object(PyLong_FromLong(read_byte()));
    case Thrift::i16:
    case Thrift::i32:
    case Thrift::i64:
        return Object(PyLong_FromLongLong(read_integer()));
    case Thrift::floating:
        return read_bytes(8);
    case Thrift::binary:
        return read_bytes(read_varint());
    case Thrift::list:
    case Thrift::set:
        return read_list(depth);
    case Thrift::map:
        return read_map(depth);
    case Thrift::structure:
        return read_struct(depth + 1);
    default:
        refuse("a value has an unknown type");
    }
}

void ThriftReader::skip(int kind, int depth, bool element) {
    switch (kind) {
    case Thrift::bool_true:
    case Thrift::bool_false:
        if (element) read_byte();
        break;
    case Thrift::byte:
        read_byte();
        break;
    case Thrift::i16:
    case Thrift::i32:
    case Thrift::i64:
        read_varint();
        break;
    case Thrift::floating:
        skip_bytes(8);
        break;
    case Thrift::binary:
        skip_bytes(read_varint());
        break;
    case Thrift::list:
    case Thrift::set:
        check_depth(depth);
        for (ListHead head = read_list_head(); head.count != 0; --head.count) skip(head.kind, depth + 1, true);
        break;
    case Thrift::map: {
        check_depth(depth);
        std::uint64_t count = read_varint();
        const int head = count == 0 ? 0 : read_byte();
        check_count(count, "a map is longer than the remaining bytes");
        for (; count != 0; --count) {
            skip(head >> 4, depth + 1, true);
            skip(head & 0x0F, depth + 1, true);
        }
        break;
    }
    case Thrift::structure:
        check_depth(depth + 1);
        for (Field field{0, 0}; read_field(field);) skip(field.kind, depth + 1);
        break;
    default:
        refuse("a value has an unknown type");
    }
}

namespace {

long thrift_long(PyObject* object) {
    const long value = PyLong_AsLong(object);
    if (value == -1 && PyErr_Occurred() != nullptr) throw Raised();
    return value;
}

/// Returns a borrowed item of a tuple.
PyObject* item_of(PyObject* tuple, Py_ssize_t index) {
    if (PyTuple_Check(tuple) == 0) raise(PyExc_TypeError, "fields: must have tuples as values");
    PyObject* const item = PyTuple_GetItem(tuple, index);
    if (item == nullptr) throw Raised();
    return item;
}

bool thrift_bool(PyObject* object) {
    const int value = PyObject_IsTrue(object);
    check(value);
    return value == 1;
}

class ThriftWriter {
public:
    void write_struct(PyObject* fields, int depth = 0) {
        check_depth(depth);
        std::vector<std::pair<long, Object>> sorted;
        PyObject *number = nullptr, *field = nullptr;
        Py_ssize_t position = 0;
        if (PyDict_Check(fields) == 0) raise(PyExc_TypeError, "fields: must be a dict");
        while (PyDict_Next(fields, &position, &number, &field) != 0) {
            sorted.emplace_back(thrift_long(number), Object::borrowed(field));
        }
        std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        long last = 0;
        for (const auto& [its_number, pair] : sorted) {
            PyObject* const value = item_of(pair.get(), 1);
            int kind = static_cast<int>(thrift_long(item_of(pair.get(), 0)));
            const bool boolean = kind == Thrift::bool_true || kind == Thrift::bool_false;
            if (boolean) kind = thrift_bool(value) ? Thrift::bool_true : Thrift::bool_false;
            if (its_number - last > 0 && its_number - last <= 15) {
                write_byte((its_number - last) << 4 | kind);
            } else {
                write_byte(kind);
                write_integer(its_number);
            }
            last = its_number;
            if (!boolean) write_value(kind, value, depth);
        }
        write_byte(0);
    }
    [[nodiscard]] Object result() const {
        return Object(PyBytes_FromStringAndSize(bytes_.data(), static_cast<Py_ssize_t>(bytes_.size())));
    }

private:
    static void check_depth(int depth) {
        if (depth > 4 * most_thrift_depth) raise(PyExc_RecursionError, "fields: are nested too deeply");
    }
    /// Returns an owned reference, because the conversion of a value may call code that changes the list.
    static Object element(const Object& items, Py_ssize_t index) {
        PyObject* const item = PyList_GetItem(items.get(), index);
        if (item == nullptr) throw Raised();
        return Object::borrowed(item);
    }
    void write_byte(long value) { bytes_.push_back(static_cast<char>(value)); }
    void write_varint(std::uint64_t value) {
        for (; value > 0x7F; value >>= 7) write_byte(static_cast<long>((value & 0x7F) | 0x80));
        write_byte(static_cast<long>(value));
    }
    void write_integer(std::int64_t value) {
        write_varint((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
    }
    void write_bytes(PyObject* value, bool with_length) {
        char* data = nullptr;
        Py_ssize_t size = 0;
        check(PyBytes_AsStringAndSize(value, &data, &size));
        if (with_length) write_varint(static_cast<std::uint64_t>(size));
        bytes_.append(data, static_cast<std::size_t>(size));
    }
    static Object attribute(PyObject* value, const char* name) { return Object(PyObject_GetAttrString(value, name)); }
    static long kind_of(PyObject* value, const char* name) { return thrift_long(attribute(value, name).get()); }
    static Object list_of(PyObject* value) {
        Object items = attribute(value, "items");
        if (PyList_Check(items.get()) == 0) raise(PyExc_TypeError, "items: must be a list");
        return items;
    }
    void write_list(PyObject* value, int depth) {
        check_depth(depth);
        const auto kind = static_cast<int>(kind_of(value, "type"));
        const Object items = list_of(value);
        const Py_ssize_t count = PyList_Size(items.get());
        write_byte(static_cast<long>(std::min<Py_ssize_t>(count, 15)) << 4 | kind);
        if (count >= 15) write_varint(static_cast<std::uint64_t>(count));
        for (Py_ssize_t i = 0; i < count; ++i) write_value(kind, element(items, i).get(), depth + 1);
    }
    void write_map(PyObject* value, int depth) {
        check_depth(depth);
        const auto key = static_cast<int>(kind_of(value, "key")), kind = static_cast<int>(kind_of(value, "value"));
        const Object items = list_of(value);
        const Py_ssize_t count = PyList_Size(items.get());
        write_varint(static_cast<std::uint64_t>(count));
        if (count != 0) write_byte(key << 4 | kind);
        for (Py_ssize_t i = 0; i < count; ++i) {
            const Object pair = element(items, i);
            write_value(key, item_of(pair.get(), 0), depth + 1);
            write_value(kind, item_of(pair.get(), 1), depth + 1);
        }
    }
    void write_value(int kind, PyObject* value, int depth) {
        switch (kind) {
        case Thrift::bool_true:
        case Thrift::bool_false:
            return write_byte(thrift_bool(value) ? Thrift::bool_true : Thrift::bool_false);
        case Thrift::byte:
            return write_byte(thrift_long(value));
        case Thrift::i16:
        case Thrift::i32:
        case Thrift::i64: {
            const long long number = PyLong_AsLongLong(value);
            if (number == -1 && PyErr_Occurred() != nullptr) throw Raised();
            return write_integer(number);
        }
        case Thrift::floating:
            return write_bytes(value, false);
        case Thrift::binary:
            return write_bytes(value, true);
        case Thrift::list:
        case Thrift::set:
            return write_list(value, depth);
        case Thrift::map:
            return write_map(value, depth);
        case Thrift::structure:
            return write_struct(value, depth + 1);
        default:
            raise(PyExc_ValueError, "fields: %d is not a type", kind);
        }
    }

    std::string bytes_;
};

Object thrift_read(PyObject*, const Call& call) {
    const auto [data_object, what, at, list_class, map_class] =
        arguments(call, "thrift_read", {"data", "what", "at", "list_class", "map_class"});
    const View data = host_view(data_object, "data");
    const std::uint64_t from = to_u64(at, "at");
    if (from > data.size()) raise(PyExc_ValueError, "at: is past the end of the data");
    ThriftReader reader(data, to_text(what, "what"), from, {list_class, map_class});
    const Object fields = reader.read_struct(), end(PyLong_FromUnsignedLongLong(reader.at()));
    return Object(PyTuple_Pack(2, fields.get(), end.get()));
}

Object thrift_write(PyObject*, const Call& call) {
    const auto [fields] = arguments(call, "thrift_write", {"fields"});
    ThriftWriter writer;
    writer.write_struct(fields);
    return writer.result();
}

PyMethodDef thrift_functions[] = {
    method_def<thrift_read>("thrift_read",
                            "thrift_read(data, what, at, list_class, map_class)\n--\n\n"
                            "Return the struct at an offset, as a dictionary, and the offset of its end."),
    method_def<thrift_write>("thrift_write",
                             "thrift_write(fields)\n--\n\nReturn the bytes of a struct in Thrift's compact protocol."),
    end_of_methods,
};

}  // namespace

void add_thrift(PyObject* module) {
    check(PyModule_AddFunctions(module, thrift_functions));
}

}  // namespace warpaes::python
