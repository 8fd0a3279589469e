#include <algorithm>
#include <cstring>
#include <iterator>

#include "cuda/kernels/catalogue.hpp"
#include "cuda/launch.hpp"
#include "cuda/run.hpp"
#include "cuda/scratch.hpp"

namespace warpaes::cuda {

namespace {

Secret<Params> params_of(const Run& run) {
    Secret<Params> p;
    p->input = run.input;
    p->output = run.output;
    p->length = run.length;
    std::memcpy(&p->chain, run.chain.data(), block_bytes);
    p->boundaries = nullptr;
    p->alignment =
        alignment_of(reinterpret_cast<std::uintptr_t>(run.input) | reinterpret_cast<std::uintptr_t>(run.output));
    const RoundKeys& keys = uses_inverse_cipher(run.mode, run.direction) ? run.key->decrypt() : run.key->encrypt();
    static_assert(sizeof p->round_keys == sizeof keys.words);
    std::memcpy(p->round_keys, keys.words.data(), sizeof p->round_keys);
    return p;
}

}  // namespace

bool has_code_for(int major, int minor) {
    // Newest last. What was built for X.Y runs on X.Z, Z >= Y; beyond the newest, its PTX does.
    constexpr int built_for[] = {__CUDA_ARCH_LIST__};
    const int device = 100 * major + 10 * minor;
    for (const int architecture : built_for) {
        if (architecture / 100 == major && architecture <= device) return true;
    }
    return device >= *(std::end(built_for) - 1);
}

void enqueue(const Run& run, const DeviceLimits& device, cudaStream_t stream) {
    if (run.length == 0) return;
    if (run.mode == Mode::xts) return enqueue_xts(run, device, stream);
    const bool serial = !is_parallel(run.mode, run.direction);
    const bool by_segments = !serial && (run.mode == Mode::cfb8 || run.mode == Mode::cfb1);
    const std::uint64_t bytes = run.mode == Mode::cfb1 ? (run.length + 7) / 8 : run.length;
    const std::uint64_t per_warp = by_segments ? 32 : 32 * block_bytes;
    const LaunchShape shape = launch_shape(device, serial, (bytes + per_warp - 1) / per_warp);
    const int rounds = run.key->rounds();
    Secret<Params> params = params_of(run);

    const auto start = [&](Kernel kernel) {
        launch(kernel, shape.grid, shape.threads, shape.shared_bytes(), stream, *params);
    };
    if (serial) {
        start(serial_kernel_for(run.mode, rounds, shape.tables));
    } else if (run.mode == Mode::ctr) {
        start(ctr_kernel_for(rounds, shape.tables, params->alignment == 16));
    } else if (by_segments && run.input == run.output) {
        const StreamScratch copy(bytes, stream);
        check(cudaMemcpyAsync(copy.get(), run.input, bytes, cudaMemcpyDeviceToDevice, stream), "copying ciphertext");
        params->input = static_cast<const std::uint8_t*>(copy.get());
        start(segments_kernel_for(run.mode, rounds, shape.tables));
    } else if (by_segments) {
        start(segments_kernel_for(run.mode, rounds, shape.tables));
    } else if (chains_on_ciphertext(run.mode, run.direction) && run.input == run.output) {
        const auto warps = static_cast<std::uint64_t>(shape.grid * shape.threads / 32);
        const StreamScratch boundaries(warps * block_bytes, stream);
        params->boundaries = static_cast<const uint4*>(boundaries.get());
        launch(save_boundaries_kernel(), static_cast<int>((warps + 255) / 256), 256, 0, stream, params->input,
               params->length, params->alignment, warps, static_cast<uint4*>(boundaries.get()));
        start(blocks_kernel_for(run.mode, run.direction, rounds, shape.tables));
    } else {
        start(blocks_kernel_for(run.mode, run.direction, rounds, shape.tables));
    }
}

}  // namespace warpaes::cuda
