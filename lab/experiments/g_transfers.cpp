// [G]'s experiments on transfers, AES-128-ECB from host memory to host memory.
//
// G.transfers measures the throughput by input size, 2 KiB to 1 GiB, for five ways of transfer: page-locked memory with
// copy in, kernel and copy out one after the other; these three steps in chunks that overlap; mapped memory that the
// kernel reads and writes in place; mapped write-combined memory; and production. Times include transfers. Events
// measure from the first copy to the last, or around the kernel if there are no copies. The host's clock times
// production's calls. Allocation and key expansion are excluded. G.breakdown shows the shares of copying in, computing
// and copying out, by input size, for [G]'s best scheme and the lab's conflict-free kernel.
#include <fmt/format.h>

#include <algorithm>
#include <warpaes/warpaes.hpp>

#include "lab/experiments/experiments.hpp"
#include "lab/experiments/support.hpp"
#include "lab/gpu/catalogue.hpp"
#include "lab/gpu/overlap.hpp"
#include "lab/published.hpp"

namespace lab::experiments {

namespace {

constexpr unsigned most_lanes_of_a_cut = 4;

using Kind = gpu::HostMemory::Kind;

/// Returns the paper's sizes, then larger ones as far as memory allows.
std::vector<double> input_sizes(const Context& context, std::size_t wanted) {
    const std::size_t longest = room_for(context, wanted);
    std::vector<double> list;
    for (const std::uint64_t bytes : published::gu::input_bytes) {
        if (bytes <= longest) list.push_back(static_cast<double>(bytes));
    }
    for (std::size_t bytes = 32 * mib; bytes < longest; bytes *= 4) list.push_back(static_cast<double>(bytes));
    if (list.empty()) throw LeftOut("no text may be as long as the shortest of the paper, 2 KiB");
    if (static_cast<double>(longest) > list.back()) list.push_back(static_cast<double>(longest));
    return list;
}

/// Returns candidate chunk sizes and lane counts for a text.
std::vector<gpu::Chunks> cuts(std::size_t bytes, std::size_t room) {
    std::vector<gpu::Chunks> list;
    const auto add = [&](std::size_t chunk, unsigned lanes) {
        chunk = std::min(std::max<std::size_t>((chunk + 15) / 16 * 16, 16), bytes);
        if (chunk * lanes <= room) list.push_back({chunk, lanes, true});
    };
    if (bytes <= 64 * kib) add(bytes, 1);
    if (bytes > 16 * kib && bytes <= 64 * mib) {
        add(bytes / 2, 2);
        add(bytes / 4, most_lanes_of_a_cut);
    }
    for (const std::size_t chunk : {1 * mib, 2 * mib, 4 * mib, 8 * mib, 16 * mib}) {
        if (bytes >= 4 * chunk && bytes <= 512 * chunk) add(chunk, most_lanes_of_a_cut);
    }
    return list;
}

/// The memory, kernels and text that all ways of transfer use.
struct WaysOfTransfer {
    WaysOfTransfer(const Context& context, std::size_t most)
        : properties(gpu_of(context)),
          kernels{published_kernel(), conflict_free_kernel(properties)},
          mapped_kernels(kernels),

          text(most, Mode::ecb),
          variants(text.key()),
          locked(text, Kind::page_locked),
          write_combined(text, Kind::mapped_write_combined),
          overlap(most, most_lanes_of_a_cut) {
        // The best thread count for the bus, and whether persistent threads are better, depends on the machine, so
        // several combinations are tried.
        const auto processors = static_cast<unsigned>(properties.multiprocessors);
        mapped_kernels.push_back({"four tables in shared memory, 1,024 threads", kernels[0].entry, {.threads = 1024}});
        mapped_kernels.push_back({"four tables in shared memory, threads that stay",
                                  {gpu::Variant{.persistent = true}, {}},
                                  {.threads = 1024, .blocks = 2 * processors}});
        mapped_kernels.push_back(
            {"tables without conflicts, 512 threads", kernels[1].entry, {.threads = 512, .blocks = processors}});
    }

    gpu::Properties properties;
    std::vector<NamedKernel> kernels, mapped_kernels;
    Text text;
    gpu::Variants variants;
    TextBuffers locked, write_combined;
    gpu::Overlap overlap;
    gpu::Stream stream;
    std::string best_cut, best_mapped;

    /// Selects the fastest of `works`, samples and verifies it, and returns its seconds. All `works` write to the
    /// output of `buffers`.
    Summary best_of(const Context& context, TextBuffers& buffers, std::size_t bytes, const std::string& what,
                    const std::vector<std::function<double()>>& works, std::size_t* chosen = nullptr) {
        const std::size_t best = works.size() == 1 ? 0 : quickest(works);
        if (chosen != nullptr) *chosen = best;
        buffers.poison(bytes);
        const Summary seconds = sample(effort(context.quick), works[best]);
        text.check(buffers.output.on_device(), bytes, what);
        return seconds;
    }

