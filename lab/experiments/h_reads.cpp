// H.reads repeats [H]'s memory study: five billion 4-byte reads, coherent and random, from constant, shared, texture
// and global memory and from the caches. It reports reads per second and reads per multiprocessor clock. Events around
// the launch measure seconds, and the multiprocessor's clock measures cycles between the first and the last read.
// Writing the tables is excluded. The last panel varies the distance between the streams that neighbouring threads
// read, from 1 to 1,024 blocks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/experiments/experiments.hpp"
#include "lab/experiments/support.hpp"
#include "lab/gpu/memory_reads.hpp"
#include "lab/gpu/stream_reads.hpp"
#include "lab/published.hpp"

namespace lab::experiments {

namespace {

using gpu::ReadFrom;
using gpu::ReadPattern;

struct Source {
    ReadFrom from;
    const char* name;
};
constexpr Source sources[] = {
    {ReadFrom::constant, "constant"},    {ReadFrom::shared, "shared"}, {ReadFrom::replicated, "shared, a copy a bank"},
    {ReadFrom::texture, "texture"},      {ReadFrom::l1, "global, L1"}, {ReadFrom::l2, "global, L2"},
    {ReadFrom::memory, "global, memory"}};
struct Pattern {
    ReadPattern pattern;
    const char* name;
};
constexpr Pattern patterns[] = {{ReadPattern::same, "coherent: one word"},
                                {ReadPattern::consecutive, "coherent: neighbouring words"},
                                {ReadPattern::random, "random"}};

/// Measures reads at several distances between the streams of neighbouring threads. Each stream has 128 blocks.
Panel measure_distances(const Context& context) {
    constexpr std::uint32_t stream_blocks = 128;
    std::uint32_t most = 1024;
    const std::size_t wanted = std::size_t{16} * 65'536 * most;
    auto streams = static_cast<std::uint32_t>(room_for(context, wanted) / (std::size_t{16} * most));
    if (streams < 256) most = stream_blocks, streams = 256;
    gpu::StreamReads reads(streams, stream_blocks, most);
    std::vector<double> distances;
    Series rates{"16 bytes a thread", Series::Role::measured, {}, {}};
    for (std::uint32_t distance = 1; distance <= most; distance *= 2) distances.push_back(distance);
    for (const double distance : distances) {
        context.check();
        const Summary seconds =
            sample(effort(context.quick), [&] { return reads.run(static_cast<std::uint32_t>(distance)); });
        if (!reads.verify()) throw Mismatch("streams: the sum of what was read is wrong");
        add(rates, rate(static_cast<double>(reads.bytes()) / 1e9, seconds));
    }
    return {
        "Reads by the distance of neighbouring threads",
        Panel::Kind::lines,
        numbers("distance", "blocks", Axis::Scale::log, distances),
        wide_throughput(),
        {},
        {rates},
        fmt::format("{} threads read {} blocks of 16 bytes each and do nothing else. Every sum is verified. Streams "
                    "longer than the distance are divided into runs that alternate with those of other streams.",
                    streams, stream_blocks)};
}

Result run_reads(const Context& context) {
    const gpu::Properties properties = gpu_of(context);
    // Table sizes: the size of the four T-tables, a size that exceeds the first-level caches, and one that exceeds the
    // second-level cache.
    const auto words = [&](std::uint64_t wanted) {
        std::uint64_t fitting = 1024;
        while (fitting < wanted && 8 * fitting <= room_for(context, 4 * wanted)) fitting *= 2;
        return static_cast<std::uint32_t>(fitting);
    };
    gpu::MemoryReads memory(context.gpu, 1024, words(std::uint64_t{1} << 22),
                            words(std::uint64_t{1} << (context.quick ? 27 : 28)));
    const auto wanted = std::min(static_cast<std::uint64_t>(published::harrison::reads),
                                 static_cast<std::uint64_t>(context.most_bytes));
    const auto reads = static_cast<double>(memory.reads(wanted));

    std::vector<Series> rates, per_clock;
    Progress progress(context, std::size(patterns) * std::size(sources));
    for (const Pattern& pattern : patterns) {
        Series a{pattern.name, Series::Role::measured, {}, {}}, b = a;
        for (const Source& source : sources) {
            progress.next(fmt::format("{}, {}", source.name, pattern.name));
            std::vector<double> cycles;
            const Summary seconds = sample(effort(context.quick), [&] {
                const gpu::ReadTimes times = memory.run(source.from, pattern.pattern, wanted);
                cycles.push_back(times.cycles);
                return times.seconds;
            });
            if (!memory.verify()) {
                throw Mismatch(fmt::format("{}, {}: the sum of what was read is wrong", source.name, pattern.name));
            }
            add(a, rate(reads / 1e9, seconds));
            cycles.erase(cycles.begin());  // drop the warm-up call
            add(b, rate(reads / properties.multiprocessors, summarize(cycles)));
        }
        rates.push_back(std::move(a));
        per_clock.push_back(std::move(b));
    }
    std::vector<std::string> names;
    for (const Source& source : sources) names.emplace_back(source.name);

    Result result;
    const std::string note = fmt::format(
        "{:.2g} reads of four bytes a launch, each sum verified. Tables of 4 KiB; {} in L2, {} in memory; 1,024 "
        "threads a "
        "multiprocessor, eight reads of each under way. No published figures are available.",
        reads, size_name(std::size_t{4} * words(std::uint64_t{1} << 22)),
        size_name(std::size_t{4} * words(std::uint64_t{1} << (context.quick ? 27 : 28))));
    result.panels.push_back({"Reads a clock and multiprocessor",
                             Panel::Kind::bars,
                             categories("memory", names),
                             {"reads", "1/clock", Axis::Scale::log, {}, {}},
                             {},
                             per_clock,
                             note});
    result.panels.push_back({"Reads a second",
                             Panel::Kind::bars,
                             categories("memory", names),
                             {"reads", "10^9/s", Axis::Scale::log, {}, {}},
                             {},
                             rates,
                             note});
    result.panels.push_back(measure_distances(context));
    return result;
}

}  // namespace

const Experiment h_reads{"H.reads",
                         Paper::harrison,
                         "Five billion reads",
                         "How many reads do constant, shared, texture and global memory answer, coherent and random?",
                         Experiment::Needs::gpu,
                         6,
                         3,
                         run_reads};

}  // namespace lab::experiments
