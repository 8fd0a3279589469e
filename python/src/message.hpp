// One message between views: in host memory at once, in device memory on the caller's stream.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <warpaes/planning.h>

#include "engine.hpp"
#include "view.hpp"

namespace warpaes::python {

/// A key handle, wiped and freed with this.
class Key {
public:
    Key() = default;
    Key(const std::uint8_t* bytes, std::size_t length) { check(warpaes_key_create(bytes, length, &handle_)); }
    Key(Key&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Key& operator=(Key&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    Key(const Key&) = delete;
    Key& operator=(const Key&) = delete;
    ~Key() { warpaes_key_destroy(handle_); }
    [[nodiscard]] const warpaes_key* get() const noexcept { return handle_; }

private:
    warpaes_key* handle_ = nullptr;
};

/// Where a message's data lies, and on which stream work on it belongs.
struct Place {
    bool device = false;
    int number = 0;
    void* stream = nullptr;
};

/// Of the data and the output, which must lie in the same kind of memory. `stream`: what the caller has named, NULL or
/// None for the tensors' current one.
Place place_of(const View& data, const View& output, PyObject* stream);

/// Runs a message in host memory, whose data has `size` bytes; the exception is the caller's.
inline warpaes_status run_here(const warpaes_message& message, std::size_t size) {
    warpaes_engine* with = engine();
    return unlocked_if(size >= long_work, [&] { return warpaes_crypt(with, &message, nullptr); });
}

/// Enqueues a message in device memory. If it decrypts with a tag and has no `device_status`, waits, and returns what
/// became of it.
warpaes_status run_on_device(warpaes_message& message, const Place& place);

/// Runs a message in device memory of a mode that cannot be enqueued: after what the stream holds, and waits.
warpaes_status run_waiting(const warpaes_message& message, const Place& place);

/// For memory that is about to be written to for the first time: touching small pages takes longer than encrypting what
/// goes there.
void ask_for_large_pages(void* memory, std::size_t size) noexcept;
/// A bytes object to be written to, a long one in large pages.
Object new_bytes(std::size_t size);
inline std::uint8_t* bytes_of(const Object& object) {
    return reinterpret_cast<std::uint8_t*>(PyBytes_AsString(object.get()));
}

}  // namespace warpaes::python
