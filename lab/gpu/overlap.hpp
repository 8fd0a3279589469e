// Text in page-locked memory on its way through a device: all of it in three steps, or in chunks of which some are
// copied in while others are encrypted or copied out.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lab/gpu/device.hpp"

namespace lab::gpu {

/// Enqueues the kernel for `bytes` bytes of text that begin `offset` bytes into the whole.
using ChunkKernel = std::function<void(const std::uint8_t* input, std::uint8_t* output, std::size_t offset,
                                       std::size_t bytes, const Stream& stream)>;

/// How text is cut and queued.
struct Chunks {
    std::size_t bytes = 0;  ///< of a chunk, at least 1; the last may be shorter
    unsigned lanes = 1;     ///< buffers in device memory, so chunks under way at a time
    /// Copies in wait in a queue for all lanes, and so do copies out; else each lane copies in its own stream.
    bool queues = false;
};

/// Seconds of the three steps.
struct Steps {
    double in = 0, kernel = 0, out = 0;
    [[nodiscard]] double sum() const { return in + kernel + out; }
};

/// Device buffers and streams for texts. Times are by events, from the first copy to the last.
class Overlap {
public:
    /// Room for `most_bytes` in flight, in and out each: lanes times the bytes of a chunk.
    Overlap(std::size_t most_bytes, unsigned most_lanes);

    [[nodiscard]] std::size_t room() const { return input_.size(); }
    /// Seconds for `bytes` bytes from `input` to `output`, both in page-locked memory.
    double run(const std::uint8_t* input, std::uint8_t* output, std::size_t bytes, const Chunks& chunks,
               const ChunkKernel& kernel);
    /// The same in one chunk, one step after the other, with the time of each.
    Steps steps(const std::uint8_t* input, std::uint8_t* output, std::size_t bytes, const ChunkKernel& kernel);

private:
    struct Lane {
        Stream stream;
        Event in, kernel, out;  ///< the last chunk's of each
    };
    DeviceMemory input_, output_;
    std::vector<Lane> lanes_;
    Stream main_, queue_in_, queue_out_;
    Event begin_, after_in_, after_kernel_, end_, ready_;
};

}  // namespace lab::gpu
