// F.dpf evaluates [F]'s distributed point functions on a table of 2^20 entries of 16 bytes, with AES-128
// (<warpaes/device.cuh>) or ChaCha20 as the generator of the tree. Both parties' keys are evaluated; their answers must
// add up to the chosen entries. The work is timed by events, with text and keys in device memory.
#include <array>

#include "lab/dpf.hpp"
#include "lab/experiments/experiments.hpp"
#include "lab/experiments/support.hpp"
#include "lab/gpu/dpf.hpp"

namespace lab::experiments {

namespace {

constexpr std::array<Prg, 2> generators{Prg::aes, Prg::chacha};
constexpr const char* generator_names[] = {"AES-128", "ChaCha20"};

struct Batch {
    std::vector<std::uint64_t> wanted;
    std::array<std::vector<DpfKey>, 2> of_party;

    Batch(Prg prg, unsigned depth, std::size_t size) {
        const std::vector<std::uint8_t> random = random_bytes(8 * size, 61);
        for (std::size_t i = 0; i < size; ++i) {
            std::uint64_t index = 0;
            for (std::size_t b = 0; b < 8; ++b) index = index << 8 | random[8 * i + b];
            wanted.push_back(index & ((std::uint64_t{1} << depth) - 1));
            auto [a, b] = make_dpf(prg, wanted.back(), depth, 700 + i);
            of_party[0].push_back(std::move(a)), of_party[1].push_back(std::move(b));
        }
    }
};

std::span<const std::uint8_t> bytes_of(const DpfNode& node) {
    return {reinterpret_cast<const std::uint8_t*>(node.data()), sizeof(DpfNode)};
}

Result run_dpf(const Context& context) {
    use_gpu(context, shared_for_copies);
    const bool small = context.most_bytes < mib;
    const std::vector<unsigned> depths = small           ? std::vector<unsigned>{6, 7}
                                         : context.quick ? std::vector<unsigned>{14, 20}
                                                         : std::vector<unsigned>{14, 16, 18, 20};
    const std::size_t batch = small ? 3 : 128;
    std::vector<double> entries;
    for (const unsigned depth : depths) entries.push_back(static_cast<double>(std::uint64_t{1} << depth));
    Panel panel = lines("Evaluations of distributed point functions", numbers("entries", "", Axis::Scale::log, entries),
                        {"evaluations", "1/s", Axis::Scale::log, {}, {}},
                        fmt::format("Evaluations on all entries of a table with 16 bytes per entry, including sums, {} "
                                    "keys at a time. Published: a Tesla P100, 64-byte entries.",
                                    batch));
    std::array<Series, 2> series{measured(generator_names[0]), measured(generator_names[1])};
    const gpu::Stream stream;
    Progress progress(context, depths.size());
    for (const unsigned depth : depths) {
        progress.next(fmt::format("2^{} entries", depth));
        std::vector<DpfNode> table(std::size_t{1} << depth);
        fill_random({reinterpret_cast<std::uint8_t*>(table.data()), table.size() * sizeof(DpfNode)}, 60);
        gpu::DpfServer server(table, depth, batch);
        std::vector<std::function<double()>> works;
        std::vector<Batch> batches;
        for (const Prg prg : generators) batches.emplace_back(prg, depth, batch);
        for (std::size_t g = 0; g < generators.size(); ++g) {
            std::array<std::vector<DpfNode>, 2> answers;
            for (std::size_t party = 0; party < 2; ++party) {
                server.load(batches[g].of_party[party]);
                server.run(generators[g], stream);
                stream.synchronize();
                answers[party] = server.answers();
            }
            for (std::size_t i = 0; i < batch; ++i) {
                DpfNode sum = answers[0][i];
                for (std::size_t w = 0; w < sum.size(); ++w) sum[w] ^= answers[1][i][w];
                require_equal(bytes_of(table[batches[g].wanted[i]]), bytes_of(sum), generator_names[g]);
            }
            works.emplace_back([&context, &server, &stream, prg = generators[g]] {
                context.check();
                return gpu::seconds_of(stream, [&] { server.run(prg, stream); });
            });
        }
        const std::vector<Summary> seconds = sample_in_turns(effort(context.quick), works);
        for (std::size_t g = 0; g < generators.size(); ++g) {
            add(series[g], rate(static_cast<double>(batch), seconds[g]));
        }
    }
    // The README of [F]'s code reports these rates for 2^14, 2^16, 2^18 and 2^20 entries.
    constexpr std::array<double, 4> of_aes{23954, 6131, 1443, 379}, of_chacha{75679, 22433, 5830, 1424};
    Series aes = published("AES-128, published", {}), chacha = published("ChaCha20, published", {});
    for (const unsigned depth : depths) {
        const bool has = depth >= 14 && depth <= 20;
        const std::size_t at = has ? (depth - 14) / 2 : 0;
        aes.values.push_back(has ? std::optional(of_aes[at]) : std::nullopt);
        chacha.values.push_back(has ? std::optional(of_chacha[at]) : std::nullopt);
    }
    panel.series = {series[0], series[1]};
    if (!small) panel.series.insert(panel.series.end(), {aes, chacha});
    Result result;
    result.panels.push_back(std::move(panel));
    return result;
}

}  // namespace

const Experiment f_dpf{"F.dpf",
                       Paper::lam,
                       "Distributed point functions",
                       "Is ChaCha20 a faster generator than AES on a GPU?",
                       Experiment::Needs::gpu,
                       12,
                       5,
                       run_dpf};

}  // namespace lab::experiments
