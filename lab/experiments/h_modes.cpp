// H.modes repeats three of [H]'s comparisons of serial and parallel modes, for AES-128 encryption. The first panel
// shows CBC and CTR by the number of messages of 2,048 blocks in device memory; events time the data model's kernel,
// and the host's clock times production's batch. The second panel compares OFB with messages of 512 blocks on all
// processors of the machine and on the GPU, by the host's clock. The last panels show the registers and, by events, the
// speed of a kernel for one mode and of a kernel for all modes.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lab/experiments/experiments.hpp"
#include "lab/experiments/messages.hpp"

namespace lab::experiments {

namespace {

/// Returns numbers of messages for an axis: 32, then each time four times as many (--quick: 16 times), and finally the
/// number of messages that amount to `bytes`.
std::vector<double> counts_up_to(std::uint64_t bytes, std::uint64_t blocks, const Context& context) {
    const auto most = static_cast<double>(std::max<std::uint64_t>(bytes / (16 * blocks), 1));
    std::vector<double> counts;
    for (double count = 32; count < most; count *= context.quick ? 16 : 4) counts.push_back(count);
    counts.push_back(most);
    return counts;
}

/// Returns a context for a part of an experiment. The part's progress from 0 to 1 is reported as progress from `from`
/// to `to`.
Context part_of(const Context& context, double from, double to) {
    Context part = context;
    part.step = [step = context.step, from, to](double done, const std::string& next) {
        step(from + done * (to - from), next);
    };
    return part;
}

// ------------------------------------------------------------------------------------------ serial and parallel

Panel serial_beside_parallel(const Context& context, const warpaes::Engine& engine) {
    const std::uint64_t bytes = room_for(context, context.quick ? 64 * mib : 1024 * mib);
    const std::uint64_t blocks = std::min<std::uint64_t>(2048, bytes / 16);
    const std::vector<double> counts = counts_up_to(bytes, blocks, context);
    Panel panel = lines(
        fmt::format("Serial beside parallel messages of {} blocks", fmt::group_digits(blocks)),
        numbers("messages", "", Axis::Scale::log, counts), wide_throughput(),
        "Encryption, AES-128, data in device memory; the model's kernel by events, production by the host's clock, "
        "from submitting to the end. In CBC a thread of the model takes a message, in CTR a block.");
    panel.series = {measured("[H]'s model, CTR (parallel)"), measured("[H]'s model, CBC (serial)"),
                    baseline("production, CTR (parallel)"), baseline("production, CBC (serial)")};
    Progress progress(context, 2 * counts.size());
    for (const double count : counts) {
        for (const Mode mode : {Mode::ctr, Mode::cbc}) {
            progress.next(fmt::format("{} messages in {}", count, mode == Mode::ctr ? "CTR" : "CBC"));
            const MessageRates rates = rates_of_messages(
                context, engine, {.mode = mode, .count = static_cast<std::uint64_t>(count), .blocks = blocks});
            const std::size_t at = mode == Mode::ctr ? 0 : 1;
            add(panel.series[at], rates.model);
            add(panel.series[at + 2], rates.production);
        }
    }
    return panel;
}

// -------------------------------------------------------------------------------------------------- OFB on the CPU

struct OfbSubject {
    Series series;
    warpaes::Engine engine;
    bool on_device = false;
};

Panel ofb_on_the_cpu(const Context& context) {
    const std::uint64_t bytes = room_for(context, context.quick ? 64 * mib : 512 * mib);
    const std::uint64_t blocks = std::min<std::uint64_t>(512, bytes / 16);
    const std::vector<double> counts = counts_up_to(bytes, blocks, context);
    std::vector<OfbSubject> subjects;
    for (const auto& info : warpaes::backends()) {
        if (!info.usable || info.name == "cuda") continue;
        subjects.push_back({measured(fmt::format("{}, all threads", info.name)),
                            warpaes::Engine({.backend = info.name, .threads = context.threads})});
    }
    for (const bool on_device : {false, true}) {
        subjects.push_back({measured(on_device ? "GPU, device memory" : "GPU, page-locked memory"),
                            warpaes::Engine({.backend = "cuda", .device = context.gpu}), on_device});
    }
    Progress progress(context, counts.size());
    for (const double count : counts) {
        progress.next(fmt::format("{} messages in OFB", count));
        const Shape shape{.mode = Mode::ofb, .count = static_cast<std::uint64_t>(count), .blocks = blocks};
        Messages device(shape), host(shape, MessageMemory::page_locked);
        const warpaes::Key device_key(device.keys()), host_key(host.keys());
        std::vector<std::vector<warpaes_batch_entry>> entries;
        for (const OfbSubject& s : subjects) {
            entries.push_back(s.on_device ? device.entries(device_key, false) : host.entries(host_key, false));
        }
        std::vector<std::function<double()>> works;
        for (std::size_t i = 0; i < subjects.size(); ++i) {
            Messages& messages = subjects[i].on_device ? device : host;
            messages.poison();
            (void)time_batch(subjects[i].engine, entries[i]);
            messages.check(subjects[i].series.name);
            works.emplace_back([&, i] {
                context.check();
                return time_batch(subjects[i].engine, entries[i]);
            });
        }
        const std::vector<Summary> seconds = sample_in_turns(effort(context.quick), works);
        const double amount = static_cast<double>(shape.bytes()) / 1e9;
        for (std::size_t i = 0; i < subjects.size(); ++i) add(subjects[i].series, rate(amount, seconds[i]));
    }
    Panel panel =
        lines("OFB on processors and GPU", numbers("messages", "", Axis::Scale::log, counts), wide_throughput(),
              fmt::format("Production's batches of messages of {} blocks, AES-128, by the host's clock, from "
                          "submitting to the end; all threads: {}. Processors and the GPU with transfers read "
                          "and write the same page-locked memory.",
                          blocks, context.threads));
    for (OfbSubject& s : subjects) panel.series.push_back(std::move(s.series));
    return panel;
}

// ----------------------------------------------------------------------------------------------- a kernel for all

constexpr std::array<NamedMode, 5> all_modes{
    {{Mode::ecb, "ECB"}, {Mode::ctr, "CTR"}, {Mode::cbc, "CBC"}, {Mode::cfb128, "CFB"}, {Mode::ofb, "OFB"}}};

std::vector<Panel> one_kernel_for_all(const Context& context) {
    const std::uint64_t bytes = room_for(context, context.quick ? 64 * mib : 256 * mib);
    const std::uint64_t blocks = std::min<std::uint64_t>(64, bytes / 16);
    const std::uint64_t count = std::max<std::uint64_t>(bytes / (16 * blocks), 1);
    std::vector<std::string> names;
    for (const NamedMode& mode : all_modes) names.emplace_back(mode.name);
    const std::string how =
        "The data model's kernel is compiled once for each mode and once for all modes, where each message gives its "
        "mode. The compiler may use any number of registers; encryption, AES-128.";
    Panel registers = bars("Registers a thread, by what the kernel knows", categories("mode", names),
                           {"registers", "", Axis::Scale::linear, {}, {}}, how + " As the runtime says.");
    Panel speed = bars(
        "A kernel for one mode, and the one for all", categories("mode", names), throughput(),
        fmt::format("{} {} messages of {} blocks in device memory, by events.", how, fmt::group_digits(count), blocks));
    for (Panel* panel : {&registers, &speed}) panel->series = {measured("this mode alone"), measured("all modes")};
    const auto all = static_cast<double>(gpu::PayloadOnDevice::resources({}).registers);
    const gpu::Stream stream;
    Progress progress(context, all_modes.size());
    for (const NamedMode& mode : all_modes) {
        progress.next(fmt::format("a kernel for {} alone", mode.name));
        registers.series[0].values.emplace_back(gpu::PayloadOnDevice::resources(mode.mode).registers);
        registers.series[1].values.emplace_back(all);
        Messages messages({.mode = mode.mode, .count = count, .blocks = blocks});
        KeySchedules schedules;
        gpu::PayloadOnDevice payload;
        payload.load(messages.prepare(schedules), schedules);
        std::vector<std::function<double()>> works;
        for (const bool alone : {true, false}) {
            const auto run = [&, alone] {
                payload.run_freely(alone ? std::optional(mode.mode) : std::nullopt, messages.input(), messages.output(),
                                   stream);
            };
            messages.poison();
            run();
            stream.synchronize();
            messages.check(fmt::format("{}, {}", mode.name, alone ? "a kernel of its own" : "the kernel for all"));
            works.emplace_back([&stream, run] {
                run();  // an idle GPU is slow to start
                return gpu::seconds_of(stream, run);
            });
        }
        const std::vector<Summary> seconds = sample_in_turns(effort(context.quick), works);
        for (std::size_t i = 0; i < seconds.size(); ++i) {
            add(speed.series[i], rate(static_cast<double>(messages.shape().bytes()) / 1e9, seconds[i]));
        }
    }
    return {registers, speed};
}

Result run_serial_and_parallel_modes(const Context& context) {
    use_gpu(context);
    const warpaes::Engine engine({.backend = "cuda", .device = context.gpu});
    Result result;
    result.panels.push_back(serial_beside_parallel(part_of(context, 0, 0.5), engine));
    result.panels.push_back(ofb_on_the_cpu(part_of(context, 0.5, 0.8)));
    for (Panel& panel : one_kernel_for_all(part_of(context, 0.8, 1))) result.panels.push_back(std::move(panel));
    return result;
}

}  // namespace

const Experiment h_modes{"H.modes",
                         Paper::harrison,
                         "Serial and parallel modes",
                         "How fast are serial modes compared with parallel ones and processors, and how much does a "
                         "kernel for every mode cost?",
                         Experiment::Needs::gpu,
                         30,
                         4,
                         run_serial_and_parallel_modes};

}  // namespace lab::experiments
