// Repeats [P]'s kernel parameters: AES-128-ECB on 256 MiB in device memory. Events around the launches time only the
// kernels; transfers and key expansion are excluded.
//
// P.threads: 1, 2, 4 and 16 threads per AES block for encryption and decryption, compared with production's encryption;
// and thread blocks of 64 to 1,024 threads. P.memory: tables and keys in constant, shared and global memory; word and
// byte accesses; the order of the thread blocks in the text; and kernels from disk to disk (p_kernels_to_disk.cpp).
#include <algorithm>
#include <array>

#include "lab/experiments/experiments.hpp"
#include "lab/experiments/file_trials.hpp"
#include "lab/experiments/panels.hpp"
#include "lab/experiments/support.hpp"
#include "lab/gpu/catalogue.hpp"
#include "lab/trial.hpp"

namespace lab::experiments {

namespace {

// ------------------------------------------------------------------------------------------------------------ threads

Result run_threads(const Context& context) {
    use_gpu(context);
    const std::size_t bytes = kernel_text_bytes(context);
    const Effort e = effort(context.quick);
    Panel teams =
        bars("Threads a block of AES", categories("threads a block", {"1", "2", "4", "16"}), throughput(),
             fmt::format("AES-128-ECB, {} of random text in device memory, kernels alone; 256 threads a thread "
                         "block, four tables in shared memory, what threads share moves by shuffles.",
                         size_name(bytes)));
    teams.series = {measured("encryption"), measured("decryption"), baseline("production, encryption")};
    constexpr std::array<unsigned, 6> counts{64, 128, 256, 512, 768, 1024};
    Panel sizes_panel =
        lines("Threads a thread block", numbers("threads", "", Axis::Scale::linear, {counts.begin(), counts.end()}),
              throughput(), "As above, a thread a block of AES.");
    sizes_panel.series = {measured("encryption")};
    for (const bool inverse : {false, true}) {
        const Trial trial({.inverse = inverse}, bytes);
        std::vector<Trial::Subject> subjects;
        for (const gpu::Variant& v : gpu::teams) subjects.push_back({label_of(v), trial.variant(v)});
        if (!inverse) {
            subjects.push_back({"production", trial.production(context)});
            for (const unsigned threads : counts) {
                subjects.push_back({fmt::format("{} threads", threads), trial.variant({}, {threads, 0})});
            }
        }
        const std::vector<Summary> speeds =
            trial.speeds(e, subjects, bytes, Trial::part_of(context, inverse ? 0.7 : 0, inverse ? 1 : 0.7));
        for (std::size_t i = 0; i < gpu::teams.size(); ++i) {
            add(teams.series[inverse], speeds[i]);
            if (!inverse) add(teams.series[2], speeds[gpu::teams.size()]);
        }
        for (std::size_t i = gpu::teams.size() + 1; i < speeds.size(); ++i) add(sizes_panel.series[0], speeds[i]);
    }
    Result result;
    result.panels = {teams, sizes_panel};
    return result;
}

// ------------------------------------------------------------------------------------------------------------- memory

Result run_tables_and_keys(const Context& context) {
    use_gpu(context);
    const std::size_t bytes = kernel_text_bytes(context);
    const Effort e = effort(context.quick);
    const Trial trial({}, bytes);
    const std::string how = fmt::format(
        "AES-128-ECB, {} of random text, kernels alone, a thread a block, 256 threads a "
        "thread block, four tables.",
        size_name(bytes));
    Panel places = bars("Tables by memory, keys by memory", categories("tables in", {"constant", "shared", "global"}),
                        throughput(), how);
    places.series = {measured("keys in constant memory"), measured("keys in shared memory"),
                     measured("keys in global memory")};
    const auto speeds = [&](std::span<const gpu::Variant> variants, double from, double to) {
        std::vector<Trial::Subject> subjects;
        for (const gpu::Variant& v : variants) subjects.push_back({label_of(v), trial.variant(v)});
        return trial.speeds(e, subjects, bytes, Trial::part_of(context, from, to));
    };
    const std::vector<Summary> by_memory = speeds(gpu::memories, 0, 0.3);
    for (std::size_t i = 0; i < by_memory.size(); ++i) add(places.series[i % 3], by_memory[i]);

    Panel access = bars("Words or bytes", categories("state in", {"registers", "shared memory"}), throughput(),
                        how + " Bytes: text and a state in shared memory are read and written a byte at a time.");
    access.series = {measured("words"), measured("bytes")};
    const std::array subjects{gpu::layouts[0], gpu::layouts[1], gpu::byte_access[0], gpu::byte_access[1]};
    const std::vector<Summary> by_access = speeds(subjects, 0.3, 0.4);
    for (std::size_t i = 0; i < by_access.size(); ++i) add(access.series[i / 2], by_access[i]);

    Panel order =
        bars("The order in which thread blocks take text", categories("order", {"natural", "reversed", "striped"}),
             throughput(), how + " Striped: groups of 32 threads' text go round the thread blocks.");
    order.series = {measured("speed")};
    for (const Summary& speed : speeds(gpu::orders, 0.4, 0.5)) add(order.series[0], speed);

    const auto range_of = [](const Series& series) {
        const auto [least, most] = std::minmax_element(series.values.begin(), series.values.end());
        return std::pair{**least, **most};
    };
    const auto [slowest_table, fastest_table] = range_of(places.series[0]);
    Series keys;
    double slowest = slowest_table;
    for (const Series& s : places.series) {
        keys.values.push_back(s.values[1]);
        slowest = std::min(slowest, range_of(s).first);
    }
    const auto [slowest_key, fastest_key] = range_of(keys);
    Result result;
    result.panels = {places, access, order};
    result.facts = {{"tables, best memory over worst", fastest_table / slowest_table, "times", std::nullopt},
                    {"keys, best memory over worst, tables shared", fastest_key / slowest_key, "times", std::nullopt},
                    {"slowest of the nine", slowest, "GB/s", std::nullopt}};
    context.step(0.5, "from disk to disk");
    if (auto on_disk = measure_kernels_on_a_disk(context)) {
        result.panels.push_back(std::move(*on_disk));
    } else {
        result.notes.emplace_back("There is no folder on a disk, so kernels from disk to disk are left out.");
    }
    return result;
}

}  // namespace

const Experiment p_threads{"P.threads",
                           Paper::paracrypt,
                           "Threads a block",
                           "How many threads should work on a block, and how large should a thread block be?",
                           Experiment::Needs::gpu,
                           3,
                           1,
                           run_threads};
const Experiment p_memory{"P.memory",
                          Paper::paracrypt,
                          "Tables and keys by memory",
                          "Does it matter where tables and keys are, and how text is read?",
                          Experiment::Needs::gpu,
                          30,
                          5,
                          run_tables_and_keys};

}  // namespace lab::experiments
