// Readers and writers of sealed files, over paths, memory and Python functions.
//
// SPDX-License-Identifier: Apache-2.0
#include "files.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "message.hpp"
#include "module.hpp"
#include "pickles.hpp"

namespace warpaes::python {
namespace {

/// Memory that this module passes to a Python function instead of the library's memory.
struct Block {
    explicit Block(std::size_t size) : bytes(new std::uint8_t[size]), capacity(size) {}
    std::unique_ptr<std::uint8_t[]> bytes;
    std::size_t capacity;
};

/// A Python function that the library calls from its threads, and the first exception that it raises on any thread.
class Callback {
public:
    Callback() = default;
    Callback(const Callback&) = delete;
    Callback& operator=(const Callback&) = delete;
    ~Callback() {
        Py_XDECREF(function_);
        drop(raised_);
    }
    void set(PyObject* function) {
        if (PyCallable_Check(function) == 0)
            raise(PyExc_TypeError, "the argument must be a path, a buffer or a function");
        function_ = Py_NewRef(function);
    }
    [[nodiscard]] bool is_set() const { return function_ != nullptr; }

    /// Marks the function as the package's own. Such a function keeps no view, so it may access the library's memory
    /// directly.
    void trust() { is_own_ = true; }
    [[nodiscard]] bool is_own() const { return is_own_; }

    /// Returns a block of at least `size` bytes. The GIL protects the list of blocks.
    std::unique_ptr<Block> take_block(std::size_t size) {
        if (!blocks_.empty()) {
            std::unique_ptr<Block> block = std::move(blocks_.back());
            blocks_.pop_back();
            if (block->capacity >= size) return block;
        }
        return std::make_unique<Block>(size);
    }
    void give_back(std::unique_ptr<Block> block) { blocks_.push_back(std::move(block)); }

    /// Runs `use` with the GIL. `use` returns 0, or another number with an exception set.
    template <typename Use>
    int call(const Use& use) noexcept {
        PyGILState_STATE state;
        if (!lock_for_callback(state)) return -1;
        const int result = guarded(-1, [&] { return use(function_); });
        if (result != 0) keep();
        PyGILState_Release(state);
        return result;
    }
    /// Raises the exception for the status of a library call. An exception of the Python function takes precedence.
    /// `others` means that calls are in progress on other threads. In this case, the function's exception is kept for
    /// them, because it may belong to one of those calls.
    void check(warpaes_status status, bool others = false) {
        const std::string sentence = status != WARPAES_OK ? warpaes_last_error() : "";
        Exception raised;
        const bool may_be_ours = !others || status == WARPAES_ERROR_READ;
        if (status != WARPAES_OK && raised_.type != nullptr && may_be_ours) {
            raised = {Py_NewRef(raised_.type), Py_XNewRef(raised_.value), Py_XNewRef(raised_.traceback)};
        }
        if (!others) drop(raised_);
        if (status == WARPAES_OK) return;
        if (raised.type == nullptr) raise_status(status, sentence.c_str());
        PyErr_Restore(raised.type, raised.value, raised.traceback);
        throw Raised();
    }

private:
    struct Exception {
        PyObject* type = nullptr;
        PyObject* value = nullptr;
        PyObject* traceback = nullptr;
    };
    static void drop(Exception& exception) {
        Py_CLEAR(exception.type);
        Py_CLEAR(exception.value);
        Py_CLEAR(exception.traceback);
    }
    /// Keeps the current exception if it is the first, and drops it otherwise.
    void keep() {
        if (raised_.type == nullptr) {
            PyErr_Fetch(&raised_.type, &raised_.value, &raised_.traceback);
        } else {
            PyErr_Clear();
        }
    }
    PyObject* function_ = nullptr;
    bool is_own_ = false;
    Exception raised_;
    std::vector<std::unique_ptr<Block>> blocks_;  ///< at most one for each concurrent call
};

/// Memory that is exposed to a Python function as a memoryview during a call: a block or, for functions of the package,
/// the library's memory. An array over a block may outlive the call and keeps the block alive.
struct LoanState {
    std::unique_ptr<Block> block;
    void* data = nullptr;
    Py_ssize_t size = 0;
    bool read_only = true;
    bool ended = false;
    std::size_t views = 0;
};

PyTypeObject* loan_type;

int get_loan(PyObject* self, Py_buffer* buffer, int flags) {
    LoanState& loan = state_of<LoanState>(self);
    buffer->obj = nullptr;
    if (loan.ended) {
        PyErr_SetString(PyExc_BufferError,
                        "this memory was valid only during the call of a function that has returned; copy data that "
                        "is needed later");
        return -1;
    }
    if (PyBuffer_FillInfo(buffer, self, loan.data, loan.size, loan.read_only ? 1 : 0, flags) != 0) return -1;
    ++loan.views;
    return 0;
}

void release_loan(PyObject* self, Py_buffer*) {
    --state_of<LoanState>(self).views;
}

PyType_Slot loan_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(destruct<Instance<LoanState>>)},
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_loan)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(release_loan)},
    {0, nullptr},
};
PyType_Spec loan_spec = {"warpaes._native.Loan", sizeof(Instance<LoanState>), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, loan_slots};

