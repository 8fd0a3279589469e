// [G] Gu, Gao, Bao, Xiang.
#include <algorithm>
#include <array>

#include "lab/claims/words.hpp"

namespace lab::claims {

namespace {

namespace gu = published::gu;

/// Pairs of indices, into `row` and into the paper's sizes, for the sizes that both have.
std::vector<std::pair<std::size_t, std::size_t>> sizes_of_the_paper(const Row& row) {
    std::vector<std::pair<std::size_t, std::size_t>> both;
    for (std::size_t i = 0; i < row.x().size(); ++i) {
        const auto at =
            std::find(gu::input_bytes.begin(), gu::input_bytes.end(), static_cast<std::uint64_t>(row.x()[i]));
        if (at != gu::input_bytes.end() && row.has(i)) {
            both.emplace_back(i, static_cast<std::size_t>(at - gu::input_bytes.begin()));
        }
    }
    if (both.empty()) throw Missing("none of the paper's sizes was measured");
    return both;
}

/// At how many of the paper's sizes the second scheme is ahead of the others, or as fast as the best of them.
Count second_leads(const Figures& figures, const char* title) {
    constexpr std::array names{"1: a thread a block, text moved together", "2: four threads a block, no barrier",
                               "3: sixteen threads a block, a lookup each"};
    const Row one = figures.row("G.schemes", title, names[0]), two = figures.row("G.schemes", title, names[1]),
              three = figures.row("G.schemes", title, names[2]);
    const auto sizes = sizes_of_the_paper(two);
    Count leads;
    for (const auto& [i, unused] : sizes)
        leads.add_not_behind(order_of(two[i], one[i].value > three[i].value ? one[i] : three[i]));
    return leads;
}

Verdict schemes(const Figures& figures) {
    const Count shared = second_leads(figures, "Three schemes, tables in shared memory"),
                constant = second_leads(figures, "Three schemes, ECB");
    return verdict(
        by_count(shared),
        fmt::format("With tables in shared memory the second scheme leads, or is as fast as the best, at {} of {} "
                    "of the paper's sizes, 2 KB to 8 MB; with tables in constant memory at {} of {}.",
                    shared.is, shared.of, constant.is, constant.of));
}

Verdict no_barrier(const Figures& figures) {
    const char* title = "Bytes a thread, by how threads share a block";
    const Figure warp = figures.row("N.granularity", title, "shared memory, warp waits").at("4"),
                 barrier = figures.row("N.granularity", title, "shared memory, thread block waits").at("4");
    const Ratio r = over(warp, barrier);
    return verdict(by_gain(r), fmt::format("Four threads a block that wait for their warp alone, {}, are {} those that "
                                           "wait at a barrier, {}.",
                                           gb_per_s(warp), compared(r), gb_per_s(barrier)));
}

Verdict texture_beside_constant(const Figures& figures) {
    const Row constant = figures.row("G.tables", "The lookup tables' memory", "constant"),
              texture = figures.row("G.tables", "The lookup tables' memory", "texture");
    Count kept;
    std::size_t ahead = 0;
    const auto sizes = sizes_of_the_paper(constant);
    double least = 1e9, most = 0;
    for (const auto& [here, there] : sizes) {
        const Order now = order_of(texture[here], constant[here]);
        const Order then = gu::texture_table[there] > gu::constant_table[there] ? Order::ahead : Order::behind;
        ahead += now == Order::ahead ? 1 : 0;
        kept.add(now == then, now == Order::unclear);
        least = std::min(least, texture[here].value / constant[here].value);
        most = std::max(most, texture[here].value / constant[here].value);
    }
    return verdict(
        by_count(kept),
        fmt::format("Texture memory is ahead at {} of {} of the paper's sizes, {} to {} as fast; which is ahead "
                    "is as published at {}.",
                    ahead, sizes.size(), times(least), times(most), kept.is));
}

Verdict mapped(const Figures& figures) {
    const char* title = "From host memory to host memory, by input size";
    const Row mapped = figures.row("G.transfers", title, "mapped, write-combined"),
              plain = figures.row("G.transfers", title, "page-locked, one step after the other");
    Count ahead;
    for (std::size_t i = 0; i < mapped.size(); ++i) {
        if (mapped.has(i) && plain.has(i)) ahead.add_ahead(order_of(mapped[i], plain[i]));
    }
    const std::size_t last = mapped.size() - 1;
    return verdict(
        by_count(ahead),
        fmt::format("Mapped, write-combined memory is ahead of copies without streams at {} of {} sizes, at {} "
                    "with {} against {}.",
                    ahead.is, ahead.of, size_of(mapped.x()[last]), gb_per_s(mapped[last]), gb_per_s(plain[last])));
}

/// Verdict on the share of computation at the sizes that `at` selects: `as_published` is the condition for one size.
Verdict shares(const Figures& figures, bool (*at)(double), bool (*as_published)(double), const char* where) {
    const Panel& panel =
        figures.panel("G.breakdown", "Where the time goes: four threads a block, tables in constant memory");
    const Row compute = Figures::row(panel, "compute");
    Count kept;
    double least = 100, most = 0;
    for (std::size_t i = 0; i < compute.size(); ++i) {
        if (!at(compute.x()[i]) || !compute.has(i)) continue;
        kept.add_at_both_ends(in_another_run(compute[i]), as_published);
        least = std::min(least, compute[i].value), most = std::max(most, compute[i].value);
    }
    if (kept.of == 0) throw Missing("no such size was measured");
    return verdict(by_count(kept),
                   fmt::format("{}, computing takes {:.0f} to {:.0f} % of the time, which is as published at "
                               "{} of {} sizes{}.",
                               where, least, most, kept.is, kept.of,
                               kept.may == 0 ? "" : fmt::format(" and near the limit at {}", kept.may)));
}

Verdict share_small(const Figures& figures) {
    return shares(
        figures, [](double x) { return x < 32768; }, [](double s) { return s > 50; }, "Below 32 KB");
}
Verdict share_middle(const Figures& figures) {
    return shares(
        figures, [](double x) { return x >= 32768 && x <= 131072; }, [](double s) { return s > 30 && s < 70; },
        "From 32 to 128 KB");
}
Verdict share_large(const Figures& figures) {
    return shares(
        figures, [](double x) { return x > 131072; }, [](double s) { return s < 50; }, "Above 128 KB");
}
Verdict share_at_last(const Figures& figures) {
    const Row compute =
        figures.row("G.breakdown", "Where the time goes: four threads a block, tables in constant memory", "compute");
    const Figure share = compute[compute.size() - 1];
    return verdict(
        at_both_ends(in_another_run(share),
                     [](double s) { return s <= 40  ? Holds::yes
                                           : s < 50 ? Holds::partly
                                                    : Holds::no; }),
        fmt::format("At {} encryption takes {:.0f} % of the time.", size_of(compute.x().back()), share.value));
}

}  // namespace

std::vector<Claim> of_gu() {
    constexpr Paper p = Paper::gu;
    std::vector<Claim> claims;
    const auto add = [&](const char* id, const char* says, const char* experiment, const char* rule,
                         Verdict (*judge)(const Figures&)) {
        claims.push_back({id, p, Kind::conclusion, says, experiment, rule, judge});
    };
    const auto shown = [&](const char* id, const char* says, const char* experiment, const char* where) {
        claims.push_back({id, p, Kind::figures, says, experiment, where});
    };
    const auto unmeasured = [&](const char* id, const char* says, const char* why) {
        claims.push_back({id, p, Kind::unmeasured, says, "", why});
    };
    add("G.schemes", "Of three schemes the second, four threads a block, is best (2 KB to 8 MB)", "G.schemes",
        "yes if it leads at all of the paper's sizes with tables in shared memory, in part at most", schemes);
    add("G.no-barrier", "Four threads in one warp need no barrier, and are faster without", "N.granularity", lead_rule,
        no_barrier);
    shown("G.fig3", "Fig. 3: the three schemes by size, kernel alone", "G.schemes",
          "Three schemes, ECB; … tables in shared memory");
    shown("G.ctr", "The schemes in CTR as well as ECB", "G.schemes", "Three schemes, CTR");
    shown("G.constant", "Tables in constant memory: 0.502 Gbit/s at 2 KB, 9.801 at 256 KB, 6.001 at 8 MB (13 sizes)",
          "G.tables", "The lookup tables' memory: constant, published");
    shown("G.texture", "Tables in texture memory: 0.866 Gbit/s at 2 KB, 9.036 at 8 MB (13 sizes)", "G.tables",
          "The lookup tables' memory: texture, published");
    add("G.texture-shape",
        "Texture is ahead of constant memory at 2 to 32 KB (1.06 to 1.77 times), behind at 64 to 256 KB, ahead from "
        "512 KB",
        "G.tables", "yes if the same is ahead at all of the paper's sizes, in part at most", texture_beside_constant);
    shown("G.page-locked", "Page-locked copies: 0.52 Gbit/s at 2 KB, 2.29 at 8 MB (13 sizes)", "G.transfers",
          "From host memory to host memory: page-locked, published");
    shown("G.mapped-figures", "Mapped, write-combined: 0.82 Gbit/s at 2 KB, 6.64 at 8 MB (13 sizes)", "G.transfers",
          "From host memory to host memory: mapped, write-combined, published");
    add("G.mapped", "Mapped, write-combined memory is ahead of page-locked copies without streams at every size",
        "G.transfers", "yes if ahead by 1.5 % or more, beyond the spread, at every size, in part at most", mapped);
    add("G.compute-below-32K", "Below 32 KB computing takes most of the time", "G.breakdown",
        "yes if above 50 % at all such sizes, in part at most", share_small);
    add("G.balance-32K-128K", "From 32 to 128 KB neither computing nor transfers take most of the time", "G.breakdown",
        "yes if between 30 and 70 % at all such sizes, in part at most", share_middle);
    add("G.transfers-above-128K", "Above 128 KB transfers take most of the time", "G.breakdown",
        "yes if computing is below 50 % at all such sizes, in part at most", share_large);
    add("G.encryption-25-30", "At large sizes encryption is only 25 to 30 % of the time", "G.breakdown",
        "yes up to 40 % at the longest text, in part below 50 %", share_at_last);
    shown("G.table1", "Table 1: beside Manavski's G80, 2 KB 0.50 against 0.10 Gbit/s, 512 KB 7.88 against 6.51",
          "G.tables", "The lookup tables' memory: Manavski, published");
    shown("G.table1-large",
          "Table 1: behind Manavski from 1 MB: 6.84 against 7.51, 6.16 against 8.22, 6.00 against 8.28", "G.tables",
          "The lookup tables' memory: Manavski, published");
    shown("G.headline-transfers", "6 to 7 Gbit/s with transfers", "G.transfers",
          "fact: mapped, write-combined, at most");
    shown("G.headline-kernel", "20 Gbit/s of the kernel alone above 1 MB", "G.schemes",
          "fact: the fastest of all, kernel alone");
    unmeasured("G.fig4-instructions", "Fig. 4: instruction throughput, by scheme",
               "a profiler counts it, not the lab: tools/profile_lab.py, docs/lab-profile.md");
    unmeasured("G.fig4-memory", "Fig. 4: memory throughput, by scheme",
               "a profiler counts it, not the lab: tools/profile_lab.py, docs/lab-profile.md");
    unmeasured("G.14.6-59.6", "The figures 14.6 and 59.6 of its text", "what they are of is not known here");
    unmeasured("G.host-keys", "Round keys are expanded on the host", "every kernel here takes expanded keys, too");
    return claims;
}

}  // namespace lab::claims
