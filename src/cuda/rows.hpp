// Copies of rows, which are elements at equal distances.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "backend/group.hpp"

namespace warpaes::cuda {

inline constexpr std::size_t most_pitch = 0x7fffffff;

/// Enqueues a copy of rows between memory of any two kinds. The copy neither reads nor writes the gaps between the
/// rows.
void enqueue_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride, std::size_t bytes,
                  std::size_t rows, cudaStream_t stream);

/// Rounds up to a multiple of 16, the alignment of all data in a buffer.
constexpr std::uint64_t aligned(std::uint64_t n) {
    return (n + 15) / 16 * 16;
}

/// Returns the number of distinct elements of a group.
inline std::uint64_t rows_of(const MessageGroup& g, const Elements& e) {
    return e.stride == 0 ? 1 : g.count;
}

}  // namespace warpaes::cuda
