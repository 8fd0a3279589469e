// [G] Gu, Gao, Bao, Xiang.
#include <algorithm>
#include <array>

#include "lab/claims/words.hpp"

namespace lab::claims {

namespace {

namespace gu = published::gu;

/// Returns pairs of indices, into `row` and into the paper's sizes, for the sizes that both contain.
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

/// The three schemes, with tables in constant memory as in the paper.
struct Schemes {
    explicit Schemes(const Figures& figures)
        : one(figures.row("G.schemes", "Three schemes, ECB", "1: a thread a block, text moved together")),
          two(figures.row("G.schemes", "Three schemes, ECB", "2: four threads a block, no barrier")),
          three(figures.row("G.schemes", "Three schemes, ECB", "3: sixteen threads a block, a lookup each")),
          sizes(sizes_of_the_paper(two)) {}
    Row one, two, three;
    std::vector<std::pair<std::size_t, std::size_t>> sizes;
};

Verdict schemes(const Figures& figures) {
    const Schemes of(figures);
    Count leads;
    for (const auto& [i, unused] : of.sizes)
        leads.add_not_behind(order_of(of.two[i], of.one[i].value > of.three[i].value ? of.one[i] : of.three[i]));
    const std::size_t last = of.sizes.back().first;
    return verdict(by_count(leads),
                   fmt::format("With tables in constant memory the second scheme leads, or is as fast as the best, at "
                               "{} of {} of the paper's sizes; at {} the three reach {}, {} and {}.",
                               leads.is, leads.of, size_of(of.two.x()[last]), gb_per_s(of.one[last]),
                               gb_per_s(of.two[last]), gb_per_s(of.three[last])));
}

Verdict third_scheme(const Figures& figures) {
    const Schemes of(figures);
    Count behind;
    for (const auto& [i, unused] : of.sizes) behind.add_behind(order_of(of.three[i], of.two[i]));
    const std::size_t last = of.sizes.back().first;
    return verdict(
        by_count(behind),
        fmt::format("The third scheme is behind the second at {} of {} of the paper's sizes; at {} it reaches {} "
                    "compared with {}, and at {} it reaches {} compared with {}.",
                    behind.is, behind.of, size_of(of.two.x()[of.sizes[0].first]), gb_per_s(of.three[of.sizes[0].first]),
                    gb_per_s(of.two[of.sizes[0].first]), size_of(of.two.x()[last]), gb_per_s(of.three[last]),
                    gb_per_s(of.two[last])));
}

Verdict third_scheme_in_groups(const Figures& figures) {
    const char* title = "The third scheme by blocks a group";
    const Row four = figures.row("G.schemes", title, "3: 4 blocks a group"),
              eight = figures.row("G.schemes", title, "3: 8 blocks a group"),
              two = figures.row("G.schemes", title, "2: four threads a block, no barrier");
    Count behind;
    const auto both = sizes_of_the_paper(two);
    for (const auto& [i, unused] : both) {
        behind.add_behind(order_of(four[i].value > eight[i].value ? four[i] : eight[i], two[i]));
    }
    const std::size_t last = both.back().first;
    return verdict(by_count(behind),
                   fmt::format("With 4 or 8 blocks per group, the third scheme is behind the second at {} of {} of the "
                               "paper's sizes; at {} it reaches {} and {} compared with {}.",
                               behind.is, behind.of, size_of(two.x()[last]), gb_per_s(four[last]),
                               gb_per_s(eight[last]), gb_per_s(two[last])));
}

Verdict no_barrier(const Figures& figures) {
    const char* title = "Bytes a thread, by how threads share a block";
    const Figure warp = figures.row("N.granularity", title, "shared memory, warp waits").at("4"),
                 barrier = figures.row("N.granularity", title, "shared memory, thread block waits").at("4");
    const Ratio r = over(warp, barrier);
    return verdict(by_gain(r),
                   fmt::format("Four threads per block that wait only for their warp, {}, are {} threads that "
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

constexpr const char* tables_title = "The lookup tables' memory";
constexpr double largest = 8 << 20;  ///< the paper's largest input

/// Returns the indices of two of the paper's sizes: the size with the highest speed, and the largest size.
std::pair<std::size_t, std::size_t> best_and_last(const Row& row) {
    (void)row.at(largest);  // throws Missing if it was not measured
    std::size_t best = 0, last = 0;
    bool any = false;
    for (const auto& [i, unused] : sizes_of_the_paper(row)) {
        if (!any || row[i].value > row[best].value) best = i;
        any = true, last = i;
    }
    return {best, last};
}

Verdict constant_peak(const Figures& figures) {
    const Row row = figures.row("G.tables", tables_title, "constant");
    const auto [best, last] = best_and_last(row);
    const Order falls = best == last ? Order::even : order_of(row[best], row[last]);
    const bool there = row.x()[best] >= 128 << 10 && row.x()[best] <= 512 << 10;
    const Holds holds = falls == Order::unclear ? Holds::open
                        : falls != Order::ahead ? Holds::no
                        : there                 ? Holds::yes
                                                : Holds::partly;
    return verdict(holds, fmt::format("With tables in constant memory, {} is best, {}; 8 MiB reaches {}.",
                                      size_of(row.x()[best]), gb_per_s(row[best]), gb_per_s(row[last])));
}

Verdict texture_no_peak(const Figures& figures) {
    const Row row = figures.row("G.tables", tables_title, "texture");
    const auto [best, last] = best_and_last(row);
    const Order at_last = order_of(row[last], row[best]);
    return verdict(at_last == Order::unclear  ? Holds::open
                   : at_last == Order::behind ? Holds::no
                                              : Holds::yes,
                   fmt::format("With tables in texture memory, {} is best, {}; 8 MiB reaches {}.",
                               size_of(row.x()[best]), gb_per_s(row[best]), gb_per_s(row[last])));
}

Verdict saturates(const Figures& figures) {
    const Row row = figures.row("G.tables", tables_title, "constant");
    const Figure four = row.at(largest / 2), eight = row.at(largest);
    const Ratio r = over(eight, four);
    return verdict(by_sameness(r),
                   fmt::format("8 MiB, {}, is {} 4 MiB, {}.", gb_per_s(eight), compared(r), gb_per_s(four)));
}

constexpr const char *transfers_title = "From host memory to host memory, by input size",
                     *mapped_name = "mapped, write-combined", *plain_name = "page-locked, one step after the other";

Verdict mapped(const Figures& figures) {
    const Row mapped = figures.row("G.transfers", transfers_title, mapped_name),
              plain = figures.row("G.transfers", transfers_title, plain_name);
    const auto sizes = sizes_of_the_paper(mapped);
    Count ahead;
    for (const auto& [i, unused] : sizes) ahead.add_ahead(order_of(mapped[i], plain[i]));
    const std::size_t last = sizes.back().first;
    return verdict(
        by_count(ahead),
        fmt::format("Mapped, write-combined memory is ahead of copies without streams at {} of {} of the paper's "
                    "sizes, at {} with {} compared with {}.",
                    ahead.is, ahead.of, size_of(mapped.x()[last]), gb_per_s(mapped[last]), gb_per_s(plain[last])));
}

Verdict mapped_gain(const Figures& figures) {
    const Figure mapped = figures.row("G.transfers", transfers_title, mapped_name).at(largest),
                 plain = figures.row("G.transfers", transfers_title, plain_name).at(largest);
    const Ratio r = over(mapped, plain);
    return verdict(by_gain(r, gu::mapped_write_combined.back() / gu::page_locked.back()),
                   fmt::format("At 8 MiB mapped, write-combined memory, {}, is {} copies without streams, {} "
                               "(published: 2.9 times as fast).",
                               gb_per_s(mapped), compared(r), gb_per_s(plain)));
}

constexpr const char* breakdown_title = "Where the time goes: four threads a block, tables in constant memory";

Row share_of(const Figures& figures, const char* what) {
    return figures.row("G.breakdown", breakdown_title, what);
}

Verdict compute_is_longest(const Figures& figures) {
    const Row compute = share_of(figures, "compute"), in = share_of(figures, "copy in"),
              out = share_of(figures, "copy out");
    Count longest;
    double least = 100, most = 0;
    for (std::size_t i = 0; i < compute.size(); ++i) {
        if (compute.x()[i] > 32768 || !compute.has(i)) continue;
        const Figure copy = in[i].value > out[i].value ? in[i] : out[i];
        longest.add_at_both_ends(over(in_another_run(compute[i]), in_another_run(copy)),
                                 [](double x) { return x > 1; });
        least = std::min(least, compute[i].value), most = std::max(most, compute[i].value);
    }
    if (longest.of == 0) throw Missing("no size up to 32 KB was measured");
    return verdict(by_count(longest), fmt::format("Up to 32 KB computing takes {:.0f} to {:.0f} % of the time, the "
                                                  "longest of the three at {} of {} sizes.",
                                                  least, most, longest.is, longest.of));
}

Verdict transfers_begin(const Figures& figures) {
    const Figure compute = in_another_run(share_of(figures, "compute").at(128 << 10));
    return verdict(at_both_ends({100 - compute.value, 100 - compute.high, 100 - compute.low},
                                [](double x) { return x > 50    ? Holds::yes
                                                      : x >= 40 ? Holds::partly
                                                                : Holds::no; }),
                   fmt::format("At 128 KB copying in and out takes {:.0f} % of the time.", 100 - compute.value));
}

Verdict share_large(const Figures& figures) {
    const Row compute = share_of(figures, "compute");
    Count kept;
    double least = 100, most = 0;
    for (std::size_t i = 0; i < compute.size(); ++i) {
        if (compute.x()[i] <= 128 << 10 || !compute.has(i)) continue;
        kept.add_at_both_ends(in_another_run(compute[i]), [](double s) { return s < 50; });
        least = std::min(least, compute[i].value), most = std::max(most, compute[i].value);
    }
    if (kept.of == 0) throw Missing("no size above 128 KB was measured");
    return verdict(by_count(kept), fmt::format("Above 128 KB computing takes {:.0f} to {:.0f} % of the time; transfers "
                                               "take most of it at {} of {} sizes.",
                                               least, most, kept.is, kept.of));
}

Verdict share_at_last(const Figures& figures) {
    const Figure share = share_of(figures, "compute").at(largest);
    return verdict(at_both_ends(in_another_run(share),
                                [](double s) { return s <= 40  ? Holds::yes
                                                      : s < 50 ? Holds::partly
                                                               : Holds::no; }),
                   fmt::format("At 8 MiB encryption takes {:.0f} % of the time.", share.value));
}

}  // namespace

std::vector<Rule> rules_of_gu() {
    return {
        {"G.schemes", schemes},
        {"G.third-scheme", third_scheme},
        {"G.scheme-3-groups", third_scheme_in_groups},
        {"G.no-barrier", no_barrier},
        {"G.constant-peak", constant_peak},
        {"G.texture-no-peak", texture_no_peak},
        {"G.texture-shape", texture_beside_constant},
        {"G.saturates", saturates},
        {"G.mapped", mapped},
        {"G.mapped-gain", mapped_gain},
        {"G.compute-below-32K", compute_is_longest},
        {"G.transfers-from-32K", transfers_begin},
        {"G.transfers-above-128K", share_large},
        {"G.encryption-25-30", share_at_last},
    };
}

}  // namespace lab::claims
