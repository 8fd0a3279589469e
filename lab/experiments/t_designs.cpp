// T.designs compares designs published since 2019, implemented as the lab's own kernels, with production and with
// earlier designs. The figures are GB/s, and GB/s per watt from the energy counter of the board, for AES-128 in ECB and
// CTR on text in device memory, without transfers. The last figures compare AES-128 and AES-256 with text in host
// memory, for which [T] expects no visible loss.
#include <array>
#include <warpaes/warpaes.hpp>

#include "lab/experiments/experiments.hpp"
#include "lab/experiments/support.hpp"
#include "lab/gpu/catalogue.hpp"

namespace lab::experiments {

namespace {

/// A design, and the function that returns its work for a trial. Every design supports CTR.
struct Design {
    const char* name;
    Trial::Work (*work)(const Trial& trial, const Context& context);
    bool ecb = true;  ///< whether the design supports ECB
};

constexpr gpu::Variant one_copy{.persistent = true}, copies{.tables = gpu::TableMemory::replicated, .persistent = true};

constexpr Design designs[] = {
    {"before: four tables, one copy",
     [](const Trial& t, const Context&) {
         return t.variant(one_copy, {512, 0});
     }},
    {"[T] one table, a copy for each bank", [](const Trial& t, const Context&) { return t.variant(gpu::tezcan); }},
    {"[L] the same, cached first round", [](const Trial& t, const Context&) { return t.cached_counter(); }, false},
    {"[B] bitsliced", [](const Trial& t, const Context&) { return t.bitsliced(); }},
    {"four tables, a copy for each bank", [](const Trial& t, const Context&) { return t.variant(copies); }},
    {"production", [](const Trial& t, const Context& c) { return t.production(c); }},
};

/// Returns the gigabytes per joule of board energy, over about `seconds` of launches; none if the energy cannot be
/// read.
std::optional<double> gigabytes_per_joule(const Context& context, const Trial& trial, const Trial::Work& work,
                                          double seconds) {
    const auto run_for = [&](double limit) {
        std::size_t calls = 0;
        const auto start = std::chrono::steady_clock::now();
        while (calls == 0 || seconds_since(start) < limit) {
            context.check();
            for (int i = 0; i < 16; ++i, ++calls) trial.enqueue(work);
            trial.stream().synchronize();
        }
        return calls;
    };
    if (!context.joules()) return {};
    run_for(seconds / 4);  // until clocks and power settle
    const std::optional<double> before = context.joules();
    const std::size_t calls = run_for(seconds);
    const std::optional<double> after = context.joules();
    if (!before || !after || *after <= *before) return {};
    return static_cast<double>(calls) * static_cast<double>(trial.bytes()) / 1e9 / (*after - *before);
}

struct OfMode {
    Series speeds, efficiency;
};

OfMode measure_mode(const Context& context, bool counter, double from, double to) {
    const char* mode = counter ? "CTR" : "ECB";
    const Trial trial({.counter = counter}, kernel_text_bytes(context));
    OfMode out{measured(mode), measured(mode)};
    std::vector<Trial::Subject> subjects;
    for (const Design& design : designs) {
        if (counter || design.ecb) subjects.push_back({design.name, design.work(trial, context)});
    }
    const double half = from + (to - from) / 2;
    const std::vector<Summary> speeds =
        trial.speeds(effort(context.quick), subjects, trial.bytes(), Trial::part_of(context, from, half));
    std::size_t at = 0;
    for (const Design& design : designs) {
        if (!counter && !design.ecb) {
            add_none(out.speeds), add_none(out.efficiency);
            continue;
        }
        context.step(half + (to - half) * static_cast<double>(at) / static_cast<double>(subjects.size()),
                     fmt::format("energy, {}", design.name));
        add(out.speeds, speeds[at]);
        const auto efficiency = gigabytes_per_joule(context, trial, subjects[at].work, context.quick ? 0.4 : 2.0);
        add_none(out.efficiency);
        out.efficiency.values.back() = efficiency;
        ++at;
    }
    return out;
}

/// Measures production by key size, with text in device memory and in page-locked host memory.
Panel measure_key_sizes(const Context& context) {
    const std::size_t bytes = kernel_text_bytes(context);
    Panel panel =
        bars("Speed by key size", categories("key", {"AES-128", "AES-256"}), throughput(),
             "[T]'s design: ECB, kernel alone. From host to host: production, CTR, page-locked memory, by the "
             "host's clock, with transfers.");
    Series kernels = measured("[T] one table, a copy for each bank"), hosts = measured("from host to host");
    gpu::HostMemory input(bytes, gpu::HostMemory::Kind::page_locked), output(bytes, gpu::HostMemory::Kind::page_locked);
    fill_random({input.get(), bytes}, 41);
    const warpaes::Engine engine(
        {.backend = "cuda", .device = context.gpu, .threads = 0, .depth = 0, .chunk_bytes = 0});
    for (const int rounds : {10, 14}) {
        const Trial trial({.rounds = rounds}, bytes);
        add(kernels, trial.speed(effort(context.quick), kernels.name, trial.variant(gpu::tezcan), bytes));
        const std::vector<std::uint8_t> key_bytes = random_bytes(rounds == 10 ? 16 : 32, 42), iv = random_bytes(16, 43);
        const warpaes::Key key(key_bytes);
        warpaes::Message message;
        message.mode = warpaes::Mode::ctr;
        message.direction = warpaes::Direction::encrypt;
        message.key = &key;
        message.iv = iv;
        message.input = {input.get(), bytes};
        message.output = {output.get(), bytes};
        const Summary seconds = sample(effort(context.quick), [&] {
            context.check();
            return time_of([&] { engine.crypt(message); });
        });
        require_equal(Reference(Mode::ctr, Direction::encrypt, key_bytes).run(iv, {input.get(), bytes}),
                      {output.get(), bytes}, hosts.name);
        add(hosts, rate(static_cast<double>(bytes) / 1e9, seconds));
    }
    panel.series = {kernels, hosts};
    return panel;
}

Result run_designs(const Context& context) {
    use_gpu(context, shared_for_copies);
    const OfMode ecb = measure_mode(context, false, 0, 0.45), ctr = measure_mode(context, true, 0.45, 0.9);
    std::vector<std::string> labels;
    for (const Design& design : designs) labels.emplace_back(design.name);
    Result result;
    Panel speeds = bars("Designs since 2019", categories("design", labels), throughput(),
                        "AES-128, kernels alone, text in device memory, outputs written and verified. The designs are "
                        "the papers', the kernels the lab's; cached columns are computed before the clock starts.");
    speeds.series = {ecb.speeds, ctr.speeds};
    result.panels.push_back(speeds);
    const auto any = [](const Series& s) {
        return std::any_of(s.values.begin(), s.values.end(), [](const auto& v) { return v.has_value(); });
    };
    if (any(ecb.efficiency) && any(ctr.efficiency)) {
        Panel efficiency = bars("Designs since 2019, per watt", speeds.x,
                                {"throughput per watt", "GB/s per W", Axis::Scale::linear, {}, {}},
                                "Bytes encrypted by the energy that the board's counter (NVML) has counted meanwhile, "
                                "over 2 s of launches (--quick: 0.4 s). [T] publishes 4.1 Gbit/s per watt, 0.51 GB/s "
                                "per W, of an RTX 2070 Super (878.6 Gbit/s by 215 W).");
        efficiency.series = {ecb.efficiency, ctr.efficiency};
        result.panels.push_back(efficiency);
    } else {
        result.notes.emplace_back("Throughput per watt is left out, because the driver does not count energy here.");
    }
    context.step(0.9, "AES-128 and AES-256");
    result.panels.push_back(measure_key_sizes(context));
    return result;
}

}  // namespace

const Experiment t_designs{
    "T.designs",
    Paper::tezcan,
    "Designs since 2019",
    "How fast, in total and per watt, are tables without bank conflicts, cached rounds and bit slices?",
    Experiment::Needs::gpu,
    40,
    10,
    run_designs};

}  // namespace lab::experiments