    Summary plain(const Context& context, std::size_t bytes) {
        std::vector<std::function<double()>> works;
        for (const NamedKernel& kernel : mapped_kernels) {
            works.emplace_back([this, bytes, run = chunk_kernel(variants, kernel)] {
                return overlap.run(locked.input.get(), locked.output.get(), bytes, {bytes, 1, false}, run);
            });
        }
        return best_of(context, locked, bytes, "page-locked copies", works);
    }

    Summary overlapped(const Context& context, std::size_t bytes) {
        // Chooses the chunks first, with one kernel. Then chooses the kernel, from the list that the other ways also
        // use.
        const auto work = [&](const gpu::Chunks& chunks, const NamedKernel& kernel) {
            return [this, bytes, chunks, run = chunk_kernel(variants, kernel)] {
                return overlap.run(locked.input.get(), locked.output.get(), bytes, chunks, run);
            };
        };
        const std::vector<gpu::Chunks> possible = cuts(bytes, overlap.room());
        std::vector<std::function<double()>> by_cut, works;
        for (const gpu::Chunks& chunks : possible) by_cut.emplace_back(work(chunks, kernels[1]));
        const gpu::Chunks& chunks = possible[by_cut.size() == 1 ? 0 : quickest(by_cut)];
        std::vector<std::string> names;
        for (const NamedKernel& kernel : mapped_kernels) {
            works.emplace_back(work(chunks, kernel));
            names.push_back(
                fmt::format("chunks of {}, {} at a time, {}", size_name(chunks.bytes), chunks.lanes, kernel.name));
        }
        std::size_t chosen = 0;
        const Summary seconds = best_of(context, locked, bytes, "overlapped copies", works, &chosen);
        best_cut = names[chosen];
        return seconds;
    }

    Summary mapped(const Context& context, TextBuffers& buffers, std::size_t bytes, const std::string& what) {
        std::vector<std::function<double()>> works;
        for (const NamedKernel& kernel : mapped_kernels) {
            works.emplace_back([this, &buffers, bytes, &kernel] {
                return gpu::seconds_of(stream, [&] {
                    variants.run(kernel.entry, kernel.geometry, buffers.input.on_device(), buffers.output.on_device(),
                                 bytes, {}, stream);
                });
            });
        }
        std::size_t chosen = 0;
        const Summary seconds = best_of(context, buffers, bytes, what, works, &chosen);
        best_mapped = mapped_kernels[chosen].name;
        return seconds;
    }

