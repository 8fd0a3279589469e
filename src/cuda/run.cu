#include <algorithm>
#include <cstring>

#include "cuda/kernels/catalogue.hpp"
#include "cuda/launch.hpp"
#include "cuda/resources.hpp"
#include "cuda/run.hpp"
#include "cuda/tuning/blocks.hpp"
#include "cuda/tuning/counters.hpp"
#include "cuda/tuning/serial.hpp"
#include "cuda/tuning/shapes.hpp"
#include "cuda/tuning/wipe.hpp"

namespace warpaes::cuda {

namespace {

Secret<Params> params_of(const Run& run) {
    Secret<Params> p;
    p->input = run.input;
    p->output = run.output;
    p->length = kernel_length(run.mode, run.length, run.unused_bits);
    std::memcpy(&p->chain, run.chain.data(), block_bytes);
    p->boundaries = nullptr;
    p->alignment = alignment_of(run.input, run.output);
    copy_round_keys(p->round_keys, *run.key, run.mode, run.direction);
    return p;
}

}  // namespace

int code_for(int major, int minor) {
    // Code built for X.Y runs on X.Z with Z >= Y. Its PTX, if present, runs on all newer devices.
    constexpr int built_for[] = {__CUDA_ARCH_LIST__};
    const int device = 100 * major + 10 * minor;
    int found = 0;
    for (const int architecture : built_for) {
        if (architecture / 100 == major && architecture <= device) found = std::max(found, architecture / 10);
    }
    if (found != 0) return found;
    return WARPAES_CUDA_PTX != 0 && device >= 10 * WARPAES_CUDA_PTX ? WARPAES_CUDA_PTX : 0;
}

bool enqueue(const Run& run, const DeviceLimits& device, cudaStream_t stream, const Notice& notice) {
    if (run.length == 0) return false;
    if (enqueue_short(run, device, stream, notice)) return true;
    if (run.mode == Mode::xts) {
        enqueue_xts(run, device, stream);
        return false;
    }
    const bool serial = !is_parallel(run.mode, run.direction);
    const bool by_segments = run.mode == Mode::cfb8 || run.mode == Mode::cfb1;
    const bool in_place = run.input == run.output;
    const std::uint64_t bytes = run.length, per_warp = by_segments ? 32 : 32 * block_bytes;
    const std::uint64_t units = (bytes + per_warp - 1) / per_warp;
    const LaunchShape shape = serial          ? serial_shape(device)
                              : run.zero_copy ? launch_shape(device, units, zero_copy_threads)
                                              : launch_shape(device, units);
    const int rounds = run.key->rounds();
    Secret<Params> params = params_of(run);
    const auto start = [&](Kernel<Params> kernel) {
        launch(kernel, shape, stream, *params);
        return false;
    };

    if (serial) return start(serial_kernel_for(run.mode, rounds, shape.tables));
    if (run.mode == Mode::ctr) return start(ctr_kernel_for(rounds, shape.tables, params->alignment == 16));
    if (by_segments) {
        const StreamScratch copy(in_place ? bytes : 0, stream);
        if (in_place) {
            check(cudaMemcpyAsync(copy.get(), run.input, bytes, cudaMemcpyDeviceToDevice, stream),
                  "copying ciphertext");
            params->input = static_cast<const std::uint8_t*>(copy.get());
        }
        return start(segments_kernel_for(run.mode, rounds, shape.tables));
    }
    const bool saves = in_place && chains_on_ciphertext(run.mode, run.direction);
    const std::uint64_t warps = shape.warps();
    const StreamScratch boundaries(saves ? warps * block_bytes : 0, stream);
    if (saves) {
        params->boundaries = static_cast<const uint4*>(boundaries.get());
        launch(save_boundaries_kernel(), thread_each(device, warps, ThreadEach::threads, ThreadEach::blocks_each),
               stream, params->input, params->length, params->alignment, warps, static_cast<uint4*>(boundaries.get()));
    }
    return start(blocks_kernel_for(run.mode, run.direction, rounds, shape.tables));
}

void enqueue_wipe(const WipeRun& run, const DeviceLimits& device, cudaStream_t stream) {
    if (run.rows == 0 || run.bytes == 0) return;
    const std::uint64_t parts = WipeShape::parts(run.bytes), units = run.rows * parts;
    launch(
        wipe_rows_kernel_for(), WipeShape::shape(device, units), stream,
        WipeParams{run.memory, run.stride, run.bytes, run.rows, parts, run.marks, WipeShape::at_once(device, units)});
}

void enqueue_wipe(const WipeIfWrongRun& run, const DeviceLimits& device, cudaStream_t stream, const Notice& notice) {
    const WipeIfWrongParams p{.output = run.output,
                              .bytes = run.bytes,
                              .parts = WipeShape::parts(run.bytes),
                              .shares = run.shares,
                              .share_count = run.share_count,
                              .check = run.check,
                              .notice = notice};
    const bool early = run.check.status != nullptr && device.compute_capability >= 90;
    launch(early ? Begin::early : Begin::after, wipe_if_wrong_kernel_for(), WipeIfWrong::shape(device, p.parts), stream,
           p);
}

TagCheck check_of(std::span<const std::uint8_t> expected, bool is_on_device, std::int32_t* status) {
    TagCheck check{.expected = {},
                   .mask = {},
                   .expected_at = is_on_device ? expected.data() : nullptr,
                   .expected_bytes = static_cast<std::uint32_t>(expected.size()),
                   .bad = WARPAES_ERROR_AUTHENTICATION,
                   .status = status};
    if (!is_on_device) std::memcpy(check.expected, expected.data(), expected.size());
    std::memset(check.mask, 0xff, expected.size());
    return check;
}

void enqueue(const NumbersRun& run, const DeviceLimits& device, cudaStream_t stream) {
    if (run.bytes == 0) return;
    const std::uint64_t per_warp = std::uint64_t{numbers_width} * 32 * numbers_block_bytes(run.kind);
    const LaunchShape shape = launch_shape(device, (run.bytes + per_warp - 1) / per_warp, numbers_threads);
    Secret<NumbersParams> p;
    p->output = run.output;
    p->length = run.bytes;
    std::memcpy(&p->counter, run.counter.data(), block_bytes);
    p->range = run.range;
    p->kind = run.kind;
    p->alignment = alignment_of(reinterpret_cast<std::uintptr_t>(run.output));
    copy_round_keys(p->round_keys, *run.key, Mode::ctr, Direction::encrypt);
    launch(numbers_kernel_for(run.key->rounds(), shape.tables), shape, stream, *p);
}

}  // namespace warpaes::cuda
