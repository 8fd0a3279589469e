// Converts the footers of most encrypted Parquet files to plain footers, without creating a Python object per value.
//
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include "module.hpp"
#include "thrift.hpp"

namespace warpaes::python {
namespace {

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
                if (field.kind != Thrift::list) return not_simple();
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

    /// Calls `copy(field)` for each field of a struct. Stops if the footer is not simple.
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
                copy_value(field.kind, 2);
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
                if (encrypted) in_.skip(key.kind, 5);
                if (!encrypted || in_.read_field(key)) not_simple();
                return;
            }
            write_head(field);
            if (field.number == meta_data && field.kind == Thrift::structure) {
                position = copy_metadata();
            } else if (field.number == file_offset) {
                copy_value(field.kind, 4);
            } else {
                not_simple();  // the chunk is in another file, or has an index or separate metadata
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
                in_.skip(field.kind, 5);
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
        // The field numbers of a simple footer ascend in steps of at most 15, which the short form of a header can
        // express.
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

PyMethodDef simple_footer_functions[] = {
    method_def<parquet_simple_footer>(
        "parquet_simple_footer",
        "parquet_simple_footer(data, what, list_class, map_class)\n--\n\n"
        "Convert FileMetaData of an encrypted file to that of the plain file, if it contains no offset that changes."),
    end_of_methods,
};

}  // namespace

void add_simple_footer(PyObject* module) {
    check(PyModule_AddFunctions(module, simple_footer_functions));
}

}  // namespace warpaes::python
