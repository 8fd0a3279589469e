// [N]'s comparison of thirteen kernels, and its parameters one by one. All kernels compute AES-128-ECB on up to 256 MiB
// of random text in device memory. Launches are timed by events; transfers and key expansion are excluded. Unless
// stated otherwise, the figure of a variant is for its best thread-block size among 128, 256 and 512. Every output is
// verified.
//
// N.implementations: the thirteen kernels of the paper, and production. N.granularity: 16, 8, 4 and 1 bytes of a block
// per thread, by the way threads exchange columns. N.tables: memory and number of lookup tables. N.baselines: the
// earlier programs that the paper uses for comparison. N.layout: the state in registers or in shared memory.
// N.persistent: persistent threads against one thread per block of text.
#include <algorithm>
#include <array>

#include "lab/claims/figures.hpp"
#include "lab/experiments/experiments.hpp"
#include "lab/experiments/panels.hpp"
#include "lab/experiments/support.hpp"
#include "lab/gpu/catalogue.hpp"
#include "lab/published.hpp"
#include "lab/trial.hpp"

namespace lab::experiments {

namespace {

namespace gibadullin = published::gibadullin;

/// Returns the published speed of implementation `number`, in GB/s.
double published_speed(int number) {
    return published::gb_per_s_of_gbit(gibadullin::implementations[static_cast<std::size_t>(number - 1)].gbit_per_s);
}

constexpr std::array<unsigned, 3> thread_counts{128, 256, 512};
std::string how(std::size_t bytes) {
    return fmt::format(
        "AES-128-ECB, {} of random text in device memory, transfers and key expansion excluded, the best of 128, 256 "
        "and 512 threads a thread block.",
        size_name(bytes));
}

/// Returns the speeds of the variants with their best thread-block sizes, measured in turn.
std::vector<Summary> best_speeds(const Context& context, const Trial& trial, std::span<const gpu::Variant> variants) {
    return trial.best_speeds(effort(context.quick), variants, thread_counts, Trial::part_of(context, 0, 0.95));
}

void put(Series& series, std::size_t place, const Summary& speed) {
    series.values[place] = speed.median;
    series.spread[place] = Series::Spread{speed.low, speed.high};
}

// ---------------------------------------------------------------------------------------------------- implementations

Result run_implementations(const Context& context) {
    use_gpu(context);
    const std::size_t bytes = kernel_text_bytes(context);
    const Trial trial({}, bytes);
    std::vector<std::string> labels;
    std::vector<std::optional<double>> published_speeds, published_shares;
    std::vector<double> theirs, ours;
    Series series = measured("speed");
    const std::vector<Summary> speeds = best_speeds(context, trial, gpu::thirteen);
    for (std::size_t i = 0; i < gpu::thirteen.size(); ++i) {
        labels.push_back(fmt::format("{}: {}", i + 1, label_of(gpu::thirteen[i])));
        theirs.push_back(published_speed(static_cast<int>(i) + 1));
        published_speeds.emplace_back(theirs.back());
        ours.push_back(speeds[i].median);
        add(series, speeds[i]);
    }
    context.step(0.95, "production");
    const Summary bar = trial.speed(effort(context.quick), "production, ECB", trial.production(context), bytes);

    const double best_theirs = *std::max_element(theirs.begin(), theirs.end());
    const auto best = static_cast<std::size_t>(std::max_element(ours.begin(), ours.end()) - ours.begin());
    Series shares = measured("share");
    for (std::size_t i = 0; i < ours.size(); ++i) {
        published_shares.emplace_back(100 * theirs[i] / best_theirs);
        shares.values.emplace_back(100 * ours[i] / ours[best]);
    }

    Result result;
    Panel panel = bars("Thirteen implementations", categories("implementation", labels), throughput(),
                       how(bytes) +
                           " Published: GeForce GTX 285. One part of the text a thread, as published. A name has "
                           "the bytes a thread, the memory and number of tables, the memory of keys, and "
                           "the place of the state.");
    panel.series = {published("speed, published", published_speeds), series};
    result.panels.push_back(panel);
    Panel relative = bars("Of the best implementation", categories("implementation", labels),
                          {"share", "%", {}, {}, {}}, "Each against the fastest of the thirteen on the same GPU.");
    relative.series = {published("share, published", published_shares), shares};
    result.panels.push_back(relative);

    const double correlation = rank_correlation(places(theirs), places(ours)).value;
    result.facts = {{"rank correlation of the thirteen, published and here", correlation, "", std::nullopt},
                    {"best of the thirteen", ours[best], "GB/s", best_theirs},
                    {"production, ECB, on the same text", bar.median, "GB/s", std::nullopt},
                    {"production over the best of the thirteen", bar.median / ours[best], "times", std::nullopt}};
    return result;
}

// -------------------------------------------------------------------------------------------------------- granularity

Result run_granularity(const Context& context) {
    use_gpu(context);
    const std::size_t bytes = kernel_text_bytes(context);
    const Trial trial({}, bytes);
    Panel panel = bars("Bytes a thread, by how threads share a block",
                       categories("bytes a thread", {"16", "8", "4", "1"}), throughput(),
                       how(bytes) +
                           " Four tables in shared memory, round keys in constant memory. Published: the "
                           "best of each size, GeForce GTX 285.");
    panel.series = {
        published("alone, published", {published_speed(3), {}, {}, {}}),
        published("shared memory, thread block waits, published",
                  {{}, published_speed(7), published_speed(10), published_speed(13)}),
        measured("alone"),
        measured("shared memory, thread block waits"),
        measured("shared memory, warp waits"),
        measured("registers, shuffled"),
    };
    const std::span<Series> by_exchange = std::span(panel.series).subspan(2);
    for (Series& s : by_exchange) s.values.resize(4), s.spread.resize(4);
    const std::vector<Summary> speeds = best_speeds(context, trial, gpu::granularities);
    for (std::size_t i = 0; i < speeds.size(); ++i) {
        const gpu::Variant& v = gpu::granularities[i];
        const std::size_t place = v.bytes == 16 ? 0 : v.bytes == 8 ? 1 : v.bytes == 4 ? 2 : 3;
        put(by_exchange[static_cast<std::size_t>(v.exchange)], place, speeds[i]);
    }
    Result result;
    result.panels.push_back(panel);
    return result;
}

// ------------------------------------------------------------------------------------------------------------- tables

Result run_place_and_number_of_tables(const Context& context) {
    use_gpu(context, shared_for_copies);
    const std::size_t bytes = kernel_text_bytes(context);
    const Trial trial({}, bytes);
    Panel panel =
        bars("Tables by memory and number",
             categories("memory", {"constant", "shared", "global", "texture", "shared, one copy a bank"}), throughput(),
             how(bytes) +
                 " A thread a block, state in registers, round keys in constant memory, threads "
                 "that stay. Published: GeForce GTX 285; of one table, with round keys in shared memory.");
    panel.series = {published("4 tables, published", {published_speed(1), published_speed(2), {}, {}, {}}),
                    published("1 table, rotations, published", {{}, published_speed(4), {}, {}, {}}),
                    measured("4 tables"), measured("1 table, rotations"), measured("S-box, arithmetic")};
    for (Series& s : std::span(panel.series).subspan(2)) s.values.resize(5), s.spread.resize(5);
    const std::vector<Summary> speeds = best_speeds(context, trial, gpu::table_places);
    for (std::size_t i = 0; i < speeds.size(); ++i) {
        const gpu::Variant& v = gpu::table_places[i];
        Series& series = panel.series[v.table_count == 4 ? 2 : v.table_count == 1 ? 3 : 4];
        put(series, static_cast<std::size_t>(v.tables), speeds[i]);
    }
    Result result;
    result.panels.push_back(panel);
    return result;
}

// ---------------------------------------------------------------------------------------------------------- baselines

/// Programs that the paper uses for comparison. Each is represented by a kernel of the same design on this GPU, with
/// 256 threads per thread block and the text length of the original (at most what the context allows).
Result run_baselines(const Context& context) {
    use_gpu(context);
    const auto s_box = std::find_if(gpu::table_places.begin(), gpu::table_places.end(), [](const gpu::Variant& v) {
        return v.table_count == 0 && v.tables == gpu::TableMemory::shared;
    });
    struct Baseline {
        const char* name;
        double gbit_per_s;
        gpu::Variant variant;
        std::size_t bytes;
    };
    const Baseline list[] = {{"Manavski, 8 MB", 8.28, gpu::schemes[1], std::size_t{8} << 20},
                             {"Di Biagio, 128 MB", 12.5, {}, std::size_t{128} << 20},
                             {"without T-boxes", 6.25, *s_box, std::size_t{256} << 20}};
    Panel panel = bars("The paper's baselines", {}, throughput(),
                       "AES-128-ECB, kernels alone. Published: earlier programs on other GPUs. Here, the same design "
                       "on this GPU: tables in constant memory, four threads a block; tables in shared "
                       "memory, a thread a block; the S-box and arithmetic.");
    std::vector<std::string> labels;
    panel.series = {published("published", {}), measured("here")};
    const Trial trial({}, allowed(context, list[2].bytes));
    for (std::size_t i = 0; i < std::size(list); ++i) {
        context.step(static_cast<double>(i) / static_cast<double>(std::size(list)), list[i].name);
        labels.emplace_back(list[i].name);
        panel.series[0].values.emplace_back(published::gb_per_s_of_gbit(list[i].gbit_per_s));
        add(panel.series[1], trial.speed(effort(context.quick), list[i].name, trial.variant(list[i].variant),
                                         allowed(context, list[i].bytes)));
    }
    panel.x = categories("program", labels);
    Result result;
    result.panels.push_back(panel);
    return result;
}

// ------------------------------------------------------------------------------------------------------------- layout

Result run_layout(const Context& context) {
    use_gpu(context);
    const std::size_t bytes = kernel_text_bytes(context);
    const Trial trial({}, bytes);
    const std::array<gpu::Variant, 10> variants{gpu::thirteen[2], gpu::thirteen[4], gpu::thirteen[5], gpu::layouts[0],
                                                gpu::layouts[2],  gpu::layouts[1],  gpu::thirteen[6], gpu::thirteen[9],
                                                gpu::thirteen[8], gpu::thirteen[11]};
    const std::vector<Summary> speeds = best_speeds(context, trial, variants);
    const auto fill = [&](Series& series, std::size_t first, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) add(series, speeds[first + i]);
    };
    Panel alone = bars("Where the state of a block is kept, a thread a block",
                       categories("state", {"registers", "structure of arrays", "array of structures"}), throughput(),
                       how(bytes) +
                           " Four tables in shared memory; the layouts are in shared memory. Published: "
                           "GeForce GTX 285.");
    alone.series = {published("round keys in shared memory, published",
                              {published_speed(3), published_speed(5), published_speed(6)}),
                    measured("round keys in shared memory"), measured("round keys in constant memory")};
    fill(alone.series[1], 0, 3);
    fill(alone.series[2], 3, 3);
    Panel together = bars("The two layouts where threads share a block", categories("bytes a thread", {"8", "4"}),
                          throughput(), "As above; round keys in constant memory.");
    together.series = {published("array of structures, published", {published_speed(7), published_speed(10)}),
                       published("structure of arrays, published", {published_speed(9), published_speed(12)}),
                       measured("array of structures"), measured("structure of arrays")};
    fill(together.series[2], 6, 2);
    fill(together.series[3], 8, 2);

