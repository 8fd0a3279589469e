// W.contenders, which is in no paper, compares five subjects on texts of 64 KiB to 1 GiB (--quick: 256 MiB): the best
// published kernel, the kernel with a copy of the tables for each bank, a bitsliced cipher, production, and a copy
// within the device. All ciphers are AES-128 in ECB and CTR on text in device memory. Events around the kernels measure
// the time, which excludes transfers and key expansion.
#include <algorithm>
#include <array>

#include "lab/experiments/experiments.hpp"
#include "lab/experiments/panels.hpp"
#include "lab/gpu/catalogue.hpp"
#include "lab/gpu/contenders.hpp"
#include "lab/trial.hpp"

namespace lab::experiments {

namespace {

std::vector<std::size_t> lengths_from_64_kib(const Context& context) {
    const std::size_t most = (context.quick ? std::size_t{256} : std::size_t{1024}) << 20;
    std::vector<std::size_t> lengths;
    for (std::size_t bytes = std::size_t{64} << 10; bytes <= most; bytes *= context.quick ? 16 : 4) {
        if (bytes <= context.most_bytes) lengths.push_back(bytes);
    }
    if (lengths.empty()) lengths.push_back(allowed(context, 64 << 10));
    return lengths;
}

/// The last series is a copy within the device. It is the upper limit: a cipher without computation would be as fast.
Panel measure_contenders(const Context& context, const char* title, const gpu::Cipher& cipher, double from) {
    const std::vector<std::size_t> over = lengths_from_64_kib(context);
    const Trial trial(cipher, over.back());
    const gpu::Variant one_copy{.persistent = true}, copies{.tables = gpu::TableMemory::replicated, .persistent = true};
    Panel panel =
        lines(title, sizes("text", over), throughput(),
              "AES-128, kernels alone, text in device memory, outputs written and verified. The bitsliced cipher: "
              "<warpaes/device.cuh>'s in a kernel of its own.");
    panel.series = {measured("published way: shared tables, one copy"), measured("a copy of the tables for each bank"),
                    measured("bitsliced"), baseline("production"), baseline("copy within the device")};
    const Trial::Work copy = [&](const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) {
        gpu::copy(out, in, bytes, trial.stream());
    };
    const std::vector<Trial::Subject> subjects{{panel.series[0].name, trial.variant(one_copy, {512, 0})},
                                               {panel.series[1].name, trial.variant(copies)},
                                               {panel.series[2].name, trial.bitsliced()},
                                               {panel.series[3].name, trial.production(context)},
                                               {panel.series[4].name, copy, false}};
    const double part = 0.5 / static_cast<double>(over.size());
    for (const std::size_t bytes : over) {
        const std::vector<Summary> speeds =
            trial.speeds(effort(context.quick), subjects, bytes, Trial::part_of(context, from, from + part));
        for (std::size_t i = 0; i < speeds.size(); ++i) add(panel.series[i], speeds[i]);
        from += part;
    }
    return panel;
}

Result run_contenders(const Context& context) {
    use_gpu(context, shared_for_copies);
    Result result;
    result.panels = {measure_contenders(context, "Contenders, ECB", {}, 0),
                     measure_contenders(context, "Contenders, CTR", {.counter = true}, 0.5)};
    for (const Panel& panel : result.panels) {
        const bool ctr = &panel == &result.panels[1];
        const char* mode = ctr ? "CTR" : "ECB";
        std::array<double, 5> best{};
        for (std::size_t s = 0; s < best.size(); ++s) {
            for (const auto& value : panel.series[s].values) best[s] = std::max(best[s], *value);
        }
        result.facts.push_back({fmt::format("production, {}, best over length", mode), best[3], "GB/s", std::nullopt});
        result.facts.push_back({fmt::format("registers a thread, bitsliced {}", mode),
                                static_cast<double>(gpu::bitsliced_resources(ctr).registers), "", std::nullopt});
    }
    return result;
}

}  // namespace

const Experiment w_contenders{
    "W.contenders",
    Paper::ours,
    "Contenders",
    "Are production's kernels faster than the best published design and than a bitsliced cipher?",
    Experiment::Needs::gpu,
    5,
    2,
    run_contenders};

}  // namespace lab::experiments
