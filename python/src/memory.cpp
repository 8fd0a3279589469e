// Memory allocated by the library: page-locked host memory, which GPUs copy to and from at full speed, or device
// memory.
//
// SPDX-License-Identifier: Apache-2.0
#include "message.hpp"
#include "module.hpp"
#include "pickles.hpp"

namespace warpaes::python {
namespace {

struct MemoryState {
    void* data = nullptr;
    std::uint64_t size = 0;
    bool device = false;
    int number = 0;
    unsigned forks = 0;

    MemoryState() = default;
    MemoryState(const MemoryState&) = delete;
    MemoryState& operator=(const MemoryState&) = delete;
    ~MemoryState() {
        if (data != nullptr && forks == python::forks()) warpaes_free(engine(), data);
    }
};
using MemoryObject = Instance<MemoryState>;

void init_memory(MemoryObject& self, PyObject* args, PyObject* kwargs) {
    PyObject* size_object = nullptr;
    const char* kind = "page-locked";
    int device = 0;
    static const char* names[] = {"nbytes", "kind", "device", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "O|si", const_cast<char**>(names), &size_object, &kind, &device) ==
        0) {
        throw Raised();
    }
    const std::uint64_t size = to_u64(size_object, "nbytes");
    const std::string name = kind;
    if (name != "page-locked" && name != "device") raise(PyExc_ValueError, "kind must be 'page-locked' or 'device'");
    if (size == 0 || size > static_cast<unsigned long long>(PY_SSIZE_T_MAX)) {
        raise(PyExc_ValueError, "nbytes must be between 1 and 2^63 - 1");
    }
    MemoryState& memory = self.state;
    memory.forks = forks();
    memory.size = size;
    memory.device = name == "device";
    memory.number = device;
    if (memory.device) check_device_memory("this memory");
    check(warpaes_alloc(engine(), memory.device ? WARPAES_MEMORY_DEVICE : WARPAES_MEMORY_PAGE_LOCKED,
                        memory.device ? device : -1, size, &memory.data));
}

int get_buffer(PyObject* self, Py_buffer* buffer, int flags) {
    const MemoryState& memory = state_of<MemoryState>(self);
    buffer->obj = nullptr;
    if (memory.device) {
        PyErr_SetString(PyExc_TypeError, "the CPU cannot access device memory; use warpaes.copy");
        return -1;
    }
    return PyBuffer_FillInfo(buffer, self, memory.data, static_cast<Py_ssize_t>(memory.size), 0, flags);
}

PyObject* array_interface(PyObject* self, void*) {
    const MemoryState& memory = state_of<MemoryState>(self);
    if (!memory.device) {
        PyErr_SetString(PyExc_AttributeError, "__cuda_array_interface__ exists only for device memory");
        return nullptr;
    }
    return Py_BuildValue("{s:(K),s:s,s:(KO),s:i,s:O}", "shape", static_cast<unsigned long long>(memory.size), "typestr",
                         "|u1", "data", static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(memory.data)),
                         Py_False, "version", 3, "stream", Py_None);
}

PyObject* device_number(PyObject* self, void*) {
    const MemoryState& memory = state_of<MemoryState>(self);
    return PyLong_FromLong(memory.device ? memory.number : -1);
}

PyObject* memory_address(PyObject* self, void*) {
    return PyLong_FromVoidPtr(state_of<MemoryState>(self).data);
}

Py_ssize_t memory_length(PyObject* self) {
    return static_cast<Py_ssize_t>(state_of<MemoryState>(self).size);
}

Object copy_bytes(PyObject*, const Call& call) {
    const auto [to, from] = arguments(call, "copy", {"to", "source"});
    const View out(to, "to", Access::write, Layout::dense);
    const View in(from, "source", Access::read, Layout::dense);
    if (out.size() != in.size()) {
        raise(PyExc_ValueError, "to has %zu bytes, but source has %zu; they must have the same length", out.size(),
              in.size());
    }
    require_same_layout(out, "to", in, "source");
    warpaes_engine* with = engine();
    check(unlocked([&] { return warpaes_copy(with, out.data(), in.data(), in.size()); }));
    return none();
}

Object large_pages(PyObject*, const Call& call) {
    const auto [buf] = arguments(call, "large_pages", {"buf"});
    const View view = host_view(buf, "buf", Access::write);
    ask_for_large_pages(view.data(), view.size());
    return none();
}

PyMethodDef memory_functions[] = {
    method_def<large_pages>("large_pages",
                            "large_pages(buf)\n--\n\nRequest large pages from the operating system for a buffer "
                            "that has not been written yet."),
    method_def<copy_bytes>(
        "copy",
        "copy(to, source)\n--\n\nCopy bytes between host and device memory, after all work on CUDA's default stream. "
        "The copy is complete on return."),
    end_of_methods,
};

PyGetSetDef memory_properties[] = {
    {"__cuda_array_interface__", array_interface, nullptr,
     "The CUDA array interface, which describes device memory as a one-dimensional array of bytes.", nullptr},
    {"address", memory_address, nullptr, "The address of the first byte.", nullptr},
    {"device", device_number, nullptr, "The number of the device, or -1 for page-locked memory.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef memory_methods[] = {refuse_pickle_def, end_of_methods};

PyType_Slot memory_slots[] = {
    {Py_tp_doc, const_cast<char*>(
                    "Memory(nbytes, kind='page-locked', device=0)\n--\n\nZeroed memory that is wiped when it is freed: "
                    "'page-locked' host memory, which copies to and from a GPU at full speed, or 'device' memory.")},
    {Py_tp_new, reinterpret_cast<void*>(construct<MemoryObject, init_memory>)},
    {Py_tp_dealloc, reinterpret_cast<void*>(destruct<MemoryObject>)},
    {Py_tp_getset, memory_properties},
    {Py_tp_methods, memory_methods},
    {Py_sq_length, reinterpret_cast<void*>(memory_length)},
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
    {0, nullptr},
};
PyType_Spec memory_spec = {"warpaes.Memory", sizeof(MemoryObject), 0, Py_TPFLAGS_DEFAULT, memory_slots};

}  // namespace

void add_memory(PyObject* module) {
    add_type(module, memory_spec);
    check(PyModule_AddFunctions(module, memory_functions));
}

}  // namespace warpaes::python