    Result result;
    result.panels = {alone, together};
    return result;
}

// --------------------------------------------------------------------------------------------------------- persistent

Result run_persistent(const Context& context) {
    use_gpu(context, shared_for_copies);
    const std::size_t bytes = kernel_text_bytes(context);
    const Trial trial({}, bytes);
    const auto multiprocessors = static_cast<unsigned>(gpu::properties(context.gpu).multiprocessors);
    const gpu::Variant one_shot{}, staying{.persistent = true},
        copies{.tables = gpu::TableMemory::replicated, .persistent = true};
    constexpr std::array<unsigned, 7> blocks{1, 2, 3, 4, 6, 8, 16};
    constexpr unsigned threads = 256;
    Panel few = lines(
        "Few thread blocks for much text",
        numbers("thread blocks a multiprocessor", "", Axis::Scale::log, {blocks.begin(), blocks.end()}), throughput(),
        fmt::format("AES-128-ECB, {}, four tables in shared memory, {} threads a thread block. One thread a "
                    "block of text: {} thread blocks in all, each of which fills its tables.",
                    size_name(bytes), threads, (bytes + 16 * threads - 1) / (16 * threads)));
    few.series = {measured("threads that stay"), baseline("a thread a block of text")};
    const Effort e = effort(context.quick);
    std::vector<Trial::Subject> subjects{{"a thread a block of text", trial.variant(one_shot, {threads, 0})}};
    for (const unsigned count : blocks) {
        subjects.push_back({fmt::format("{} thread blocks a multiprocessor", count),
                            trial.variant(staying, {threads, count * multiprocessors})});
    }
    const std::vector<Summary> speeds = trial.speeds(e, subjects, bytes, Trial::part_of(context, 0, 0.4));
    const Summary once = speeds[0];
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        add(few.series[0], speeds[1 + i]);
        add(few.series[1], once);
    }

