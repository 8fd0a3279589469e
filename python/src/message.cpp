// SPDX-License-Identifier: Apache-2.0
#include "message.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <vector>

namespace warpaes::python {
namespace {

/// One warpaes_status in device memory. The destructor keeps the memory for the next call.
class StatusSlot {
public:
    explicit StatusSlot(int device) : device_(device) {
        auto& kept = free_slots()[device];
        if (!kept.empty()) {
            pointer_ = kept.back();
            kept.pop_back();
        } else {
            check(warpaes_alloc(engine(), WARPAES_MEMORY_DEVICE, device, sizeof(warpaes_status), &pointer_));
        }
    }
    StatusSlot(const StatusSlot&) = delete;
    StatusSlot& operator=(const StatusSlot&) = delete;
    ~StatusSlot() {
        try {
            free_slots()[device_].push_back(pointer_);
        } catch (const std::bad_alloc&) {
            warpaes_free(engine(), pointer_);
        }
    }
    [[nodiscard]] warpaes_status* get() const { return static_cast<warpaes_status*>(pointer_); }

private:
    /// Free slots by device. The caller holds the interpreter's lock. The slots belong to the process's only engine
    /// with a GPU: the engine of a child of fork() has none.
    static std::map<int, std::vector<void*>>& free_slots() {
        static auto* slots = new std::map<int, std::vector<void*>>();
        return *slots;
    }
    int device_;
    void* pointer_ = nullptr;
};

/// Waits for a stream, through the driver that the process has loaded. Without a driver there is nothing to wait for.
void wait_for(void* stream) {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (driver == nullptr) return;
    const auto synchronize = reinterpret_cast<int (*)(void*)>(dlsym(driver, "cuStreamSynchronize"));
    const bool done = synchronize != nullptr && unlocked([&] { return synchronize(stream); }) == 0;
    dlclose(driver);
    if (!done) {
        raise(exceptions.error, "waiting for the stream failed: is it one of the data's device, and not captured?");
    }
}

}  // namespace

Place place_of(const View& data, const View& output, PyObject* stream) {
    const bool named = stream != nullptr && stream != Py_None;
    if (data.on_device() != output.on_device()) {
        raise(PyExc_ValueError, "one of input and output lies in device memory, the other in host memory: move one");
    }
    if (!data.on_device()) {
        if (named) raise(PyExc_ValueError, "stream is for tensors in device memory, and these lie in host memory");
        return {};
    }
    Place place{true, data.device(), data.stream()};
    if (named) {
        place.stream = to_stream(stream);
        if (place.stream != data.stream()) {
            // PyTorch's allocator must not reuse the memory before this stream has finished the work.
            for (const View* view : {&data, &output}) {
                if (PyObject* tensor = view->torch_tensor(); tensor != nullptr && !PyLong_Check(stream)) {
                    Object(PyObject_CallMethod(tensor, "record_stream", "O", stream));
                }
            }
        }
    }
    return place;
}

warpaes_status run_on_device(warpaes_message& message, const Place& place) {
    warpaes_engine* with = engine();
    if (message.direction == WARPAES_ENCRYPT || message.tag == nullptr || message.device_status != nullptr) {
        return warpaes_crypt_async(with, &message, place.stream, nullptr);
    }
    const StatusSlot slot(place.number);
    message.device_status = slot.get();
    const warpaes_status enqueued = warpaes_crypt_async(with, &message, place.stream, nullptr);
    if (enqueued != WARPAES_OK) return enqueued;
    wait_for(place.stream);
    warpaes_status status = WARPAES_OK;
    check(warpaes_copy(with, &status, slot.get(), sizeof status));
    return status;
}

warpaes_status run_waiting(const warpaes_message& message, const Place& place) {
    if (!reaches(place.number)) {
        raise_status(WARPAES_ERROR_BACKEND,
                     "data lies on a device that this process does not compute on: copy it to "
                     "host memory");
    }
    wait_for(place.stream);
    warpaes_engine* with = engine();
    return unlocked([&] { return warpaes_crypt(with, &message, nullptr); });
}

Object new_bytes(std::size_t size) {
    if (size > static_cast<std::size_t>(PY_SSIZE_T_MAX)) {
        raise(PyExc_OverflowError, "the result would be longer than a bytes object can be");
    }
    Object made(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
    ask_for_large_pages(bytes_of(made), size);
    return made;
}

void ask_for_large_pages(void* memory, std::size_t size) noexcept {
    constexpr std::size_t huge = std::size_t{2} << 20;
    if (size < 2 * huge) return;
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    const std::uintptr_t first = (begin + huge - 1) / huge * huge;
    const std::uintptr_t last = (begin + size) / huge * huge;
    madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);  // a hint: failure does not matter
}

}  // namespace warpaes::python
