// [H]'s pure read test: every thread reads a stream of blocks of its own, neighbouring threads' streams so many blocks
// apart.
#pragma once

#include <cstdint>

#include "lab/gpu/device.hpp"

namespace lab::gpu {

/// Device memory of blocks whose words are a mix of their numbers.
class StreamReads {
public:
    /// `streams`: whole thread blocks of 256 threads; `stream_blocks`: a power of two, of 16 bytes each;
    /// `most_distance`: between two streams.
    StreamReads(std::uint32_t streams, std::uint32_t stream_blocks, std::uint32_t most_distance);

    [[nodiscard]] std::uint64_t bytes() const { return std::uint64_t{16} * streams_ * stream_blocks_; }
    /// Seconds by events to read all streams, each `distance` blocks behind its neighbour: a power of two. Streams
    /// longer than that lie in runs of so many blocks beside the others' runs, so that the same blocks are read at any
    /// distance up to the stream's length.
    double run(std::uint32_t distance);
    /// Whether every thread's sum of the last run is what it must be.
    [[nodiscard]] bool verify() const;

private:
    std::uint32_t streams_, stream_blocks_, distance_ = 0;
    DeviceMemory blocks_, sums_;
    Stream stream_;
};

}  // namespace lab::gpu