    std::vector<std::size_t> lengths;
    for (std::size_t size = std::size_t{64} << 10; size <= bytes; size *= context.quick ? 16 : 4)
        lengths.push_back(size);
    if (lengths.empty()) lengths.push_back(bytes);
    Panel by_size =
        lines("By length of the text", sizes("text", lengths), throughput(),
              "The same kernels with as many thread blocks as the GPU holds at once; and with 128 KiB of tables, "
              "a copy for each bank, 1024 threads.");
    by_size.series = {measured("threads that stay"), measured("a thread a block of text"),
                      measured("threads that stay, a copy for each bank")};
    subjects = {{by_size.series[0].name, trial.variant(staying)},
                {by_size.series[1].name, trial.variant(one_shot)},
                {by_size.series[2].name, trial.variant(copies)}};
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        const double part = 0.6 / static_cast<double>(lengths.size()), from = 0.4 + part * static_cast<double>(i);
        const std::vector<Summary> of_length =
            trial.speeds(e, subjects, lengths[i], Trial::part_of(context, from, from + part));
        for (std::size_t s = 0; s < of_length.size(); ++s) add(by_size.series[s], of_length[s]);
    }

    const auto& stays = few.series[0].values;
    const auto best = static_cast<std::size_t>(
        std::max_element(stays.begin(), stays.end(), [](auto a, auto b) { return *a < *b; }) - stays.begin());
    std::size_t enough = 0;
    while (*stays[enough] < 0.95 * *stays[best]) ++enough;
    Result result;
    result.panels = {few, by_size};
    result.facts = {{"thread blocks a multiprocessor that reach 95 % of the best", static_cast<double>(blocks[enough]),
                     "", std::nullopt},
                    {"threads that stay over a thread a block", *stays[best] / once.median, "times", std::nullopt}};
    return result;
}

}  // namespace

