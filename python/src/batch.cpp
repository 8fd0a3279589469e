// Batches of messages: lists of buffers, or one buffer with offsets and lengths. Callers block until a batch has
// finished, or await it.
//
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <vector>

#include "aead.hpp"
#include "module.hpp"
#include "pickles.hpp"

namespace warpaes::python {
namespace {

struct BatchState {
    warpaes_batch* handle = nullptr;
    unsigned forks = 0;
    std::vector<View> views;  ///< keep the memory that the entries point to alive until the batch has finished
    Object owner;             ///< the AEAD object, which owns the key
    Object outputs;           ///< a list of bytes; empty if the results go to the caller's buffer
    std::vector<warpaes_batch_entry> entries;
    std::vector<warpaes_entry_result> results;
    std::vector<std::size_t> too_short;  ///< messages shorter than a tag, ascending; they have no entry

    BatchState() = default;
    BatchState(const BatchState&) = delete;
    BatchState& operator=(const BatchState&) = delete;
    ~BatchState() {
        if (handle == nullptr || forks != python::forks()) return;
        warpaes_batch_cancel(handle);
        unlocked([this] {
            warpaes_batch_destroy(handle);
            return 0;
        });
    }
};
using BatchObject = Instance<BatchState>;

PyTypeObject* batch_type;

Object new_batch(PyObject* aead) {
    const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(batch_type, Py_tp_alloc));
    Object made(allocate(batch_type, 0));
    BatchState& batch = *new (&state_of<BatchState>(made.get())) BatchState();
    batch.forks = forks();
    batch.owner = Object::borrowed(aead);
    return made;
}

bool is_list(PyObject* object) {
    return PyList_Check(object) || PyTuple_Check(object);
}

Py_ssize_t length_of(PyObject* list) {
    const Py_ssize_t length = PySequence_Size(list);
    if (length < 0) throw Raised();
    return length;
}

/// One operand of every message, such as its nonce. It may be absent, a single buffer for all messages, a list with one
/// entry for each message, or one buffer that contains operands of equal length back to back.
class Parts {
public:
    Parts(BatchState& batch, PyObject* object, const char* name, std::size_t count, bool one_for_all)
        : list_(object != nullptr && is_list(object)) {
        if (object == nullptr || object == Py_None) return;
        if (!list_) {
            batch.views.push_back(host_view(object, name));
            at_ = batch.views.back().bytes();
            size_ = batch.views.back().size();
            if (!one_for_all) {
                if (count == 0 ? size_ != 0 : size_ % count != 0) {
                    raise(PyExc_ValueError, "%s: %zu bytes cannot be divided equally among %zu messages", name, size_,
                          count);
                }
                size_ = count == 0 ? 0 : size_ / count;
                step_ = size_;
            }
            return;
        }
        if (static_cast<std::size_t>(length_of(object)) != count) {
            raise(PyExc_ValueError, "%s: must have one entry for each message, but has %zd entries for %zu messages",
                  name, length_of(object), count);
        }
        parts_.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
            const Object item(PySequence_GetItem(object, static_cast<Py_ssize_t>(i)));
            batch.views.push_back(host_view(item.get(), name));
            parts_.push_back({batch.views.back().data(), batch.views.back().size()});
        }
    }
    [[nodiscard]] warpaes_part operator[](std::size_t i) const {
        return list_ ? parts_[i] : warpaes_part{at_ == nullptr ? nullptr : at_ + i * step_, size_};
    }

private:
    bool list_;
    std::vector<warpaes_part> parts_;
    const std::uint8_t* at_ = nullptr;
    std::size_t size_ = 0;
    std::size_t step_ = 0;
};

warpaes_elements at(const void* pointer) {
    warpaes_elements elements = {};
    elements.at.pointer = const_cast<void*>(pointer);
    return elements;
}

warpaes_batch_entry entry_of(const Aead& aead, warpaes_direction direction, const warpaes_part& nonce,
                             const warpaes_part& aad, const void* input, void* output, const void* tag,
                             std::uint64_t length) {
    check_nonce(aead, nonce.length);
    check_length(aead, nonce.length, length);
    warpaes_batch_entry entry = {};
    entry.mode = aead.kind->mode;
    entry.direction = direction;
    entry.count = 1;
    entry.length = length;
    entry.key = aead.key.get();
    entry.input = at(input);
    entry.output = at(output);
    entry.iv = at(nonce.data);
    entry.iv_len = static_cast<std::uint32_t>(nonce.length);
    entry.aad = at(aad.data);
    entry.aad_len = aad.length;
    entry.tag = at(tag);
    entry.tag_len = static_cast<std::uint32_t>(aead.tag_bytes);
    return entry;
}

