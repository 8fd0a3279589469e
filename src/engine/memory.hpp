// Locates, copies and overwrites memory of any kind. The location of a pointer is a property of the process, so these
// functions need no engine. A device is identified by its number, and host memory by -1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "backend/gpu_memory.hpp"
#include "backend/group.hpp"

namespace warpaes {

/// See GpuMemory. Locations must be queried before any work is started, because the driver of a device that has failed
/// may no longer recognize its own memory.
[[nodiscard]] MemoryPlace place_of(const void* pointer) noexcept;
[[nodiscard]] MemoryStretch stretch_of(const void* pointer, bool far) noexcept;
/// Returns the device whose memory contains `pointer`, or -1.
[[nodiscard]] int device_of(const void* pointer) noexcept;

/// The memory kinds and devices of the buffers of one message. Each buffer is queried once, before any work: after a
/// failure the driver may not recognize its own memory. A missing buffer counts as pageable memory. The tag of a
/// message with `statuses` also counts as pageable memory; the backend determines where it is.
struct Places {
    MemoryPlace input, output, aad, tag, statuses;

    Places() = default;
    /// `input_device` is the device that contains the input, or -1 if unknown.
    Places(const void* input, const void* output, int input_device = -1) noexcept;
    explicit Places(const MessageGroup& message, int input_device = -1) noexcept;
};

/// Copies `bytes` bytes between two buffers. If `device` is not -1, at least one of them is on that device. The copy
/// starts after earlier work on `stream` and is complete on return.
void copy_memory(void* to, const void* from, std::size_t bytes, int device, void* stream = nullptr);
/// Like copy_memory() above, but determines where the two buffers are.
void copy_anywhere(void* to, const void* from, std::size_t bytes);
/// Copies rows of `bytes` bytes from `device` to host memory, where they are stored without gaps.
void gather_rows(void* to, const void* from, std::size_t from_stride, std::size_t bytes, std::size_t rows, int device);
/// Overwrites `memory`, which is on `device` or in host memory, with zeros. No work may be using the memory.
void clear_memory(void* memory, std::size_t bytes, int device);
/// Returns false once the driver has refused to lock pages of memory that it did not allocate (confidential computing).
[[nodiscard]] bool locks_ordinary_memory() noexcept;
/// Waits for the work on the default stream of `device`; has no effect for host memory.
void wait_for_device(int device);

/// Memory of a device, wiped and freed on destruction.
class DeviceBuffer {
public:
    DeviceBuffer() = default;
    /// Throws Error{DEVICE_MEMORY} or Error{DEVICE}.
    DeviceBuffer(int device, std::size_t bytes);
    DeviceBuffer(DeviceBuffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
    DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
        std::swap(data_, other.data_);
        return *this;
    }
    ~DeviceBuffer();
    [[nodiscard]] std::uint8_t* get() const noexcept { return data_; }

private:
    std::uint8_t* data_ = nullptr;
};

}  // namespace warpaes