const Experiment n_implementations{
    "N.implementations",
    Paper::gibadullin,
    "Thirteen implementations",
    "Which of thirteen implementations of AES on a GPU is the fastest, and does the order of 2010 still hold?",
    Experiment::Needs::gpu,
    10,
    1,
    run_implementations};
const Experiment n_granularity{"N.granularity",
                               Paper::gibadullin,
                               "Granularity",
                               "How many threads should share a block?",
                               Experiment::Needs::gpu,
                               4,
                               1,
                               run_granularity};
const Experiment n_tables{"N.tables",
                          Paper::gibadullin,
                          "Place and number of tables",
                          "Where should tables be, and how many should there be?",
                          Experiment::Needs::gpu,
                          11,
                          1,
                          run_place_and_number_of_tables};
const Experiment n_baselines{"N.baselines",
                             Paper::gibadullin,
                             "What the paper set beside its figures",
                             "How fast are the earlier implementations on this GPU?",
                             Experiment::Needs::gpu,
                             5,
                             1,
                             run_baselines};
const Experiment n_layout{"N.layout",
                          Paper::gibadullin,
                          "Layout of the state",
                          "Should a block's state be kept in registers or in shared memory, and there in which order?",
                          Experiment::Needs::gpu,
                          3,
                          1,
                          run_layout};
const Experiment n_persistent{"N.persistent",
                              Paper::gibadullin,
                              "Persistent threads",
                              "Are persistent threads, which take one block after the other, worth it?",
                              Experiment::Needs::gpu,
                              2,
                              1,
                              run_persistent};

}  // namespace lab::experiments
