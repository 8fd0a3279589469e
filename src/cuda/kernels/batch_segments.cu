#include "cuda/kernels/batch_segments.cuh"
#include "cuda/kernels/catalogue.hpp"

namespace warpaes::cuda {

namespace {

__global__ void batch_copy(const __grid_constant__ SegmentParams p) {
    const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    for (std::uint64_t unit = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; unit < p.batch.units;
         unit += step) {
        const BatchByte byte(p.batch, unit, p.bits != 0);
        p.ciphertext[unit] = byte.group.input[byte.message * byte.group.input_stride + byte.at];
    }
}

}  // namespace

SegmentKernel batch_copy_kernel_for() {
    return &batch_copy;
}

SegmentKernel batch_segments_kernel_for(Mode mode, int rounds, int tables, bool one_key) {
    return with_rounds_and_tables(rounds, tables, [&]<int Rounds, int Tables>() -> SegmentKernel {
        if (mode == Mode::cfb8) {
            return one_key ? &batch_segments_kernel<Mode::cfb8, Rounds, Tables, true>
                           : &batch_segments_kernel<Mode::cfb8, Rounds, Tables, false>;
        }
        return one_key ? &batch_segments_kernel<Mode::cfb1, Rounds, Tables, true>
                       : &batch_segments_kernel<Mode::cfb1, Rounds, Tables, false>;
    });
}

}  // namespace warpaes::cuda
