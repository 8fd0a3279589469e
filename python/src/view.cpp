// SPDX-License-Identifier: Apache-2.0
#include "view.hpp"

#include <algorithm>
#include <cstring>

#include "dlpack.h"
#include "engine.hpp"

namespace warpaes::python {
namespace {

/// Returns the attribute, or an empty Object if it does not exist.
Object attribute(PyObject* object, const char* name) {
    PyObject* found = PyObject_GetAttrString(object, name);
    if (found != nullptr) return Object(found);
    if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw Raised();
    PyErr_Clear();
    return {};
}

bool is_true(PyObject* object) {
    const int truth = PyObject_IsTrue(object);
    check(truth);
    return truth != 0;
}

/// An interned attribute name, created only once because every tensor needs it.
class Name {
public:
    explicit Name(const char* text) : object_(PyUnicode_InternFromString(text)) {
        if (object_ == nullptr) throw Raised();
    }
    [[nodiscard]] Object of(PyObject* object) const { return Object(PyObject_GetAttr(object, object_)); }
    [[nodiscard]] Object call(PyObject* object) const {
        return Object(PyObject_CallMethodObjArgs(object, object_, nullptr));
    }

private:
    PyObject* object_;
};

void* to_pointer(PyObject* number) {
    void* pointer = PyLong_AsVoidPtr(number);
    if (pointer == nullptr && PyErr_Occurred() != nullptr) throw Raised();
    return pointer;
}

long to_long(PyObject* number) {
    const long value = PyLong_AsLong(number);
    if (value == -1 && PyErr_Occurred() != nullptr) throw Raised();
    return value;
}

/// Returns a module if it is already imported, otherwise an empty Object.
Object loaded_module(const char* name) {
    PyObject* modules = PyImport_GetModuleDict();
    PyObject* module = PyDict_GetItemString(modules, name);
    return module != nullptr ? Object::borrowed(module) : Object();
}

/// Returns torch.Tensor, or null until torch is loaded.
PyObject* torch_tensor_type() {
    static PyObject* type = nullptr;
    if (type == nullptr) {
        const Object torch = loaded_module("torch");
        if (torch) type = attribute(torch.get(), "Tensor").release();  // missing while torch is being imported
    }
    return type;
}

void* torch_stream(long device) {
    static PyObject* current = nullptr;  // a function that returns a device's current stream as an integer
    const Object number(PyLong_FromLong(device));
    if (current != nullptr) {
        return to_pointer(Object(PyObject_CallFunctionObjArgs(current, number.get(), nullptr)).get());
    }
    const Object torch = loaded_module("torch");
    if (const Object c = attribute(torch.get(), "_C")) {
        current = attribute(c.get(), "_cuda_getCurrentRawStream").release();
        if (current != nullptr) return torch_stream(device);
    }
    const Object cuda(PyObject_GetAttrString(torch.get(), "cuda"));
    const Object stream(PyObject_CallMethod(cuda.get(), "current_stream", "l", device));
    return to_pointer(Object(PyObject_GetAttrString(stream.get(), "cuda_stream")).get());
}

void* cupy_stream() {
    const Object cupy = loaded_module("cupy");
    if (!cupy) return nullptr;
    const Object cuda(PyObject_GetAttrString(cupy.get(), "cuda"));
    const Object stream(PyObject_CallMethod(cuda.get(), "get_current_stream", nullptr));
    return to_pointer(Object(PyObject_GetAttrString(stream.get(), "ptr")).get());
}

bool is_of(PyObject* object, const char* package) {
    const Object module = attribute(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__module__");
    if (!module || !PyUnicode_Check(module.get())) return false;
    const std::string name = to_text(module.get(), "__module__");
    const std::size_t length = std::strlen(package);
    return name.compare(0, length, package) == 0 && (name.size() == length || name[length] == '.');
}

/// Converts a stream number of the array interface or of DLPack to a CUDA stream handle. A number is itself a handle,
/// except that 1, the legacy default stream, becomes null.
void* from_protocol(long long stream) {
    return stream == 1 ? nullptr : reinterpret_cast<void*>(static_cast<std::uintptr_t>(stream));
}

[[noreturn]] void not_contiguous(const char* name) {
    raise(PyExc_BufferError, "%s is not contiguous; make a contiguous copy", name);
}

/// Returns whether the dimensions, in any order, describe memory without gaps.
bool is_dense(View::Strides dimensions, std::int64_t unit) {
    std::sort(dimensions.begin(), dimensions.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    for (const auto& [length, stride] : dimensions) {
        if (stride != unit) return false;
        unit *= length;  // cannot overflow: the caller has checked the product
    }
    return true;
}

/// Returns whether a format of the buffer protocol contains Python objects. Field names are enclosed in colons.
bool holds_objects(const char* format) {
    bool in_name = false;
    for (; *format != '\0'; ++format) {
        if (*format == ':') in_name = !in_name;
        if (*format == 'O' && !in_name) return true;
    }
    return false;
}

/// Returns whether an object provides a buffer for these flags.
bool lends(PyObject* object, int flags) {
    Py_buffer buffer = {};
    if (PyObject_GetBuffer(object, &buffer, flags) != 0) {
        PyErr_Clear();
        return false;
    }
    PyBuffer_Release(&buffer);
    return true;
}

/// Raises an exception that explains why an object does not provide the buffer. `cause` is the object's own exception.
[[noreturn]] void refuse_buffer(PyObject* object, const char* name, Access access, PyObject* kind, PyObject* cause) {
    if (access == Access::write && lends(object, PyBUF_ND | PyBUF_FORMAT)) {
        raise(PyExc_BufferError, "%s is an output but is read-only; pass a writable buffer", name);
    }
    const bool without_format = lends(object, PyBUF_STRIDES);
    if (lends(object, PyBUF_FULL_RO) || (without_format && !lends(object, PyBUF_ND))) not_contiguous(name);
    if (const Object dtype = attribute(object, "dtype"); dtype && without_format) {
        const Object has_objects = attribute(dtype.get(), "hasobject");
        if (has_objects && is_true(has_objects.get())) {
            raise(PyExc_TypeError, "%s contains Python objects, not bytes", name);
        }
        raise(PyExc_BufferError, "%s: %S; pass a view as integers of the same size, such as array.view('u8')", name,
              cause);
    }
    raise(kind, "%s: %S", name, cause);
}

/// Returns a dictionary entry, or an empty Object. The reference is owned, because another thread may replace the
/// entry.
Object item_of(PyObject* dictionary, const char* name) {
    PyObject* found = PyDict_GetItemString(dictionary, name);
    return found == nullptr || found == Py_None ? Object() : Object::borrowed(found);
}

}  // namespace

void View::check_format(const char* name) {
    if (holds_objects(buffer_.format)) {
        PyBuffer_Release(&buffer_);  // the constructor throws, so no destructor runs
        raise(PyExc_TypeError, "%s contains Python objects, not bytes", name);
    }
}

/// Returns the number of elements of a shape. Throws unless the strides describe memory that the view accepts, with
/// elements of `unit` bytes. Null strides mean C order.
std::uint64_t View::elements(const std::int64_t* shape, const std::int64_t* strides, int dimensions, std::int64_t unit,
                             const char* name) {
    const std::int64_t* const end = shape + dimensions;
    if (std::any_of(shape, end, [](std::int64_t length) { return length < 0; })) {
        raise(PyExc_BufferError, "%s has a shape with a negative number", name);
    }
    if (std::find(shape, end, 0) != end) return 0;
    bool in_c_order = true;
    std::int64_t expected = unit;
    for (int i = dimensions - 1; i >= 0; --i) {
        if (strides != nullptr && shape[i] != 1 && strides[i] != expected) in_c_order = false;
        if (__builtin_mul_overflow(expected, shape[i], &expected)) {
            raise(PyExc_BufferError, "%s has a shape with more elements than fit in memory", name);
        }
    }
    if (in_c_order) return static_cast<std::uint64_t>(expected / unit);
    strides_.reset(new Strides);
    for (int i = 0; i < dimensions; ++i) {
        if (shape[i] != 1) strides_->emplace_back(shape[i], strides[i]);
    }
    if (accepted_ != Layout::dense || !is_dense(*strides_, unit)) not_contiguous(name);
    return static_cast<std::uint64_t>(expected / unit);
}

void View::check_strides(const char* name) {
    if (buffer_.ndim == 1 && buffer_.strides[0] == buffer_.itemsize) return;
    std::vector<std::int64_t> shape(buffer_.shape, buffer_.shape + buffer_.ndim);
    std::vector<std::int64_t> strides(buffer_.strides, buffer_.strides + buffer_.ndim);
    try {
        (void)elements(shape.data(), strides.data(), buffer_.ndim, buffer_.itemsize, name);
    } catch (...) {
        PyBuffer_Release(&buffer_);  // the constructor throws, so no destructor runs
        throw;
    }
}

void View::check_torch_strides(PyObject* tensor, const char* name) {
    if (accepted_ != Layout::dense) not_contiguous(name);
    const Object lengths(PyObject_GetAttrString(tensor, "shape")),
        steps(PyObject_CallMethod(tensor, "stride", nullptr));
    const Object bytes(PyObject_CallMethod(tensor, "element_size", nullptr));
    const Py_ssize_t dimensions = PySequence_Size(lengths.get());
    if (dimensions < 0) throw Raised();
    const long unit = to_long(bytes.get());
    std::vector<std::int64_t> shape, strides;
    for (Py_ssize_t i = 0; i < dimensions; ++i) {
        shape.push_back(to_long(Object(PySequence_GetItem(lengths.get(), i)).get()));
        strides.push_back(to_long(Object(PySequence_GetItem(steps.get(), i)).get()) * unit);
    }
    (void)elements(shape.data(), strides.data(), static_cast<int>(dimensions), unit, name);
}

void View::open_without_buffer(PyObject* object, const char* name, Access access) {
    buffer_.obj = nullptr;
    // NumPy raises ValueError for an array that is not contiguous, and JAX raises BufferError for an array on a GPU.
    const auto is = [](PyObject* type) { return PyErr_ExceptionMatches(type) != 0; };
    if (!is(PyExc_BufferError) && !is(PyExc_ValueError) && !is(PyExc_TypeError)) throw Raised();
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    const Object kind(type), cause(value), trace(traceback != nullptr ? traceback : none().release());
    if (open_array_interface(object, name, access)) return;
    refuse_buffer(object, name, access, kind.get(), cause.get());
}

void View::open_tensor(PyObject* object, const char* name, Access access) {
    if (open_torch(object, name, access) || open_array_interface(object, name, access) ||
        open_dlpack(object, name, access)) {
        return;
    }
    raise(PyExc_TypeError, "%s: cannot convert \"%R\" instance to a buffer.%s", name,
          reinterpret_cast<PyObject*>(Py_TYPE(object)),
          PyUnicode_Check(object) ? "\nDid you mean to pass a bytestring instead?" : "");
}

bool View::open_torch(PyObject* object, const char* name, Access access) {
    PyObject* type = torch_tensor_type();
    if (type == nullptr) return false;
    const int is_tensor = PyObject_IsInstance(object, type);
    check(is_tensor);
    if (is_tensor == 0) return false;
    static const Name is_contiguous("is_contiguous"), is_conj("is_conj"), is_neg("is_neg"),
        requires_grad("requires_grad"), nbytes("nbytes"), data_ptr("data_ptr"), is_cuda("is_cuda"),
        get_device("get_device"), is_cpu("is_cpu");
    if (!is_true(is_contiguous.call(object).get())) check_torch_strides(object, name);
    if (is_true(is_conj.call(object).get()) || is_true(is_neg.call(object).get())) {
        raise(PyExc_BufferError, "%s is a lazy conjugate or negative; call resolve_conj() or resolve_neg() first",
              name);
    }
    if (access == Access::write && is_true(requires_grad.of(object).get())) {
        raise(PyExc_BufferError, "%s is an output but requires grad; pass %s.detach()", name, name);
    }
    size_ = static_cast<std::size_t>(to_u64(nbytes.of(object).get(), "nbytes"));
    data_ = to_pointer(data_ptr.call(object).get());
    if (is_true(is_cuda.of(object).get())) {
        check_device_memory(name);
        device_ = static_cast<int>(to_long(get_device.call(object).get()));
        stream_ = torch_stream(device_);
        order_ = Order::of_stream;
    } else if (!is_true(is_cpu.of(object).get())) {
        const Object device(PyObject_GetAttrString(object, "device"));
        const Object kind(PyObject_GetAttrString(device.get(), "type"));
        raise(PyExc_BufferError, "%s is on a device of type '%U', but warpaes supports only cpu and cuda", name,
              kind.get());
    }
    tensor_ = Py_NewRef(object);
    owner_ = Owner::torch;
    return true;
}

bool View::open_array_interface(PyObject* object, const char* name, Access access) {
    const Object interface = attribute(object, "__cuda_array_interface__");
    if (!interface) return false;
    if (!PyDict_Check(interface.get())) raise(PyExc_TypeError, "%s: __cuda_array_interface__ must be a dict", name);
    const Object data = item_of(interface.get(), "data"), shape = item_of(interface.get(), "shape");
    const Object type = item_of(interface.get(), "typestr"), strides = item_of(interface.get(), "strides");
    const Object stream = item_of(interface.get(), "stream");
    if (!data || !shape || !type || !PyTuple_Check(data.get()) || !PyTuple_Check(shape.get()) ||
        PyTuple_Size(data.get()) != 2) {
        raise(PyExc_TypeError, "%s: __cuda_array_interface__ must contain data, shape and typestr", name);
    }
    if (item_of(interface.get(), "mask")) raise(PyExc_BufferError, "%s has a mask; pass its data", name);
    const std::string format = to_text(type.get(), "typestr");
    const long unit = format.size() > 2 ? std::strtol(format.c_str() + 2, nullptr, 10) : 0;
    if (unit <= 0 || format[1] == 'O')
        raise(PyExc_TypeError, "%s has the dtype '%s', which does not consist of plain bytes", name, format.c_str());
    if (access == Access::write && is_true(PyTuple_GetItem(data.get(), 1))) {
        raise(PyExc_BufferError, "%s is read-only", name);
    }
    std::int64_t lengths[64];
    std::int64_t steps[64];
    const Py_ssize_t dimensions = PyTuple_Size(shape.get());
    if (dimensions > 64) raise(PyExc_BufferError, "%s has more than 64 dimensions", name);
    if (strides && (!PyTuple_Check(strides.get()) || PyTuple_Size(strides.get()) != dimensions)) {
        raise(PyExc_TypeError, "%s: in __cuda_array_interface__, strides and shape must have the same length", name);
    }
    for (Py_ssize_t i = 0; i < dimensions; ++i) {
        lengths[i] = to_long(PyTuple_GetItem(shape.get(), i));
        if (strides) steps[i] = to_long(PyTuple_GetItem(strides.get(), i));
    }
    size_ = elements(lengths, strides ? steps : nullptr, static_cast<int>(dimensions), unit, name) *
            static_cast<std::uint64_t>(unit);
    data_ = to_pointer(PyTuple_GetItem(data.get(), 0));
    check_device_memory(name);
    if (stream) {
        stream_ = from_protocol(to_long(stream.get()));
        order_ = Order::of_stream;
    } else if (is_of(object, "cupy")) {
        stream_ = cupy_stream();
        order_ = Order::of_stream;
    }
    // The interface does not contain the device number, and the library derives the device from the pointer. Without an
    // attribute `device`, `device_` is a guess.
    device_ = 0;
    if (Object device = attribute(object, "device")) {
        if (!PyLong_Check(device.get())) device = attribute(device.get(), "id");  // CuPy's device object
        if (device && PyLong_Check(device.get())) device_ = static_cast<int>(to_long(device.get()));
    }
    tensor_ = Py_NewRef(object);
    return true;
}

bool View::open_dlpack(PyObject* object, const char* name, Access access) {
    const Object device_of = attribute(object, "__dlpack_device__");
    const Object exporter = attribute(object, "__dlpack__");
    if (!device_of || !exporter) return false;
    const Object place(PyObject_CallNoArgs(device_of.get()));
    int kind = 0;
    int number = 0;
    if (PyArg_ParseTuple(place.get(), "ii", &kind, &number) == 0) throw Raised();
    const bool cuda = kind == dlpack_cuda || kind == dlpack_cuda_managed;
    if (cuda) check_device_memory(name);
    if (!cuda && kind != dlpack_cpu && kind != dlpack_cuda_host) {
        raise(PyExc_BufferError,
              "%s is on a device with DLPack type %d, but warpaes supports only host and CUDA memory", name, kind);
    }
    // The work runs on the legacy default stream. On a GPU, the exporter makes that stream wait for its own stream.
    const Object no_arguments(PyTuple_New(0));
    Object options(PyDict_New());
    const Object version(Py_BuildValue("(ii)", 1, 0));
    check(PyDict_SetItemString(options.get(), "max_version", version.get()));
    if (cuda) check(PyDict_SetItemString(options.get(), "stream", Object(PyLong_FromLong(1)).get()));
    PyObject* made = PyObject_Call(exporter.get(), no_arguments.get(), options.get());
    if (made == nullptr &&
        PyErr_ExceptionMatches(PyExc_TypeError) != 0) {  // an exporter for a DLPack version before 1.0
        PyErr_Clear();
        check(PyDict_DelItemString(options.get(), "max_version"));
        made = PyObject_Call(exporter.get(), no_arguments.get(), options.get());
    }
    Object capsule(made);
    const DLTensor* tensor = nullptr;
    bool read_only = false;
    if (PyCapsule_IsValid(capsule.get(), "dltensor_versioned") != 0) {
        auto* managed =
            static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule.get(), "dltensor_versioned"));
        tensor = &managed->dl_tensor;
        read_only = (managed->flags & dlpack_read_only) != 0;
    } else {
        auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.get(), "dltensor"));
        if (managed == nullptr) throw Raised();
        tensor = &managed->dl_tensor;
    }
    if (access == Access::write && read_only) raise(PyExc_BufferError, "%s is read-only", name);
    const std::uint64_t element_bits = std::uint64_t{tensor->dtype.bits} * tensor->dtype.lanes;
    const std::uint64_t count = elements(tensor->shape, tensor->strides, tensor->ndim, 1, name);
    if (strides_) {
        for (auto& dimension : *strides_) dimension.second *= static_cast<std::int64_t>(element_bits / 8);
    }
    std::uint64_t bits = 0;
    if (__builtin_mul_overflow(count, element_bits, &bits)) {
        raise(PyExc_BufferError, "%s has a shape with more elements than fit in memory", name);
    }
    size_ = bits / 8 + (bits % 8 != 0 ? 1 : 0);
    data_ = static_cast<std::uint8_t*>(tensor->data) + tensor->byte_offset;
    if (cuda) {
        device_ = tensor->device.device_id;
        order_ = Order::of_default_stream;
    }
    tensor_ = capsule.release();  // not renamed to mark it as consumed, so the capsule's destructor frees the tensor
    return true;
}

