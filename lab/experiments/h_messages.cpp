// Measures [H]'s data model for many messages of 1 to 65,536 blocks (H.rekeying: up to 16,384) in AES-128-CTR.
//
// H.overhead compares many messages with one message of the same bytes, for the data model and for production's
// batches, in device memory and with transfers. Events time the model's kernel. The host's clock times all other work,
// from the call, the submission or the descriptors to the end. The last panel compares natural with striped threads.
// H.rekeying gives each message its own key instead of sharing one. The key schedules are freshly expanded, found in
// the cache, or already on the device.
#include <fmt/format.h>

#include <algorithm>

#include "lab/experiments/experiments.hpp"
#include "lab/experiments/messages.hpp"
#include "lab/published.hpp"

namespace lab::experiments {

namespace {

using Work = std::function<double()>;

/// A subject that is measured at every message size, in turn with the other subjects. Its output is verified before and
/// after the measurement.
struct MessageSubject {
    Series series;
    Work work;           ///< empty: no figure at this size
    bool whole = false;  ///< the output equals the output for a single message
};

void measure_in_turns(const Context& context, Messages& messages, std::vector<MessageSubject>& subjects) {
    const auto verify = [&](const MessageSubject& s) {
        messages.poison();
        s.work();
        messages.check(s.series.name, s.whole);
    };
    std::vector<Work> works;
    for (const MessageSubject& s : subjects) {
        if (!s.work) continue;
        verify(s);
        works.push_back(s.work);
    }
    const auto seconds = sample_in_turns(effort(context.quick), works);
    std::size_t next = 0;
    for (MessageSubject& s : subjects) {
        if (!s.work) {
            add_none(s.series);
            continue;
        }
        add(s.series, rate(static_cast<double>(messages.shape().bytes()) / 1e9, seconds[next++]));
        verify(s);
    }
}

/// Returns a message that contains all texts.
warpaes::Message whole_message(const warpaes::Key& key, const Messages& messages) {
    warpaes::Message message;
    message.mode = warpaes::Mode::ctr;
    message.direction = warpaes::Direction::encrypt;
    message.key = &key;
    message.iv = messages.iv(0);
    message.input = {messages.input(), messages.shape().bytes()};
    message.output = {messages.output(), messages.shape().bytes()};
    return message;
}

/// Number of calls per sample, enough to measure continuous work.
constexpr unsigned calls = 8;

/// Returns the average seconds of `calls` calls enqueued back to back on a stream, by the host's clock.
double one_message(const warpaes::Engine& engine, const warpaes::Key& key, const Messages& messages,
                   const gpu::Stream& stream) {
    const warpaes::Message message = whole_message(key, messages);
    return time_of([&] {
               for (unsigned i = 0; i < calls; ++i) engine.crypt_async(message, stream.get());
               stream.synchronize();
           }) /
           calls;
}

/// Returns the seconds of the data model's kernel by events. An idle GPU is slow to start, so an uncounted launch
/// precedes the timed launch.
double kernel_alone(const gpu::PayloadOnDevice& payload, const Messages& messages, const gpu::Stream& stream,
                    gpu::ThreadMapping mapping = gpu::ThreadMapping::natural) {
    const auto run = [&] { payload.run(messages.input(), messages.output(), mapping, {}, stream); };
    run();
    return gpu::seconds_of(stream, run);
}

/// Returns the seconds by the host's clock from the descriptors to the end: prepare on the CPU, copy the payload, run
/// the kernel.
double whole_model(const Messages& messages, KeySchedules& schedules, gpu::PayloadOnDevice& payload,
                   const gpu::Stream& stream) {
    return time_of([&] {
        payload.load(messages.prepare(schedules), schedules);
        payload.run(messages.input(), messages.output(), gpu::ThreadMapping::natural, {}, stream);
        stream.synchronize();
    });
}

/// Like the function above, but includes the copies of the text from and to page-locked memory, as in the paper's
/// runtime. If `whole` is set, all texts form one message.
double model_with_transfers(const Messages& messages, gpu::PayloadOnDevice& payload, bool whole,
                            const gpu::DeviceMemory& input, const gpu::DeviceMemory& output,
                            const gpu::Stream& stream) {
    KeySchedules schedules;
    return time_of([&] {
        gpu::copy(input.get(), messages.input(), messages.input_bytes(), stream);
        payload.load(messages.prepare(schedules, whole), schedules);
        payload.run(input.get(), output.get(), gpu::ThreadMapping::natural, {}, stream);
        gpu::copy(messages.output(), output.get(), messages.output_bytes(), stream);
        stream.synchronize();
    });
}

double one_message_from_host(const warpaes::Engine& engine, const warpaes::Key& key, const Messages& messages) {
    const warpaes::Message message = whole_message(key, messages);
    return time_of([&] { engine.crypt(message); });
}

std::vector<double> blocks_axis(const Context& context, std::vector<double> all, std::vector<double> quick) {
    std::vector<double> list = context.quick ? std::move(quick) : std::move(all);
    std::erase_if(list, [&](double blocks) { return 16 * blocks > static_cast<double>(context.most_bytes); });
    return list;
}

/// Returns the overhead in per cent: the additional time of `many` compared with `one`, for the same number of bytes,
/// as a share of the time of `many`.
Series overhead(std::string name, const Series& one, const Series& many) {
    Series out{std::move(name), many.role, {}, {}};
    for (std::size_t i = 0; i < one.values.size(); ++i) {
        if (many.values[i]) {
            out.values.emplace_back(100 * (1 - *many.values[i] / *one.values[i]));
        } else {
            out.values.emplace_back();
        }
    }
    return out;
}

/// Compares natural with striped threads on equal messages, which gain nothing from striping.
Panel measure_striping(const Context& context, std::uint64_t bytes, std::uint64_t most) {
    const std::uint64_t blocks = std::max<std::uint64_t>(std::min<std::uint64_t>(512, context.most_bytes / 16), 1);
    Messages messages({.count = messages_for(bytes, blocks, most), .blocks = blocks});
    KeySchedules schedules;
    gpu::PayloadOnDevice payload;
    payload.load(messages.prepare(schedules), schedules);
    const gpu::Stream stream;
    std::vector<Work> works;
    for (const auto mapping : {gpu::ThreadMapping::natural, gpu::ThreadMapping::striped}) {
        messages.poison();
        kernel_alone(payload, messages, stream, mapping);
        messages.check("threads by their mapping");
        works.emplace_back([&, mapping] { return kernel_alone(payload, messages, stream, mapping); });
    }
    Panel panel{
        "Natural and striped threads",
        Panel::Kind::bars,
        categories("threads", {"natural", "striped"}),
        throughput(),
        {},
        {experiments::measured("[H]'s model, kernel alone")},
        fmt::format("{} messages of {} blocks, CTR, AES-128, in device memory.", messages.shape().count, blocks)};
    for (const Summary& seconds : sample_in_turns(effort(context.quick), works)) {
        add(panel.series[0], rate(static_cast<double>(messages.shape().bytes()) / 1e9, seconds));
    }
    return panel;
}

Result measure_overhead(const Context& context) {
    use_gpu(context);
    const std::vector<double> x = blocks_axis(context, {1, 4, 16, 64, 512, 4096, 16384, 65536}, {1, 16, 512, 16384});
    // In device memory the text is large, so that its time far exceeds a batch's fixed cost. With transfers, the bus is
    // the limit, and a quarter of the text is enough.
    const std::uint64_t bytes = room_for(context, context.quick ? 64 * mib : 1024 * mib);
    const std::uint64_t host_bytes = bytes / 4;
    const std::uint64_t most = context.quick ? 1 << 17 : 1 << 22;  // 1 GiB in messages of 256 bytes
    const std::uint64_t most_entries = context.quick ? 1 << 17 : 1 << 19;
    const warpaes::Engine engine({.backend = "cuda", .device = context.gpu});
    const gpu::Stream stream;
    gpu::PayloadOnDevice payload, whole, again;
    std::vector<double> lengths;

    const auto measured = Series::Role::measured, baseline = Series::Role::baseline;
    std::vector<MessageSubject> subjects{{{"production, one message", baseline, {}, {}}, {}, true},
                                         {{"production, a batch in one entry", measured, {}, {}}, {}},
                                         {{"production, an entry a message", measured, {}, {}}, {}},
                                         {{"[H]'s model, one message", baseline, {}, {}}, {}, true},
                                         {{"[H]'s model, kernel alone", measured, {}, {}}, {}},
                                         {{"[H]'s model, from descriptors on", measured, {}, {}}, {}},
                                         {{"production, one batch by itself", measured, {}, {}}, {}}};
    std::vector<MessageSubject> from_host{{{"production, one message", baseline, {}, {}}, {}, true},
                                          {{"production, a batch in one entry", measured, {}, {}}, {}},
                                          {{"[H]'s model, one message", baseline, {}, {}}, {}, true},
                                          {{"[H]'s model", measured, {}, {}}, {}}};
    Progress progress(context, 2 * x.size());
    for (const double size : x) {
        progress.next(fmt::format("messages of {} blocks", size));
        const auto blocks = static_cast<std::uint64_t>(size);
        const Shape shape{.count = messages_for(bytes, blocks, most), .blocks = blocks};
        lengths.push_back(static_cast<double>(shape.bytes()));
        Messages messages(shape);
        const warpaes::Key key(messages.keys());
        auto one_entry = messages.entries(key, false);
        std::vector<warpaes_batch_entry> entry_each;
        if (shape.count <= most_entries) entry_each = messages.entries(key, true);
        KeySchedules schedules;
        payload.load(messages.prepare(schedules), schedules);
        whole.load(messages.prepare(schedules, true), schedules);
        subjects[0].work = [&] { return one_message(engine, key, messages, stream); };
        subjects[1].work = [&] { return time_batches(engine, one_entry, calls); };
        subjects[2].work = entry_each.empty() ? Work{} : [&] { return time_batches(engine, entry_each, calls); };
        subjects[3].work = [&] { return kernel_alone(whole, messages, stream); };
        subjects[4].work = [&] { return kernel_alone(payload, messages, stream); };
        subjects[5].work = [&] { return whole_model(messages, schedules, again, stream); };
        subjects[6].work = [&] { return time_batch(engine, one_entry); };
        measure_in_turns(context, messages, subjects);

        progress.next(fmt::format("messages of {} blocks, with transfers", size));
        Messages on_host({.count = messages_for(host_bytes, blocks, most), .blocks = blocks},
                         MessageMemory::page_locked);
        const gpu::DeviceMemory input(on_host.input_bytes()), output(on_host.output_bytes());
        const warpaes::Key host_key(on_host.keys());
        auto host_entry = on_host.entries(host_key, false);
        from_host[0].work = [&] { return one_message_from_host(engine, host_key, on_host); };
        from_host[1].work = [&] { return time_batch(engine, host_entry); };
        from_host[2].work = [&] { return model_with_transfers(on_host, again, true, input, output, stream); };
        from_host[3].work = [&] { return model_with_transfers(on_host, again, false, input, output, stream); };
        measure_in_turns(context, on_host, from_host);
    }

    Series published{"published", Series::Role::published, {}, {}};
    for (const double size : x) {
        const auto at = std::find_if(published::harrison::overhead.begin(), published::harrison::overhead.end(),
                                     [&](const auto& o) { return static_cast<double>(o.message_blocks) == size; });
        published.values.push_back(at == published::harrison::overhead.end() ? std::nullopt
                                                                             : std::optional(100 * at->share));
    }
    const Series model = overhead("[H]'s model, kernel alone", subjects[3].series, subjects[4].series);
    const Series model_from_host = overhead("[H]'s model, with transfers", from_host[2].series, from_host[3].series);
    const Series production = overhead("production, a batch in one entry", subjects[0].series, subjects[1].series);
    const Series alone = overhead("production, one batch by itself", subjects[0].series, subjects[6].series);
    const Series production_each = overhead("production, an entry a message", subjects[0].series, subjects[2].series);
    const std::string note = fmt::format(
        "CTR, AES-128, {} in device memory, or {} messages where that is less, and with transfers {}; each message has "
        "an IV of its own, all one key. Production by the host's clock: messages back to back on a stream, batches "
        "with "
        "four on their way at a time, and one by itself from submitting it to the end; the model's kernel by events, "
        "\"from descriptors on\" by the host's clock. The paper's figures include transfers. An entry a "
        "message: up to {} messages.",
        size_name(bytes), most, size_name(host_bytes), most_entries);
    std::vector<double> message_us, beyond_us;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const auto us = [&](const MessageSubject& s) { return lengths[i] / *s.series.values[i] / 1e3; };
        message_us.push_back(us(subjects[0]));
        beyond_us.push_back(us(subjects[6]) - us(subjects[0]));
    }
    Result result;
    for (std::size_t i = 0; i < x.size(); ++i) {
        result.facts.push_back(
            {fmt::format("a batch by itself beyond one message, messages of {} block{}", x[i], x[i] == 1 ? "" : "s"),
             beyond_us[i], "µs", std::nullopt});
    }
    result.panels.push_back(
        {"Overhead of many messages",
         Panel::Kind::lines,
         numbers("message", "blocks", Axis::Scale::log, x),
         {"overhead", "%", Axis::Scale::linear, {}, {}},
         {},
         {published, model, model_from_host, production, production_each, alone},
         "Share of the time that one message of the same bytes would not need. Below zero, the messages were faster. " +
             note});
    Panel rates{"Throughput by message size",
                Panel::Kind::lines,
                numbers("message", "blocks", Axis::Scale::log, x),
                wide_throughput(),
                {},
                {},
                note};
    for (MessageSubject& s : subjects) rates.series.push_back(std::move(s.series));
    result.panels.push_back(std::move(rates));
    Panel transfers{
        "Throughput by message size, with transfers",
        Panel::Kind::lines,
        numbers("message", "blocks", Axis::Scale::log, x),
        wide_throughput(),
        {},
        {},
        "The same messages in page-locked memory, timed by the host's clock from the call, or from the descriptors, to "
        "the end. The model copies everything in, runs, and copies everything out, like the paper's runtime."};
    for (MessageSubject& s : from_host) transfers.series.push_back(std::move(s.series));
    result.panels.push_back(std::move(transfers));
    result.panels.push_back(measure_striping(context, bytes, most));
    return result;
}

Result measure_rekeying(const Context& context) {
    use_gpu(context);
    const std::vector<double> x = blocks_axis(context, {1, 4, 16, 64, 512, 4096, 16384}, {1, 16, 512, 16384});
    const std::uint64_t bytes = room_for(context, context.quick ? 64 * mib : 256 * mib);
    const std::uint64_t most = context.quick ? 1 << 14 : 1 << 16;
    const warpaes::Engine engine({.backend = "cuda", .device = context.gpu});
    const gpu::Stream stream;
    gpu::PayloadOnDevice payload, again;

    const auto measured = Series::Role::measured, baseline = Series::Role::baseline;
    std::vector<MessageSubject> shared{{{"production, one key", baseline, {}, {}}, {}},
                                       {{"[H]'s model, one key", baseline, {}, {}}, {}}};
    std::vector<MessageSubject> own{{{"production, a key each", measured, {}, {}}, {}},
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
            measure_in_turns(context, messages, shared);
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
        measure_in_turns(context, messages, own);
    }

    Result result;
    Panel panel{
        "A new key for every message",
        Panel::Kind::lines,
        numbers("message", "blocks", Axis::Scale::log, x),
        wide_throughput(),
        {},
        {},
        fmt::format("CTR, AES-128, {} in device memory or {} messages, whichever is less; by the host's clock, from "
                    "the call to the end, the kernel alone by events. No published figures for this run are available.",
                    size_name(bytes), most)};
    for (auto* subjects : {&shared, &own}) {
        for (MessageSubject& s : *subjects) panel.series.push_back(std::move(s.series));
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
                            65,
                            3,
                            measure_overhead};
const Experiment h_rekeying{"H.rekeying",
                            Paper::harrison,
                            "A new key for every message",
                            "How much does it cost to change the key with every message?",
                            Experiment::Needs::gpu,
                            13,
                            2,
                            measure_rekeying};

}  // namespace lab::experiments
