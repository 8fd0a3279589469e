// Copies of rows, elements at equal distances.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace warpaes::cuda {

/// Longest pitch of a 2D copy.
inline constexpr std::size_t most_pitch = 0x7fffffff;

/// Enqueues a copy of rows between any two memories. It neither reads nor writes the gaps between them.
void enqueue_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride, std::size_t bytes,
                  std::size_t rows, cudaStream_t stream);

}  // namespace warpaes::cuda
