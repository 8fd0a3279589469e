// H.serial repeats [H]'s serial modes for AES-128, with one thread per message and with data in device memory: CBC by
// number and size of messages for production and for the data model; CBC, OFB and CFB by number of messages; and CBC by
// the distance between neighbouring messages, with the same number of blocks at every distance. Events time the data
// model's kernel, and the host's clock times production's batch from submission to completion.
#include <fmt/format.h>

#include <algorithm>

#include "lab/experiments/experiments.hpp"
#include "lab/experiments/messages.hpp"
#include "lab/published.hpp"

namespace lab::experiments {

namespace {

constexpr NamedMode serial_modes[] = {{Mode::cbc, "CBC"}, {Mode::ofb, "OFB"}, {Mode::cfb128, "CFB"}};

/// Returns the throughput of the data model's kernel on `count` messages of `blocks` blocks in CBC, with neighbours
/// `distance` blocks apart. A message longer than `distance` is divided into runs of `distance` blocks, interleaved
/// with the runs of the other messages.
Summary measure_distance(const Context& context, std::uint64_t count, std::uint64_t blocks, std::uint64_t distance) {
    const std::uint64_t run = std::min(distance, blocks), runs = blocks / run;
    const Shape shape{.mode = Mode::cbc, .count = count * runs, .blocks = run, .stride_blocks = distance};
    Messages messages(shape);
    // For the kernel, message i begins at run i and continues at every `count`th run after it.
    MessageDescriptor d;
    d.mode = Mode::cbc;
    d.messages = {0, 16 * run, count, shape.stride()};
    const std::uint64_t texts = shape.stride() * (shape.count - 1) + 16 * run;
    d.ivs = {texts, 16, count, 0};
    KeySchedules schedules;
    PreparedPayload ready = prepare({1, {d}}, texts + 16 * shape.count, messages.keys(), schedules);
    for (LogicalMessage& m : ready.messages) m.blocks = static_cast<std::uint32_t>(blocks);
    gpu::PayloadOnDevice payload;
    payload.load(ready, schedules);
    const gpu::Stream stream;
    const gpu::Runs layout{static_cast<std::uint32_t>(run), shape.stride() * count};
    const Summary seconds = sample(effort(context.quick), [&] {
        return gpu::seconds_of(stream, [&] {
            payload.run(messages.input(), messages.output(), gpu::ThreadMapping::natural, layout, stream);
        });
    });
    messages.check_runs("messages in runs", count, runs);
    return rate(static_cast<double>(16 * count * blocks) / 1e9, seconds);
}

std::vector<double> up_to(std::vector<double> list, double most) {
    std::erase_if(list, [&](double value) { return value > most; });
    return list;
}

Result run_serial_modes(const Context& context) {
    use_gpu(context);
    const warpaes::Engine engine({.backend = "cuda", .device = context.gpu});
    const std::uint64_t most_bytes = room_for(context, context.quick ? 64 * mib : 512 * mib);
    const auto most_blocks = static_cast<double>(most_bytes / 16);
    const std::vector<double> counts =
        up_to(context.quick ? std::vector<double>{32, 1024, 8192, 65536}
                            : std::vector<double>{32, 256, 1024, 4096, 16384, 65536, 262144},
              most_blocks / 16);
    const std::vector<double> lengths =
        up_to(context.quick ? std::vector<double>{16, 512} : std::vector<double>{16, 64, 512, 2048},
              most_blocks / counts.front());
    const std::vector<double> distances =
        up_to(context.quick ? std::vector<double>{1, 4, 16, 128, 512}
                            : std::vector<double>{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024},
              most_blocks / 16);
    const auto near = static_cast<std::uint64_t>(std::min<double>(
        context.quick ? 16384 : 65536, static_cast<double>(room_for(context, 1024 * mib) / 16) / distances.back()));
    Progress progress(context, counts.size() * lengths.size() + counts.size() * 2 + 3 * distances.size());

    Result result;
    // Panels by size and number of messages.
    Series production{"production", Series::Role::measured, {}, {}},
        model{"[H]'s model", Series::Role::measured, {}, {}};
    for (const double length : lengths) {
        for (const double count : counts) {
            progress.next(fmt::format("{} messages of {} blocks", count, length));
            if (length * count > most_blocks) {
                add_none(production);
                add_none(model);
                continue;
            }
            const MessageRates f = rates_of_messages(context, engine,
                                                     {.mode = Mode::cbc,
                                                      .count = static_cast<std::uint64_t>(count),
                                                      .blocks = static_cast<std::uint64_t>(length)});
            add(production, f.production);
            add(model, f.model);
        }
    }
    const std::string left_out = fmt::format("Combinations of more than {} are left out.", size_name(most_bytes));
    for (const Series* series : {&production, &model}) {
        result.panels.push_back(
            {"CBC encryption: " + series->name,
             Panel::Kind::surface,
             numbers("messages", "", Axis::Scale::log, counts),
             numbers("message", "blocks", Axis::Scale::log, lengths),
             wide_throughput(),
             {*series},
             "AES-128, data in device memory; production by the host's clock, from submitting to the "
             "end, the model's kernel by events. " +
                 left_out});
    }

    // Panels by mode.
    Panel alike{"Serial modes by number of messages",
                Panel::Kind::lines,
                numbers("messages", "", Axis::Scale::log, counts),
                wide_throughput(),
                {},
                {},
                fmt::format("Production's batches, messages of {} blocks. {}", lengths[lengths.size() / 2], left_out)};
    for (const NamedMode& mode : serial_modes) {
        Series series{mode.name, Series::Role::measured, {}, {}};
        for (std::size_t i = 0; i < counts.size(); ++i) {
            const double length = lengths[lengths.size() / 2], count = counts[i];
            if (length * count > most_blocks) {
                add_none(series);
                continue;
            }
            if (mode.mode == Mode::cbc) {  // measured above
                const std::size_t place = lengths.size() / 2 * counts.size() + i;
                series.spread.resize(series.values.size());
                series.values.push_back(production.values[place]);
                series.spread.push_back(production.spread[place]);
                continue;
            }
            progress.next(fmt::format("{} messages in {}", count, mode.name));
            add(series, rates_of_messages(context, engine,
                                          {.mode = mode.mode,
                                           .count = static_cast<std::uint64_t>(count),
                                           .blocks = static_cast<std::uint64_t>(length)})
                            .production);
        }
        alike.series.push_back(std::move(series));
    }
    result.panels.push_back(std::move(alike));

    // Panels by distance.
    Series runs{"[H]'s model, messages of 128 blocks", Series::Role::measured, {}, {}};
    Series ones{"production, messages of one block", Series::Role::baseline, {}, {}};
    Series sixteens{"production, messages of 16 blocks", Series::Role::baseline, {}, {}};
    const auto per_thread = std::min<std::uint64_t>(128, static_cast<std::uint64_t>(distances.back()));
    for (const double distance : distances) {
        const auto d = static_cast<std::uint64_t>(distance);
        progress.next(fmt::format("messages {} blocks apart", d));
        add(runs, measure_distance(context, near, per_thread, d));
        progress.next(fmt::format("messages {} blocks apart, production", d));
        add(ones,
            rates_of_messages(context, engine, {.mode = Mode::cbc, .count = near, .blocks = 1, .stride_blocks = d})
                .production);
        progress.next(fmt::format("messages {} blocks apart, production", d));
        if (d < 16) {
            add_none(sixteens);
        } else {
            add(sixteens,
                rates_of_messages(context, engine, {.mode = Mode::cbc, .count = near, .blocks = 16, .stride_blocks = d})
                    .production);
        }
    }
    result.panels.push_back(
        {"Distance between neighbouring messages",
         Panel::Kind::lines,
         numbers("distance", "blocks", Axis::Scale::log, distances),
         wide_throughput(),
         {},
         {runs, ones, sixteens},
         fmt::format("{} messages, CBC encryption, the same number of blocks at every distance. In the model's kernel "
                     "messages longer than the distance lie in runs of so many blocks beside the others' runs, so that "
                     "nothing but the distance changes; production's are entries with that stride.",
                     near)});
    return result;
}

}  // namespace

const Experiment h_serial{"H.serial",
                          Paper::harrison,
                          "Messages in serial modes",
                          "How fast are serial modes, by size, number and distance of messages?",
                          Experiment::Needs::gpu,
                          33,
                          3,
                          run_serial_modes};

}  // namespace lab::experiments