void submit(BatchState& batch, bool check_nonces) {
    batch.results.resize(batch.entries.size());
    warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
    options.flags = check_nonces ? static_cast<std::uint32_t>(WARPAES_BATCH_CHECK_NONCES) : 0;
    options.results = batch.results.data();
    check(warpaes_batch_submit(engine(), &options, batch.entries.data(), batch.entries.size(), &batch.handle));
}

bool truth(PyObject* object, bool unless_said) {
    if (object == nullptr) return unless_said;
    const int answer = PyObject_IsTrue(object);
    check(answer);
    return answer != 0;
}

/// Submits a list of messages and returns the batch.
Object of_list(PyObject* self, warpaes_direction direction, PyObject* nonces_object, PyObject* data_object,
               PyObject* aad_object, bool check_nonces) {
    const Aead& aead = state_of<Aead>(self);
    if (!is_list(data_object))
        raise(PyExc_TypeError, "data must be a list of buffers; submit_into accepts a single buffer");
    Object made = new_batch(self);
    BatchState& batch = state_of<BatchState>(made.get());
    const auto count = static_cast<std::size_t>(length_of(data_object));
    batch.views.reserve(3 * count + 3);
    batch.entries.reserve(count);
    const Parts data(batch, data_object, "data", count, false);
    const Parts nonces(batch, nonces_object, "nonces", count, false);
    const Parts aad(batch, aad_object, "associated_data", count, true);
    const bool encrypts = direction == WARPAES_ENCRYPT;
    batch.outputs = Object(PyList_New(static_cast<Py_ssize_t>(count)));
    for (std::size_t i = 0; i < count; ++i) {
        const auto* input = static_cast<const std::uint8_t*>(data[i].data);
        std::size_t size = data[i].length;
        if (!encrypts && size < aead.tag_bytes) {
            check_nonce(aead, nonces[i].length);
            batch.too_short.push_back(i);
            check(PyList_SetItem(batch.outputs.get(), static_cast<Py_ssize_t>(i), none().release()));
            continue;
        }
        if (!encrypts) size -= aead.tag_bytes;
        Object out = new_bytes(encrypts ? size + aead.tag_bytes : size);
        batch.entries.push_back(entry_of(aead, direction, nonces[i], aad[i], input, bytes_of(out),
                                         encrypts ? bytes_of(out) + size : input + size, size));
        check(PyList_SetItem(batch.outputs.get(), static_cast<Py_ssize_t>(i), out.release()));
    }
    submit(batch, check_nonces && encrypts);
    return made;
}

/// A buffer of 64-bit integers, such as a NumPy array of int64 or uint64.
struct Numbers {
    Numbers(BatchState& batch, PyObject* object, const char* name) {
        batch.views.push_back(host_view(object, name));
        const View& view = batch.views.back();
        if (view.size() % 8 != 0) raise(PyExc_ValueError, "%s must contain 64-bit integers", name);
        bytes_ = view.bytes();
        count = view.size() / 8;
    }
    /// The buffer need not be aligned.
    [[nodiscard]] std::uint64_t operator[](std::size_t i) const {
        std::uint64_t number = 0;
        std::memcpy(&number, bytes_ + 8 * i, 8);
        return number;
    }
    std::size_t count;

private:
    const std::uint8_t* bytes_;
};