void View::Drop::operator()(Strides* strides) const noexcept {
    delete strides;
}

bool View::has_layout_of(const View& other) const noexcept {
    if (strides_ == nullptr || other.strides_ == nullptr) return strides_ == other.strides_;
    return *strides_ == *other.strides_;
}

void require_same_layout(const View& a, const char* a_name, const View& b, const char* b_name) {
    if (a.has_layout_of(b)) return;
    raise(PyExc_BufferError,
          "%s and %s order their elements in memory differently; pass both with the same shape and strides, or make "
          "contiguous copies",
          a_name, b_name);
}

View host_view(PyObject* object, const char* name, Access access) {
    View view(object, name, access);
    if (view.on_device()) raise(PyExc_TypeError, "%s must be in host memory", name);
    return view;
}

void* to_stream(PyObject* object) {
    if (PyLong_Check(object)) return to_pointer(object);
    for (const char* name : {"cuda_stream", "ptr"}) {
        if (const Object pointer = attribute(object, name)) return to_pointer(pointer.get());
    }
    if (const Object protocol = attribute(object, "__cuda_stream__")) {
        const Object pair(PyObject_CallNoArgs(protocol.get()));
        return to_pointer(Object(PySequence_GetItem(pair.get(), 1)).get());
    }
    raise(PyExc_TypeError,
          "stream must be an integer, or a stream object of PyTorch, CuPy or another library with __cuda_stream__");
}

void record_use(const View& tensor, void* stream, PyObject* object) {
    if (tensor.torch_tensor() == nullptr || !tensor.on_device()) return;
    Object its_stream = Object::borrowed(object);
    if (!attribute(object, "cuda_stream")) {  // not a PyTorch stream
        const Object torch = loaded_module("torch");
        const Object cuda(PyObject_GetAttrString(torch.get(), "cuda"));
        const auto number = static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(stream));
        its_stream = Object(PyObject_CallMethod(cuda.get(), "ExternalStream", "Ki", number, tensor.device()));
    }
    Object(PyObject_CallMethod(tensor.torch_tensor(), "record_stream", "O", its_stream.get()));
}

}  // namespace warpaes::python
