// [H]'s test of reads without encryption. Every thread reads its own stream of blocks, and the streams of adjacent
// threads are a given number of blocks apart.
#pragma once

#include <cstdint>

#include "lab/gpu/device.hpp"

namespace lab::gpu {

/// Blocks in device memory. Word i of all blocks is a hash of i.
class StreamReads {
public:
    /// `streams` is rounded up to a multiple of 256, the thread-block size. `stream_blocks`, the length of a stream in
    /// blocks of 16 bytes, is a power of two. `most_distance` is the largest distance that run() may use.
    StreamReads(std::uint32_t streams, std::uint32_t stream_blocks, std::uint32_t most_distance);

    [[nodiscard]] std::uint64_t bytes() const { return std::uint64_t{16} * streams_ * stream_blocks_; }
    /// Reads all streams and returns the seconds, measured by events. `distance`, a power of two, is the number of
    /// blocks from the beginning of a stream to the beginning of the next. A stream longer than `distance` is divided
    /// into runs of that length, interleaved with the runs of other streams. All distances up to the stream's length
    /// therefore read the same blocks.
    double run(std::uint32_t distance);
    /// Returns whether the sum of every thread in the last run is correct.
    [[nodiscard]] bool verify() const;

private:
    std::uint32_t streams_, stream_blocks_, distance_ = 0;
    DeviceMemory blocks_, sums_;
    Stream stream_;
};

}  // namespace lab::gpu
