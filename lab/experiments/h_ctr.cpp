// H.ctr repeats [H]'s counter mode by size of the text: AES-128-CTR on 1 KiB to 1 GiB. In the first panel, the text is
// in device memory, and the kernel is timed by events. In the second panel, text and output are in page-locked memory,
// and events measure from the first copy to the last. One kernel has four tables in shared memory, as published, and
// runs between the copies. The lab's conflict-free kernel overlaps with its copies. The host's clock times production's
// calls with transfers. Key expansion and allocation are excluded.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <warpaes/warpaes.hpp>

#include "lab/experiments/experiments.hpp"
#include "lab/experiments/support.hpp"
#include "lab/published.hpp"

namespace lab::experiments {

namespace {

/// Returns the counter block that is `blocks` positions after `first` (SP 800-38A, B.1).
std::array<std::uint8_t, 16> counter_behind(std::span<const std::uint8_t> first, std::uint64_t blocks) {
    std::array<std::uint8_t, 16> counter{};
    unsigned carry = 0;
    for (std::size_t i = 16; i-- > 0; blocks >>= 8) {
        const unsigned sum = first[i] + static_cast<unsigned>(blocks & 0xff) + carry;
        counter[i] = static_cast<std::uint8_t>(sum);
        carry = sum >> 8;
    }
    return counter;
}

gpu::ChunkKernel counter_kernel(const gpu::Variants& variants, const NamedKernel& kernel, const Text& text) {
    return [&variants, &text, kernel](const std::uint8_t* in, std::uint8_t* out, std::size_t offset, std::size_t bytes,
                                      const gpu::Stream& stream) {
        variants.run(kernel.entry, kernel.geometry, in, out, bytes, counter_behind(text.iv(), offset / 16), stream);
    };
}

warpaes::Message message_in_ctr(const warpaes::Key& key, const Text& text, const std::uint8_t* input,
                                std::uint8_t* output, std::size_t bytes) {
    warpaes::Message message;
    message.mode = warpaes::Mode::ctr;
    message.direction = warpaes::Direction::encrypt;
    message.key = &key;
    message.iv = text.iv();
    message.input = {input, bytes};
    message.output = {output, bytes};
    return message;
}

struct Curves {
    std::vector<Series> alone, transfers;
};

Curves measure_curves(const Context& context, const std::vector<double>& x, const gpu::Properties& properties) {
    const auto most = static_cast<std::size_t>(x.back());
    const Text text(most, Mode::ctr);
    const gpu::Variants variants(text.key());
    const warpaes::Engine engine({.backend = "cuda", .device = context.gpu});
    const warpaes::Key key(text.key());
    const Trial trial({.counter = true}, most);
    TextBuffers buffers(text, gpu::HostMemory::Kind::page_locked);
    gpu::Overlap overlap(most, 4);
    const NamedKernel then = published_kernel(true), now = conflict_free_kernel(properties, true);
    const auto run_then = counter_kernel(variants, then, text), run_now = counter_kernel(variants, now, text);

    const auto measured = Series::Role::measured, baseline = Series::Role::baseline;
    Curves c{{{then.name, measured, {}, {}}, {now.name, measured, {}, {}}, {"production", baseline, {}, {}}},
             {{then.name + ", one step after the other", measured, {}, {}},
              {now.name + ", overlapped", measured, {}, {}},
              {"production", baseline, {}, {}}}};
    const Trial::Work kernels[] = {trial.variant(then.entry.variant, then.geometry),
                                   trial.variant(now.entry.variant, now.geometry), trial.production(context)};
    Progress progress(context, x.size());
    for (const double size : x) {
        progress.next(size_name(static_cast<std::size_t>(size)));
        const auto bytes = static_cast<std::size_t>(size);
        for (std::size_t i = 0; i < c.alone.size(); ++i) {
            add(c.alone[i], trial.speed(effort(context.quick), c.alone[i].name, kernels[i], bytes));
        }

        const auto from_host = [&](Series& series, const std::function<double()>& work) {
            buffers.poison(bytes);
            const Summary seconds = sample(effort(context.quick), work);
            text.check(buffers.output.on_device(), bytes, series.name);
            add(series, rate(size / 1e9, seconds));
        };
        from_host(c.transfers[0], [&] {
            return overlap.run(buffers.input.get(), buffers.output.get(), bytes, {bytes, 1, false}, run_then);
        });
        const gpu::Chunks cut{bytes < 8 * mib ? bytes : std::clamp(bytes / 32 / 16 * 16, 2 * mib, 16 * mib),
                              bytes < 8 * mib ? 1u : 4u, true};
        from_host(c.transfers[1],
                  [&] { return overlap.run(buffers.input.get(), buffers.output.get(), bytes, cut, run_now); });
        const auto on_host = message_in_ctr(key, text, buffers.input.get(), buffers.output.get(), bytes);
        from_host(c.transfers[2], [&] { return time_of([&] { engine.crypt(on_host); }); });
    }
    return c;
}

Result run_counter_mode(const Context& context) {
    const gpu::Properties properties = gpu_of(context);
    const std::vector<double> x = sizes(context, 1024, room_for(context, 1024 * mib), 4);
    Curves c = measure_curves(context, x, properties);
    const auto best = [](const Series& series) {
        return **std::max_element(series.values.begin(), series.values.end());
    };
    const double alone = best(c.alone[0]), with = best(c.transfers[0]), production = best(c.alone[2]),
                 production_with = best(c.transfers[2]);
    const double published_alone = published::gb_per_s_of_mbit(published::harrison::ctr_kernel_mbit_per_s);
    const double published_with = published::gb_per_s_of_mbit(published::harrison::ctr_with_transfers_mbit_per_s);

    Result result;
    result.facts = {{"kernel alone, four tables in shared memory", alone, "GB/s", published_alone},
                    {"with transfers, one step after the other", with, "GB/s", published_with},
                    {"production, device memory", production, "GB/s", {}},
                    {"production, page-locked memory", production_with, "GB/s", {}}};
    Panel kernels{
        "CTR, kernel alone",
        Panel::Kind::lines,
        numbers("text", "B", Axis::Scale::log, x),
        wide_throughput(),
        {},
        std::move(c.alone),
        "AES-128-CTR, text in device memory, timed by events. The published figure is the maximum of its curve."};
    Panel transfers{"CTR with transfers",
                    Panel::Kind::lines,
                    numbers("text", "B", Axis::Scale::log, x),
                    wide_throughput(),
                    {},
                    std::move(c.transfers),
                    "Text in page-locked memory. Our kernels are timed by events, production by the host's clock, "
                    "including the call."};
    result.panels = {std::move(kernels), std::move(transfers)};
    return result;
}

}  // namespace

const Experiment h_ctr{"H.ctr",
                       Paper::harrison,
                       "Counter mode by size of the text",
                       "How fast is CTR on the chip, and how much speed remains with transfers?",
                       Experiment::Needs::gpu,
                       9,
                       2,
                       run_counter_mode};

}  // namespace lab::experiments
