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
    __shared__ unsigned sum[TagCheck::words];
    if (threadIdx.x < TagCheck::words) sum[threadIdx.x] = 0;
    __syncthreads();
    wait_for_kernel_before();
    // All threads load shares, so that the loads do not wait for each other. The sum of two shares is their XOR.
    static_assert(WipeIfWrong::threads % TagCheck::words == 0 && TagCheck::words == HostShares::words_each);
    const unsigned words = p.share_count * HostShares::words_each;
    std::uint32_t part = 0;
    for (unsigned i = threadIdx.x; i < words; i += WipeIfWrong::threads) part ^= p.shares[i];
    if (threadIdx.x / warp_lanes * warp_lanes < words) {
#pragma unroll
        for (unsigned lanes = TagCheck::words; lanes < warp_lanes; lanes *= 2) {
            part ^= __shfl_xor_sync(full_warp, part, static_cast<int>(lanes));
        }
        if (lane_id() < TagCheck::words) atomicXor(&sum[lane_id()], part);
    }
    __syncthreads();
    bool wrong = words == 0;
    if (threadIdx.x < TagCheck::words) wrong = wrong || is_wrong(p.check, threadIdx.x, sum[threadIdx.x]);
    wrong = __syncthreads_or(wrong) != 0;
    if (p.check.status == nullptr && !wrong) return;
    if (p.check.status != nullptr && global_thread() == 0) *p.check.status = wrong ? p.check.bad : 0;
    if (wrong) wipe_parts(p.parts, 1, [&](std::uint64_t unit) { return part_of(p.output, p.bytes, unit, p.parts); });
    if (__syncthreads_or(is_last(p.notice.arrived)) == 0) return;
    // The sum of the shares is the correct tag, so the shares are also wiped.
    for (unsigned i = threadIdx.x; i < words; i += WipeIfWrong::threads) p.shares[i] = 0;
    __syncthreads();
    if (threadIdx.x == 0) give_notice(p.notice);
}

}  // namespace

Kernel<WipeParams> wipe_rows_kernel_for() {
    return wipe_rows;
}

Kernel<WipeIfWrongParams> wipe_if_wrong_kernel_for() {
    return wipe_if_wrong;
}

}  // namespace warpaes::cuda
