// Powers of a key's H for the kernels that process GCM in one pass, kept with the key.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "aes/ghash.hpp"
#include "backend/backend.hpp"
#include "base/secret.hpp"
#include "cuda/kernels/batch_params.cuh"
#include "cuda/tuning/batch_gcm.hpp"
#include "cuda/tuning/gcm.hpp"

namespace warpaes::cuda {

/// Sets weights[i] to first * factor^i. The products of a round are independent, so a processor computes several of
/// them in the latency of a single product.
inline void set_weights(std::span<FieldElement> weights, FieldElement first, FieldElement factor) {
    weights[0] = first;
    for (std::size_t known = 1; known < weights.size(); known *= 2) {
        if (known > 1) factor = square(factor);
        for (std::size_t i = known; i < std::min(2 * known, weights.size()); ++i) {
            weights[i] = multiply(weights[i - known], factor);
        }
    }
}

/// The values that gcm_long.cu, gcm_pass.cu and gcm_windows.cu need for a key. Computing them takes a few hundred
/// products and an inverse, so the key keeps them.
struct GcmWeights {
    FieldElement powers[HashKey::count], row_weights[8], warp_weights[GcmMessage::warps];
    FieldElement inverse;     ///< 1 / H
    FieldElement correction;  ///< accounts for the factor by which a chunk's last block is multiplied instead of H^1
    /// For gcm_pass.cu: pass_powers[log2 R][4s + i] is H^(4R (s + 1) - 3 + i) for messages of R rows, and
    /// pass_weights[i] is H^-i.
    FieldElement pass_powers[GcmPass::most_log_rows + 1][HashKey::count], pass_weights[HashKey::count];
    GcmWindowWeights windows;

    static void make(const ExpandedKey& key, GcmWeights& weights) {
        using G = GcmLong;
        const HashKey& h = key.hash_key();
        // H^(stride * (w + 1) - 128 * i - q) for window w, counted backwards from the chunk's last window.
        Secret<FieldElement> step(power(h, G::stride)), at(power(h, G::stride - 128 - 3)), other;
        const Secret<FieldElement> half(power(h, 128));
        for (unsigned w = 0; w < G::windows; ++w) {
            *other = multiply(*at, *half);
            set_weights(std::span(weights.powers + 8 * w, 4), *at, h.powers[0]);
            set_weights(std::span(weights.powers + 8 * w + 4, 4), *other, h.powers[0]);
            *at = multiply(*at, *step);
        }
        // The distance between rows is four blocks, between warps 32 blocks, and between groups one window.
        set_weights(weights.row_weights, field_one, h.powers[3]);
        set_weights(std::span(weights.warp_weights).first(4), field_one, h.powers[31]);
        *step = multiply(*half, *half);
        for (unsigned i = 4; i < G::warps; ++i) {
            weights.warp_weights[i] = multiply(weights.warp_weights[i - 4], *step);
        }
        // The kernel multiplies the last block of the last row by H^(stride - 128 - 3) instead of H^1.
        weights.inverse = warpaes::inverse(h.powers[0]);
        weights.correction = power(weights.inverse, G::stride - 128 - 4);
        std::copy(h.powers.begin(), h.powers.end(), weights.pass_powers[0]);
        for (std::uint32_t log_rows = 1; log_rows <= GcmPass::most_log_rows; ++log_rows) {
            const std::size_t rows_step = std::size_t{4} << log_rows;
            *at = h.powers[rows_step - 4];
            for (std::size_t slot = 0; slot < GcmPass::slots; ++slot) {
                set_weights(std::span(weights.pass_powers[log_rows] + 4 * slot, 4), *at, h.powers[0]);
                *at = multiply(*at, h.powers[rows_step - 1]);
            }
        }
        set_weights(weights.pass_weights, field_one, weights.inverse);
        make(h, weights.inverse, weights.windows);
    }

private:
    static void make(const HashKey& h, const FieldElement& inverse, GcmWindowWeights& weights) {
        using G = GcmWindows;
        // H^(256 (w + 1) - 32 i - q) for window w, counted backwards from the last window of the chunk.
        Secret<FieldElement> step(power(h, G::window)), at;
        const Secret<FieldElement> half(h.powers[31]);
        *at = power(h, G::window - 32 - 3);
        for (unsigned w = 0; w < G::chunk; ++w) {
            set_weights(std::span(weights.powers + 8 * w, 4), *at, h.powers[0]);
            const Secret<FieldElement> other(multiply(*at, *half));
            set_weights(std::span(weights.powers + 8 * w + 4, 4), *other, h.powers[0]);
            *at = multiply(*at, *step);
        }
        for (unsigned digit = 0; digit < G::digits; ++digit) {
            set_weights(weights.windows[digit], field_one, *step);
            *step = multiply(weights.windows[digit][G::radix - 1], *step);
        }
        set_weights(weights.after[0], field_one, inverse);
        const Secret<FieldElement> sixteen(multiply(weights.after[0][15], inverse));
        set_weights(weights.after[1], field_one, *sixteen);
        // The distance between rows is four blocks, and between warps 64 blocks.
        const Secret<FieldElement> row(weights.after[0][4]), warp(weights.after[1][4]);
        Secret<FieldElement> first(field_one);
        for (unsigned w = 0; w < G::together; ++w) {
            set_weights(std::span(weights.rows + 8 * w, 8), *first, *row);
            *first = multiply(*first, *warp);
        }
    }
};

}  // namespace warpaes::cuda
