// What the CUDA backend offers beyond the common interface: memory that it recognises, work on a caller's stream, and
// the figures of its launches.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "aes/numbers.hpp"
#include "backend/backend.hpp"
#include "backend/launch_table.hpp"

namespace warpaes {

struct MemoryPlace {
    Memory kind = Memory::pageable;
    int device = -1;  ///< for Memory::device
};

/// The device that memory lies on, or -1 for host memory.
constexpr int device_of(const MemoryPlace& place) {
    return place.kind == Memory::device ? place.device : -1;
}

/// Memory [first, first + bytes) that all lies on one device, or all in the host's memory.
struct MemoryStretch {
    int device = -1;
    std::uintptr_t first = 0;
    std::uintptr_t bytes = 0;

    [[nodiscard]] bool holds(const void* pointer) const noexcept {
        return reinterpret_cast<std::uintptr_t>(pointer) - first < bytes;
    }
};

/// Random numbers (include/warpaes/numbers.h) of the key stream that begins with `counter`: whole ones, of any
/// alignment.
struct NumbersRun {
    const ExpandedKey* key;
    Block counter;
    Number kind;
    NumberRange range;
    std::uint8_t* output;
    std::uint64_t bytes;
};

/// A GPU, as far as launches are concerned.
struct GpuShape {
    std::string name;  ///< of its costs (CostModel::table_name)
    std::uint32_t compute_capability = 0;
    std::uint32_t multiprocessors = 0;
    std::uint32_t shared_bytes = 0;  ///< that a thread block can have
    BitProducts bit_products = BitProducts::none;
};

/// What a GPU is launched with.
struct GpuLaunches {
    GpuShape gpu;
    LaunchTable built_in;  ///< of its architecture
    LaunchTable used;
    std::string note;  ///< why it is not what is stored, if something is
};

/// What a tuning has left for a GPU: a table to which there is no objection, or else, perhaps, why there is none.
struct StoredLaunches {
    std::optional<LaunchTable> table;
    std::string note;
};

class CudaBackend : public Backend {
public:
    /// Whether the driver is there already: if not, info() and usable() load it, which takes long.
    [[nodiscard]] virtual bool is_loaded() const noexcept = 0;
    /// Whether this backend has worked in this process: if not, its first call creates a context, which takes some
    /// tenths of a second.
    [[nodiscard]] virtual bool is_awake() const noexcept = 0;

    /// Where `pointer` lies. Without a usable GPU: pageable. Never creates a CUDA context. Thread-safe.
    [[nodiscard]] virtual MemoryPlace place(const void* pointer) noexcept = 0;
    /// The same for a neighbourhood of `pointer`. `far`: on a device all of its allocation, which takes longer.
    [[nodiscard]] virtual MemoryStretch stretch(const void* pointer, bool far) noexcept = 0;

    /// Enqueues a group of one on `stream` (a cudaStream_t, null for the default stream) of
    /// `device`; input and output are memory of that device, and so is the tag of GCM, which is encrypted only, or
    /// page-locked; its associated data is a digest. Key, IV and J0 are copied before this returns. Thread-safe. Throws
    /// Error{DEVICE, DEVICE_MEMORY}.
    virtual void enqueue(const MessageGroup& message, int device, void* stream) = 0;
    /// Enqueues groups of any kind whose inputs, outputs and tags, if these are written, lie on `device`; IVs,
    /// associated data, keys and expected tags lie there too, or in host memory, of which a copy is taken before this
    /// returns. `stream` may be in capture: the graph then holds what it needs, its keys included, and is not to run
    /// twice at the same time. Outputs that are not authentic are wiped, and `statuses` told. Thread-safe. Throws
    /// Error{DEVICE, DEVICE_MEMORY}.
    virtual void enqueue(std::span<const MessageGroup> groups, int device, void* stream) = 0;
    /// Enqueues the making of numbers in memory of `device`. The key is copied before this returns. `stream` may be in
    /// capture. Thread-safe. Throws Error{DEVICE}.
    virtual void enqueue(const NumbersRun& numbers, int device, void* stream) = 0;
    /// A message in memory of `device`, of a mode without tags, or of GCM: its associated data is a digest then, and
    /// `tag` gets what its tag is. Complete on return, after what the default stream held before. Thread-safe. Throws
    /// Error{DEVICE, DEVICE_MEMORY}.
    virtual void run(const MessageGroup& message, Block* tag, int device) = 0;
    /// Input and output are memory of `device`; complete on return, after what the default stream held before.
    /// Thread-safe. Throws Error{DEVICE, DEVICE_MEMORY}.
    virtual void run(const GcmSivRun& run, int device) = 0;
    /// Waits for everything enqueued on `stream`.
    virtual void synchronize(int device, void* stream) = 0;
    /// `bytes` bytes between any two memories, complete on return after what `stream` held before.
    virtual void copy(void* to, const void* from, std::size_t bytes, int device, void* stream) = 0;
    /// The same for `rows` rows of `bytes` bytes, which begin `to_stride` and `from_stride` bytes apart.
    virtual void copy_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                           std::size_t bytes, std::size_t rows, int device, void* stream) = 0;
    /// Zeros, complete on return after what `stream` held before.
    virtual void clear(void* memory, std::size_t bytes, int device, void* stream) = 0;

    /// Locks the pages of the caller's memory, which every device can copy from and to until it is unregistered.
    virtual void host_register(void* pointer, std::size_t bytes) = 0;
    virtual void host_unregister(void* pointer) noexcept = 0;

    [[nodiscard]] virtual void* device_alloc(int device, std::size_t bytes) = 0;
    virtual void device_free(void* pointer) noexcept = 0;

    /// Whether expanded keys lie in the memory of any device, kept for batches to come. Thread-safe, as is:
    [[nodiscard]] virtual bool keeps_keys() noexcept = 0;
    /// Overwrites those that no batch has begun or ended to use since `time`; what is in use then, with a later call or
    /// batch. Throws Error{DEVICE} if any could not be.
    virtual void wipe_keys_before(std::chrono::steady_clock::time_point time) = 0;

    /// Who knows what is stored. Asked once for each GPU, when one is first used; before that nothing is launched.
    /// Thread-safe, as are:
    virtual void find_launches_by(StoredLaunches (*find)(const GpuShape& gpu)) noexcept = 0;
    /// Throws Error{BACKEND}.
    [[nodiscard]] virtual GpuLaunches launches(int device) = 0;
    /// From now on, but for lanes that are there already; nothing: its architecture's. Throws Error{ARGUMENT} with the
    /// objection to it, Error{BACKEND}.
    virtual void use_launches(int device, const std::optional<LaunchTable>& table) = 0;
};

/// Whether no pointer can lie on a device now: `place` and `stretch` need not be asked. Thread-safe.
bool all_memory_is_the_hosts() noexcept;

/// In a build without CUDA, a backend that says that it cannot run.
CudaBackend& cuda_backend();

}  // namespace warpaes
