// Processing of one message: synchronous in host memory, and on the caller's stream in device memory.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <warpaes/planning.h>

#include <initializer_list>

#include "engine.hpp"
#include "view.hpp"

namespace warpaes::python {

/// Owns a key handle. The destructor wipes and frees the key.
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

/// The location of a message's data and, for device memory, the stream that runs the work.
struct Place {
    bool device = false;
    int number = 0;
    void* stream = nullptr;
};

/// Returns the location of the data and the output, which must be in the same kind of memory. `stream` is the caller's
/// argument. If it is NULL or None, the work runs on the stream of the data, the output and `others`: the stream that
/// the tensors' libraries use for them. All tensors that have a stream must have the same stream.
Place place_of(const View& data, const View& output, PyObject* stream, std::initializer_list<const View*> others = {});

/// Runs a message in host memory with `size` bytes of data. The caller raises the exception for the status.
inline warpaes_status run_here(const warpaes_message& message, std::size_t size) {
    warpaes_engine* with = engine();
    return unlocked_if(size >= long_work, [&] { return warpaes_crypt(with, &message, nullptr); });
}

/// Enqueues a message in device memory. For a decryption with a tag but without `device_status`, waits and returns the
/// message's status.
warpaes_status run_on_device(warpaes_message& message, const Place& place);

/// Runs a message in device memory, in a mode that cannot be enqueued: waits for the stream, runs the message, and
/// waits for the result.
warpaes_status run_waiting(const warpaes_message& message, const Place& place);

/// Requests large pages for untouched memory: faulting in small pages takes longer than encrypting into them.
void ask_for_large_pages(void* memory, std::size_t size) noexcept;
/// Creates a bytes object whose content the caller writes, and requests large pages if it is long.
Object new_bytes(std::size_t size);
inline std::uint8_t* bytes_of(const Object& object) {
    return reinterpret_cast<std::uint8_t*>(PyBytes_AsString(object.get()));
}

}  // namespace warpaes::python
