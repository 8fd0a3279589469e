// What the CUDA backend offers beyond the common interface: it recognises device memory, works on a caller's stream,
// and has launch figures that can be changed.
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

/// The device whose memory it is, or -1 for host memory.
constexpr int device_of(const MemoryPlace& place) {
    return place.kind == Memory::device ? place.device : -1;
}

/// Memory [first, first + bytes), which lies entirely on one device or entirely in host memory.
struct MemoryStretch {
    int device = -1;
    std::uintptr_t first = 0;
    std::uintptr_t bytes = 0;

    [[nodiscard]] bool holds(const void* pointer) const noexcept {
        return reinterpret_cast<std::uintptr_t>(pointer) - first < bytes;
    }
};

/// Random numbers (include/warpaes/numbers.h) from the key stream that begins at `counter`. `bytes` is a whole count of
/// numbers, at any alignment.
struct NumbersRun {
    const ExpandedKey* key;
    Block counter;
    Number kind;
    NumberRange range;
    std::uint8_t* output;
    std::uint64_t bytes;
};

/// The properties of a GPU that matter for launches.
struct GpuShape {
    std::string name;  ///< the name of its cost table (CostModel::table_name)
    std::uint32_t compute_capability = 0;
    std::uint32_t multiprocessors = 0;
    std::uint32_t shared_bytes = 0;  ///< maximum for one thread block
    BitProducts bit_products = BitProducts::none;
};

/// The launch figures of a GPU.
struct GpuLaunches {
    GpuShape gpu;
    LaunchTable built_in;  ///< of the GPU's architecture
    LaunchTable used;
    std::string note;  ///< why `used` is not the stored table, if one is stored
};

/// What a tuning stored for a GPU: a table that has passed every check, or else possibly a note why there is none.
struct StoredLaunches {
    std::optional<LaunchTable> table;
    std::string note;
};

/// Whether kernels read and write nearly every byte only once, so that it may lie in page-locked memory. (GCM's read
/// the ciphertext again, for GHASH.)
constexpr bool accesses_once(Mode mode, Direction direction) {
    return is_parallel(mode, direction) && mode != Mode::gcm && mode != Mode::cfb8 && mode != Mode::cfb1;
}

class CudaBackend : public Backend {
public:
    /// Whether the driver is loaded already. If not, info() and usable() load it, which takes long.
    [[nodiscard]] virtual bool is_loaded() const noexcept = 0;
    /// Whether this backend has worked in this process. If not, its first call creates a CUDA context, which takes some
    /// tenths of a second.
    [[nodiscard]] virtual bool is_awake() const noexcept = 0;

    /// Where `pointer` lies; pageable if there is no usable GPU. Never creates a CUDA context. Thread-safe.
    [[nodiscard]] virtual MemoryPlace place(const void* pointer) noexcept = 0;
    /// The memory around `pointer` that lies in the same place. `far`: on a device, its whole allocation, which takes
    /// longer to find.
    [[nodiscard]] virtual MemoryStretch stretch(const void* pointer, bool far) noexcept = 0;

