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
        return figures.fact("K.last-round", fmt::format("{}, {}", what, victim));
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

}  // namespace

std::vector<Rule> rules_of_jiang() {
    return {{"K.key-recovered", key_recovered}};
}

/// Whether the attack that recovers the whole key from tables in shared memory fails with ten times the traces.
Verdict attack_fails(const Figures& figures) {
    const Recovered control = recovered(figures, "shared memory");
    if (control.right < 16) {
        throw Missing(fmt::format("the same attack gets {:.0f} of 16 bytes of tables in shared memory", control.right));
    }
    // Mean ranks of 16 bytes vary by 18.5 around 127.5.
    constexpr double chance_bytes = 1, chance_rank = 127.5 - 3 * 18.5;
    bool fails = true;
    std::string said;
    for (const char* name : {"production's functions", "bitsliced"}) {
        const Recovered found = recovered(figures, name);
        if (found.traces < 10 * control.traces) {
            throw Missing(fmt::format("{} has fewer than ten times the traces of tables in shared memory", name));
        }
        fails = fails && found.right <= chance_bytes && found.rank >= chance_rank;
        said += fmt::format("{}{}: {:.0f} of 16 bytes with {:.0f} traces, mean rank {:.0f}", said.empty() ? "" : "; ",
                            name, found.right, found.traces, found.rank);
    }
    return verdict(fails ? Holds::yes : Holds::no,
                   fmt::format("{}. Tables in shared memory: 16 bytes with {:.0f} traces.", said, control.traces));
}

}  // namespace lab::claims
