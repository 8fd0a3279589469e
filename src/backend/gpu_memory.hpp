// The interface to device memory. Callers use the functions in engine/memory.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "aes/types.hpp"

namespace warpaes {

/// The kind of memory that contains a buffer. The values match `warpaes_memory` in the C ABI.
enum class Memory { pageable = 0, page_locked = 1, device = 2 };

/// `by_driver` means GpuMemory::allocate(). The other values mean pages of the host, which are page-locked if there is
/// a GPU.
enum class Allocation : std::uint8_t { pages, locked_pages, by_driver };

struct MemoryKind {
    Required<const char*> name;
    Required<Memory> kind;
    Required<bool> on_device;  ///< a device owns the memory, and work on the memory runs on that device
    Required<bool> direct;     ///< GPUs copy this memory without staging
    Required<Allocation> allocation;
    Required<Memory> costs;  ///< the kind of memory with the same costs
};

/// In the order of the values of `warpaes_memory`. Memory of WARPAES_MEMORY_SHARED counts as page-locked.
inline constexpr std::array memory_kinds{
    MemoryKind{"pageable", Memory::pageable, false, false, Allocation::pages, Memory::pageable},
    MemoryKind{"page-locked", Memory::page_locked, false, true, Allocation::locked_pages, Memory::page_locked},
    MemoryKind{"device", Memory::device, true, true, Allocation::by_driver, Memory::device},
    MemoryKind{"shared", Memory::page_locked, false, true, Allocation::locked_pages, Memory::page_locked}};

constexpr const MemoryKind& traits_of(Memory memory) {
    return memory_kinds[static_cast<std::size_t>(memory)];
}
constexpr bool is_on_device(Memory memory) {
    return traits_of(memory).on_device;
}
constexpr bool is_direct(Memory memory) {
    return traits_of(memory).direct;
}

struct MemoryPlace {
    Memory kind = Memory::pageable;
    int device = -1;  ///< -1 for memory that is not on a device
};

/// Memory [first, first + bytes), all of which is on one device or in host memory.
struct MemoryStretch {
    int device = -1;
    std::uintptr_t first = 0;
    std::uintptr_t bytes = 0;

    [[nodiscard]] bool holds(const void* pointer) const noexcept {
        return reinterpret_cast<std::uintptr_t>(pointer) - first < bytes;
    }
};

/// The memory of all GPUs of one backend. Used by engine/memory.cpp.
class GpuMemory {
public:
    /// Returns the kind and device of the memory that contains `pointer`: pageable if there is no usable device. Never
    /// creates a CUDA context. Thread-safe.
    [[nodiscard]] virtual MemoryPlace place(const void* pointer) noexcept = 0;
    /// Returns the memory of the same kind around `pointer`. With `far`, a stretch of device memory extends to its
    /// whole allocation, which takes longer to determine.
    [[nodiscard]] virtual MemoryStretch stretch(const void* pointer, bool far) noexcept = 0;
    /// Waits for all work enqueued on `stream` (a cudaStream_t, null for the default stream). This function and the
    /// following functions throw Error{STATE} if the stream is in capture.
    virtual void synchronize(int device, void* stream) = 0;
    /// Copies `bytes` bytes between any two buffers. The copy starts after earlier work on `stream` and is complete on
    /// return.
    virtual void copy(void* to, const void* from, std::size_t bytes, int device, void* stream) = 0;
    /// Copies `rows` rows of `bytes` bytes. Rows begin `from_stride` bytes apart in `from`, and `to_stride` bytes apart
    /// in `to`.
    virtual void copy_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                           std::size_t bytes, std::size_t rows, int device, void* stream) = 0;
    /// Writes zeros. Complete on return, and ordered after earlier work on `stream`.
    virtual void clear(void* memory, std::size_t bytes, int device, void* stream) = 0;
    /// Locks the pages of the caller's memory. Every device can copy to and from them until they are unregistered.
    /// Returns false if the driver can lock only pages that it allocates itself, as in NVIDIA's confidential computing.
    [[nodiscard]] virtual bool host_register(void* pointer, std::size_t bytes) = 0;
    virtual void host_unregister(void* pointer) noexcept = 0;
    /// Returns false once host_register has returned false.
    [[nodiscard]] virtual bool registers() const noexcept = 0;
    /// Allocates uninitialized memory from the driver. `device` is the owner of device memory. Page-locked memory is
    /// not aligned to pages; the result is nullptr if the driver cannot allocate it.
    [[nodiscard]] virtual void* allocate(Memory kind, int device, std::size_t bytes) = 0;
    /// Releases the memory; device memory is overwritten first.
    virtual void release(Memory kind, void* pointer) noexcept = 0;

    [[nodiscard]] void* device_alloc(int device, std::size_t bytes) { return allocate(Memory::device, device, bytes); }
    void device_free(void* pointer) noexcept { release(Memory::device, pointer); }

protected:
    ~GpuMemory() = default;
};

/// The memory of CUDA devices; a build without CUDA has no devices. Only engine/memory.cpp and tests use it.
GpuMemory& gpu_memory();

/// Whether no pointer can refer to device memory at present. Thread-safe.
bool all_memory_is_the_hosts() noexcept;

}  // namespace warpaes
