// The CUDA backend's functions beyond the common interface: work in device memory and on a caller's stream.
// Engine::gpu() returns the backend that an engine uses. gpu_memory.hpp describes its memory, and gpu_tuning.hpp its
// tuning.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "aes/numbers.hpp"
#include "backend/backend.hpp"
#include "backend/gpu_memory.hpp"
#include "backend/gpu_tuning.hpp"

namespace warpaes {

/// Random numbers (include/warpaes/numbers.h) from the key stream that begins at `counter`. `bytes` is a multiple of
/// the size of a number, and the output may have any alignment.
struct NumbersRun {
    const ExpandedKey* key;
    Block counter;
    Number kind;
    NumberRange range;
    std::uint8_t* output;
    std::uint64_t bytes;
};

/// The caller's stream for an asynchronous call: a cudaStream_t, null for the default stream.
struct CallerStream {
    void* stream = nullptr;
};

class CudaBackend : public Backend, public GpuMemory, public GpuTuning {
public:
    [[nodiscard]] bool is_gpu() const noexcept final { return true; }
    /// Whether the driver is already loaded. If not, info() and usable() load it, which is slow.
    [[nodiscard]] virtual bool is_loaded() const noexcept = 0;
    /// Whether this backend has done any work in this process. If not, its first call creates a CUDA context, which
    /// takes a few tenths of a second.
    [[nodiscard]] virtual bool is_awake() const noexcept = 0;

    /// Processes a one-message group whose input and output are in memory of `device`. Its mode is GCM or a mode
    /// without tags. With GCM, the associated data is passed as a digest. Key, IV, J0 and an expected tag in host
    /// memory are copied before this function returns. Without a stream, the message is complete on return, after
    /// earlier work on the default stream; its tag and `failed` are in host memory. With a stream, the message is
    /// enqueued: encryption writes a 16-byte tag to that device's memory or to page-locked memory; decryption reads the
    /// expected tag from that device's memory or from any host memory, writes the status to `statuses`, and wipes an
    /// output that is not authentic. Thread-safe. Throws Error{DEVICE} or Error{DEVICE_MEMORY}.
    virtual void run(const MessageGroup& message, int device, std::optional<CallerStream> stream) = 0;
    /// Enqueues groups of any kind on `stream` (a cudaStream_t, null for the default stream) of `device`. Inputs,
    /// outputs and tags to be written are on `device`. IVs, associated data, keys and expected tags are also on
    /// `device`, or in host memory, which is copied before this function returns. `stream` may be in capture: the graph
    /// then owns everything that it needs, including keys, and must not run twice at the same time. Outputs that are
    /// not authentic are wiped, and `statuses` receives the results. Thread-safe. Throws Error{DEVICE} or
    /// Error{DEVICE_MEMORY}.
    virtual void enqueue(std::span<const MessageGroup> groups, int device, void* stream) = 0;
    /// Like enqueue(), but also copies texts to or from page-locked memory while other groups are processed.
    /// `copies[i]` is memory for the text of group i, or null if its text is not copied. The output of an encryption is
    /// copied there; the input of a decryption is first copied from there. Neither text has gaps. `stream` waits for
    /// all copies; with `more`, the next call without `more` makes it wait.
    virtual void enqueue_copied(std::span<const MessageGroup> groups, std::span<std::uint8_t* const> copies, bool more,
                                int device, void* stream) = 0;
    /// Makes `stream` wait for all copies of earlier calls with `more`. Thread-safe. Throws Error{DEVICE}.
    virtual void finish_copies(void* stream) = 0;
    /// Enqueues the generation of numbers in memory of `device`. The key is copied before this function returns.
    /// `stream` may be in capture. Thread-safe. Throws Error{DEVICE}.
    virtual void enqueue(const NumbersRun& numbers, int device, void* stream) = 0;
    /// Processes a run whose input and output are in memory of `device`. The run starts after earlier work on the
    /// default stream and is complete on return. Thread-safe. Throws Error{DEVICE} or Error{DEVICE_MEMORY}.
    virtual void run(const GcmSivRun& run, int device) = 0;
    /// Like run(GcmSivRun), but generates numbers.
    virtual void run(const NumbersRun& numbers, int device) = 0;
    /// Whether the memory of any device contains expanded keys that are kept for later batches. Thread-safe.
    [[nodiscard]] virtual bool keeps_keys() noexcept = 0;
    /// Overwrites the kept keys that no batch has started or stopped using since `time`. A key that is in use is
    /// overwritten by a later call or batch. Thread-safe. Throws Error{DEVICE} if any key could not be overwritten.
    virtual void wipe_keys_before(std::chrono::steady_clock::time_point time) = 0;
};

/// In a build without CUDA, this backend reports that it cannot run.
CudaBackend& cuda_backend();

}  // namespace warpaes
