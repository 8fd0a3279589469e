// Messages with expected results on a caller's stream, which may be in capture, and wrappers for the CUDA calls that
// they need.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "abi_batch.hpp"

namespace warpaes::test {

/// Throws std::runtime_error if `error` is an error.
void must(cudaError_t error, const char* what);

/// Sets the thread's capture mode. With the default, the thread can call CUDA while other threads capture.
class ThreadMode {
public:
    explicit ThreadMode(cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed);
    ThreadMode(const ThreadMode&) = delete;
    ThreadMode& operator=(const ThreadMode&) = delete;
    ~ThreadMode();

private:
    cudaStreamCaptureMode mode_;
};

class CudaStream {
public:
    explicit CudaStream(unsigned flags = cudaStreamNonBlocking);
    CudaStream(const CudaStream&) = delete;
    CudaStream& operator=(const CudaStream&) = delete;
    ~CudaStream();
    [[nodiscard]] cudaStream_t get() const noexcept { return stream_; }
    void synchronize() const;

private:
    cudaStream_t stream_ = nullptr;
};

/// Memory of device 0. CUDA allocates it, so that the library is not called. It can be used while other threads
/// capture.
class CudaMemory final : public BatchMemory {
public:
    std::uint8_t* allocate(std::size_t bytes) override;
    void release(std::uint8_t* memory, std::size_t bytes) noexcept override;
    void write(std::uint8_t* to, std::span<const std::uint8_t> from) override;
    void read(std::span<std::uint8_t> to, const std::uint8_t* from) override;

private:
    void copy(void* to, const void* from, std::size_t bytes);
    CudaStream stream_;
};

/// A stream's capture and the resulting graph. The destructor ends a capture that is not finished.
class Captured {
public:
    Captured(cudaStream_t stream, cudaStreamCaptureMode mode);
    Captured(const Captured&) = delete;
    Captured& operator=(const Captured&) = delete;
    ~Captured();
    /// Ends the capture. Returns the fault, or "".
    [[nodiscard]] std::string finish();
    /// Runs the graph and waits for it.
    void run(const CudaStream& stream);

private:
    cudaStream_t stream_;
    bool active_ = true;
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t exec_ = nullptr;
};

/// Adapts a group to the restrictions of calls on a stream.
GroupSpec for_stream(GroupSpec spec);

/// Messages whose data, written tags and statuses lie in device memory. All other memory is on the host.
class OnStream {
public:
    OnStream(std::span<const GroupSpec> specs, std::uint32_t seed, CudaMemory& memory,
             const KeyPool& pool = shared_keys(), KeyHandles& handles = shared_handles());
    OnStream(const OnStream&) = delete;
    OnStream& operator=(const OnStream&) = delete;
    ~OnStream();

    /// Enqueues the messages as one batch. Returns the fault, or "".
    std::string enqueue_batch(warpaes_engine* engine, cudaStream_t stream);
    /// Enqueues each group, which consists of one message, in a separate call.
    std::string enqueue_messages(warpaes_engine* engine, cudaStream_t stream);
    /// Must be called after the stream has executed the messages. Returns all faults, or "".
    [[nodiscard]] std::string complaints();
    [[nodiscard]] bool in_place() const;

private:
    struct Device;  ///< a group's tags and statuses in device memory
    CudaMemory& memory_;
    KeyHandles& handles_;
    BatchCase cases_;
    AbiEntries entries_;
    std::vector<Device> devices_;
};

}  // namespace warpaes::test
