// Structs in Thrift's compact protocol, as the Python objects of warpaes.parquet._thrift. A footer with hundreds of
// column chunks has tens of thousands of values.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "message.hpp"
#include "module.hpp"
#include "view.hpp"

namespace warpaes::python {
namespace {

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
constexpr int most_thrift_depth = 16;
constexpr std::uint64_t most_thrift_fields = 1 << 15;

/// Python's classes for lists and maps. The references are borrowed from the arguments of the call.
struct Classes {
    PyObject* list;
    PyObject* map;
};

/// Reads structs. It never reads past the end, and creates at most a few objects for each byte.
class ThriftReader {
public:
    ThriftReader(const View& data, std::string what, std::uint64_t at, const Classes& classes)
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
    /// Whether skipped structs have their fields in ascending order, so none repeats.
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
    /// Reads the number of elements that follow. Each of them has at least one byte.
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
    Classes classes_;
};

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
        if (depth > 4 * most_thrift_depth) raise(PyExc_RecursionError, "fields: are nested too deeply");
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
        const auto kind = static_cast<int>(kind_of(value, "type"));
        const Object items = list_of(value);
        const Py_ssize_t count = PyList_Size(items.get());
        write_byte(static_cast<long>(std::min<Py_ssize_t>(count, 15)) << 4 | kind);
        if (count >= 15) write_varint(static_cast<std::uint64_t>(count));
        for (Py_ssize_t i = 0; i < count; ++i) write_value(kind, PyList_GetItem(items.get(), i), depth + 1);
    }
    void write_map(PyObject* value, int depth) {
        const auto key = static_cast<int>(kind_of(value, "key")), kind = static_cast<int>(kind_of(value, "value"));
        const Object items = list_of(value);
        const Py_ssize_t count = PyList_Size(items.get());
        write_varint(static_cast<std::uint64_t>(count));
        if (count != 0) write_byte(key << 4 | kind);
        for (Py_ssize_t i = 0; i < count; ++i) {
            PyObject* const pair = PyList_GetItem(items.get(), i);
            write_value(key, item_of(pair, 0), depth + 1);
            write_value(kind, item_of(pair, 1), depth + 1);
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

/// Converts the footer of a file whose chunks are all encrypted under the footer's key and have no index and no Bloom
/// filter. Everything except a few fields is copied. Any other footer is not `simple`.
class SimpleFooter {
public:
    explicit SimpleFooter(ThriftReader& reader) : in_(reader), groups_(PyList_New(0)) {}

    bool convert() {
        copy_fields(0, [&](ThriftReader::Field field) {
            if (field.number == algorithm || field.number == signing_key_metadata) return in_.skip(field.kind, 0);
            write_head(field);
            if (field.number == row_groups) return copy_structs(field.kind, 0, [&] { copy_group(); });
            const std::uint64_t begin = in_.at();
            if (field.number == schema) {
                schema_ = in_.read_value(field.kind, 0);
                out_ += in_.text(begin);
            } else {
                copy_value(field.kind, 0);
            }
        });
        return simple_ && in_.ascending() && schema_;
    }
    [[nodiscard]] Object result() const {
        const Object bytes(PyBytes_FromStringAndSize(out_.data(), static_cast<Py_ssize_t>(out_.size())));
        return Object(PyTuple_Pack(3, bytes.get(), schema_.get(), groups_.get()));
    }

private:
    enum { schema = 2, row_groups = 4, algorithm = 8, signing_key_metadata = 9 };              // of FileMetaData
    enum { columns = 1, ordinal = 7 };                                                         // of RowGroup
    enum { file_offset = 2, meta_data = 3, crypto = 8 };                                       // of ColumnChunk
    enum { compressed_size = 7, data_offset = 9, dictionary_offset = 11, bloom_offset = 14 };  // of ColumnMetaData

    /// Calls `copy(field)` for each field of a struct, until the footer is not simple.
    template <typename Copy>
    void copy_fields(std::int64_t written, const Copy& copy) {
        std::swap(written, written_);
        ThriftReader::Field field{0, 0};
        while (simple_ && in_.read_field(field)) copy(field);
        out_.push_back(0);
        written_ = written;
    }
    template <typename Copy>
    void copy_structs(int kind, int depth, const Copy& copy) {
        const std::uint64_t begin = in_.at();
        if (kind != Thrift::list) return not_simple();
        const ThriftReader::ListHead head = in_.read_list_head();
        if (head.kind != Thrift::structure || depth > 1) return not_simple();
        out_ += in_.text(begin);
        for (std::uint64_t i = 0; simple_ && i < head.count; ++i) copy();
    }
    void copy_value(int kind, int depth) {
        const std::uint64_t begin = in_.at();
        in_.skip(kind, depth);
        out_ += in_.text(begin);
    }
    void copy_group() {
        Object its_ordinal = none();
        const Object list(PyList_New(0));
        copy_fields(0, [&](ThriftReader::Field field) {
            write_head(field);
            if (field.number == columns) return copy_structs(field.kind, 1, [&] { copy_column(list); });
            const std::uint64_t begin = in_.at();
            if (field.number == ordinal) {
                if (field.kind != Thrift::i16) return not_simple();
                its_ordinal = Object(PyLong_FromLongLong(in_.read_integer()));
                out_ += in_.text(begin);
            } else {
                copy_value(field.kind, 1);
            }
        });
        check(PyList_Append(groups_.get(), Object(PyTuple_Pack(2, its_ordinal.get(), list.get())).get()));
    }
    void copy_column(const Object& list) {
        bool encrypted = false;
        Object position;
        copy_fields(0, [&](ThriftReader::Field field) {
            if (field.number == crypto && field.kind == Thrift::structure) {
                ThriftReader::Field key{0, 0};
                encrypted = in_.read_field(key) && key.number == 1;  // ENCRYPTION_WITH_FOOTER_KEY
                if (encrypted) in_.skip(key.kind, 4);
                if (!encrypted || in_.read_field(key)) not_simple();
                return;
            }
            write_head(field);
            if (field.number == meta_data && field.kind == Thrift::structure) {
                position = copy_metadata();
            } else if (field.number == file_offset) {
                copy_value(field.kind, 3);
            } else {
                not_simple();  // the chunk is in another file, has an index or separate metadata
            }
        });
        if (!encrypted || !position) return not_simple();
        check(PyList_Append(list.get(), position.get()));
    }
    /// Copies the metadata of a column. Returns its first data page, dictionary page and length.
    Object copy_metadata() {
        const std::uint64_t begin = in_.at();
        Object start, dictionary = none(), length;
        ThriftReader::Field field{0, 0};
        while (in_.read_field(field)) {
            Object* const to = field.number == data_offset         ? &start
                               : field.number == dictionary_offset ? &dictionary
                               : field.number == compressed_size   ? &length
                                                                   : nullptr;
            if (field.number == bloom_offset || (to != nullptr && field.kind != Thrift::i64)) not_simple();
            if (to != nullptr && field.kind == Thrift::i64) {
                *to = Object(PyLong_FromLongLong(in_.read_integer()));
            } else {
                in_.skip(field.kind, 4);
            }
        }
        out_ += in_.text(begin);
        if (!start || !length) {
            not_simple();
            return {};
        }
        return Object(PyTuple_Pack(3, start.get(), dictionary.get(), length.get()));
    }
    void write_head(ThriftReader::Field field) {
        const std::int64_t step = field.number - written_;
        written_ = field.number;
        // Fields of simple footers are in ascending order, and their numbers are short.
        if (step <= 0 || step > 15) return not_simple();
        out_.push_back(static_cast<char>(step << 4 | field.kind));
    }
    void not_simple() { simple_ = false; }

    ThriftReader& in_;
    std::string out_;
    std::int64_t written_ = 0;
    bool simple_ = true;
    Object schema_, groups_;
};

Object parquet_simple_footer(PyObject*, const Call& call) {
    const auto [data_object, what, list_class, map_class] =
        arguments(call, "parquet_simple_footer", {"data", "what", "list_class", "map_class"});
    const View data = host_view(data_object, "data");
    ThriftReader reader(data, to_text(what, "what"), 0, {list_class, map_class});
    SimpleFooter footer(reader);
    return footer.convert() ? footer.result() : none();
}

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
    method_def<parquet_simple_footer>(
        "parquet_simple_footer",
        "parquet_simple_footer(data, what, list_class, map_class)\n--\n\n"
        "Convert FileMetaData of an encrypted file to that of the plain file, if it contains no offset that changes."),
    method_def<thrift_write>("thrift_write",
                             "thrift_write(fields)\n--\n\nReturn the bytes of a struct in Thrift's compact protocol."),
    end_of_methods,
};

}  // namespace

void add_thrift(PyObject* module) {
    check(PyModule_AddFunctions(module, thrift_functions));
}

}  // namespace warpaes::python
