// SPDX-License-Identifier: Apache-2.0
#include "python.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <thread>

namespace warpaes::python {

Exceptions exceptions;

void raise(PyObject* type, const char* format, ...) {
    va_list list;
    va_start(list, format);
    PyErr_FormatV(type, format, list);
    va_end(list);
    throw Raised();
}

namespace {

PyObject* exception_type_of(warpaes_status status) {
    switch (status) {
    case WARPAES_ERROR_ARGUMENT:
    case WARPAES_ERROR_KEY_LENGTH:
    case WARPAES_ERROR_IV_LENGTH:
    case WARPAES_ERROR_DATA_LENGTH:
    case WARPAES_ERROR_PADDING:
    case WARPAES_ERROR_BUFFER_TOO_SMALL:
    case WARPAES_ERROR_OVERLAP:
    case WARPAES_ERROR_RANGE:
    case WARPAES_ERROR_IV_REUSED:
        return PyExc_ValueError;
    case WARPAES_ERROR_OUT_OF_MEMORY:
    case WARPAES_ERROR_DEVICE_MEMORY:
        return PyExc_MemoryError;
    case WARPAES_ERROR_NOT_FOUND:
        return PyExc_FileNotFoundError;
    case WARPAES_ERROR_EXISTS:
        return PyExc_FileExistsError;
    case WARPAES_ERROR_SAME_FILE:
    case WARPAES_ERROR_READ:
    case WARPAES_ERROR_WRITE:
        return PyExc_OSError;
    case WARPAES_ERROR_FORMAT:
        return exceptions.format_error;
    case WARPAES_ERROR_AUTHENTICATION:
    case WARPAES_ERROR_HOLES:
        return exceptions.invalid_tag;
    case WARPAES_ERROR_KEYSET:
        return exceptions.keyset_error;
    case WARPAES_ERROR_TIMEOUT:
        return PyExc_TimeoutError;
    case WARPAES_OK:
    case WARPAES_ERROR_INTERNAL:
    case WARPAES_ERROR_BACKEND:
    case WARPAES_ERROR_DEVICE:
    case WARPAES_ERROR_STATE:
    case WARPAES_ERROR_CANCELLED:
        break;
    }
    return exceptions.error;
}

/// Returns the errno of a status whose exception is a subclass of OSError, or 0 for all other statuses.
int errno_of(warpaes_status status) {
    switch (status) {
    case WARPAES_ERROR_NOT_FOUND:
        return ENOENT;
    case WARPAES_ERROR_EXISTS:
        return EEXIST;
    default:
        return 0;
    }
}

}  // namespace

void set_status_error(warpaes_status status, const char* sentence) {
    PyObject* type = exception_type_of(status);
    if (const int number = errno_of(status); number != 0) {
        PyObject* arguments = Py_BuildValue("(is)", number, sentence);
        if (arguments != nullptr) PyErr_SetObject(type, arguments);
        Py_XDECREF(arguments);
    } else {
        PyErr_SetString(type, sentence);
    }
}

void raise_status(warpaes_status status, const char* sentence) {
    if (sentence == nullptr) sentence = warpaes_last_error();
    set_status_error(status, sentence[0] != '\0' ? sentence : warpaes_status_message(status));
    throw Raised();
}

void read_call(const Call& call, const char* function, const char* const* names, PyObject** out, std::size_t count,
               std::size_t required, std::size_t by_name_only) {
    const auto positions = static_cast<Py_ssize_t>(count - by_name_only);
    if (call.count > positions) {
        raise(PyExc_TypeError, "%s() takes %zd positional arguments but %zd were given", function, positions,
              call.count);
    }
    for (Py_ssize_t i = 0; i < call.count; ++i) out[i] = call.values[i];
    const Py_ssize_t named = call.names != nullptr ? PyTuple_Size(call.names) : 0;
    for (Py_ssize_t i = 0; i < named; ++i) {
        PyObject* name = PyTuple_GetItem(call.names, i);
        std::size_t at = 0;
        while (at < count && PyUnicode_CompareWithASCIIString(name, names[at]) != 0) ++at;
        if (at == count) raise(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", function, name);
        if (out[at] != nullptr) raise(PyExc_TypeError, "%s() got multiple values for argument '%U'", function, name);
        out[at] = call.values[call.count + i];
    }
    for (std::size_t i = 0; i < required; ++i) {
        if (out[i] == nullptr) raise(PyExc_TypeError, "%s() missing required argument: '%s'", function, names[i]);
    }
}

Object add_type(PyObject* module, PyType_Spec& spec) {
    Object type(PyType_FromModuleAndSpec(module, &spec, nullptr));
    const char* name = std::strrchr(spec.name, '.') + 1;
    check(PyModule_AddObjectRef(module, name, type.get()));
    return type;
}

namespace {

std::atomic<bool> ending{false};
std::atomic<unsigned> waiting{0};  ///< number of threads that are about to acquire the GIL
std::thread::id ending_thread;

/// Returns whether this thread may acquire the GIL. If so, the thread is counted in `waiting`.
bool may_lock() {
    ++waiting;
    if (!ending.load() || std::this_thread::get_id() == ending_thread) return true;
    --waiting;
    return false;
}

/// Runs before interpreter shutdown. Waits until the threads that are already waiting for the GIL have acquired it.
/// Later threads do not try to acquire it.
Object at_end(PyObject*, const Call&) {
    ending_thread = std::this_thread::get_id();
    ending.store(true);
    while (waiting.load() != 0) {
        PyThreadState* thread = PyEval_SaveThread();
        usleep(100);
        PyEval_RestoreThread(thread);
    }
    return none();
}

}  // namespace

void lock_again(PyThreadState* thread) {
    while (!may_lock()) pause();
    PyEval_RestoreThread(thread);
    --waiting;
}

bool lock_for_callback(PyGILState_STATE& state) {
    if (!may_lock()) return false;
    state = PyGILState_Ensure();
    --waiting;
    return true;
}

void watch_end(PyObject* module) {
    static PyMethodDef function = method_def<at_end>("_at_end", nullptr);
    const Object callback(PyCFunction_NewEx(&function, module, nullptr));
    const Object atexit(PyImport_ImportModule("atexit"));
    const Object registered(PyObject_CallMethod(atexit.get(), "register", "O", callback.get()));
}

std::uint64_t to_u64(PyObject* object, const char* name) {
    const Object number(PyNumber_Index(object));
    const unsigned long long value = PyLong_AsUnsignedLongLong(number.get());
    if (value == static_cast<unsigned long long>(-1) && PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        raise(PyExc_ValueError, "%s must be between 0 and 2^64 - 1, not %S", name, number.get());
    }
    return value;
}

std::string to_text(PyObject* object, const char* name) {
    if (!PyUnicode_Check(object)) raise(PyExc_TypeError, "%s must be a str", name);
    Py_ssize_t length = 0;
    const char* text = PyUnicode_AsUTF8AndSize(object, &length);
    if (text == nullptr) throw Raised();
    return {text, static_cast<std::size_t>(length)};
}

warpaes_direction to_direction(PyObject* object) {
    const std::string word = to_text(object, "direction");
    if (word != "encrypt" && word != "decrypt") raise(PyExc_ValueError, "direction must be 'encrypt' or 'decrypt'");
    return word == "encrypt" ? WARPAES_ENCRYPT : WARPAES_DECRYPT;
}

}  // namespace warpaes::python
