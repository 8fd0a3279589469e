// P.host_memory repeats [P]'s and [H]'s comparison of page-locked and pageable host memory: AES-128-ECB on 64 KiB to
// 256 MiB, copy in, kernel and copy out one after the other. Events measure from the first copy to the last; allocation
// is excluded.
//
// P.modes repeats [P]'s comparison of its parallel modes (ECB and CTR encryption, CBC and CFB decryption) on the
// backends of production, with text and output in pageable host memory. The host's clock measures the call.
#include <fmt/format.h>

#include <algorithm>
#include <warpaes/warpaes.hpp>

#include "lab/experiments/experiments.hpp"
#include "lab/experiments/file_trials.hpp"
#include "lab/experiments/support.hpp"

namespace lab::experiments {

namespace {

Result run_host_memory(const Context& context) {
    use_gpu(context);
    const std::vector<double> x = sizes(context, 64 * kib, room_for(context, 256 * mib), 4);
    const Text text(static_cast<std::size_t>(x.back()), Mode::ecb);
    const gpu::Variants variants(text.key());
    const auto kernel = chunk_kernel(variants, published_kernel());
    gpu::Overlap overlap(text.plain().size(), 1);
    gpu::DeviceMemory back(text.plain().size());
    Panel panel =
        lines("Copies in and out around the kernel", numbers("text", "B", Axis::Scale::log, x), wide_throughput(),
              "AES-128-ECB, four tables in shared memory, one step after the other, by events; host memory that "
              "the system may move (pageable), and that it may not (page-locked).");
    panel.series = {measured("page-locked"), measured("pageable")};
    TextBuffers locked(text, gpu::HostMemory::Kind::page_locked), pageable(text, gpu::HostMemory::Kind::pageable);
    Progress progress(context, x.size());
    for (const double size : x) {
        const auto bytes = static_cast<std::size_t>(size);
        progress.next(size_name(bytes));
        std::vector<std::function<double()>> works;
        for (TextBuffers* buffers : {&locked, &pageable}) {
            works.emplace_back([&, buffers] {
                return overlap.run(buffers->input.get(), buffers->output.get(), bytes, {bytes, 1, false}, kernel);
            });
            buffers->poison(bytes);
        }
        const std::vector<Summary> seconds = sample_in_turns(effort(context.quick), works);
        TextBuffers* const both[] = {&locked, &pageable};
        for (std::size_t i = 0; i < std::size(both); ++i) {
            gpu::copy(back.get(), both[i]->output.get(), bytes);
            text.check(back.get(), bytes, panel.series[i].name);
            add(panel.series[i], rate(size / 1e9, seconds[i]));
        }
    }
    Result result;
    result.panels.push_back(std::move(panel));
    return result;
}

struct ParallelMode {
    const char* name;
    Mode reference;
    warpaes::Mode mode;
    Direction direction;
};
constexpr ParallelMode parallel_modes[] = {
    {"ECB, encryption", Mode::ecb, warpaes::Mode::ecb, Direction::encrypt},
    {"CTR", Mode::ctr, warpaes::Mode::ctr, Direction::encrypt},
    {"CBC, decryption", Mode::cbc, warpaes::Mode::cbc, Direction::decrypt},
    {"CFB, decryption", Mode::cfb128, warpaes::Mode::cfb128, Direction::decrypt}};

Result run_modes(const Context& context) {
    const std::vector<std::string> backends = backends_of(context);
    const std::size_t bytes = std::min<std::size_t>(context.most_bytes / 16 * 16, 256 * mib);
    const std::vector<std::uint8_t> key_bytes = random_bytes(16, 1), iv = random_bytes(16, 2);
    const warpaes::Key key(key_bytes);
    std::vector<std::string> names;
    for (const ParallelMode& mode : parallel_modes) names.emplace_back(mode.name);
    Panel panel{"Modes that are parallel",
                Panel::Kind::bars,
                categories("mode", names),
                throughput(),
                {},
                {},
                fmt::format("AES-128, {} from host memory to host memory, pageable, by production's backends; by the "
                            "host's clock, with the call.",
                            size_name(bytes))};
    std::vector<warpaes::Engine> engines;
    for (const std::string& backend : backends) {
        panel.series.push_back(measured(backend));
        engines.emplace_back(warpaes::EngineOptions{
            .backend = backend, .device = backend == "cuda" ? context.gpu : -1, .threads = context.threads});
    }
    for (std::size_t m = 0; m < std::size(parallel_modes); ++m) {
        context.step(static_cast<double>(m) / static_cast<double>(std::size(parallel_modes)), parallel_modes[m].name);
        const ParallelMode& mode = parallel_modes[m];
        const std::span<const std::uint8_t> used_iv =
            mode.reference == Mode::ecb ? std::span<const std::uint8_t>{} : iv;
        std::vector<std::uint8_t> input = random_bytes(bytes, 3), output(bytes);
        std::vector<std::uint8_t> expected =
            Reference(mode.reference, Direction::encrypt, key_bytes).run(used_iv, input);
        if (mode.direction == Direction::decrypt) std::swap(input, expected);
        warpaes::Message message;
        message.mode = mode.mode;
        message.direction =
            mode.direction == Direction::encrypt ? warpaes::Direction::encrypt : warpaes::Direction::decrypt;
        message.key = &key;
        message.iv = used_iv;
        message.input = input;
        message.output = output;
        for (std::size_t b = 0; b < backends.size(); ++b) {
            std::fill(output.begin(), output.end(), std::uint8_t{0x5c});
            const Summary seconds = sample(effort(context.quick), [&] {
                context.check();
                return time_of([&] { engines[b].crypt(message); });
            });
            require_equal(expected, output, fmt::format("{}, {}", mode.name, backends[b]));
            add(panel.series[b], rate(static_cast<double>(bytes) / 1e9, seconds));
        }
    }
    Result result;
    result.panels.push_back(std::move(panel));
    if (context.gpu < 0) result.notes.emplace_back("The GPU is left out: there is none.");
    return result;
}

}  // namespace

const Experiment p_host_memory{"P.host_memory",
                               Paper::paracrypt,
                               "Page-locked and pageable memory",
                               "How much does page-locked memory speed up copies of text?",
                               Experiment::Needs::gpu,
                               10,
                               1,
                               run_host_memory};

const Experiment p_modes{"P.modes",
                         Paper::paracrypt,
                         "Modes that are parallel",
                         "Are ECB, CTR, and decryption in CBC and CFB as fast as each other?",
                         Experiment::Needs::either,
                         10,
                         2,
                         run_modes};

}  // namespace lab::experiments