    Summary production(const Context& context, const warpaes::Engine& engine, const warpaes::Key& key,
                       std::size_t bytes) {
        warpaes::Message message;
        message.mode = warpaes::Mode::ecb;
        message.direction = warpaes::Direction::encrypt;
        message.key = &key;
        message.input = {locked.input.get(), bytes};
        message.output = {locked.output.get(), bytes};
        return best_of(context, locked, bytes, "production", {[&] { return time_of([&] { engine.crypt(message); }); }});
    }
};

double at_most(const Series& series) {
    double most = 0;
    for (const auto& value : series.values) most = std::max(most, value.value_or(0));
    return most;
}

Result transfers(const Context& context) {
    use_gpu(context);
    const std::vector<double> x = input_sizes(context, 1024 * mib);
    WaysOfTransfer s(context, static_cast<std::size_t>(x.back()));
    const warpaes::Engine engine({.backend = "cuda", .device = context.gpu});
    const warpaes::Key key(s.text.key());

    Series plain{"page-locked, one step after the other", Series::Role::measured, {}, {}};
    Series overlapped{"page-locked, overlapped", Series::Role::measured, {}, {}};
    Series mapped{"mapped", Series::Role::measured, {}, {}};
    Series write_combined{"mapped, write-combined", Series::Role::measured, {}, {}};
    Series production{"production, page-locked", Series::Role::baseline, {}, {}};
    Progress progress(context, x.size());
    for (const double size : x) {
        progress.next(size_name(static_cast<std::size_t>(size)));
        const auto bytes = static_cast<std::size_t>(size);
        add(plain, rate(size / 1e9, s.plain(context, bytes)));
        add(overlapped, rate(size / 1e9, s.overlapped(context, bytes)));
        add(mapped, rate(size / 1e9, s.mapped(context, s.locked, bytes, "mapped memory")));
        add(write_combined,
            rate(size / 1e9, s.mapped(context, s.write_combined, bytes, "mapped, write-combined memory")));
        add(production, rate(size / 1e9, s.production(context, engine, key, bytes)));
    }

    Result result;
    const double published_most = published::gb_per_s_of_gbit(
        *std::max_element(published::gu::mapped_write_combined.begin(), published::gu::mapped_write_combined.end()));
    const double published_plain = published::gb_per_s_of_gbit(
        *std::max_element(published::gu::page_locked.begin(), published::gu::page_locked.end()));
    result.facts = {{"mapped, write-combined, at most", at_most(write_combined), "GB/s", published_most},
                    {"mapped, at most", at_most(mapped), "GB/s", {}},
                    {"page-locked, overlapped, at most", at_most(overlapped), "GB/s", {}},
                    {"page-locked, one step after the other, at most", at_most(plain), "GB/s", published_plain},
                    {"production, page-locked, at most", at_most(production), "GB/s", {}}};
    Panel panel{"From host memory to host memory, by input size",
                Panel::Kind::lines,
                numbers("input", "B", Axis::Scale::log, x),
                wide_throughput(),
                {},
                {},
                {}};
    panel.series = {published_gbit("page-locked, published", published::gu::page_locked, x.size()),
                    published_gbit("mapped, write-combined, published", published::gu::mapped_write_combined, x.size()),
                    plain,
                    overlapped,
                    mapped,
                    write_combined,
                    production};
    panel.note = fmt::format(
        "AES-128-ECB, including transfers, with each byte of text counted once. Our figures use the fastest of the "
        "same kernels at each size, and the fastest division into chunks when overlapped; at {0}, overlapped: {1}; "
        "mapped: {2}. Times are by events; production's are by the host's clock, including the call.",
        size_name(static_cast<std::size_t>(x.back())), s.best_cut, s.best_mapped);
    result.panels.push_back(std::move(panel));
    return result;
}

/// Shares of the steps in per cent, by size.
struct Breakdown {
    Series in{"copy in", Series::Role::measured, {}, {}};
    Series compute{"compute", Series::Role::measured, {}, {}};
    Series out{"copy out", Series::Role::measured, {}, {}};
};

Breakdown break_down(const Context& context, Progress& progress, const std::vector<double>& x, const Text& text,
                     const gpu::Variants& variants, const NamedKernel& kernel) {
    Breakdown b;
    TextBuffers buffers(text, Kind::page_locked);
    gpu::Overlap overlap(text.plain().size(), 1);
    const auto run = chunk_kernel(variants, kernel);
    for (const double size : x) {
        progress.next(fmt::format("{}, {}", kernel.name, size_name(static_cast<std::size_t>(size))));
        const auto bytes = static_cast<std::size_t>(size);
        buffers.poison(bytes);
        std::vector<gpu::Steps> samples;
        sample(effort(context.quick), [&] {
            samples.push_back(overlap.steps(buffers.input.get(), buffers.output.get(), bytes, run));
            return samples.back().sum();
        });
        text.check(buffers.output.on_device(), bytes, kernel.name);
        samples.erase(samples.begin());  // drop the warm-up call
        std::vector<double> in, compute, out;
        for (const gpu::Steps& steps : samples) {
            in.push_back(steps.in);
            compute.push_back(steps.kernel);
            out.push_back(steps.out);
        }
        const double i = summarize(in).median, k = summarize(compute).median, o = summarize(out).median;
        const double whole = (i + k + o) / 100;
        b.in.values.emplace_back(i / whole);
        b.compute.values.emplace_back(k / whole);
        b.out.values.emplace_back(o / whole);
    }
    return b;
}

Result breakdown(const Context& context) {
    const gpu::Properties properties = gpu_of(context);
    const std::vector<double> x = input_sizes(context, 64 * mib);
    const Text text(static_cast<std::size_t>(x.back()), Mode::ecb);
    const gpu::Variants variants(text.key());
    const NamedKernel theirs{"four threads a block, tables in constant memory", {gpu::schemes[1], {}}, {}};
    Result result;
    Progress progress(context, 2 * x.size());
    for (const NamedKernel& kernel : {theirs, conflict_free_kernel(properties)}) {
        const Breakdown b = break_down(context, progress, x, text, variants, kernel);
        Panel panel{"Where the time goes: " + kernel.name,
                    Panel::Kind::stacked,
                    numbers("input", "B", Axis::Scale::log, x),
                    {"share of the time", "%", Axis::Scale::linear, {}, {}},
                    {},
                    {b.in, b.compute, b.out},
                    {}};
        panel.note = "Page-locked memory, one step after the other on one stream, AES-128-ECB; medians by events.";
        result.panels.push_back(std::move(panel));
    }
    return result;
}

}  // namespace

const Experiment g_transfers{"G.transfers",
                             Paper::gu,
                             "Page-locked copies against mapped, write-combined memory",
                             "Is it faster to copy text to the GPU and back, or to let kernels read and write it in "
                             "host memory?",
                             Experiment::Needs::gpu,
                             14,
                             4,
                             transfers};
const Experiment g_breakdown{"G.breakdown",
                             Paper::gu,
                             "Copying in, computing, copying out",
                             "What share of the time do transfers take, and from what size do they dominate?",
                             Experiment::Needs::gpu,
                             2,
                             1,
                             breakdown};

}  // namespace lab::experiments