/// Releases a memoryview. Returns false, with no exception set, if another object still uses the view.
bool release(PyObject* view) {
    PyObject* const done = PyObject_CallMethod(view, "release", nullptr);
    Py_XDECREF(done);
    if (done == nullptr) PyErr_Clear();
    return done != nullptr;
}

enum class Lent { to_read, to_fill };

/// Calls `use(view)` with a memoryview of a copy of the library's memory. `use` returns the number of valid bytes. A
/// view that outlives the call must not reach memory that the library frees, nor change bytes that the library is
/// decrypting. Only the package's own functions, which keep no views, access the library's memory directly. The view is
/// released afterwards, even if `use` fails. If other objects still use the view (a slice, or an array over it), it
/// cannot be released: the function gets a BufferError, and the view then owns the copy.
template <typename Use>
int lend(Callback& callback, void* data, std::uint64_t size, Lent lent, const Use& use) {
    const auto copy = [](void* to, const void* from, std::uint64_t bytes) {
        unlocked_if(bytes >= long_work, [&] { return std::memcpy(to, from, bytes); });
    };
    const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(loan_type, Py_tp_alloc));
    const Object made(allocate(loan_type, 0));
    LoanState& loan = *new (&state_of<LoanState>(made.get())) LoanState();
    if (!callback.is_own()) loan.block = callback.take_block(size);
    loan.data = callback.is_own() ? data : loan.block->bytes.get();
    loan.size = static_cast<Py_ssize_t>(size);
    loan.read_only = lent == Lent::to_read;
    if (loan.block && lent == Lent::to_read) copy(loan.data, data, size);
    const Object view(PyMemoryView_FromObject(made.get()));
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    std::uint64_t used = 0;
    try {
        used = std::min(use(view.get()), size);
    } catch (const Raised&) {
        PyErr_Fetch(&type, &value, &traceback);
    }
    const bool released = release(view.get());
    loan.ended = true;
    // A reference cycle may keep a view alive, for example the cycle of an exception that the function handled.
    if (type == nullptr && loan.views != 0) PyGC_Collect();
    if (!released) release(view.get());
    const bool kept = loan.views != 0;
    if (!kept && loan.block) {
        if (lent == Lent::to_fill && type == nullptr) copy(data, loan.data, used);
        callback.give_back(std::move(loan.block));
    }
    if (type != nullptr) {
        PyErr_Restore(type, value, traceback);
        throw Raised();
    }
    if (kept) {
        raise(
            PyExc_BufferError,
            "the function kept a view of memory that was valid only during its call; it must copy data that it keeps");
    }
    return 0;
}

View optional_bytes(PyObject* object, const char* name) {
    if (object == nullptr || object == Py_None) return {};
    return host_view(object, name);
}

// ------------------------------------------------------------------------------------------------------- reader

struct ReaderState {
    warpaes_reader* handle = nullptr;
    unsigned forks = 0;
    Callback callback;
    View memory;
    bool forward = false;  ///< the source cannot seek
    unsigned users = 0;    ///< calls in progress; guarded by the GIL
    bool closed = false;

    ReaderState() = default;
    ReaderState(const ReaderState&) = delete;
    ReaderState& operator=(const ReaderState&) = delete;
    ~ReaderState() { close(); }
    void close() {
        if (forks == python::forks()) warpaes_reader_close(handle);
        handle = nullptr;
        memory = View();
    }
};
using ReaderObject = Instance<ReaderState>;

