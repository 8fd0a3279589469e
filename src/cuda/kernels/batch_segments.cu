// CFB8 and CFB1 decryption of many messages: one thread per byte, which computes one encryption (CFB8) or eight (CFB1).
// The ciphertext is copied beforehand, one message after another, because the work may be in place.
#include "cuda/kernels/batch_lookup.cuh"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/segments.cuh"
#include "cuda/tuning/shapes.hpp"

namespace warpaes::cuda {

/// The message that corresponds to byte `unit` of the launch, and the offset in that message.
struct BatchByte {
    const BatchGroup& group;
    std::uint64_t message, at;

    __device__ __forceinline__ BatchByte(const BatchParams& p, std::uint64_t unit, bool bits)
        : group(p.groups[find_group<&BatchGroup::first_unit>(p, unit)]) {
        const std::uint64_t bytes = bits ? (group.length + 7) / 8 : group.length;
        message = (unit - group.first_unit) / bytes;
        at = (unit - group.first_unit) % bytes;
    }
};

template <Mode M, int Rounds, int Tables, bool OneKey>
__global__ void __launch_bounds__(most_table_threads, 1)
    batch_segments_kernel(const __grid_constant__ SegmentParams p) {
    const SharedTables<Tables> tables;
    tables.fill(te0_table);
    const std::uint64_t step = global_threads();
    for (std::uint64_t unit = global_thread(); unit < p.batch.units; unit += step) {
        const BatchByte byte(p.batch, unit, M == Mode::cfb1);
        const BatchGroup& g = byte.group;
        const auto key = key_of<OneKey>(p.batch, g, byte.message);
        const std::uint8_t* text = p.ciphertext + (unit - byte.at);
        const uint4 window = window_before(text, load_iv(g, byte.message), byte.at);
        std::uint8_t* out = global(g.output) + byte.message * g.output_stride + byte.at;
        const auto encrypt = [&](uint4 block) { return cipher_with<false, Rounds>(tables, block, key); };
        *out = decrypted_byte<M>(window, text[byte.at], g.length - 8 * byte.at, encrypt);
    }
}

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
