// Moves a batch's data between host memory and the device: direct copies, and copies through staging buffers.
//
// Page-locked inputs that are close together are copied as one stretch, including gaps. Inputs that are small or
// pageable are gathered in a page-locked staging buffer. Gaps between outputs must not be written: page-locked outputs
// are copied back in one piece if they have no gaps, and as the rows of a 2D copy if the rows are long; all other
// outputs go through a staging buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/group.hpp"
#include "base/pool.hpp"
#include "cuda/memory_place.hpp"
#include "cuda/resources.hpp"

namespace warpaes::cuda {

struct BatchDataMemory {
    PageLockedBuffer input_staging, output_staging;
    DeviceBuffer input, output;

    void wipe(cudaStream_t stream) noexcept;
    void release() noexcept;
};

class BatchData {
public:
    /// `pool` provides threads that help to copy, or is null.
    BatchData(BatchDataMemory& memory, int device, Pool* pool) : memory_(memory), device_(device), pool_(pool) {}

    /// Must be called first, for every group in order. Groups without data are skipped.
    void survey(std::size_t index, const MessageGroup& group);
    /// Reserves the memory. Must be called after survey and before place.
    void reserve();
    /// Must be called for every group in the same order: gathers the group's input if necessary, and returns where its
    /// input and output are on the device.
    struct Placed {
        const std::uint8_t* input = nullptr;
        std::uint8_t* output = nullptr;
        std::uint64_t input_stride = 0, output_stride = 0;
    };
    [[nodiscard]] Placed place(std::size_t index, const MessageGroup& group);
    /// Must be called after the last call of place.
    void finish_placing();

    [[nodiscard]] std::uint64_t bytes_in() const noexcept { return bytes_in_; }
    [[nodiscard]] std::uint64_t bytes_out() const noexcept { return bytes_out_; }
    void copy_in(cudaStream_t stream) const;
    void copy_out(cudaStream_t stream) const;
    /// Must be called when the copies have completed: copies outputs from the staging buffer to their destinations.
    void scatter() const;

private:
    /// Host memory [begin, end) that is copied to the device in one piece, with the groups in that memory.
    struct Stretch {
        std::uintptr_t begin, end, allocation;
        std::size_t last_group;
        bool foreign;              ///< whether it is memory of another device
        bool gathered = false;     ///< whether it is copied through the staging buffer
        std::uint64_t offset = 0;  ///< in device memory
    };
    struct Copy {
        void* to;
        const void* from;
        std::uint64_t bytes;
        std::uint64_t to_stride = 0, from_stride = 0, rows = 1;
        bool foreign = false;
        std::uintptr_t allocation = 0;
    };

    [[nodiscard]] bool is_here(const MemoryPlace& place) const { return place.device == device_; }
    void place_output(const MessageGroup& group, Placed& placed);
    void through_output_staging(std::uint8_t* host, std::uint64_t host_stride, const std::uint8_t* device,
                                std::uint64_t device_stride, std::uint64_t bytes, std::uint64_t rows);

    BatchDataMemory& memory_;
    int device_;
    Pool* pool_;
    PlaceFinder inputs_, outputs_;
    std::vector<Stretch> stretches_;
    std::size_t stretch_ = 0;  ///< stretch of the next group to be placed
    std::uint64_t gathered_ = 0, gather_at_ = 0, input_total_ = 0;
    std::uint64_t output_bound_ = 0, output_at_ = 0;
    std::vector<Copy> in_, out_, staged_out_, scatter_;
    std::uint64_t bytes_in_ = 0, bytes_out_ = 0, staging_out_ = 0;
};

}  // namespace warpaes::cuda
