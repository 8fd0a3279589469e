// Wrappers for Python's C API, used by all files of the extension: owned references, conversion between C++ and Python
// exceptions, and arguments. The extension uses the limited API of 3.11, so one build works with all later versions.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>
#include <warpaes/files.h>
#include <warpaes/warpaes.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <utility>

namespace warpaes::python {

/// Thrown when a Python exception is set. guarded() catches it, and the exception propagates to Python.
struct Raised {};

/// Sets a Python exception with a formatted message and throws Raised.
[[noreturn]] void raise(PyObject* type, const char* format, ...);

/// An owned reference to a Python object.
class Object {
public:
    Object() = default;
    /// Takes ownership of a new reference. Throws Raised if `owned` is NULL, which means that a Python exception is
    /// set.
    explicit Object(PyObject* owned) : object_(owned) {
        if (owned == nullptr) throw Raised();
    }
    static Object borrowed(PyObject* object) { return Object(Py_NewRef(object)); }
    Object(Object&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Object& operator=(Object&& other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    ~Object() { Py_XDECREF(object_); }

    [[nodiscard]] PyObject* get() const noexcept { return object_; }
    [[nodiscard]] PyObject* release() noexcept { return std::exchange(object_, nullptr); }
    explicit operator bool() const noexcept { return object_ != nullptr; }

private:
    PyObject* object_ = nullptr;
};

inline Object none() {
    return Object::borrowed(Py_None);
}

/// Throws Raised if a call returned a negative number.
inline void check(int result) {
    if (result < 0) throw Raised();
}

/// The exception types of warpaes.exceptions. They are never freed.
struct Exceptions {
    PyObject* error;
    PyObject* invalid_tag;
    PyObject* invalid_signature;
    PyObject* invalid_unwrap;
    PyObject* already_finalized;
    PyObject* already_updated;
    PyObject* not_yet_finalized;
    PyObject* unsupported_algorithm;
    PyObject* format_error;
    PyObject* keyset_error;
};
extern Exceptions exceptions;

/// Raises the exception for a status other than WARPAES_OK, with the message `sentence` or this thread's last error.
[[noreturn]] void raise_status(warpaes_status status, const char* sentence = nullptr);
/// Sets the exception for a status without throwing.
void set_status_error(warpaes_status status, const char* sentence);

inline void check(warpaes_status status) {
    if (status != WARPAES_OK) raise_status(status);
}

/// Calls C++ code from a C function. If the code throws, sets a Python exception and returns `failed`.
template <typename Function, typename Result>
Result guarded(Result failed, const Function& function) noexcept {
    try {
        return function();
    } catch (const Raised&) {
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    return failed;
}

/// The arguments of a call in Python's vectorcall form: the positional values, then the keyword values.
struct Call {
    PyObject* const* values;
    Py_ssize_t count;
    PyObject* names;  ///< a tuple of keywords, or NULL
};

/// Sets `out[i]` to the argument `names[i]`, or leaves it NULL if the argument is absent. The first `required`
/// arguments must be present, and the last `by_name_only` arguments are keyword-only. Throws TypeError otherwise.
void read_call(const Call& call, const char* function, const char* const* names, PyObject** out, std::size_t count,
               std::size_t required, std::size_t by_name_only);

template <std::size_t count>
std::array<PyObject*, count> arguments(const Call& call, const char* function, const char* const (&names)[count],
                                       std::size_t required = count, std::size_t by_name_only = 0) {
    std::array<PyObject*, count> out = {};
    if (call.names == nullptr && call.count == static_cast<Py_ssize_t>(count) && by_name_only == 0) {
        for (std::size_t i = 0; i < count; ++i) out[i] = call.values[i];
    } else {
        read_call(call, function, names, out.data(), count, required, by_name_only);
    }
    return out;
}

/// Adapts a method `Object f(PyObject* self, const Call&)` to the C API.
template <auto function>
PyObject* method(PyObject* self, PyObject* const* values, Py_ssize_t count, PyObject* names) {
    return guarded(static_cast<PyObject*>(nullptr), [&] {
        return function(self, Call{values, count, names}).release();
    });
}
template <auto function>
PyMethodDef method_def(const char* name, const char* doc, int flags = 0) {
    return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(method<function>)),
            METH_FASTCALL | METH_KEYWORDS | flags, doc};
}

inline constexpr PyMethodDef end_of_methods = {nullptr, nullptr, 0, nullptr};

/// Adapts a constructor `void f(Type& self, PyObject* args, PyObject* kwargs)` to Py_tp_new of a heap type whose
/// objects begin with PyObject_HEAD.
template <typename Type, auto function>
PyObject* construct(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    return guarded(static_cast<PyObject*>(nullptr), [&] {
        const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
        Object self(allocate(type, 0));
        new (&reinterpret_cast<Type*>(self.get())->state) decltype(Type::state)();
        function(*reinterpret_cast<Type*>(self.get()), args, kwargs);
        return self.release();
    });
}
template <typename Type>
void destruct(PyObject* self) {
    using State = decltype(Type::state);
    PyTypeObject* type = Py_TYPE(self);
    reinterpret_cast<Type*>(self)->state.~State();
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

/// An object of the extension: Python's object header and the C++ state.
template <typename State>
struct Instance {
    PyObject_HEAD State state;
};

template <typename State>
State& state_of(PyObject* self) {
    return reinterpret_cast<Instance<State>*>(self)->state;
}

/// Creates a type and adds it to the module under the last part of its name.
Object add_type(PyObject* module, PyType_Spec& spec);

/// Work on this many bytes or more releases the GIL. For less data, releasing and reacquiring the GIL costs more than
/// the work.
inline constexpr std::size_t long_work = std::size_t{16} << 10;

/// Reacquires the GIL. During interpreter shutdown, acquiring the GIL would end a daemon thread in the middle of C++
/// code, so such a thread blocks here until the process exits.
void lock_again(PyThreadState* thread);
/// Acquires the GIL in a thread of the library. Returns false during interpreter shutdown, when Python must not be
/// called.
bool lock_for_callback(PyGILState_STATE& state);

/// Calls a function without the GIL, and reacquires the GIL afterwards, even after an exception.
template <typename Function>
auto unlocked(const Function& function) {
    PyThreadState* thread = PyEval_SaveThread();
    const auto call = [&] {
        try {
            return function();
        } catch (...) {
            lock_again(thread);
            throw;
        }
    };
    const auto result = call();
    lock_again(thread);
    return result;
}
template <typename Function>
auto unlocked_if(bool is_long, const Function& function) {
    return is_long ? unlocked(function) : function();
}

/// One thread's use of an object without the GIL. Another thread that tries to use the object during this time gets an
/// Error.
class Turn {
public:
    Turn(bool& busy, const char* thing) : busy_(busy) {
        if (busy) raise(exceptions.error, "another thread is using %s; only one thread at a time may use it", thing);
        busy = true;
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { busy_ = false; }

private:
    bool& busy_;
};

/// Registers an exit handler that runs before interpreter shutdown.
void watch_end(PyObject* module);

/// These functions convert an argument. They throw ValueError or TypeError, with `name` in the error message.
std::uint64_t to_u64(PyObject* object, const char* name);
std::string to_text(PyObject* object, const char* name);
/// Parses the words "encrypt" and "decrypt".
warpaes_direction to_direction(PyObject* object);

}  // namespace warpaes::python
