// Default costs, used before a calibration: rounded values from this project's records (bench/results), measured on a
// Xeon with AVX-512 and an H200, 2026-11. The costs of other GPUs are not measured: they are scaled from the H200's
// costs by the number of multiprocessors, their clock and units, and the memory speed. The costs of armv8 are not
// measured either.
#include <algorithm>

#include "engine/cost_model.hpp"

namespace warpaes {

namespace {

constexpr double giga = 1e9;

/// GB/s for each class, with AES-128 and AES-256.
using Rates = std::array<std::array<double, 2>, work_classes>;

// ecb, ctr, xts, GCM in both directions, CBC decryption; then chained, cmac, ccm, one message after the other
constexpr Rates vaes_rates{{{19, 14}, {19, 15}, {18, 13}, {17, 14}, {17, 14}, {19, 14}, {1, .75}, {1, .75}, {.9, .65}}};
constexpr Rates aesni_rates{{{11, 8}, {10, 7.5}, {9, 6.5}, {6, 5}, {6, 5}, {11, 8}, {1, .75}, {1, .75}, {.9, .65}}};
// Estimated for a Neoverse V2 at 3 GHz by llvm-mca, which counts the two instructions of a fused pair separately.
constexpr Rates armv8_rates{
    {{9, 6.5}, {10.5, 7.4}, {7, 5.3}, {6.5, 5.2}, {6.5, 5.2}, {8.4, 6.1}, {1, .75}, {1, .75}, {.9, .65}}};
#if defined(__aarch64__)
constexpr Rates libcrypto_rates{
    {{7, 5}, {7, 5}, {6, 4.5}, {5, 4}, {5, 4}, {7, 5}, {1, .75}, {1, .75}, {.8, .6}}};  // an estimate, lower than the
                                                                                        // estimate for armv8
#else
constexpr Rates libcrypto_rates{
    {{9.5, 6.8}, {8.4, 6.1}, {6.4, 5.2}, {15, 12.5}, {6, 4.9}, {9.4, 6.7}, {1, .75}, {1, .75}, {.8, .6}}};
#endif
// An H200, which has 132 multiprocessors, at 1.98 GHz.
constexpr Rates gpu_rates{
    {{770, 560}, {900, 620}, {740, 540}, {730, 540}, {730, 540}, {750, 550}, {600, 430}, {600, 430}, {450, 330}}};

/// GB/s of GHASH with integer products on the same GPU. This GHASH reads the text a second time.
constexpr double gpu_products_rate = 445;

constexpr double one_core_memory = 7 * giga;
constexpr double machine_memory = 60 * giga;

bool is_before_8(const BackendInfo& gpu) {
    return gpu.speed.compute_capability != 0 && gpu.speed.compute_capability < 80;
}

/// The total rate of chained messages that a core interleaves in its registers, which is close to the rate of a
/// parallel mode.
double interleaved(const std::string& name, double rate) {
    return name == "vaes" ? 8 * rate : name == "aesni" || name == "armv8" ? 4 * rate : rate;
}

CostTable cpu_costs(const std::string& name, unsigned threads) {
    const Rates& rates = name == "vaes"    ? vaes_rates
                         : name == "aesni" ? aesni_rates
                         : name == "armv8" ? armv8_rates
                                           : libcrypto_rates;
    const double call = name == "libcrypto" ? 0.55e-6 : 0.28e-6;
    const double cores = threads;
    CostTable table;
    for (std::size_t c = 0; c < work_classes; ++c) {
        const auto work_class = static_cast<WorkClass>(c);
        for (std::size_t k = 0; k < 2; ++k) {
            const double rate = rates[c][k] * giga;
            const double memory = std::min(rate, one_core_memory);
            Cost one{.fixed = call};
            one.byte = {1.4 / rate, 1 / rate,   1 / rate,  1 / rate, 0.5 / rate + 0.5 / memory,
                        1 / memory, 1 / memory, 1 / memory};
            Cost all{.fixed = call};
            all.byte.fill(1 / std::min(cores * memory, machine_memory));
            const double together = is_chained(work_class) ? interleaved(name, rate) : rate;
            Cost batch{.fixed = 20e-6, .message = 0.05e-6 / cores, .key = 0.3e-6 / cores};
            batch.byte.fill(1 / std::min(cores * std::min(together, one_core_memory), machine_memory));
            batch.serial_byte = is_chained(work_class) ? 1 / rate : 0;
            const unsigned bits = k == 0 ? 128 : 256;
            table.set(work_class, Way::one_lane, bits, one);
            table.set(work_class, Way::all_lanes, bits, all);
            table.set(work_class, Way::batch, bits, batch);
        }
    }
    return table;
}

/// Returns bytes per second in each direction between a GPU and its host. GPUs before compute capability 8.0 use PCIe
/// 3, GPUs before 9.0 use PCIe 4, and later GPUs use PCIe 5.
double link_of(const BackendInfo& gpu) {
    if (is_before_8(gpu)) return 11 * giga;
    const int capability = gpu.speed.compute_capability;
    return capability != 0 && capability < 90 ? 22 * giga : 49 * giga;
}

/// Returns bytes per second for messages in a GPU's memory.
double gpu_rate(const BackendInfo& gpu, bool gcm, double rate, double counter_rate) {
    const double size =
        std::max(1, gpu.multiprocessors) / 132.0 * (gpu.speed.clock > 0 ? gpu.speed.clock / (1.98 * giga) : 1) * giga;
    // A multiprocessor has 16 load-store units before compute capability 8.0, and 32 from 8.0 onwards.
    const double lookups = is_before_8(gpu) ? size / 2 : size;
    const bool by_products = gcm && !gpu.speed.tensor_cores;
    const double computed =
        by_products ? 1 / (1 / (counter_rate * lookups) + 1 / (gpu_products_rate * size)) : rate * lookups;
    const double accesses = by_products ? 3 : 2;
    return gpu.speed.memory > 0 ? std::min(computed, gpu.speed.memory / accesses) : computed;
}

CostTable gpu_costs(const BackendInfo& info, unsigned threads) {
    const double size = std::max(1, info.multiprocessors) / 132.0;
    const double link = link_of(info);
    // The rate at which the workers together copy to and from page-locked memory; it grows with their number up to a
    // limit.
    const double staged = std::min(1.0, (threads + 2) / 16.0) * 33 * giga;
    CostTable table;
    for (std::size_t c = 0; c < work_classes; ++c) {
        const auto work_class = static_cast<WorkClass>(c);
        const bool gcm = work_class == WorkClass::gcm_encrypt || work_class == WorkClass::gcm_decrypt;
        for (std::size_t k = 0; k < 2; ++k) {
            const double rate =
                gpu_rate(info, gcm, gpu_rates[c][k], gpu_rates[static_cast<std::size_t>(WorkClass::ctr)][k]);
            // Each block of a chain waits for ten or fourteen rounds of lookups, about 0.35 µs per block with AES-128.
            const double serial = is_chained(work_class) ? (k == 0 ? 22e-9 : 30e-9) : 0;
            Cost device{.fixed = gcm ? 32e-6 : 10e-6, .serial_byte = serial};
            device.byte.fill(1 / rate);
            const double locked_end = 1 / std::min(link, rate);
            Cost locked{.fixed = gcm ? 45e-6 : 32e-6, .serial_byte = serial};
            locked.byte = {0, 0, 1.5 / link, 1.5 / link, 1.5 / link, 1.15 / link, locked_end, locked_end};
            const double pageable_end = 1 / std::min({staged, link, rate});
            Cost pageable{.fixed = gcm ? 57e-6 : 42e-6, .serial_byte = serial};
            pageable.byte = {
                0,           0, 8 * pageable_end, 8 * pageable_end, 3 * pageable_end, 1.2 * pageable_end, pageable_end,
                pageable_end};
            const unsigned bits = k == 0 ? 128 : 256;
            const auto batch_of = [&](Cost cost, double more, double message) {
                cost.fixed += more;
                cost.message = message;
                cost.key = 3e-9 / size;
                return cost;
            };
            table.set(work_class, Way::device, bits, device);
            table.set(work_class, Way::page_locked, bits, locked);
            table.set(work_class, Way::pageable, bits, pageable);
            table.set(work_class, Way::device_batch, bits, batch_of(device, 20e-6, 3e-9 / size));
            locked.in_flight = pageable.in_flight = gpu_batch_in_flight;
            table.set(work_class, Way::page_locked_batch, bits, batch_of(locked, 30e-6, 3e-9 / size));
            table.set(work_class, Way::pageable_batch, bits, batch_of(pageable, 40e-6, 20e-9));
        }
    }
    return table;
}

}  // namespace

CostTable default_costs(const BackendInfo& info, unsigned threads) {
    return info.gpu ? gpu_costs(info, threads) : cpu_costs(info.name, std::max(1U, threads));
}

}  // namespace warpaes