/// Calls the function with (offset, memoryview). The function fills the whole view.
int read_source(void* user, std::uint64_t offset, void* buffer, std::uint64_t length) {
    auto& callback = *static_cast<Callback*>(user);
    return callback.call([&](PyObject* function) {
        return lend(callback, buffer, length, Lent::to_fill, [&](PyObject* view) {
            Object(PyObject_CallFunction(function, "KO", static_cast<unsigned long long>(offset), view));
            return length;
        });
    });
}

/// Calls the function with a memoryview. The function fills the beginning of the view and returns the number of bytes,
/// or 0 at the end.
int read_next(void* user, void* buffer, std::uint64_t length, std::uint64_t* got) {
    auto& callback = *static_cast<Callback*>(user);
    return callback.call([&](PyObject* function) {
        return lend(callback, buffer, length, Lent::to_fill, [&](PyObject* view) {
            const Object number(PyObject_CallFunctionObjArgs(function, view, nullptr));
            *got = to_u64(number.get(), "the number of bytes that the function returns");
            if (*got > length) {
                raise(PyExc_ValueError, "the function returned %S for a buffer of %llu bytes", number.get(),
                      static_cast<unsigned long long>(length));
            }
            return *got;
        });
    });
}

void init_reader(ReaderObject& self, PyObject* args, PyObject* kwargs) {
    PyObject* source_object = nullptr;
    PyObject* keyset = nullptr;
    PyObject* aad_object = nullptr;
    PyObject* size = nullptr;
    int own = 0;
    static const char* names[] = {"source", "keyset", "associated_data", "size", "_own", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO$p", const_cast<char**>(names), &source_object, &keyset,
                                    &aad_object, &size, &own) == 0) {
        throw Raised();
    }
    ReaderState& reader = self.state;
    reader.forks = forks();
    const KeysetUse keys(keyset);
    const View aad = optional_bytes(aad_object, "associated_data");
    warpaes_source source = WARPAES_SOURCE_INIT;
    Object path;
    if (PyUnicode_Check(source_object)) {
        PyObject* encoded = nullptr;
        if (PyUnicode_FSConverter(source_object, &encoded) == 0) throw Raised();
        path = Object(encoded);
        source.path = PyBytes_AsString(path.get());
    } else if (PyObject_CheckBuffer(source_object) != 0) {
        reader.memory = host_view(source_object, "source");
        source.memory = reader.memory.data();
        source.memory_len = reader.memory.size();
    } else {
        reader.callback.set(source_object);
        if (own != 0) reader.callback.trust();
        if (size == nullptr || size == Py_None) {
            source.next = read_next;
        } else {
            source.size = to_u64(size, "size");
            source.read = read_source;
        }
        source.user = &reader.callback;
    }
    warpaes_engine* with = engine();
    reader.callback.check(unlocked(
        [&] { return warpaes_reader_open(with, &source, keys.get(), aad.data(), aad.size(), &reader.handle); }));
    reader.forward = warpaes_reader_size(reader.handle) == WARPAES_UNKNOWN;
}

ReaderState& open_reader(PyObject* self) {
    ReaderState& reader = state_of<ReaderState>(self);
    if (reader.closed || reader.handle == nullptr) raise(PyExc_ValueError, "I/O operation on a closed reader");
    check_process(reader.forks, "this reader");
    return reader;
}

/// A call in progress on a reader. If the reader is closed during calls, the last call frees it.
class Use {
public:
    explicit Use(ReaderState& reader) : reader_(reader) { ++reader.users; }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() {
        if (--reader_.users == 0 && reader_.closed) reader_.close();
    }
    [[nodiscard]] bool others() const { return reader_.users > 1; }

private:
    ReaderState& reader_;
};

Object read_into(PyObject* self, const Call& call) {
    const auto [offset_object, buf] = arguments(call, "read_into", {"offset", "buf"});
    // The arguments are converted first, because conversion can run Python code and let another thread close the
    // reader.
    const std::uint64_t offset = to_u64(offset_object, "offset");
    const View out(buf, "buf", Access::write);
    ReaderState& reader = open_reader(self);
    const Use use(reader);
    std::uint64_t got = 0;
    // Runs without the GIL, because the library's threads may need it to call the source function.
    const warpaes_status status =
        unlocked([&] { return warpaes_reader_read(reader.handle, offset, out.data(), out.size(), &got); });
    reader.callback.check(status, use.others());
    return Object(PyLong_FromUnsignedLongLong(got));
}