    /// Enqueues a group of one on `stream` (a cudaStream_t, null for the default stream) of `device`. Input and output
    /// lie in that device's memory. With GCM, associated data is given as a digest. Encryption writes a tag of 16 bytes
    /// to that device's memory or to page-locked memory. Decryption takes the expected tag from there or from any host
    /// memory, writes the status to `statuses`, and wipes an output that is not authentic. Key, IV, J0 and an expected
    /// tag in host memory are copied before this returns.
    /// Thread-safe. Throws Error{DEVICE, DEVICE_MEMORY}.
    virtual void enqueue(const MessageGroup& message, int device, void* stream) = 0;
    /// Enqueues groups of any kind. Inputs, outputs and tags to be written lie on `device`. IVs, associated data, keys
    /// and expected tags lie there too, or in host memory, which is copied before this returns. `stream` may be in
    /// capture: the graph then owns what it needs, its keys included, and must not run twice at the same time. Outputs
    /// that are not authentic are wiped, and `statuses` receives the results. Thread-safe. Throws Error{DEVICE,
    /// DEVICE_MEMORY}.
    virtual void enqueue(std::span<const MessageGroup> groups, int device, void* stream) = 0;
    /// Enqueues the generation of numbers in memory of `device`. The key is copied before this returns. `stream` may be
    /// in capture. Thread-safe. Throws Error{DEVICE}.
    virtual void enqueue(const NumbersRun& numbers, int device, void* stream) = 0;
    /// Processes a message in memory of `device`. Its mode is GCM or has no tags. With GCM, its associated data is
    /// given as a digest, and its tag and `failed` lie in host memory. Complete on return, after earlier work on the
    /// default stream. Thread-safe. Throws Error{DEVICE, DEVICE_MEMORY}.
    virtual void run(const MessageGroup& message, int device) = 0;
    /// Processes a run whose input and output lie in memory of `device`. Complete on return, after earlier work on the
    /// default stream. Thread-safe. Throws Error{DEVICE, DEVICE_MEMORY}.
    virtual void run(const GcmSivRun& run, int device) = 0;
    /// The same for numbers.
    virtual void run(const NumbersRun& numbers, int device) = 0;
    /// Waits for everything enqueued on `stream`. This and the following functions throw Error{STATE} if it is in
    /// capture.
    virtual void synchronize(int device, void* stream) = 0;
    /// Copies `bytes` bytes between any two places. Complete on return, after earlier work on `stream`.
    virtual void copy(void* to, const void* from, std::size_t bytes, int device, void* stream) = 0;
    /// Copies `rows` rows of `bytes` bytes, which begin `to_stride` and `from_stride` bytes apart.
    virtual void copy_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                           std::size_t bytes, std::size_t rows, int device, void* stream) = 0;
    /// Writes zeros. Complete on return, after earlier work on `stream`.
    virtual void clear(void* memory, std::size_t bytes, int device, void* stream) = 0;

    /// Locks the pages of the caller's memory. Every device can copy from and to them until they are unregistered.
    virtual void host_register(void* pointer, std::size_t bytes) = 0;
    virtual void host_unregister(void* pointer) noexcept = 0;

    [[nodiscard]] virtual void* device_alloc(int device, std::size_t bytes) = 0;
    virtual void device_free(void* pointer) noexcept = 0;

    /// Whether any device's memory holds expanded keys that are kept for later batches. Thread-safe.
    [[nodiscard]] virtual bool keeps_keys() noexcept = 0;
    /// Overwrites the kept keys that no batch has begun or ended to use since `time`. A key that is in use is
    /// overwritten by a later call or batch. Thread-safe. Throws Error{DEVICE} if any key could not be overwritten.
    virtual void wipe_keys_before(std::chrono::steady_clock::time_point time) = 0;

    /// Sets the function that looks up stored launch tables. It is called once for each GPU, on first use; nothing is
    /// launched before that. Thread-safe.
    virtual void find_launches_by(StoredLaunches (*find)(const GpuShape& gpu)) noexcept = 0;
    /// The launch figures of a device. Thread-safe. Throws Error{BACKEND}.
    [[nodiscard]] virtual GpuLaunches launches(int device) = 0;
    /// Sets the launch table for lanes that are opened after this call; std::nullopt restores the architecture's.
    /// Thread-safe. Throws Error{ARGUMENT} with the objection to the table, Error{BACKEND}.
    virtual void use_launches(int device, const std::optional<LaunchTable>& table) = 0;
};

/// Whether no pointer can lie on a device at present, so that calls of `place` and `stretch` can be skipped.
/// Thread-safe.
bool all_memory_is_the_hosts() noexcept;

/// In a build without CUDA, this is a backend that says that it cannot run.
CudaBackend& cuda_backend();

}  // namespace warpaes
