// Ways to move a file through a cipher: by one thread, and by three that queues join, as [P] does it. Production has
// another: symmetrical workers (src/pipeline).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "lab/files.hpp"

namespace lab {

/// Works on a chunk in place; called for one after the other, in the order of the file.
using ChunkWork = std::function<void(std::span<std::uint8_t> chunk)>;

/// Read, work, write, and again.
void run_by_one_thread(const File& input, const File& output, std::size_t chunk_bytes, const ChunkWork& work);

/// A reader, a worker and a writer, `buffers` chunks between them, at least 1. What one of them throws, is thrown here.
void run_by_three_threads(const File& input, const File& output, std::size_t chunk_bytes, std::size_t buffers,
                          const ChunkWork& work);

}  // namespace lab
