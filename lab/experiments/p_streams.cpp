// P.streams repeats [P]'s streams: one, two, four and eight streams, each with its own staging buffers of 8 MiB, so
// that copies and kernels of different buffers overlap. The text is 1 GiB (--quick: 128 MiB), encrypted with
// AES-128-ECB. Text and output are in page-locked memory, and events measure from the first copy to the last. For
// comparison, production has the same number of chunks in flight, and is timed by the host's clock. The second panel
// goes from disk to disk, as published. It shows production's file job, timed as in p_pipeline.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <warpaes/warpaes.hpp>

#include "lab/experiments/experiments.hpp"
#include "lab/experiments/file_trials.hpp"
#include "lab/experiments/support.hpp"
#include "lab/published.hpp"

namespace lab::experiments {

namespace {

constexpr unsigned stream_numbers[] = {1, 2, 4, 8};

Result run_streams(const Context& context) {
    use_gpu(context);
    const std::size_t bytes = room_for(context, context.quick ? 128 * mib : 1024 * mib);
    const std::size_t staging =
        std::min<std::size_t>(published::paracrypt::best_staging_bytes, std::max<std::size_t>(bytes / 64 * 16, 16));
    const Text text(bytes, Mode::ecb);
    const gpu::Variants variants(text.key());
    TextBuffers buffers(text, gpu::HostMemory::Kind::page_locked);
    gpu::Overlap overlap(staging * 8, 8);
    const auto kernel = chunk_kernel(variants, published_kernel());
    const warpaes::Key key(text.key());

    Series ours{"one thread a block, tables in shared memory", Series::Role::measured, {}, {}};
    Series production{"production, as many chunks in flight", Series::Role::baseline, {}, {}};
    Progress progress(context, std::size(stream_numbers));
    for (const unsigned streams : stream_numbers) {
        progress.next(fmt::format("{} streams", streams));
        buffers.poison(bytes);
        const Summary seconds = sample(effort(context.quick), [&] {
            return overlap.run(buffers.input.get(), buffers.output.get(), bytes, {staging, streams, false}, kernel);
        });
        text.check(buffers.output.on_device(), bytes, fmt::format("{} streams", streams));
        add(ours, rate(static_cast<double>(bytes) / 1e9, seconds));

        const warpaes::Engine engine({.backend = "cuda",
                                      .device = context.gpu,
                                      .threads = 0,
                                      .depth = streams,
                                      .chunk_bytes = std::max<std::size_t>(staging / 4096 * 4096, 4096)});
        warpaes::Message message;
        message.mode = warpaes::Mode::ecb;
        message.direction = warpaes::Direction::encrypt;
        message.key = &key;
        message.input = {buffers.input.get(), bytes};
        message.output = {buffers.output.get(), bytes};
        buffers.poison(bytes);
        const Summary engines = sample(effort(context.quick), [&] { return time_of([&] { engine.crypt(message); }); });
        text.check(buffers.output.on_device(), bytes, "production");
        add(production, rate(static_cast<double>(bytes) / 1e9, engines));
    }

    Result result;
    const double gain = 100 * (*ours.values[2] / *ours.values[0] - 1);
    result.facts.push_back({"four streams over one", gain, "%", 100 * published::paracrypt::stream_gain});
    Panel panel{"Throughput with transfers, by number of streams",
                Panel::Kind::lines,
                numbers("streams", "", Axis::Scale::log, {std::begin(stream_numbers), std::end(stream_numbers)}),
                wide_throughput(),
                {},
                {ours, production},
                {}};
    panel.note = fmt::format(
        "{} of text in page-locked memory, AES-128-ECB, in buffers of {}, the size that the paper "
        "found best. It publishes a gain of at most 7 % with four streams, from disk to disk.",
        size_name(bytes), size_name(staging));
    result.panels.push_back(std::move(panel));
    if (auto on_disk = measure_streams_on_a_disk(context, stream_numbers)) {
        result.panels.push_back(std::move(*on_disk));
    } else {
        result.notes.emplace_back("There is no folder on a disk, so files by number of streams are left out.");
    }
    return result;
}

}  // namespace

const Experiment p_streams{"P.streams",
                           Paper::paracrypt,
                           "Streams",
                           "How much do one, two, four and eight streams gain by overlapping copies with kernels?",
                           Experiment::Needs::gpu,
                           7,
                           1,
                           run_streams};

}  // namespace lab::experiments
