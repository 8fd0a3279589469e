// What every file of the extension uses of Python's C API: the limited one of 3.11, so that one build serves all later
// versions. References that release themselves, exceptions that cross C++ as one type, arguments, and the guard.
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

/// Thrown where a Python exception is set; the guard hands it on.
struct Raised {};

[[noreturn]] void raise(PyObject* type, const char* format, ...);

/// A reference of one's own.
class Object {
public:
    Object() = default;
    /// Takes over what a call has returned; NULL, with an exception set, is thrown.
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

/// Throws if a call has returned a negative number.
inline void check(int result) {
    if (result < 0) throw Raised();
}

/// The exceptions of warpaes.exceptions. They live as long as the process.
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

/// The exception for a status that is not WARPAES_OK, with the thread's sentence, or with `sentence`.
[[noreturn]] void raise_status(warpaes_status status, const char* sentence = nullptr);
/// Sets it without throwing.
void set_status_error(warpaes_status status, const char* sentence);

inline void check(warpaes_status status) {
    if (status != WARPAES_OK) raise_status(status);
}

/// Calls C++ from a C function: what is thrown becomes Python's exception.
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

/// The arguments of a call as Python hands them over, by position and by name.
struct Call {
    PyObject* const* values;
    Py_ssize_t count;
    PyObject* names;  ///< a tuple, or NULL
};

/// `out[i]` is the argument `names[i]`, or NULL; the first `required` must be there, and the last `by_name_only` have
/// no position.
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

/// A method `Object f(PyObject* self, const Call&)` as the C API wants it.
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

/// A constructor `void f(Type& self, const Call&)` of a heap type whose objects begin with PyObject_HEAD.
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

/// An object of the extension: the head, and what it is.
template <typename State>
struct Instance {
    PyObject_HEAD State state;
};

template <typename State>
State& state_of(PyObject* self) {
    return reinterpret_cast<Instance<State>*>(self)->state;
}

/// Makes a type and puts it into the module.
Object add_type(PyObject* module, PyType_Spec& spec);

/// Work without the interpreter's lock if it is long: giving it up and getting it back costs more than a short message.
inline constexpr std::size_t long_work = std::size_t{16} << 10;

/// Takes the interpreter's lock back. Once the interpreter ends, a thread that it does not wait for would be ended
/// amid C++ by asking for it: it stays here instead until the process is gone.
void lock_again(PyThreadState* thread);
/// The same for a thread of the library's; false if it is too late to call Python.
bool lock_for_callback(PyGILState_STATE& state);

template <typename Function>
auto unlocked(const Function& function) {
    PyThreadState* thread = PyEval_SaveThread();
    const auto result = function();
    lock_again(thread);
    return result;
}
template <typename Function>
auto unlocked_if(bool is_long, const Function& function) {
    return is_long ? unlocked(function) : function();
}

/// While one thread works on something without the interpreter's lock, others are told so instead of getting at it.
class Turn {
public:
    Turn(bool& busy, const char* thing) : busy_(busy) {
        if (busy) raise(exceptions.error, "another thread is using %s: one at a time", thing);
        busy = true;
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { busy_ = false; }

private:
    bool& busy_;
};

/// Notices when the interpreter ends.
void watch_end(PyObject* module);

/// Integers and text of the caller.
std::uint64_t to_u64(PyObject* object, const char* name);
std::string to_text(PyObject* object, const char* name);
/// Of the words "encrypt" and "decrypt".
warpaes_direction to_direction(PyObject* object);

}  // namespace warpaes::python
