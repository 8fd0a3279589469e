// Wipes rows in device memory (messages of the same length whose tags the host has compared), and a single message.
#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/notice.cuh"
#include "cuda/kernels/wipe.cuh"
#include "cuda/tuning/wipe.hpp"

namespace warpaes::cuda {

namespace {

__global__ void __launch_bounds__(WipeShape::threads) wipe_rows(const __grid_constant__ WipeParams p) {
    wipe_parts(p.rows * p.parts, p.at_once, [&](std::uint64_t unit) -> Stretch {
        const std::uint64_t row = unit / p.parts;
        if (p.marks != nullptr && p.marks[row] == 0) return {};
        return part_of(p.memory + row * p.stride, p.bytes, unit % p.parts, p.parts);
    });
}

/// This kernel is launched before the host has read the tag, because a later launch would take as long as a short
/// message. On a caller's stream, the host never reads the tag.
__global__ void __launch_bounds__(WipeIfWrong::threads) wipe_if_wrong(const __grid_constant__ WipeIfWrongParams p) {
    wait_for_kernel_before();
    const unsigned words = p.share_count * HostShares::words_each;
    bool wrong = false;
    if (threadIdx.x < warp_lanes) {
        const unsigned lane = lane_id(), word = lane % HostShares::words_each;
        std::uint32_t sum = 0;
        for (unsigned i = lane; i < words; i += warp_lanes) sum ^= p.shares[i];
#pragma unroll
        for (unsigned lanes = HostShares::words_each; lanes < warp_lanes; lanes *= 2) {
            sum ^= __shfl_xor_sync(full_warp, sum, static_cast<int>(lanes));
        }
        std::uint32_t expected = p.expected[word];
        for (unsigned i = 0; i < 4 && p.expected_at != nullptr; ++i) {
            const unsigned at = 4 * word + i;
            if (at < p.expected_bytes) expected |= std::uint32_t{p.expected_at[at]} << (8 * i);
        }
        wrong = words == 0 || ((sum ^ expected) & p.mask[word]) != 0;
    }
    wrong = __syncthreads_or(wrong) != 0;
    if (p.status == nullptr && !wrong) return;
    if (p.status != nullptr && global_thread() == 0) *p.status = wrong ? p.bad : 0;
    if (wrong) wipe_parts(p.parts, 1, [&](std::uint64_t unit) { return part_of(p.output, p.bytes, unit, p.parts); });
    if (!(p.status != nullptr ? is_last(p.notice.arrived) : arrive(p.notice))) return;
    // The sum of the shares is the correct tag, so the shares are also wiped.
    for (unsigned i = 0; i < words; ++i) p.shares[i] = 0;
}

}  // namespace

Kernel<WipeParams> wipe_rows_kernel_for() {
    return wipe_rows;
}

Kernel<WipeIfWrongParams> wipe_if_wrong_kernel_for() {
    return wipe_if_wrong;
}

}  // namespace warpaes::cuda
