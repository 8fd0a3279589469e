// SPDX-License-Identifier: Apache-2.0
#include "message.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <vector>

namespace warpaes::python {
namespace {

/// A warpaes_status in device memory. The destructor keeps the memory for later calls.
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
        // Enqueued work may still write to the slot, and a captured graph writes to it at every replay. Reusing the
        // slot could give another message the wrong status.
        if (written_later_) return;
        try {
            free_slots()[device_].push_back(pointer_);
        } catch (const std::bad_alloc&) {
            warpaes_free(engine(), pointer_);
        }
    }
    [[nodiscard]] warpaes_status* get() const { return static_cast<warpaes_status*>(pointer_); }
    /// Sets whether enqueued work may write to the slot from now on.
    void written_later(bool so) { written_later_ = so; }

private:
    /// Free slots by device. The caller holds the GIL. The slots belong to the process's only engine with a GPU: the
    /// engine of a child of fork() has no GPU.
    static std::map<int, std::vector<void*>>& free_slots() {
        static auto* slots = new std::map<int, std::vector<void*>>();
        return *slots;
    }
    int device_;
    void* pointer_ = nullptr;
    bool written_later_ = false;
};

/// The CUDA driver, if the process has loaded it.
class Driver {
public:
    Driver() : library_(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD)) {}
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;
    ~Driver() {
        if (library_ != nullptr) dlclose(library_);
    }
    [[nodiscard]] bool is_loaded() const { return library_ != nullptr; }
    /// Returns CUDA's result, or an error if the driver lacks the function.
    template <typename... Arguments>
    int call(const char* name, Arguments... arguments) const {
        const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library_, name));
        constexpr int not_found = 500;
        return function != nullptr ? function(arguments...) : not_found;
    }

private:
    void* library_;
};

/// Calls `work()` in the device's context, without the GIL. The context is required for the default streams, and a
/// thread has no context before its first CUDA call. Returns false if the context is unavailable or `work()` fails.
template <typename Work>
bool in_context(const Driver& driver, int device, const Work& work) {
    return unlocked([&] {
        void* context = nullptr;
        if (driver.call("cuDevicePrimaryCtxRetain", &context, device) != 0) return false;
        bool done = false;
        if (driver.call("cuCtxPushCurrent_v2", context) == 0) {
            done = work();
            driver.call("cuCtxPopCurrent_v2", &context);
        }
        driver.call("cuDevicePrimaryCtxRelease_v2", device);
        return done;
    });
}

/// Waits for a stream, through the driver that the process has loaded. Without a driver, there is no work to wait for.
void wait_for(const Place& place) {
    const Driver driver;
    if (!driver.is_loaded()) return;
    const bool done = in_context(driver, place.number, [&] {
        int mode = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED: a wait does not invalidate other threads' captures
        const bool relaxed = driver.call("cuThreadExchangeStreamCaptureMode", &mode) == 0;
        const bool waited = driver.call("cuStreamSynchronize", place.stream) == 0;
        if (relaxed) driver.call("cuThreadExchangeStreamCaptureMode", &mode);
        return waited;
    });
    if (!done) {
        raise(exceptions.error,
              "waiting for the stream failed; it must be a stream of the data's device that is not being captured");
    }
}

/// Throws if a CUDA graph captures the stream, because a call that waits for the stream would invalidate the capture.
void require_no_capture(const Place& place, const char* instead) {
    const Driver driver;
    if (!driver.is_loaded()) return;
    const bool captured = in_context(driver, place.number, [&] {
        int status = 0;
        return driver.call("cuStreamIsCapturing", place.stream, &status) == 0 && status != 0;
    });
    if (captured)
        raise(exceptions.error,
              "a CUDA graph is capturing the stream, and this call would have to wait for the stream; %s", instead);
}

}  // namespace

Place place_of(const View& data, const View& output, PyObject* stream, std::initializer_list<const View*> others) {
    const bool named = stream != nullptr && stream != Py_None;
    if (data.on_device() != output.on_device()) {
        raise(PyExc_ValueError, "data and buf are in different kinds of memory (host and device); copy one of them");
    }
    if (!data.on_device()) {
        if (named)
            raise(PyExc_ValueError,
                  "stream applies only to tensors in device memory, but data and buf are in host memory");
        return {};
    }
    std::vector<const View*> views = {&data, &output};
    for (const View* view : others) {
        if (view->on_device()) views.push_back(view);
    }
    Place place{true, data.device(), nullptr};
    if (named) {
        place.stream = to_stream(stream);
        for (const View* view : views) {
            if (view->stream() != place.stream) record_use(*view, place.stream, stream);
        }
    } else {
        const View* first = nullptr;
        for (const View* view : views) {
            if (view->order() != View::Order::of_stream) continue;
            if (first == nullptr) first = view;
            if (view->stream() != first->stream()) {
                raise(PyExc_ValueError, "the tensors are used on different streams; choose a stream with stream=");
            }
        }
        if (first != nullptr) place.stream = first->stream();
    }
    const auto is_ready_elsewhere = [&](const View* view) {
        return view->order() == View::Order::of_default_stream && place.stream != nullptr;
    };
    if (std::any_of(views.begin(), views.end(), is_ready_elsewhere)) wait_for({true, place.number, nullptr});
    return place;
}

warpaes_status run_on_device(warpaes_message& message, const Place& place) {
    warpaes_engine* with = engine();
    if (message.direction == WARPAES_ENCRYPT || message.tag == nullptr || message.device_status != nullptr) {
        return warpaes_crypt_async(with, &message, place.stream, nullptr);
    }
    require_no_capture(place, "pass status=");
    StatusSlot slot(place.number);
    message.device_status = slot.get();
    const warpaes_status enqueued = warpaes_crypt_async(with, &message, place.stream, nullptr);
    slot.written_later(enqueued == WARPAES_OK || enqueued == WARPAES_ERROR_DEVICE);
    if (enqueued != WARPAES_OK) return enqueued;
    wait_for(place);
    slot.written_later(false);
    warpaes_status status = WARPAES_OK;
    check(warpaes_copy(with, &status, slot.get(), sizeof status));
    return status;
}

warpaes_status run_waiting(const warpaes_message& message, const Place& place) {
    if (!reaches(place.number)) {
        raise_status(WARPAES_ERROR_BACKEND,
                     "data is on a device that this process does not use for computation; copy it to "
                     "host memory");
    }
    require_no_capture(place, "call it before or after the capture");
    wait_for(place);
    warpaes_engine* with = engine();
    return unlocked([&] { return warpaes_crypt(with, &message, nullptr); });
}

Object new_bytes(std::size_t size) {
    if (size > static_cast<std::size_t>(PY_SSIZE_T_MAX)) {
        raise(PyExc_OverflowError, "the result would exceed the maximum size of a bytes object");
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
    madvise(reinterpret_cast<void*>(first), last - first,
            MADV_HUGEPAGE);  // only a hint, so a failure does not matter
}

}  // namespace warpaes::python
