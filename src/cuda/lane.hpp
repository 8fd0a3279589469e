// A lane of the CUDA backend: a device, the lane's own stream, and host and device memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/stretch.hpp"
#include "cuda/batch.hpp"
#include "cuda/device_calls.hpp"
#include "cuda/key_table.hpp"
#include "cuda/memory_place.hpp"
#include "cuda/resources.hpp"
#include "cuda/stream_batch.hpp"
#include "cuda/stream_copies.hpp"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

/// The data that all lanes of a device share. Created by the first call that uses the current device.
struct DeviceShare {
    /// Allocates some memory at the start, so that messages in a device's memory can be processed even if the memory is
    /// full.
    DeviceShare() { StreamScratch::keep_some(wiping.get()); }

    CopyQueues queues;
    KeyTable keys;
    Stream wiping;  ///< wipes keys while no batch runs
    StreamBatches on_streams;
    StreamPieces pieces;
    StreamCopies copies;
    DeviceCalls calls;
};

class CudaLane final : public StretchLane {
public:
    CudaLane(int device, const DeviceLimits& limits, DeviceShare& share, std::size_t staging_bytes, Pool* pool);
    ~CudaLane() override;

    std::span<std::uint8_t> input_staging() noexcept override { return {staging_, staging_bytes_}; }
    std::span<std::uint8_t> output_staging() noexcept override { return {staging_ + staging_bytes_, staging_bytes_}; }
    int device() const noexcept override { return device_; }

    void run(std::span<const MessageGroup> groups) override;
    void run_stretch(const Run& run) override;
    void run_gcm(const GcmRun& run) override;
    void copy_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride, std::size_t bytes,
                   std::size_t rows) override;
    void clear_rows(std::uint8_t* memory, std::size_t stride, std::size_t bytes, std::span<const std::uint8_t> marks,
                    bool beyond_caches) override;
    /// Device memory is wiped in stream order, before any later work.
    void wipe_staging(std::size_t bytes) noexcept override;

private:
    /// One side of a run. Kernels access page-locked memory of up to `most_mapped` bytes in place.
    template <typename Byte>
    struct End {
        Byte* first;
        std::uint64_t bytes;
        std::uint64_t most_mapped;
    };
    template <typename Byte>
    [[nodiscard]] bool is_in_reach(const End<Byte>& end) const;
    template <typename Work>
    void carry_out(const End<const std::uint8_t>& input, const End<std::uint8_t>& output, const Work& work);
    [[nodiscard]] bool is_here(const void* pointer) const { return place_of(pointer).device == device_; }
    [[nodiscard]] bool is_worth_its_own_launches(const MessageGroup& g) const;

    int device_;
    DeviceLimits limits_;
    CopyQueues& queues_;
    Pool* pool_;
    KeyTable& keys_;
    Stream stream_;
    Event event_, done_;
    std::uint8_t* staging_ = nullptr;
    std::size_t staging_bytes_;
    DeviceBuffer input_, output_;
    GcmMemory gcm_;
    PageLockedBuffer j0s_;
    BatchMemory batch_;
    bool clearing_ = false;  ///< whether work of clear_rows() may still be pending on the stream
    bool wiping_ = false;    ///< whether the wiping of input_ and output_ may still be pending on the stream
};

}  // namespace warpaes::cuda
