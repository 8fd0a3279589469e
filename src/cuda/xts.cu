// XTS runs: a single kernel, which computes the tweaks itself.
#include <algorithm>

#include "aes/xts.hpp"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/launch.hpp"
#include "cuda/run.hpp"
#include "cuda/tuning/shapes.hpp"
#include "cuda/tuning/xts.hpp"

namespace warpaes::cuda {

void enqueue_xts(const Run& run, const DeviceLimits& device, cudaStream_t stream) {
    Secret<XtsParams> p;
    p->input = run.input;
    p->output = run.output;
    p->first_number = load_tweak(run.chain);
    p->units = run.length / run.data_units.bytes + (run.length % run.data_units.bytes != 0);
    p->unit_bytes = run.data_units.bytes;
    p->unit_step = run.data_units.step;
    const std::uint64_t last = run.length - (p->units - 1) * run.data_units.bytes;
    const std::uint64_t unit = p->units == 1 ? last : run.data_units.bytes;
    p->unit_blocks = static_cast<std::uint32_t>(unit / block_bytes);
    p->unit_rest = static_cast<std::uint32_t>(unit % block_bytes);
    p->last_unit_blocks = static_cast<std::uint32_t>(last / block_bytes);
    p->last_unit_rest = static_cast<std::uint32_t>(last % block_bytes);
    p->width = std::min<std::uint32_t>(32, p->unit_blocks);
    p->alignment =
        alignment_of(reinterpret_cast<std::uintptr_t>(run.input) | reinterpret_cast<std::uintptr_t>(run.output) |
                     (p->units == 1 ? 0 : run.data_units.bytes));
    const PieceShape shape = piece_shape(device, run.direction, p->units, p->unit_blocks);
    p->piece_blocks = shape.blocks;
    p->pieces_per_unit = shape.per_unit;
    const std::uint64_t pieces =
        (p->units - 1) * shape.per_unit + (p->last_unit_blocks + shape.blocks - 1) / shape.blocks;

    copy_round_keys(p->round_keys, *run.key, run.mode, run.direction);
    copy_round_keys(p->tweak_keys, *run.tweak_key, run.mode, Direction::encrypt);

    const bool plain = p->alignment == 16 && p->unit_rest == 0 && p->last_unit_rest == 0;
    const std::uint64_t at_once = 32 / p->width;
    const int grid = launch_shape(device, (pieces + at_once - 1) / at_once).grid;
    const auto blocks = static_cast<std::uint64_t>(grid);
    p->pieces_per_block = pieces / blocks;
    p->blocks_with_more = static_cast<std::uint32_t>(pieces % blocks);
    launch(xts_kernel_for(run.direction, run.key->rounds(), shape.tables, plain),
           {grid, xts_threads, shape.shared_bytes}, stream, *p);
}

}  // namespace warpaes::cuda
