// [H]: what a data model for many messages costs against one message of the same bytes, and a new key for every
// message.
#include <fmt/format.h>

#include <algorithm>

#include "lab/experiments/experiments.hpp"
#include "lab/experiments/host_verdicts.hpp"
#include "lab/experiments/messages.hpp"
#include "lab/published.hpp"

namespace lab::experiments {

namespace {

constexpr std::uint64_t mib = 1 << 20;

using Work = std::function<double()>;

/// What is measured at every size of message, in turns, each verified by its last output.
struct Subject {
    Series series;
    Work work;
    bool whole = false;  ///< its output is that of one message
};

void measure(const Context& context, Messages& messages, std::vector<Subject>& subjects) {
    std::vector<Work> works;
    for (Subject& s : subjects) {
        messages.poison();
        s.work();
        messages.check(s.series.name, s.whole);
        works.push_back(s.work);
    }
    const auto seconds = sample_in_turns(effort(context.quick), works);
    for (std::size_t i = 0; i < subjects.size(); ++i) {
        add(subjects[i].series, rate(static_cast<double>(messages.shape().bytes()) / 1e9, seconds[i]));
        messages.poison();
        subjects[i].work();
        messages.check(subjects[i].series.name, subjects[i].whole);
    }
}

double one_message(const warpaes::Engine& engine, const warpaes::Key& key, const Messages& messages,
                   const gpu::Stream& stream) {
    warpaes::Message message;
    message.mode = warpaes::Mode::ctr;
    message.direction = warpaes::Direction::encrypt;
    message.key = &key;
    message.iv = messages.iv(0);
    message.input = {messages.input(), messages.shape().bytes()};
    message.output = {messages.output(), messages.shape().bytes()};
    return time_of([&] {
        engine.crypt_async(message, stream.get());
        stream.synchronize();
    });
}

/// The data model's kernel by events.
double kernel_alone(const gpu::PayloadOnDevice& payload, const Messages& messages, const gpu::Stream& stream) {
    return gpu::seconds_of(
        stream, [&] { payload.run(messages.input(), messages.output(), gpu::ThreadMapping::natural, {}, stream); });
}

/// Descriptors to the end, by the host's clock: prepared on the CPU, copied, run.
double whole_model(const Messages& messages, KeySchedules& schedules, gpu::PayloadOnDevice& payload,
                   const gpu::Stream& stream) {
    return time_of([&] {
        payload.load(messages.prepare(schedules), schedules);
        payload.run(messages.input(), messages.output(), gpu::ThreadMapping::natural, {}, stream);
        stream.synchronize();
    });
}

std::vector<double> blocks_axis(const Context& context, std::vector<double> all, std::vector<double> quick) {
    std::vector<double> list = context.quick ? std::move(quick) : std::move(all);
    std::erase_if(list, [&](double blocks) { return 16 * blocks > static_cast<double>(context.most_bytes); });
    return list;
}

/// Per cent of the time that `many` takes more than `one` needs of it.
Series overhead(std::string name, const Series& one, const Series& many) {
    Series out{std::move(name), many.role, {}, {}};
    for (std::size_t i = 0; i < one.values.size(); ++i) {
        out.values.emplace_back(100 * (1 - *many.values[i] / *one.values[i]));
    }
    return out;
}

Result measure_overhead(const Context& context) {
    use_gpu(context);
    const std::vector<double> x = blocks_axis(context, {1, 4, 16, 64, 512, 4096, 16384, 65536}, {1, 16, 512, 16384});
    const std::uint64_t bytes = std::min<std::uint64_t>(context.quick ? 64 * mib : 256 * mib, context.most_bytes);
    const warpaes::Engine engine({.backend = "cuda", .device = context.gpu});
    const gpu::Stream stream;
    gpu::PayloadOnDevice payload, whole, again;

    const auto measured = Series::Role::measured, baseline = Series::Role::baseline;
    std::vector<Subject> subjects{{{"production, one message", baseline, {}, {}}, {}, true},
                                  {{"production, a batch in one entry", measured, {}, {}}, {}},
                                  {{"production, an entry a message", measured, {}, {}}, {}},
                                  {{"[H]'s model, one message", baseline, {}, {}}, {}, true},
                                  {{"[H]'s model, kernel alone", measured, {}, {}}, {}},
                                  {{"[H]'s model, from descriptors on", measured, {}, {}}, {}}};
    Progress progress(context, x.size());
    for (const double size : x) {
        progress.next(fmt::format("messages of {} blocks", size));
        const auto blocks = static_cast<std::uint64_t>(size);
        Messages messages({.count = messages_for(bytes, blocks, context.quick ? 1 << 17 : 1 << 19), .blocks = blocks});
        const warpaes::Key key(messages.keys());
        auto one_entry = messages.entries(key, false), entry_each = messages.entries(key, true);
        KeySchedules schedules;
        payload.load(messages.prepare(schedules), schedules);
        whole.load(messages.prepare(schedules, true), schedules);
        subjects[0].work = [&] { return one_message(engine, key, messages, stream); };
        subjects[1].work = [&] { return time_batch(engine, one_entry); };
        subjects[2].work = [&] { return time_batch(engine, entry_each); };
        subjects[3].work = [&] { return kernel_alone(whole, messages, stream); };
        subjects[4].work = [&] { return kernel_alone(payload, messages, stream); };
        subjects[5].work = [&] { return whole_model(messages, schedules, again, stream); };
        measure(context, messages, subjects);
    }

    Series published{"published", Series::Role::published, {}, {}};
    for (const double size : x) {
        const auto at = std::find_if(published::harrison::overhead.begin(), published::harrison::overhead.end(),
                                     [&](const auto& o) { return static_cast<double>(o.message_blocks) == size; });
        published.values.push_back(at == published::harrison::overhead.end() ? std::nullopt
                                                                             : std::optional(100 * at->share));
    }
    const Series model = overhead("[H]'s model, kernel alone", subjects[3].series, subjects[4].series);
    const Series production = overhead("production, a batch in one entry", subjects[0].series, subjects[1].series);
    const Series production_each = overhead("production, an entry a message", subjects[0].series, subjects[2].series);
    const std::string note = fmt::format(
        "CTR, AES-128, {} in device memory or fewer where that were very many messages; each has an IV of "
        "its own, all one key. Production by the host's clock, from the call to the end; the model's kernel "
        "by events, \"from descriptors on\" by the host's clock. The paper's figures include transfers.",
        size_name(bytes));
    Result result;
    result.verdicts.push_back(judge_overhead(x, model, production));
    result.panels.push_back({"Overhead of many messages",
                             Panel::Kind::lines,
                             numbers("message", "blocks", Axis::Scale::log, x),
                             {"overhead", "%", Axis::Scale::linear, {}, {}},
                             {},
                             {published, model, production, production_each},
                             "Share of the time that one message of the same bytes would not take. " + note});
    Panel rates{"Throughput by message size",
                Panel::Kind::lines,
                numbers("message", "blocks", Axis::Scale::log, x),
                wide_throughput(),
                {},
                {published_everywhere("published, at most",
                                      published::gb_per_s_of_mbit(published::harrison::messages_mbit_per_s), x.size())},
                note};
    for (Subject& s : subjects) rates.series.push_back(std::move(s.series));
    result.panels.push_back(std::move(rates));
    return result;
}

Result measure_rekeying(const Context& context) {
    use_gpu(context);
    const std::vector<double> x = blocks_axis(context, {1, 4, 16, 64, 512, 4096, 16384}, {1, 16, 512, 16384});
    const std::uint64_t bytes = std::min<std::uint64_t>(context.quick ? 64 * mib : 256 * mib, context.most_bytes);
    const std::uint64_t most = context.quick ? 1 << 14 : 1 << 16;
    const warpaes::Engine engine({.backend = "cuda", .device = context.gpu});
    const gpu::Stream stream;
    gpu::PayloadOnDevice payload, again;

    const auto measured = Series::Role::measured, baseline = Series::Role::baseline;
    std::vector<Subject> shared{{{"production, one key", baseline, {}, {}}, {}},
                                {{"[H]'s model, one key", baseline, {}, {}}, {}}};
    std::vector<Subject> own{{{"production, a key each", measured, {}, {}}, {}},
                             {{"[H]'s model, a key each, expanded", measured, {}, {}}, {}},
                             {{"[H]'s model, a key each, found in its table", measured, {}, {}}, {}},
                             {{"[H]'s model, a key each, kernel alone", measured, {}, {}}, {}}};
    Progress progress(context, x.size());
    for (const double size : x) {
        progress.next(fmt::format("messages of {} blocks", size));
        Shape shape{.count = messages_for(bytes, static_cast<std::uint64_t>(size), most),
                    .blocks = static_cast<std::uint64_t>(size)};
        {
            Messages messages(shape);
            const warpaes::Key key(messages.keys());
            auto entries = messages.entries(key, false);
            KeySchedules schedules;
            shared[0].work = [&] { return time_batch(engine, entries); };
            shared[1].work = [&] { return whole_model(messages, schedules, again, stream); };
            measure(context, messages, shared);
        }
        shape.own_keys = true;
        Messages messages(shape);
        const warpaes::Key unused(messages.keys().first(16));
        auto entries = messages.entries(unused, false);
        KeySchedules known;
        payload.load(messages.prepare(known), known);
        own[0].work = [&] { return time_batch(engine, entries); };
        own[1].work = [&] {
            KeySchedules fresh;
            return whole_model(messages, fresh, again, stream);
        };
        own[2].work = [&] { return whole_model(messages, known, again, stream); };
        own[3].work = [&] { return kernel_alone(payload, messages, stream); };
        measure(context, messages, own);
    }

    Result result;
    result.verdicts.push_back(judge_rekeying(x, {shared[1].series, own[1].series}, {shared[0].series, own[0].series}));
    Panel panel{
        "A new key for every message",
        Panel::Kind::lines,
        numbers("message", "blocks", Axis::Scale::log, x),
        wide_throughput(),
        {},
        {},
        fmt::format("CTR, AES-128, {} in device memory or {} messages, whichever is less; by the host's clock, from "
                    "the call to the end, the kernel alone by events. No published figures of this "
                    "run are at hand.",
                    size_name(bytes), most)};
    for (auto* subjects : {&shared, &own}) {
        for (Subject& s : *subjects) panel.series.push_back(std::move(s.series));
    }
    result.panels.push_back(std::move(panel));
    return result;
}

}  // namespace

const Experiment h_overhead{"H.overhead",
                            Paper::harrison,
                            "What many messages cost",
                            "How much slower are many messages than one message of the same bytes?",
                            Experiment::Needs::gpu,
                            60,
                            10,
                            measure_overhead};
const Experiment h_rekeying{"H.rekeying",
                            Paper::harrison,
                            "A new key for every message",
                            "What does it cost to change the key with every message?",
                            Experiment::Needs::gpu,
                            60,
                            10,
                            measure_rekeying};

}  // namespace lab::experiments
