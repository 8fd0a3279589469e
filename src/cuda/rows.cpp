#include "cuda/rows.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "cuda/launch.hpp"

namespace warpaes::cuda {

void enqueue_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride, std::size_t bytes,
                  std::size_t rows, cudaStream_t stream) {
    const bool dense = to_stride == bytes && from_stride == bytes;
    if (dense) bytes *= std::exchange(rows, 1);
    // CUDA does not guarantee that a 2D copy may end less than a pitch before the end of an allocation, so the last row
    // is copied separately.
    std::size_t row = 0;
    if (rows > 2 && std::max(to_stride, from_stride) <= most_pitch) {
        row = rows - 1;
        check(cudaMemcpy2DAsync(to, to_stride, from, from_stride, bytes, row, cudaMemcpyDefault, stream), "copying");
    }
    for (; row < rows; ++row) {
        check(cudaMemcpyAsync(static_cast<std::uint8_t*>(to) + row * to_stride,
                              static_cast<const std::uint8_t*>(from) + row * from_stride, bytes, cudaMemcpyDefault,
                              stream),
              "copying");
    }
}

}  // namespace warpaes::cuda
