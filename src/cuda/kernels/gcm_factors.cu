// Powers of H for the kernels that process GCM under a few keys in one pass (gcm_pass.cu, gcm_windows.cu). They are the
// same as those that the host keeps with a key (gcm_weights.hpp). Computing them here takes less time than copying
// them.
//
// A thread computes one power: the product of H^(2^k) for the ones in a positive exponent and of 1 / H^(2^k) for the
// ones in a negative exponent. The host provides 1 / H. Every exponent is written as a sum that takes few products.
#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/field.cuh"
#include "cuda/kernels/notice.cuh"
#include "cuda/tuning/batch_gcm.hpp"

namespace warpaes::cuda {

namespace {

/// The exponent `plus - minus`.
struct Exponent {
    std::uint32_t plus, minus;
};

/// The exponent of element i of GcmWindowWeights.
__device__ __forceinline__ Exponent windows_exponent(unsigned i) {
    using G = GcmWindows;
    constexpr unsigned rows = HashKey::count, windows = rows + 8 * G::together, after = windows + G::digits * G::radix;
    if (i < rows) return {G::window * (i / 8 + 1), 3 - i % 4 + (i / 4 % 2 == 0 ? 32 : 0)};
    if (i < windows) return {0, 64 * ((i - rows) / 8) + 4 * (i % 8)};
    if (i < after) {
        std::uint32_t exponent = (i - windows) % G::radix * G::window;
        for (unsigned digit = (i - windows) / G::radix; digit != 0; --digit) exponent *= G::radix;
        return {exponent, 0};
    }
    return {0, i - after < 16 ? i - after : 16 * (i - after - 16)};
}

/// The exponent of element i of GcmPassKeysParams::factors.
__device__ __forceinline__ Exponent pass_exponent(const RunFactorsParams& p, unsigned i) {
    if (i >= HashKey::count) return {0, i - unsigned{HashKey::count}};
    // Without weights, the last of the powers belong to positions after a message's end, whose blocks are zero.
    const unsigned minus = 3 - i % 4 + p.after, plus = (4u << p.rows.log_rows) * (i / 4 + 1);
    return {plus, minus < plus ? minus : plus};
}

/// Multiplies by a power whose base is `squares[0]`.
__device__ __forceinline__ FieldElement times_power_of(FieldElement product, bool& is_one, const FieldElement* squares,
                                                       std::uint32_t exponent) {
    for (; exponent != 0; exponent &= exponent - 1) {
        const FieldElement factor = squares[__ffs(static_cast<int>(exponent)) - 1];
        product = is_one ? factor : cuda::product(product, factor);
        is_one = false;
    }
    return product;
}

/// A few thread blocks for each run, with a thread for each power.
__global__ void __launch_bounds__(GcmFactors::threads)
    gcm_run_factors_kernel(const __grid_constant__ RunFactorsParams p) {
    using G = GcmFactors;
    let_next_kernel_begin();
    auto* const squares = reinterpret_cast<FieldElement*>(dynamic_shared());  // H^(2^k), then 1 / H^(2^k)
    const std::uint32_t parts = G::parts(p.count), run = blockIdx.x / parts;
    const bool inverse = threadIdx.x == warp_lanes;
    if (threadIdx.x == 0 || inverse) {
        FieldElement power = inverse ? p.inverses[run] : element_of(global(p.runs[run].key)[key_slot_h]);
        FieldElement* const to = squares + (inverse ? G::most_bits : 0);
        for (unsigned k = 0; k < (inverse ? G::negative_bits : p.bits); ++k) {
            to[k] = power;
            power = square(power);
        }
    }
    __syncthreads();
    const unsigned i = blockIdx.x % parts * G::threads + threadIdx.x;
    if (i >= p.count) return;
    const Exponent exponent = p.windows != 0 ? windows_exponent(i) : pass_exponent(p, i);
    if (exponent.plus >> p.bits != 0) return;  // no message has as many windows
    bool is_one = true;
    FieldElement power = times_power_of(field_one, is_one, squares, exponent.plus);
    power = times_power_of(power, is_one, squares + G::most_bits, exponent.minus);
    p.factors[std::size_t{run} * p.count + i] = power;
}

}  // namespace

Kernel<RunFactorsParams> gcm_run_factors_kernel_for() {
    return &gcm_run_factors_kernel;
}

}  // namespace warpaes::cuda
