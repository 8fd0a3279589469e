#include "cuda/kernels/batch_segments.cuh"
#include "cuda/kernels/catalogue.hpp"

namespace warpaes::cuda {

namespace {

__global__ void batch_copy(const __grid_constant__ SegmentParams p) {
    const std::uint64_t step = global_threads();
    for (std::uint64_t unit = global_thread(); unit < p.batch.units; unit += step) {
        const BatchByte byte(p.batch, unit, p.bits != 0);
        p.ciphertext[unit] = byte.group.input[byte.message * byte.group.input_stride + byte.at];
    }
}

}  // namespace

Kernel<SegmentParams> batch_copy_kernel_for() {
    return &batch_copy;
}

Kernel<SegmentParams> batch_segments_kernel_for(Mode mode, int rounds, int tables, bool one_key) {
    const auto choose = [&]<int Rounds, int Tables, bool OneKey>() -> Kernel<SegmentParams> {
        if (mode == Mode::cfb8) return &batch_segments_kernel<Mode::cfb8, Rounds, Tables, OneKey>;
        return &batch_segments_kernel<Mode::cfb1, Rounds, Tables, OneKey>;
    };
    return with_rounds_and_tables(rounds, tables, one_key, choose);
}

}  // namespace warpaes::cuda