Object submit_into(PyObject* self, const Call& call) {
    const auto [direction_object, nonces_object, data_object, offsets_object, lengths_object, buf, tags_object,
                aad_object, check_object] = arguments(call, "submit_into",
                                                      {"direction", "nonces", "data", "offsets", "lengths", "buf",
                                                       "tags", "associated_data", "check_nonces"},
                                                      7, 1);
    const bool encrypts = to_direction(direction_object) == WARPAES_ENCRYPT;
    const Aead& aead = state_of<Aead>(self);
    Object made = new_batch(self);
    BatchState& batch = state_of<BatchState>(made.get());
    batch.views.reserve(8);
    const Numbers offsets(batch, offsets_object, "offsets");
    const Numbers lengths(batch, lengths_object, "lengths");
    const std::size_t count = offsets.count;
    if (lengths.count != count) raise(PyExc_ValueError, "offsets and lengths must have the same number of elements");
    View data(data_object, "data");
    View out(buf, "buf", Access::write);
    View tags = host_view(tags_object, "tags", encrypts ? Access::write : Access::read);
    if (out.size() != data.size()) raise(PyExc_ValueError, "buffer must be %zu bytes", data.size());
    if (tags.size() != count * aead.tag_bytes)
        raise(PyExc_ValueError, "tags must be %zu bytes", count * aead.tag_bytes);
    const Parts nonces(batch, nonces_object, "nonces", count, false);
    const Parts aad(batch, aad_object, "associated_data", count, true);
    batch.entries.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t offset = offsets[i];
        const std::uint64_t length = lengths[i];
        if (offset > data.size() || length > data.size() - offset) {
            raise(PyExc_ValueError, "message %zu extends past the end of data", i);
        }
        batch.entries.push_back(entry_of(aead, encrypts ? WARPAES_ENCRYPT : WARPAES_DECRYPT, nonces[i], aad[i],
                                         data.bytes() + offset, out.bytes() + offset, tags.bytes() + i * aead.tag_bytes,
                                         length));
    }
    const bool check_nonces = truth(check_object, true);
    batch.views.reserve(batch.views.size() + 3);  // nothing may fail after the submission
    submit(batch, encrypts && check_nonces);
    // The batch owns the views. Moving a view does not move the memory that the entries point to.
    for (View* view : {&data, &out, &tags}) batch.views.push_back(std::move(*view));
    return made;
}

/// Enqueues the messages in a device buffer on the caller's stream. Message i uses the key of `ciphers[i]`.
Object enqueue_into(PyObject* type, const Call& call) {
    const auto [direction_object, ciphers, nonces_object, data_object, offsets_object, lengths_object, buf, tags_object,
                aad_object, statuses_object, stream, host_object, copied_object, more_object] =
        arguments(call, "enqueue_into",
                  {"direction", "ciphers", "nonces", "data", "offsets", "lengths", "buf", "tags", "associated_data",
                   "statuses", "stream", "host", "first_copied", "more"},
                  8, 5);
    const warpaes_direction direction = to_direction(direction_object);
    const bool encrypts = direction == WARPAES_ENCRYPT;
    BatchState batch;
    batch.views.reserve(8);
    const Numbers offsets(batch, offsets_object, "offsets");
    const Numbers lengths(batch, lengths_object, "lengths");
    const std::size_t count = offsets.count;
    if (lengths.count != count) raise(PyExc_ValueError, "offsets and lengths must have the same number of elements");
    if (!is_list(ciphers) || static_cast<std::size_t>(length_of(ciphers)) != count) {
        raise(PyExc_ValueError, "ciphers must be a list with one object for each message");
    }
    const bool has_host = host_object != nullptr && host_object != Py_None;
    const View data(data_object, "data", has_host && !encrypts ? Access::write : Access::read);
    const View out(buf, "buf", Access::write);
    const View tags(tags_object, "tags", encrypts ? Access::write : Access::read);
    const View host = has_host ? host_view(host_object, "host", encrypts ? Access::write : Access::read) : View();
    const bool has_statuses = statuses_object != nullptr && statuses_object != Py_None;
    const View statuses = has_statuses ? View(statuses_object, "statuses", Access::write) : View();
    if (out.size() != data.size()) raise(PyExc_ValueError, "buffer must be %zu bytes", data.size());
    if (has_host && host.size() != data.size()) raise(PyExc_ValueError, "host must be %zu bytes", data.size());
    if (has_statuses == encrypts || (has_statuses && statuses.size() != count * sizeof(warpaes_status))) {
        raise(PyExc_ValueError,
              "statuses must be one 32-bit integer for each message of a decryption, and None for an encryption");
    }
    const Place place = place_of(data, out, stream, {&tags, &statuses});
    if (!place.device || (has_statuses && !statuses.on_device()) || (encrypts && !tags.on_device())) {
        raise(PyExc_ValueError,
              "data, statuses, and the tags of an encryption must be in device memory; for data in host memory, use "
              "submit_into");
    }
    const Parts nonces(batch, nonces_object, "nonces", count, false);
    const Parts aad(batch, aad_object, "associated_data", count, true);
    batch.entries.reserve(count);
    std::vector<Object> kept;  // a subclass of list may create an object on each access
    kept.reserve(count);
    std::vector<void*> copies;
    if (has_host) copies.reserve(count);
    const bool has_first = copied_object != nullptr && copied_object != Py_None;
    const std::uint64_t first_copied = has_first ? to_u64(copied_object, "first_copied") : 0;
    for (std::size_t i = 0; i < count; ++i) {
        const Object& cipher = kept.emplace_back(PySequence_GetItem(ciphers, static_cast<Py_ssize_t>(i)));
        if (reinterpret_cast<PyObject*>(Py_TYPE(cipher.get())) != type) {
            raise(PyExc_TypeError, "ciphers must contain only objects of this class");
        }
        const Aead& aead = state_of<Aead>(cipher.get());
        const std::uint64_t offset = offsets[i], length = lengths[i];
        if (offset > data.size() || length > data.size() - offset) {
            raise(PyExc_ValueError, "message %zu extends past the end of data", i);
        }
        if (tags.size() != count * aead.tag_bytes) {
            raise(PyExc_ValueError, "tags must be %zu bytes", count * aead.tag_bytes);
        }
        batch.entries.push_back(entry_of(aead, direction, nonces[i], aad[i], data.bytes() + offset,
                                         out.bytes() + offset, tags.bytes() + i * aead.tag_bytes, length));
        if (has_statuses) batch.entries.back().statuses = static_cast<warpaes_status*>(statuses.data()) + i;
        if (has_host) copies.push_back(i < first_copied ? nullptr : host.bytes() + offset);
    }
    warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
    if (has_host) options.copies = copies.data();
    if (truth(more_object, false)) options.flags = WARPAES_BATCH_MORE_COPIES;
    check(warpaes_batch_enqueue(engine(), &options, batch.entries.data(), count, place.stream));
    return none();
}

