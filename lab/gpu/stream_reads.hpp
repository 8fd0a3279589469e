// [H]'s test of reads without encryption. Every thread reads its own stream of blocks, and the streams of adjacent
// threads are a given number of blocks apart.
#pragma once

#include <cstdint>

#include "lab/gpu/device.hpp"

namespace lab::gpu {

/// Blocks in device memory. Word i of all blocks is a hash of i.
class StreamReads {
public:
    /// `streams`: rounded up to a multiple of 256, the thread-block size. `stream_blocks`: length of a stream in blocks
    /// of 16 bytes, a power of two. `most_distance`: largest distance between two streams.
    StreamReads(std::uint32_t streams, std::uint32_t stream_blocks, std::uint32_t most_distance);

    [[nodiscard]] std::uint64_t bytes() const { return std::uint64_t{16} * streams_ * stream_blocks_; }
    /// Reads all streams and returns the seconds, measured by events. `distance`: blocks between neighbouring streams,
    /// a power of two. A stream longer than `distance` is divided into runs of that length, interleaved with the runs
    /// of other streams, so that every distance up to the stream's length reads the same blocks.
    double run(std::uint32_t distance);
    /// Whether every thread's sum of the last run is correct.
    [[nodiscard]] bool verify() const;

private:
    std::uint32_t streams_, stream_blocks_, distance_ = 0;
    DeviceMemory blocks_, sums_;
    Stream stream_;
};

}  // namespace lab::gpu
