// Access to the caller's bytes without a copy: buffers, and tensors in host or device memory.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "python.hpp"

namespace warpaes::python {

enum class Access { read, write };

/// The layouts that a view accepts: contiguous in C order, or any layout without gaps between elements, such as Fortran
/// order and PyTorch's channels_last. Bytes are in memory order.
enum class Layout { contiguous, dense };

/// The bytes of an object with the buffer protocol, __dlpack__ or __cuda_array_interface__, without gaps. The view
/// keeps the memory alive.
class View {
public:
    View() = default;
    View(PyObject* object, const char* name, Access access = Access::read, Layout layout = Layout::contiguous)
        : accepted_(layout) {
        if (PyObject_CheckBuffer(object) == 0) {
            open_tensor(object, name, access);
            return;
        }
        if (PyObject_GetBuffer(object, &buffer_, flags(access, layout)) != 0) {
            open_without_buffer(object, name, access);
            return;
        }
        data_ = buffer_.buf;
        size_ = static_cast<std::size_t>(buffer_.len);
        if (buffer_.format != nullptr && buffer_.format[0] != 'B') check_format(name);
        if (layout == Layout::dense && buffer_.strides != nullptr) check_strides(name);
    }
    View(View&& other) noexcept { *this = std::move(other); }
    View& operator=(View&& other) noexcept {
        std::swap(buffer_, other.buffer_);
        std::swap(tensor_, other.tensor_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(device_, other.device_);
        std::swap(stream_, other.stream_);
        std::swap(order_, other.order_);
        std::swap(owner_, other.owner_);
        std::swap(accepted_, other.accepted_);
        std::swap(strides_, other.strides_);
        return *this;
    }
    View(const View&) = delete;
    View& operator=(const View&) = delete;
    ~View() {
        if (buffer_.obj != nullptr) PyBuffer_Release(&buffer_);
        Py_XDECREF(tensor_);
    }

    [[nodiscard]] void* data() const noexcept { return data_; }
    [[nodiscard]] std::uint8_t* bytes() const noexcept { return static_cast<std::uint8_t*>(data_); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Length and stride in bytes of each dimension longer than 1, outermost first.
    using Strides = std::vector<std::pair<std::int64_t, std::int64_t>>;
    /// Whether the elements of both views are in the same order in memory.
    [[nodiscard]] bool has_layout_of(const View& other) const noexcept;

    // Properties of tensors in device memory.

    [[nodiscard]] bool on_device() const noexcept { return device_ >= 0; }
    [[nodiscard]] int device() const noexcept { return device_; }
    /// The stream that the tensor's library uses, or null (the legacy default stream) if the library does not name a
    /// stream.
    [[nodiscard]] void* stream() const noexcept { return stream_; }
    enum class Order { unknown, of_stream, of_default_stream };
    /// The stream on which the memory's contents are ready. of_stream: `stream()`, which the tensor's library uses.
    /// of_default_stream: the legacy default stream, for which a DLPack exporter has prepared the memory.
    [[nodiscard]] Order order() const noexcept { return order_; }
    /// The object if it is a PyTorch tensor, otherwise NULL. The reference is borrowed.
    [[nodiscard]] PyObject* torch_tensor() const noexcept { return owner_ == Owner::torch ? tensor_ : nullptr; }

private:
    enum class Owner { other, torch };

    static constexpr int flags(Access access, Layout layout) {
        return (layout == Layout::dense ? PyBUF_STRIDES : PyBUF_ND) | PyBUF_FORMAT |
               (access == Access::write ? PyBUF_WRITABLE : 0);
    }
    void check_format(const char* name);
    void check_strides(const char* name);
    void check_torch_strides(PyObject* tensor, const char* name);
    std::uint64_t elements(const std::int64_t* shape, const std::int64_t* strides, int dimensions, std::int64_t unit,
                           const char* name);
    void open_without_buffer(PyObject* object, const char* name, Access access);
    void open_tensor(PyObject* object, const char* name, Access access);
    bool open_torch(PyObject* object, const char* name, Access access);
    bool open_array_interface(PyObject* object, const char* name, Access access);
    bool open_dlpack(PyObject* object, const char* name, Access access);

    Py_buffer buffer_ = {};
    PyObject* tensor_ = nullptr;  ///< keeps the memory alive: the object, or a DLPack capsule
    void* data_ = nullptr;
    std::size_t size_ = 0;
    int device_ = -1;
    void* stream_ = nullptr;
    Order order_ = Order::unknown;
    Owner owner_ = Owner::other;
    Layout accepted_ = Layout::contiguous;
    struct Drop {
        void operator()(Strides* strides) const noexcept;
    };
    std::unique_ptr<Strides, Drop>
        strides_;  // null in C order; a pointer keeps views small, because calls create several
};

/// Throws BufferError unless two views of a call have the same layout, so that their bytes correspond one to one.
void require_same_layout(const View& a, const char* a_name, const View& b, const char* b_name);

/// Returns a view of bytes that must be in host memory, such as keys and nonces. Throws TypeError for device memory.
View host_view(PyObject* object, const char* name, Access access = Access::read);

/// Returns the CUDA stream of an argument, which is an integer or a stream object of PyTorch, CuPy or another library.
void* to_stream(PyObject* object);

/// Informs PyTorch's allocator that a tensor's memory is used on `stream`, whose Python object is `object`. The
/// allocator then does not reuse the memory before the stream has finished the work. Does nothing for other tensors.
void record_use(const View& tensor, void* stream, PyObject* object);

}  // namespace warpaes::python