BatchState& live_batch(PyObject* self) {
    BatchState& batch = state_of<BatchState>(self);
    check_process(batch.forks, "this batch");
    return batch;
}

/// Releases the caller's buffers after the batch has finished. Releasing a buffer can run Python code, so the batch's
/// list is emptied first.
void release_views(BatchState& batch) {
    const std::vector<View> views = std::exchange(batch.views, {});
}

/// Waits without the GIL. Returns false if the batch does not finish in time.
bool wait_for_batch(BatchState& batch, std::uint64_t milliseconds) {
    if (unlocked([&] { return warpaes_batch_wait(batch.handle, milliseconds); }) == WARPAES_ERROR_TIMEOUT) return false;
    release_views(batch);
    return true;
}

/// Returns an exception object for a status.
Object exception_of(warpaes_status status, const std::string& text) {
    set_status_error(status, text.c_str());
    PyObject* type = nullptr;
    PyObject* value = nullptr;
    PyObject* traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return Object(value);
}

/// Returns the exception of entry `entry`, which is message `message` in the caller's list.
Object exception_of(const BatchState& batch, std::size_t entry, std::size_t message) {
    const warpaes_status status = batch.results[entry].status;
    const char* sentence = warpaes_batch_entry_error(batch.handle, entry);
    return exception_of(status, "message " + std::to_string(message) + ": " +
                                    (sentence[0] != '\0' ? sentence : warpaes_status_message(status)));
}

/// Returns a new list of the results of a finished batch. Raises the first exception unless `return_exceptions` is set.
Object outcome(const BatchState& batch, bool return_exceptions) {
    const std::size_t count = batch.results.size() + batch.too_short.size();
    Object list(PyList_New(static_cast<Py_ssize_t>(count)));
    auto too_short = batch.too_short.begin();
    for (std::size_t i = 0, entry = 0; i < count; ++i) {
        Object item;
        bool failed = true;
        if (too_short != batch.too_short.end() && *too_short == i) {
            ++too_short;
            item =
                exception_of(WARPAES_ERROR_AUTHENTICATION, "message " + std::to_string(i) + " is shorter than a tag");
        } else if (batch.results[entry].status != WARPAES_OK) {
            item = exception_of(batch, entry++, i);
        } else {
            ++entry;
            failed = false;
            item = batch.outputs ? Object(PySequence_GetItem(batch.outputs.get(), static_cast<Py_ssize_t>(i))) : none();
        }
        if (failed && !return_exceptions) {
            PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(item.get())), item.get());
            throw Raised();
        }
        check(PyList_SetItem(list.get(), static_cast<Py_ssize_t>(i), item.release()));
    }
    return list;
}

Object at_once(PyObject* self, const Call& call, const char* function, warpaes_direction direction) {
    const auto [nonces, data, aad, return_exceptions, check_nonces] =
        arguments(call, function, {"nonces", "data", "associated_data", "return_exceptions", "check_nonces"}, 2, 2);
    const Object made = of_list(self, direction, nonces, data, aad, truth(check_nonces, true));
    BatchState& batch = state_of<BatchState>(made.get());
    wait_for_batch(batch, WARPAES_UNKNOWN);
    return outcome(batch, truth(return_exceptions, false));
}

