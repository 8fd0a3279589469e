// Two ways to move a file through a cipher: one thread, and [P]'s three threads connected by queues. Production uses a
// third way: workers that all read, encrypt and write (src/engine/pipeline).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "lab/files.hpp"

namespace lab {

/// Processes a chunk in place. The function is called for every chunk, in file order.
using ChunkWork = std::function<void(std::span<std::uint8_t> chunk)>;

/// One thread reads, works and writes, chunk by chunk.
void run_by_one_thread(const File& input, const File& output, std::size_t chunk_bytes, const ChunkWork& work);

/// A reader thread, a worker thread and a writer thread share `buffers` chunks (at least one). An exception in any of
/// these threads is rethrown to the caller.
void run_by_three_threads(const File& input, const File& output, std::size_t chunk_bytes, std::size_t buffers,
                          const ChunkWork& work);

}  // namespace lab
