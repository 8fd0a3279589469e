// W.worth, which is in no paper, measures AES-128-CTR by size of the text, 1 KiB to 1 GiB (--quick: 256 MiB), on each
// CPU backend (except libcrypto) with one thread and with all threads, and on the GPU with text in pageable,
// page-locked and device memory. The host's clock measures production's call, with transfers. The engine, key and
// buffers already exist.
#include <fmt/format.h>

#include <algorithm>
#include <warpaes/warpaes.hpp>

#include "lab/experiments/experiments.hpp"
#include "lab/experiments/support.hpp"

namespace lab::experiments {

namespace {

struct EngineSubject {
    std::string name;
    warpaes::Engine engine;
    const std::uint8_t* input;
    std::uint8_t* output;
};

Result run_worth(const Context& context) {
    const std::size_t most = std::min<std::size_t>(context.most_bytes, (context.quick ? 256 : 1024) * mib) / 16 * 16;
    if (most < 16) throw LeftOut("no text may be as long as a block");
    const std::vector<std::uint8_t> key_bytes = random_bytes(16, 1), iv = random_bytes(16, 2),
                                    plain = random_bytes(most, 3);
    const std::vector<std::uint8_t> expected = Reference(Mode::ctr, Direction::encrypt, key_bytes).run(iv, plain);
    const warpaes::Key key(key_bytes);
    std::vector<std::uint8_t> output(most);

    std::vector<EngineSubject> subjects;
    const auto add_subject = [&](std::string name, const std::string& backend, int device, unsigned threads,
                                 const std::uint8_t* from, std::uint8_t* to) {
        subjects.push_back(
            {std::move(name),
             warpaes::Engine({.backend = backend, .device = device, .threads = threads, .depth = 0, .chunk_bytes = 0}),
             from, to});
    };
    for (const auto& info : warpaes::backends()) {
        if (!info.usable || info.name == "libcrypto" || info.name == "cuda") continue;
        add_subject(info.name + ", one thread", info.name, -1, 1, plain.data(), output.data());
        if (context.threads > 1) {
            add_subject(fmt::format("{}, all threads", info.name), info.name, -1, context.threads, plain.data(),
                        output.data());
        }
    }
    gpu::HostMemory locked_in, locked_out;
    gpu::DeviceMemory device_in, device_out;
    if (context.gpu >= 0) {
        use_gpu(context);
        locked_in = {most, gpu::HostMemory::Kind::page_locked};
        locked_out = {most, gpu::HostMemory::Kind::page_locked};
        std::copy(plain.begin(), plain.end(), locked_in.get());
        device_in = gpu::on_device(plain);
        device_out = gpu::DeviceMemory(most);
        add_subject("GPU, pageable memory", "cuda", context.gpu, 0, plain.data(), output.data());
        add_subject("GPU, page-locked memory", "cuda", context.gpu, 0, locked_in.get(), locked_out.get());
        add_subject("GPU, device memory", "cuda", context.gpu, 0, device_in.get(), device_out.get());
    }
    if (subjects.empty()) throw LeftOut("it needs AES instructions or a GPU, and there is neither");

    const std::vector<double> x = sizes(context, 1 * kib, most, 4);
    Panel panel{
        "Throughput by size and place",
        Panel::Kind::lines,
        numbers("text", "B", Axis::Scale::log, x),
        wide_throughput(),
        {},
        {},
        fmt::format("CTR, AES-128, by the host's clock, with the call; all threads: {}. The CPU's text is in host "
                    "memory.",
                    context.threads)};
    for (const EngineSubject& s : subjects) panel.series.push_back(measured(s.name));
    std::vector<std::uint8_t> back(most);
    Progress progress(context, x.size());
    for (const double size : x) {
        const auto bytes = static_cast<std::size_t>(size);
        progress.next(size_name(bytes));
        std::vector<std::function<double()>> works;
        for (EngineSubject& s : subjects) {
            warpaes::Message message;
            message.mode = warpaes::Mode::ctr;
            message.direction = warpaes::Direction::encrypt;
            message.key = &key;
            message.iv = iv;
            message.input = {s.input, bytes};
            message.output = {s.output, bytes};
            s.engine.crypt(message);
            if (s.output == output.data()) {
                require_equal(std::span(expected).first(bytes), std::span(output).first(bytes), s.name);
                std::fill_n(output.begin(), bytes, std::uint8_t{0x5c});
            } else {
                gpu::copy(back.data(), s.output, bytes);
                require_equal(std::span(expected).first(bytes), std::span(back).first(bytes), s.name);
            }
            works.emplace_back([&s, message, &context] {
                context.check();
                return time_of([&] { s.engine.crypt(message); });
            });
        }
        const std::vector<Summary> seconds = sample_in_turns(effort(context.quick), works);
        for (std::size_t i = 0; i < subjects.size(); ++i) add(panel.series[i], rate(size / 1e9, seconds[i]));
    }
    Result result;
    result.panels.push_back(std::move(panel));
    if (context.gpu < 0) result.notes.emplace_back("The GPU is left out: there is none.");
    return result;
}

}  // namespace

const Experiment w_worth{"W.worth",
                         Paper::ours,
                         "When the GPU is worth it",
                         "Which implementation is fastest, by size, memory and the CPU's instructions?",
                         Experiment::Needs::either,
                         30,
                         3,
                         run_worth};

}  // namespace lab::experiments
