// Moves text in page-locked memory through a device: either the complete text in three steps (copy in, kernel, copy
// out), or in chunks, so that copies and encryption of different chunks overlap.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lab/gpu/device.hpp"

namespace lab::gpu {

/// Enqueues the kernel for `bytes` bytes of text that begin at `offset` in the whole text.
using ChunkKernel = std::function<void(const std::uint8_t* input, std::uint8_t* output, std::size_t offset,
                                       std::size_t bytes, const Stream& stream)>;

/// How the text is divided and queued.
struct Chunks {
    std::size_t bytes = 0;  ///< size of a chunk, at least 1; the last may be shorter
    unsigned lanes = 1;     ///< number of device buffers and of chunks in flight
    /// true: one stream carries all copies in, another all copies out. false: each lane copies on its own stream.
    bool queues = false;
};

/// Seconds of the three steps.
struct Steps {
    double in = 0, kernel = 0, out = 0;
    [[nodiscard]] double sum() const { return in + kernel + out; }
};

/// Device buffers and streams. Times are measured by events, from the start of the first copy to the end of the last.
class Overlap {
public:
    /// `most_bytes` is the size of the device memory for the input, and also of the memory for the output. It is at
    /// least the number of lanes times the chunk size.
    Overlap(std::size_t most_bytes, unsigned most_lanes);

    [[nodiscard]] std::size_t room() const { return input_.size(); }
    /// Returns the seconds for `bytes` bytes from `input` to `output`, both in page-locked memory.
    double run(const std::uint8_t* input, std::uint8_t* output, std::size_t bytes, const Chunks& chunks,
               const ChunkKernel& kernel);
    /// Processes the text in one chunk, one step after the other, and returns the time of each step.
    Steps steps(const std::uint8_t* input, std::uint8_t* output, std::size_t bytes, const ChunkKernel& kernel);

private:
    struct Lane {
        Stream stream;
        Event in, kernel, out;  ///< recorded after this step of the lane's last chunk
    };
    DeviceMemory input_, output_;
    std::vector<Lane> lanes_;
    Stream main_, queue_in_, queue_out_;
    Event begin_, after_in_, after_kernel_, end_, ready_;
};

}  // namespace lab::gpu