/// Maximum number of bytes allocated for a read from a source of unknown length.
constexpr std::uint64_t most_of_a_stream = std::uint64_t{8} << 20;

Object read(PyObject* self, const Call& call) {
    const auto [offset_object, length_object] = arguments(call, "read", {"offset", "length"});
    const std::uint64_t offset = to_u64(offset_object, "offset");
    std::uint64_t length = to_u64(length_object, "length");
    ReaderState& reader = open_reader(self);
    const std::uint64_t size = warpaes_reader_size(reader.handle);
    if (reader.forward) {
        length = std::min(length, most_of_a_stream);
    } else {
        length = offset >= size ? 0 : std::min(length, size - offset);
    }
    Object out = new_bytes(length);
    if (length == 0) return out;
    const Use use(reader);
    std::uint8_t* const bytes = bytes_of(out);
    std::uint64_t got = 0;
    const warpaes_status status =
        unlocked([&] { return warpaes_reader_read(reader.handle, offset, bytes, length, &got); });
    reader.callback.check(status, use.others());
    if (got == length) return out;
    return Object(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(bytes), static_cast<Py_ssize_t>(got)));
}

Object close_reader(PyObject* self, const Call& call) {
    read_call(call, "close", nullptr, nullptr, 0, 0, 0);
    ReaderState& reader = state_of<ReaderState>(self);
    reader.closed = true;
    if (reader.users == 0) reader.close();
    return none();
}

PyObject* reader_size(PyObject* self, void*) {
    return guarded(static_cast<PyObject*>(nullptr), [&] {
        const std::uint64_t size = warpaes_reader_size(open_reader(self).handle);
        if (size == WARPAES_UNKNOWN) {
            raise(PyExc_ValueError, "the source cannot seek, so its size is unknown until its end has been read");
        }
        return PyLong_FromUnsignedLongLong(size);
    });
}

PyObject* reader_segments(PyObject* self, void*) {
    return guarded(static_cast<PyObject*>(nullptr), [&] {
        std::uint64_t first = 0, others = 0;
        check(warpaes_reader_segments(open_reader(self).handle, &first, &others));
        return Py_BuildValue("(KK)", static_cast<unsigned long long>(first), static_cast<unsigned long long>(others));
    });
}

Object seekable(PyObject* self, const Call& call) {
    read_call(call, "seekable", nullptr, nullptr, 0, 0, 0);
    return Object::borrowed(open_reader(self).forward ? Py_False : Py_True);
}

