// The rules of the later studies' conclusions.
#include "lab/claims/words.hpp"

namespace lab::claims {

namespace {

constexpr const char* table_memories[] = {"shared memory", "constant memory", "global memory", "texture memory"};

struct Recovered {
    double traces, right, rank;
};

Recovered recovered(const Figures& figures, const std::string& victim) {
    const auto fact = [&](const char* what) {
        return figures.fact("K.last_round", fmt::format("{}, {}", what, victim));
    };
    return {fact("traces"), fact("right bytes"), fact("mean rank")};
}

Verdict key_recovered(const Figures& figures) {
    double most = 0;
    std::string said;
    for (const char* memory : table_memories) {
        const Recovered found = recovered(figures, memory);
        most = std::max(most, found.right);
        said += fmt::format("{}{}: {:.0f} of 16 bytes with {:.0f} traces", said.empty() ? "" : "; ", memory,
                            found.right, found.traces);
    }
    return verdict(most == 16 ? Holds::yes : most >= 8 ? Holds::partly : Holds::no, said + ".");
}

constexpr const char *before = "before: four tables, one copy", *tezcan = "[T] one table, a copy for each bank",
                     *lee = "[L] the same, cached first round", *bitsliced = "[B] bitsliced";

Figure design(const Figures& figures, const char* mode, const std::string& name) {
    return figures.row("T.designs", "Designs since 2019", mode).at(name);
}

Verdict bank_conflicts(const Figures& figures) {
    const Figure with = design(figures, "CTR", tezcan), without = design(figures, "CTR", before);
    const Ratio r = over(with, without);
    return verdict(by_gain(r, 2.56),
                   fmt::format("Tables without bank conflicts reach {}, {:.2f} times as much as tables "
                               "with conflicts, {}.",
                               gb_per_s(with), r.value, gb_per_s(without)));
}

Verdict aes_256(const Figures& figures) {
    const Row host = figures.row("T.designs", "Speed by key size", "from host to host"),
              kernel = figures.row("T.designs", "Speed by key size", tezcan);
    const std::string small = "AES-128", large = "AES-256";
    return verdict(
        by_sameness(over(host.at(large), host.at(small))),
        fmt::format("From host to host, AES-256 reaches {} and AES-128 {}; the kernels alone reach {} and {}.",
                    gb_per_s(host.at(large)), gb_per_s(host.at(small)), gb_per_s(kernel.at(large)),
                    gb_per_s(kernel.at(small))));
}

Verdict over_cpu(const Figures& figures) {
    const Panel& panel = figures.panel("W.worth", "Throughput by size and place");
    Figure cpu;
    std::string name;
    for (const Series& s : panel.series) {
        if (!s.name.ends_with(", all threads")) continue;
        const Row row(panel, s);
        if (row[row.best()].value > cpu.value) cpu = row[row.best()], name = s.name;
    }
    if (name.empty()) throw Missing("no processor with all threads was measured in this record");
    const Figure gpu = design(figures, "CTR", tezcan);
    const Ratio r = over(gpu, cpu);
    return verdict(by_gain(r), fmt::format("Tables without bank conflicts, {}, are {} {} at its best size, {}.",
                                           gb_per_s(gpu), compared(r), name, gb_per_s(cpu)));
}

Verdict ctr_ahead(const Figures& figures) {
    const Figure ctr = design(figures, "CTR", bitsliced), ecb = design(figures, "ECB", bitsliced);
    const Ratio r = over(ctr, ecb);
    return verdict(by_gain(r, 1.47 / 1.38),
                   fmt::format("Bitsliced, CTR, {}, is {} ECB, {}.", gb_per_s(ctr), compared(r), gb_per_s(ecb)));
}

/// Formats evaluations per second with thousands separators.
std::string with_thousands(const Figure& f) {
    return fmt::format("{}", fmt::group_digits(static_cast<unsigned long>(f.value)));
}
std::pair<Figure, Figure> aes_and_chacha(const Figures& figures) {
    const char* title = "Evaluations of distributed point functions";
    const Row aes = figures.row("F.dpf", title, "AES-128"), chacha = figures.row("F.dpf", title, "ChaCha20");
    return {aes[aes.size() - 1], chacha[chacha.size() - 1]};
}

Verdict chacha_ahead(const Figures& figures) {
    const auto [aes, chacha] = aes_and_chacha(figures);
    const Ratio r = over(chacha, aes);
    return verdict(
        by_gain(r, 1424.0 / 379),
        fmt::format("With ChaCha20 a GPU evaluates {} functions per second, and with AES-128 {}: {:.2f} times.",
                    with_thousands(chacha), with_thousands(aes), r.value));
}

}  // namespace

std::vector<Rule> rules_of_lam() {
    return {{"F.chacha", chacha_ahead}};
}

Verdict aes_generator(const Figures& figures) {
    const auto [aes, chacha] = aes_and_chacha(figures);
    const Ratio r = over(aes, chacha);
    return verdict(by_gain(r),
                   fmt::format("With AES-128 a GPU evaluates {} functions per second, and with ChaCha20 {}.",
                               with_thousands(aes), with_thousands(chacha)));
}

std::vector<Rule> rules_of_tezcan() {
    return {{"T.bank-conflicts", bank_conflicts}, {"T.aes-256", aes_256}, {"T.over-cpu", over_cpu}};
}

std::vector<Rule> rules_of_hajihassani() {
    return {{"B.ctr-ahead", ctr_ahead}};
}

Verdict cached_round(const Figures& figures) {
    const Figure cached = design(figures, "CTR", lee), ecb = design(figures, "ECB", tezcan);
    const Ratio r = over(cached, ecb);
    return verdict(by_gain(r, 160.0 / 146), fmt::format("CTR with a cached first round, {}, is {} ECB with the same "
                                                        "tables, {}.",
                                                        gb_per_s(cached), compared(r), gb_per_s(ecb)));
}

Verdict bitsliced_ahead(const Figures& figures) {
    const Figure planes = design(figures, "CTR", bitsliced), tables = design(figures, "CTR", tezcan);
    const Ratio r = over(planes, tables);
    return verdict(by_gain(r), fmt::format("Bitsliced, {}, is {} one table with a copy for each bank, {}.",
                                           gb_per_s(planes), compared(r), gb_per_s(tables)));
}

Verdict most_per_watt(const Figures& figures) {
    const Row row = figures.row("T.designs", "Designs since 2019, per watt", "CTR");
    const double production = row.at(std::string("production")).value;
    double other = 0;
    std::string best;
    for (std::size_t i = 0; i < row.size(); ++i) {
        if (!row.has(i) || row.labels()[i] == "production") continue;
        if (row[i].value > other) other = row[i].value, best = row.labels()[i];
    }
    if (best.empty()) throw Missing("no other design has figures per watt in this record");
    const double r = production / other;
    return verdict(
        r >= 1.05   ? Holds::yes
        : r >= 0.95 ? Holds::partly
                    : Holds::no,
        fmt::format("In CTR, production reaches {:.2f} GB/s per watt, and the best of the other designs ({}) {:.2f}.",
                    production, best, other));
}

std::vector<Rule> rules_of_jiang() {
    return {{"K.key-recovered", key_recovered}};
}

/// Returns the verdict on whether the attack fails with ten times the number of traces that recover the complete key
/// from tables in shared memory.
Verdict attack_fails(const Figures& figures) {
    const Recovered control = recovered(figures, "shared memory");
    if (control.right < 16) {
        throw Missing(fmt::format("the same attack gets {:.0f} of 16 bytes of tables in shared memory", control.right));
    }
    // By chance, the mean rank of 16 bytes is 127.5, with a standard deviation of 18.5.
    constexpr double chance_bytes = 1, chance_rank = 127.5 - 3 * 18.5;
    bool fails = true;
    std::string said, too_few;
    for (const char* name : {"production's functions", "bitsliced"}) {
        const Recovered found = recovered(figures, name);
        if (found.traces < 10 * control.traces) too_few = name;
        fails = fails && found.right <= chance_bytes && found.rank >= chance_rank;
        said += fmt::format("{}{}: {:.0f} of 16 bytes with {:.0f} traces, mean rank {:.0f}", said.empty() ? "" : "; ",
                            name, found.right, found.traces, found.rank);
    }
    if (fails && !too_few.empty()) {
        throw Missing(fmt::format("{} has fewer than ten times the traces of tables in shared memory", too_few));
    }
    return verdict(fails ? Holds::yes : Holds::no,
                   fmt::format("{}. Tables in shared memory: 16 bytes with {:.0f} traces.", said, control.traces));
}

}  // namespace lab::claims
