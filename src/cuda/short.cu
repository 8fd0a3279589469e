// Runs of short messages (kernels/short.cu).
#include <algorithm>
#include <cstring>

#include "aes/xts.hpp"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/launch.hpp"
#include "cuda/run.hpp"
#include "cuda/tuning/blocks.hpp"
#include "cuda/tuning/shapes.hpp"
#include "cuda/tuning/xts.hpp"

namespace warpaes::cuda {

namespace {

/// Sets the parameters that all modes use.
LaunchShape begin(ShortParams& p, const Run& run, const DeviceLimits& device, const Notice& notice) {
    const ShortShape shape = short_shape(device, (run.length + block_bytes - 1) / block_bytes);
    p.input = run.input;
    p.output = run.output;
    p.bytes = static_cast<std::uint32_t>(run.length);
    p.share = shape.share;
    p.alignment = alignment_of(run.input, run.output);
    p.notice = notice;
    copy_round_keys(p.round_keys, *run.key, run.mode, run.direction);
    return shape.launch;
}

bool enqueue_short_xts(const Run& run, const DeviceLimits& device, cudaStream_t stream, const Notice& notice) {
    const std::uint64_t unit = std::min(run.data_units.bytes, run.length);
    if (run.tweaks == nullptr || run.length % block_bytes != 0 || unit % block_bytes != 0) return false;
    const std::uint64_t units = (run.length + unit - 1) / unit, unit_blocks = unit / block_bytes;
    const std::uint64_t per_unit = (unit_blocks + ShortXts::piece_blocks - 1) / ShortXts::piece_blocks;
    if (units * per_unit > ShortXts::most_pieces) return false;
    Secret<ShortXtsParams> p;
    const LaunchShape shape = begin(*p, run, device, notice);
    p->unit_blocks = static_cast<std::uint32_t>(unit_blocks);
    p->pieces_per_unit = static_cast<std::uint32_t>(per_unit);
    static_assert(ShortXts::piece_blocks == 256);
    for (std::uint64_t u = 0; u < units; ++u) {
        Secret<Tweak> tweak(load_tweak(run.tweaks[u]));
        for (std::uint64_t piece = 0; piece < per_unit; ++piece) {
            if (piece != 0) *tweak = times_x_256(*tweak);
            const Secret<Block> block(store_tweak(*tweak));
            std::memcpy(&p->tweaks[u * per_unit + piece], block->data(), block_bytes);
        }
    }
    launch(short_xts_kernel_for(run.direction, run.key->rounds()), shape, stream, *p);
    return true;
}

}  // namespace

bool enqueue_short(const Run& run, const DeviceLimits& device, cudaStream_t stream, const Notice& notice) {
    if (!ShortMessage::takes(device, run.length)) return false;
    if (run.mode == Mode::xts) return enqueue_short_xts(run, device, stream, notice);
    if (run.mode != Mode::ctr && run.mode != Mode::ecb) return false;
    Secret<ShortParams> p;
    const LaunchShape shape = begin(*p, run, device, notice);
    std::memcpy(&p->counter, run.chain.data(), block_bytes);
    launch(short_kernel_for(run.mode, run.direction, run.key->rounds()), shape, stream, *p);
    return true;
}

}  // namespace warpaes::cuda