PyMethodDef reader_methods[] = {
    method_def<read>("read", "read($self, offset, length)\n--\n\nRead and return bytes at an offset."),
    method_def<seekable>("seekable", "seekable($self)\n--\n\nReturn whether any offset can be read."),
    method_def<read_into>("read_into",
                          "read_into($self, offset, buf)\n--\n\nFill a buffer or a tensor, starting at an offset, and "
                          "return the number of bytes."),
    method_def<close_reader>("close", "close($self)\n--\n\nFree the reader."),
    refuse_pickle_def,
    end_of_methods,
};
PyGetSetDef reader_properties[] = {{"size", reader_size, nullptr, "The size of the plaintext in bytes.", nullptr},
                                   {"segments", reader_segments, nullptr,
                                    "The plaintext sizes of the first segment and of the others, in bytes.", nullptr},
                                   {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot reader_slots[] = {
    {Py_tp_doc, const_cast<char*>("Reader(source, keyset, associated_data=None, size=None, *, _own=False)\n--\n\n"
                                  "Random access to a sealed file, given as a path, a buffer, or a function (offset, "
                                  "buffer) and the file's size. Any number of threads may read at once.")},
    {Py_tp_new, reinterpret_cast<void*>(construct<ReaderObject, init_reader>)},
    {Py_tp_dealloc, reinterpret_cast<void*>(destruct<ReaderObject>)},
    {Py_tp_methods, reader_methods},
    {Py_tp_getset, reader_properties},
    {0, nullptr},
};
PyType_Spec reader_spec = {"warpaes.Reader", sizeof(ReaderObject), 0, Py_TPFLAGS_DEFAULT, reader_slots};

// ------------------------------------------------------------------------------------------------------- writer

struct WriterState {
    warpaes_writer* handle = nullptr;
    unsigned forks = 0;
    Callback callback;
    bool busy = false;

    WriterState() = default;
    WriterState(const WriterState&) = delete;
    WriterState& operator=(const WriterState&) = delete;
    ~WriterState() { close(); }
    void close() {
        if (forks == python::forks()) warpaes_writer_close(handle);
        handle = nullptr;
    }
};
using WriterObject = Instance<WriterState>;

int write_sink(void* user, const void* bytes, std::uint64_t length) {
    auto& callback = *static_cast<Callback*>(user);
    return callback.call([&](PyObject* function) {
        return lend(callback, const_cast<void*>(bytes), length, Lent::to_read, [&](PyObject* view) {
            Object(PyObject_CallFunctionObjArgs(function, view, nullptr));
            return length;
        });
    });
}

void init_writer(WriterObject& self, PyObject* args, PyObject* kwargs) {
    PyObject* sink_object = nullptr;
    PyObject* keyset = nullptr;
    PyObject* aad_object = nullptr;
    int overwrite = 0, own = 0;
    static const char* names[] = {"sink", "keyset", "associated_data", "overwrite", "_own", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "OO|Op$p", const_cast<char**>(names), &sink_object, &keyset,
                                    &aad_object, &overwrite, &own) == 0) {
        throw Raised();
    }
    WriterState& writer = self.state;
    writer.forks = forks();
    const KeysetUse keys(keyset);
    const View aad = optional_bytes(aad_object, "associated_data");
    warpaes_sink sink = WARPAES_SINK_INIT;
    Object path;
    if (PyUnicode_Check(sink_object)) {
        PyObject* encoded = nullptr;
        if (PyUnicode_FSConverter(sink_object, &encoded) == 0) throw Raised();
        path = Object(encoded);
        sink.path = PyBytes_AsString(path.get());
        sink.flags = overwrite != 0 ? static_cast<std::uint32_t>(WARPAES_FILE_OVERWRITE) : 0;
    } else {
        writer.callback.set(sink_object);
        if (own != 0) writer.callback.trust();
        sink.write = write_sink;
        sink.user = &writer.callback;
    }
    warpaes_engine* with = engine();
    writer.callback.check(
        unlocked([&] { return warpaes_writer_open(with, &sink, keys.get(), aad.data(), aad.size(), &writer.handle); }));
}

WriterState& open_writer(PyObject* self) {
    WriterState& writer = state_of<WriterState>(self);
    if (writer.handle == nullptr) raise(PyExc_ValueError, "I/O operation on a closed writer");
    check_process(writer.forks, "this writer");
    return writer;
}

Object write(PyObject* self, const Call& call) {
    const auto [data] = arguments(call, "write", {"data"});
    const View view(data, "data");
    WriterState& writer = open_writer(self);
    const Turn turn(writer.busy, "this writer");
    writer.callback.check(unlocked([&] { return warpaes_writer_write(writer.handle, view.data(), view.size()); }));
    return Object(PyLong_FromSize_t(view.size()));
}

Object finish(PyObject* self, const Call& call) {
    read_call(call, "finish", nullptr, nullptr, 0, 0, 0);
    WriterState& writer = open_writer(self);
    const Turn turn(writer.busy, "this writer");
    writer.callback.check(unlocked([&] { return warpaes_writer_finish(writer.handle); }));
    writer.close();
    return none();
}

Object abort(PyObject* self, const Call& call) {
    read_call(call, "abort", nullptr, nullptr, 0, 0, 0);
    WriterState& writer = state_of<WriterState>(self);
    const Turn turn(writer.busy, "this writer");
    writer.close();
    return none();
}

PyMethodDef writer_methods[] = {
    method_def<write>("write", "write($self, data)\n--\n\nWrite the next bytes of plaintext and return their number."),
    method_def<finish>(
        "finish", "finish($self)\n--\n\nComplete the file. A file at a path appears under its name at this point."),
    method_def<abort>("abort", "abort($self)\n--\n\nAbort the file. Nothing appears at the path."),
    refuse_pickle_def,
    end_of_methods,
};
PyType_Slot writer_slots[] = {
    {Py_tp_doc, const_cast<char*>(
                    "Writer(sink, keyset, associated_data=None, overwrite=False, *, _own=False)\n--\n\nWrites "
                    "a sealed file from front to back, to a path or to a function that receives the pieces in order.")},
    {Py_tp_new, reinterpret_cast<void*>(construct<WriterObject, init_writer>)},
    {Py_tp_dealloc, reinterpret_cast<void*>(destruct<WriterObject>)},
    {Py_tp_methods, writer_methods},
    {0, nullptr},
};
PyType_Spec writer_spec = {"warpaes.Writer", sizeof(WriterObject), 0, Py_TPFLAGS_DEFAULT, writer_slots};

Object inspect(PyObject*, const Call& call) {
    const auto [path_object, name] = arguments(call, "inspect", {"path", "template"}, 1);
    PyObject* encoded = nullptr;
    if (PyUnicode_FSConverter(path_object, &encoded) == 0) throw Raised();
    const Object path(encoded);
    const std::string text = name == nullptr || name == Py_None ? "" : to_text(name, "template");
    warpaes_file_info info = WARPAES_FILE_INFO_INIT;
    check(warpaes_file_inspect(PyBytes_AsString(path.get()), text.empty() ? nullptr : text.c_str(), &info));
    // These two formats keep the names that they had in version 0.2.
    const char* format = info.format == WARPAES_FORMAT_STREAMING_AEAD ? "streaming AEAD"
                         : info.format == WARPAES_FORMAT_OPENSSL_ENC  ? "openssl enc"
                                                                      : info.format_name;
    return Object(Py_BuildValue("{s:s,s:s,s:s,s:K,s:K,s:K,s:K}", "format", format, "format_name", info.format_name,
                                "template", info.template_name, "file_bytes",
                                static_cast<unsigned long long>(info.file_bytes), "header_bytes",
                                static_cast<unsigned long long>(info.header_bytes), "segment_bytes",
                                static_cast<unsigned long long>(info.segment_bytes), "segments",
                                static_cast<unsigned long long>(info.segments)));
}

int proceed(void* user, std::uint64_t, std::uint64_t) {
    return static_cast<Callback*>(user)->call([](PyObject* function) {
        const Object wanted(PyObject_CallNoArgs(function));
        const int truth = PyObject_IsTrue(wanted.get());
        check(truth);
        return truth == 0 ? 1 : 0;
    });
}

Object crypt_file(PyObject*, const Call& call) {
    const auto [direction, source, target, keyset, associated_data, threads, asked] = arguments(
        call, "_crypt_file", {"direction", "source", "target", "keyset", "associated_data", "threads", "proceed"});
    const KeysetUse keys(keyset);
    const View aad = optional_bytes(associated_data, "associated_data");
    Callback callback;
    callback.set(asked);
    warpaes_file_job job = WARPAES_FILE_JOB_INIT;
    job.direction = to_direction(direction);
    job.format = WARPAES_FORMAT_STREAMING_AEAD;
    // The hash covers the ciphertext, which is the output of an encryption and the input of a decryption.
    job.flags = job.direction == WARPAES_ENCRYPT ? WARPAES_FILE_SHA256 : WARPAES_FILE_SHA256_INPUT;
    job.input_fd = static_cast<std::int32_t>(to_u64(source, "source"));
    job.output_fd = static_cast<std::int32_t>(to_u64(target, "target"));
    job.keyset = keys.get();
    job.aad = aad.data();
    job.aad_len = aad.size();
    job.threads = static_cast<std::uint32_t>(to_u64(threads, "threads"));
    job.progress = proceed;
    job.progress_user = &callback;
    warpaes_engine* with = engine();
    warpaes_file_result result = WARPAES_FILE_RESULT_INIT;
    callback.check(unlocked([&] { return warpaes_file_run(with, &job, &result); }));
    return Object(Py_BuildValue("Ky#si", static_cast<unsigned long long>(result.bytes_written),
                                reinterpret_cast<const char*>(result.sha256),
                                static_cast<Py_ssize_t>(sizeof result.sha256), result.backend, result.device));
}

PyMethodDef file_functions[] = {
    method_def<crypt_file>("_crypt_file", nullptr),
    method_def<inspect>(
        "inspect",
        "inspect(path, template=None)\n--\n\nReturn the properties of a sealed file that can be read without a key."),
    end_of_methods,
};

}  // namespace

void add_files(PyObject* module) {
    add_keysets(module);
    loan_type = reinterpret_cast<PyTypeObject*>(Object(PyType_FromSpec(&loan_spec)).release());
    add_type(module, reader_spec);
    add_type(module, writer_spec);
    check(PyModule_AddFunctions(module, file_functions));
}

}  // namespace warpaes::python