Object submit_list(PyObject* self, const Call& call) {
    const auto [direction, nonces, data, aad, check_nonces] =
        arguments(call, "submit", {"direction", "nonces", "data", "associated_data", "check_nonces"}, 3, 1);
    return of_list(self, to_direction(direction), nonces, data, aad, truth(check_nonces, true));
}

Object done(PyObject* self, const Call& call) {
    read_call(call, "done", nullptr, nullptr, 0, 0, 0);
    BatchState& batch = live_batch(self);
    const bool finished = warpaes_batch_poll(batch.handle) != 0;
    if (finished) release_views(batch);
    return Object(PyBool_FromLong(finished ? 1 : 0));
}

Object fileno(PyObject* self, const Call& call) {
    read_call(call, "fileno", nullptr, nullptr, 0, 0, 0);
    return Object(PyLong_FromLong(warpaes_batch_fd(live_batch(self).handle)));
}

Object result(PyObject* self, const Call& call) {
    const auto [timeout, return_exceptions] = arguments(call, "result", {"timeout", "return_exceptions"}, 0, 1);
    BatchState& batch = live_batch(self);
    std::uint64_t milliseconds = WARPAES_UNKNOWN;
    if (timeout != nullptr && timeout != Py_None) {
        const double seconds = PyFloat_AsDouble(timeout);
        if (seconds == -1.0 && PyErr_Occurred() != nullptr) throw Raised();
        if (std::isnan(seconds)) raise(PyExc_ValueError, "timeout must be a number of seconds, not NaN");
        constexpr double most = 1e15;  // a longer timeout means no limit, so the conversion cannot overflow
        if (seconds < most) milliseconds = seconds <= 0 ? 0 : static_cast<std::uint64_t>(seconds * 1000);
    }
    if (!wait_for_batch(batch, milliseconds))
        raise(PyExc_TimeoutError, "the batch has not finished in time; call result() again");
    return outcome(batch, truth(return_exceptions, false));
}

Object cancel(PyObject* self, const Call& call) {
    read_call(call, "cancel", nullptr, nullptr, 0, 0, 0);
    BatchState& batch = live_batch(self);
    warpaes_batch_cancel(batch.handle);
    if (warpaes_batch_poll(batch.handle) != 0) release_views(batch);
    return none();
}

PyObject* await_batch(PyObject* self) {
    return guarded(static_cast<PyObject*>(nullptr), [&] {
        const Object module(PyImport_ImportModule("warpaes._asyncio"));
        const Object coroutine(PyObject_CallMethod(module.get(), "wait", "O", self));
        return PyObject_CallMethod(coroutine.get(), "__await__", nullptr);
    });
}

PyMethodDef batch_methods[] = {
    method_def<done>("done", "done($self)\n--\n\nReturn whether the batch has finished."),
    method_def<fileno>("fileno",
                       "fileno($self)\n--\n\nReturn a descriptor that becomes readable when the batch has finished."),
    method_def<result>("result",
                       "result($self, timeout=None, *, return_exceptions=False)\n--\n\nWait for the batch, at most "
                       "`timeout` seconds. Return a list of bytes, or of None for messages whose output is a buffer. "
                       "Raise the first exception, or put each exception into the list if return_exceptions is true."),
    method_def<cancel>("cancel", "cancel($self)\n--\n\nCancel the messages that have not been started."),
    refuse_pickle_def,
    end_of_methods,
};
PyType_Slot batch_slots[] = {
    {Py_tp_doc, const_cast<char*>("A batch of messages in flight, which can be waited for or awaited.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(destruct<BatchObject>)},
    {Py_tp_methods, batch_methods},
    {Py_am_await, reinterpret_cast<void*>(await_batch)},
    {0, nullptr},
};
PyType_Spec batch_spec = {"warpaes.aead.Batch", sizeof(BatchObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, batch_slots};

}  // namespace

Object encrypt_batch(PyObject* self, const Call& call) {
    return at_once(self, call, "encrypt_batch", WARPAES_ENCRYPT);
}
Object decrypt_batch(PyObject* self, const Call& call) {
    return at_once(self, call, "decrypt_batch", WARPAES_DECRYPT);
}
Object submit_batch(PyObject* self, const Call& call) {
    return submit_list(self, call);
}
Object submit_batch_into(PyObject* self, const Call& call) {
    return submit_into(self, call);
}
Object enqueue_batch_into(PyObject* type, const Call& call) {
    return enqueue_into(type, call);
}

void add_batches(PyObject* module) {
    batch_type = reinterpret_cast<PyTypeObject*>(add_type(module, batch_spec).release());
}

}  // namespace warpaes::python
