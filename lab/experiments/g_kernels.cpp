// [G]'s kernels by text length, 2 KiB to 128 MiB in device memory: AES-128, kernels only. Launches are timed by events;
// transfers and key expansion are excluded.
//
// G.schemes compares the three schemes with one, four and sixteen threads per block, in ECB and CTR with tables in
// constant memory, as published, and in ECB with tables in shared memory. G.tables compares the paper's best scheme,
// which uses four threads per block, with production. The tables are in constant, texture or shared memory, or in
// shared memory with a copy per bank.
#include <algorithm>
#include <array>

#include "lab/experiments/experiments.hpp"
#include "lab/experiments/panels.hpp"
#include "lab/gpu/catalogue.hpp"
#include "lab/published.hpp"
#include "lab/trial.hpp"

namespace lab::experiments {

namespace {

namespace gu = published::gu;

/// Returns the paper's lengths, and greater lengths that fill a current GPU.
std::vector<std::size_t> lengths_of_the_paper(const Context& context) {
    std::vector<std::size_t> lengths(gu::input_bytes.begin(), gu::input_bytes.end());
    if (!context.quick) lengths.push_back(std::size_t{32} << 20);
    lengths.push_back(std::size_t{128} << 20);
    std::erase_if(lengths, [&](std::size_t bytes) { return bytes > context.most_bytes; });
    if (lengths.empty()) lengths.push_back(allowed(context, gu::input_bytes[0]));
    return lengths;
}

Series curve(std::string name, const gu::Curve& gbit_per_s, const std::vector<std::size_t>& lengths) {
    std::vector<std::optional<double>> values;
    for (const std::size_t bytes : lengths) {
        const auto* const at = std::find(gu::input_bytes.begin(), gu::input_bytes.end(), bytes);
        values.emplace_back();
        if (at != gu::input_bytes.end()) {
            values.back() =
                published::gb_per_s_of_gbit(gbit_per_s[static_cast<std::size_t>(at - gu::input_bytes.begin())]);
        }
    }
    return experiments::published(std::move(name), std::move(values));
}

/// Appends to each series the speed of its subject at every length.
void run_lengths(const Context& context, const Trial& trial, const std::vector<std::size_t>& lengths,
                 std::span<Series> series, const std::vector<Trial::Work>& works, double from, double to) {
    std::vector<Trial::Subject> subjects;
    for (std::size_t i = 0; i < works.size(); ++i) subjects.push_back({series[i].name, works[i]});
    const double part = (to - from) / static_cast<double>(lengths.size());
    for (const std::size_t bytes : lengths) {
        const std::vector<Summary> speeds =
            trial.speeds(effort(context.quick), subjects, bytes, Trial::part_of(context, from, from + part));
        for (std::size_t i = 0; i < speeds.size(); ++i) add(series[i], speeds[i]);
        from += part;
    }
}

constexpr std::array<const char*, 3> scheme_names{"1: a thread a block, text moved together",
                                                  "2: four threads a block, no barrier",
                                                  "3: sixteen threads a block, a lookup each"};

// ------------------------------------------------------------------------------------------------------------ schemes

/// Measures the third scheme with groups that exit after 1, 4 and 8 blocks, and the second scheme.
Panel measure_groups(const Context& context, const std::vector<std::size_t>& over) {
    const Trial trial({}, over.back());
    Panel panel = lines("The third scheme by blocks a group", sizes("text", over), throughput(),
                        "AES-128-ECB, kernels alone, 256 threads a thread block, four tables in constant memory. A "
                        "group of sixteen threads loads 16, 64 or 128 bytes at once.");
    panel.series = {measured("3: 1 block a group"), measured("3: 4 blocks a group"), measured("3: 8 blocks a group"),
                    measured(scheme_names[1])};
    run_lengths(context, trial, over, panel.series,
                {trial.variant(gpu::schemes[2]), trial.grouped(4), trial.grouped(8), trial.variant(gpu::schemes[1])},
                0.75, 1);
    return panel;
}

Result run_schemes(const Context& context) {
    use_gpu(context);
    const std::vector<std::size_t> over = lengths_of_the_paper(context);
    {
        // Before all other work, runs each kernel once on the longest text, and then each of the three published
        // schemes once on each of the paper's lengths. tools/profile_lab.py profiles these launches, in this order.
        const Trial trial({}, over.back());
        for (const auto& variants : {gpu::schemes, gpu::schemes_in_shared}) {
            for (std::size_t i = 0; i < variants.size(); ++i) {
                trial.verify(scheme_names[i], trial.variant(variants[i]), over.back());
            }
        }
        for (const std::size_t bytes : gu::input_bytes) {
            if (bytes > over.back()) break;
            for (std::size_t i = 0; i < gpu::schemes.size(); ++i) {
                trial.verify(scheme_names[i], trial.variant(gpu::schemes[i]), bytes);
            }
        }
    }
    const auto measure = [&](const char* title, const gpu::Cipher& cipher, const std::array<gpu::Variant, 3>& variants,
                             const std::string& note, int part) {
        const Trial trial(cipher, over.back());
        Panel panel = lines(title, sizes("text", over), throughput(), note);
        for (const char* name : scheme_names) panel.series.push_back(measured(name));
        std::vector<Trial::Work> works;
        for (const gpu::Variant& v : variants) works.push_back(trial.variant(v));
        run_lengths(context, trial, over, panel.series, works, part / 4.0, (part + 1) / 4.0);
        return panel;
    };
    const std::string note = "AES-128, kernels alone, 256 threads a thread block, four tables in ";
    Result result;
    result.panels = {
        measure("Three schemes, ECB", {}, gpu::schemes, note + "constant memory, as published.", 0),
        measure("Three schemes, CTR", {.counter = true}, gpu::schemes, note + "constant memory.", 1),
        measure("Three schemes, tables in shared memory", {}, gpu::schemes_in_shared, note + "shared memory.", 2)};
    result.panels.push_back(measure_groups(context, over));
    double best = 0;
    for (const Panel& panel : result.panels) {
        for (const Series& s : panel.series) {
            for (const auto& value : s.values) best = std::max(best, *value);
        }
    }
    result.facts = {
        {"the fastest of all, kernel alone", best, "GB/s", published::gb_per_s_of_gbit(gu::headline_kernel)}};
    return result;
}

// ------------------------------------------------------------------------------------------------------------- tables

/// Returns the figures of Manavski's program, which the paper uses for comparison.
Series manavski(std::span<const std::size_t> over) {
    Series series = published("Manavski, published", {});
    for (const std::size_t bytes : over) {
        const auto found = std::find_if(gu::against_manavski.begin(), gu::against_manavski.end(),
                                        [&](const gu::Against& a) { return a.bytes == bytes; });
        series.values.push_back(found == gu::against_manavski.end()
                                    ? std::nullopt
                                    : std::optional(published::gb_per_s_of_gbit(found->manavski_gbit_per_s)));
    }
    return series;
}

Result run_constant_or_texture(const Context& context) {
    use_gpu(context, shared_for_copies);
    const std::vector<std::size_t> over = lengths_of_the_paper(context);
    const Trial trial({}, over.back());
    Panel panel =
        lines("The lookup tables' memory", sizes("text", over), throughput(),
              "AES-128-ECB, kernels alone, four threads a block without a barrier, four tables. Published: GeForce "
              "GTX 285. One copy a bank: persistent threads, 1024 a thread block.");
    panel.series = {curve("constant, published", gu::constant_table, over),
                    curve("texture, published", gu::texture_table, over),
                    manavski(over),
                    measured("constant"),
                    measured("texture"),
                    measured("shared"),
                    measured("shared, one copy a bank"),
                    baseline("production")};
    std::erase_if(panel.series, [](const Series& s) {
        return s.role == Series::Role::published &&
               std::none_of(s.values.begin(), s.values.end(), [](const auto& v) { return v.has_value(); });
    });
    const std::size_t first = panel.series.size() - 5;
    std::vector<Trial::Work> works;
    for (const gpu::Variant& v : gpu::scheme_tables) works.push_back(trial.variant(v));
    works.push_back(trial.production(context));
    run_lengths(context, trial, over, std::span(panel.series).subspan(first), works, 0, 1);

    const auto last = [&](std::size_t i) { return *panel.series[first + i].values.back(); };
    Result result;
    result.panels = {panel};
    result.facts = {{"texture over constant memory, longest text", last(1) / last(0), "times",
                     gu::texture_table.back() / gu::constant_table.back()},
                    {"shared memory over texture, longest text", last(2) / last(1), "times", std::nullopt}};
    return result;
}

}  // namespace

const Experiment g_schemes{
    "G.schemes",
    Paper::gu,
    "Three schemes",
    "Should one, four or sixteen threads work on a block, and do they need to wait for each other?",
    Experiment::Needs::gpu,
    8,
    3,
    run_schemes};
const Experiment g_tables{"G.tables",
                          Paper::gu,
                          "Constant or texture memory",
                          "Where should the lookup tables be, depending on the length of the text?",
                          Experiment::Needs::gpu,
                          3,
                          1,
                          run_constant_or_texture};

}  // namespace lab::experiments
