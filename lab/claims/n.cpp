// [N] Gibadullin, Yakovlev, Novikov, Perukhin.
#include <algorithm>
#include <array>

#include "lab/claims/words.hpp"

namespace lab::claims {

namespace {

namespace gibadullin = published::gibadullin;

/// The thirteen kernels by their numbers in the paper.
struct Thirteen {
    explicit Thirteen(const Figures& figures)
        : row(figures.row("N.implementations", "Thirteen implementations", "speed")) {}
    [[nodiscard]] Figure operator()(int number) const { return row[static_cast<std::size_t>(number - 1)]; }
    [[nodiscard]] Figure best_of(std::initializer_list<int> numbers) const {
        Figure best;
        for (const int n : numbers) {
            if ((*this)(n).value > best.value) best = (*this)(n);
        }
        return best;
    }
    Row row;
};

double then(int a, int b) {
    const auto of = [](int n) { return gibadullin::implementations[static_cast<std::size_t>(n - 1)].gbit_per_s; };
    return of(a) / of(b);
}

std::string published(int a, int b) {
    return experiments::how_fast(then(a, b), 1);
}

/// "A, 254 GB/s, is 46 % faster than B, 174 GB/s (published: 31 % faster)."
Verdict by_pair(const std::string& a, const Figure& of_a, const std::string& b, const Figure& of_b, int pa, int pb) {
    const Ratio r = over(of_a, of_b);
    return verdict(by_gain(r, then(pa, pb)), fmt::format("{}, {}, is {} {}, {} (published: {}).", a, gb_per_s(of_a),
                                                         compared(r), b, gb_per_s(of_b), published(pa, pb)));
}

Verdict order(const Figures& figures) {
    const Thirteen of(figures);
    const auto [all, apart] = correlation_of_thirteen(figures);
    const auto best = static_cast<int>(of.row.best()) + 1;
    const Holds holds = all.low >= 0.5 ? Holds::yes : all.low > 0 ? Holds::partly : Holds::no;
    return verdict(
        holds, fmt::format("Spearman's ρ of the thirteen is {:.2f} (n = 13, 95 %: {:.2f} to {:.2f}, speeds within 1 % "
                           "share a place); without 1 and 13, last then as now, {:.2f}. The fastest was 3 with 4.4 "
                           "GB/s and is {} with {}.",
                           all.value, all.low, all.high, apart.value, best, gb_per_s(of(best))));
}

Verdict granularity(const Figures& figures) {
    const Thirteen of(figures);
    return by_pair("A thread for a whole block", of.best_of({2, 3}), "the best that shares one",
                   of.best_of({7, 8, 9, 10, 11, 12, 13}), 3, 7);
}

Verdict granularity_order(const Figures& figures) {
    const Thirteen of(figures);
    const std::array<Figure, 4> best{of.best_of({2, 3}), of.best_of({7, 8, 9}), of.best_of({10, 11, 12}), of(13)};
    Count kept;
    for (std::size_t i = 0; i < 3; ++i) kept.add_ahead(order_of(best[i], best[i + 1]));
    return verdict(
        by_count(kept),
        fmt::format("The best with 16, 8, 4 and 1 bytes a thread do {}, {}, {} and {}: {} of 3 steps go down "
                    "as published (35.2, 26.9, 25.3 and 2.9 Gbit/s).",
                    gb_per_s(best[0]), gb_per_s(best[1]), gb_per_s(best[2]), gb_per_s(best[3]), kept.is));
}

Verdict constant_tables(const Figures& figures) {
    const Thirteen of(figures);
    return by_pair("A kernel with tables in shared memory", of(2), "one with tables in constant memory", of(1), 2, 1);
}

Verdict constant_keys(const Figures& figures) {
    const Thirteen of(figures);
    const Ratio r = over(of(2), of(3));
    return verdict(
        by_sameness({r.value, std::min(r.low, 1.0), std::min(r.high, 1.0)}),
        fmt::format("A kernel with round keys in constant memory is {} one with them in shared memory, {} and {} "
                    "(published: 2 % slower).",
                    compared(r), gb_per_s(of(2)), gb_per_s(of(3))));
}

Verdict constant_keys_8(const Figures& figures) {
    const Thirteen of(figures);
    return by_pair("With 8 bytes a thread a kernel with round keys in constant memory", of(7),
                   "one with them in shared memory", of(8), 7, 8);
}

Verdict constant_keys_4(const Figures& figures) {
    const Thirteen of(figures);
    const Ratio r = over(of(10), of(11));
    return verdict(
        by_sameness(r),
        fmt::format("With 4 bytes a thread a kernel with round keys in constant memory, {}, is {} one with them "
                    "in shared memory, {} (published: 1 % faster).",
                    gb_per_s(of(10)), compared(r), gb_per_s(of(11))));
}

Verdict four_tables(const Figures& figures) {
    const Thirteen of(figures);
    const Ratio r = over(of(3), of(4));
    std::string elsewhere;
    try {
        const Row four = figures.row("N.tables", "Tables by memory and number", "4 tables"),
                  one = figures.row("N.tables", "Tables by memory and number", "1 table, rotations");
        const Figure f = four.at("shared, one copy a bank"), o = one.at("shared, one copy a bank");
        elsewhere = fmt::format(" Where no lane waits for a bank they are {} one.", compared(over(f, o)));
    } catch (const Missing&) {
    }
    return verdict(by_gain(r, then(3, 4)),
                   fmt::format("Four tables in shared memory are {} one and rotations, {} and {} (published: 63 % "
                               "faster).{}",
                               compared(r), gb_per_s(of(3)), gb_per_s(of(4)), elsewhere));
}

Verdict state_in_registers(const Figures& figures) {
    const Thirteen of(figures);
    const Ratio soa = over(of(3), of(5)), aos = over(of(3), of(6));
    const Holds a = by_gain(soa, then(3, 5)), b = by_gain(aos, then(3, 6));
    const Holds holds = a == Holds::open || b == Holds::open ? Holds::open : a == b ? a : Holds::partly;
    return verdict(holds,
                   fmt::format("A state in registers, {}, is {} a structure of arrays in shared memory and {} an "
                               "array of structures (published: {} and {}).",
                               gb_per_s(of(3)), compared(soa), compared(aos), published(3, 5), published(3, 6)));
}

Verdict layouts(const Figures& figures) {
    const Thirteen of(figures);
    Count kept;
    for (const Order o : {order_of(of(5), of(6)), order_of(of(7), of(9)), order_of(of(10), of(12))}) kept.add_ahead(o);
    return verdict(by_count(kept),
                   fmt::format("The structure of arrays is {} the array of structures where a thread has a block; the "
                               "array is {} it where two threads share one, and {} it where four do: {} of the 3 as "
                               "published (38 %, 15 % and 48 % faster).",
                               compared(over(of(5), of(6))), compared(over(of(7), of(9))),
                               compared(over(of(10), of(12))), kept.is));
}

Verdict persistent(const Figures& figures) {
    const Row stays = figures.row("N.persistent", "By length of the text", "threads that stay"),
              once = figures.row("N.persistent", "By length of the text", "a thread a block of text");
    double behind_to = 0;
    Count not_behind;
    for (std::size_t i = 0; i < stays.size(); ++i) {
        not_behind.add_not_behind(order_of(stays[i], once[i]));
        if (order_of(stays[i], once[i]) == Order::behind) behind_to = stays.x()[i];
    }
    const std::size_t last = stays.size() - 1;
    const Order at_last = order_of(stays[last], once[last]);
    const Holds holds = at_last == Order::behind         ? Holds::no
                        : not_behind.is == not_behind.of ? Holds::yes
                                                         : Holds::partly;
    return verdict(
        holds,
        fmt::format("Few thread blocks whose threads stay do {} with {}, a thread for each block of text {}{}.",
                    gb_per_s(stays[last]), size_of(stays.x()[last]), gb_per_s(once[last]),
                    behind_to == 0 ? "; they are behind at no length"
                                   : fmt::format("; up to {} they are behind, by {} with {}", size_of(behind_to),
                                                 percent(1 - stays[0].value / once[0].value), size_of(stays.x()[0]))));
}

constexpr const char* overlap_title = "Throughput with transfers, by number of chunks";
constexpr const char* its_best = "its best: 16 bytes a thread, tables and keys in shared memory";

Verdict overlap_gain(const Figures& figures) {
    const Row rates = figures.row("N.overlap", overlap_title, its_best);
    const Ratio r = over(rates.at(4), rates.at(1));
    return verdict(
        by_gain(r, 1.68),
        fmt::format("Four chunks, {}, are {} one, {} (published: 68 % faster); the best number, {:.0f}, gives "
                    "{}.",
                    gb_per_s(rates.at(4)), compared(r), gb_per_s(rates.at(1)), rates.x()[rates.best()],
                    gb_per_s(rates[rates.best()])));
}

Verdict overlap_hidden(const Figures& figures) {
    const Row hidden = figures.row("N.overlap", "Share of the transfers' time that overlapping hides", its_best);
    const double share = hidden.at(4).value;
    return verdict(at_both_ends(in_another_run(share),
                                [](double x) {
                                    return x >= 65 * 2.0 / 3 ? Holds::yes : x >= 5 ? Holds::partly : Holds::no;
                                }),
                   fmt::format("Four chunks hide {:.0f} % of the transfers' time (published: 65 %); the most that any "
                               "number hides is {:.0f} %.",
                               share, hidden[hidden.best()].value));
}

}  // namespace

std::pair<Ratio, Ratio> correlation_of_thirteen(const Figures& figures) {
    const Thirteen of(figures);
    std::vector<double> theirs, here, theirs_apart, here_apart;
    for (int i = 1; i <= 13; ++i) {
        theirs.push_back(gibadullin::implementations[static_cast<std::size_t>(i - 1)].gbit_per_s);
        here.push_back(of(i).value);
        if (i != 1 && i != 13) theirs_apart.push_back(theirs.back()), here_apart.push_back(here.back());
    }
    return {rank_correlation(places(theirs), places(here)), rank_correlation(places(theirs_apart), places(here_apart))};
}

std::vector<Claim> of_gibadullin() {
    constexpr Paper p = Paper::gibadullin;
    std::vector<Claim> claims;
    const auto add = [&](const char* id, const char* says, const char* experiment, const char* rule,
                         Verdict (*judge)(const Figures&)) {
        claims.push_back({id, p, Kind::conclusion, says, experiment, rule, judge});
    };
    const auto shown = [&](std::string id, std::string says, const char* experiment, const char* rule) {
        claims.push_back({std::move(id), p, Kind::figures, std::move(says), experiment, rule});
    };
    const auto unmeasured = [&](const char* id, const char* says, const char* why) {
        claims.push_back({id, p, Kind::unmeasured, says, "", why});
    };
    for (const gibadullin::Implementation& i : gibadullin::implementations) {
        constexpr std::array states{"registers", "shared AoS", "shared SoA"};
        shown(fmt::format("N.{}", i.number),
              fmt::format(
                  "Implementation {}: {} bytes a thread, {} T-box{} in {} memory, round keys in {} memory, state in "
                  "{}: {} Gbit/s",
                  i.number, i.bytes_per_thread, i.t_box_count, i.t_box_count == 1 ? "" : "es",
                  i.t_boxes == gibadullin::TBoxes::shared ? "shared" : "constant",
                  i.round_keys == gibadullin::RoundKeys::shared ? "shared" : "constant",
                  states[static_cast<std::size_t>(i.state)], i.gbit_per_s),
              "N.implementations", "Thirteen implementations");
    }
    add("N.order", "The order of the thirteen, 3 before 2 and 1 and 13 last", "N.implementations",
        "yes if ρ is 0.5 or more at the low end of its interval, in part if above 0 there", order);
    add("N.granularity", "16 bytes a thread is best, by 31 %", "N.implementations", gain_rule, granularity);
    add("N.granularity-order", "16 bytes a thread before 8, 8 before 4, 4 before 1", "N.implementations",
        "yes if each step goes down by 1.5 % or more, in part if most do", granularity_order);
    add("N.constant-tables", "Constant memory is wrong for T-boxes: shared memory is 6.9 times as fast",
        "N.implementations", gain_rule, constant_tables);
    add("N.constant-keys", "Constant memory is fine for round keys, with 16 bytes a thread: 2 % slower",
        "N.implementations", "yes if at most 5 % slower, in part 15 %", constant_keys);
    add("N.constant-keys-8", "With 8 bytes a thread, constant memory is better for round keys, by 13 %",
        "N.implementations", gain_rule, constant_keys_8);
    add("N.constant-keys-4", "With 4 bytes a thread, the memory of round keys hardly matters: 1 %", "N.implementations",
        same_rule, constant_keys_4);
    add("N.four-tables", "Four tables beat one and rotations by 63 % (one is 40 % slower)", "N.implementations",
        gain_rule, four_tables);
    add("N.registers", "Registers beat shared memory for the state: SoA by 18 %, AoS by 62 %", "N.implementations",
        "as a gain, for each; in part if they differ", state_in_registers);
    add("N.layouts",
        "SoA beats AoS where a thread has a block, by 38 %; AoS beats SoA where two threads share one, by 15 %, and "
        "four, "
        "by 48 %",
        "N.implementations", "yes if all three are ahead by 1.5 % or more, in part if most are", layouts);
    add("N.persistent", "Persistent threads: few thread blocks cover much data, without loss", "N.persistent",
        "yes if behind by 1.5 % at no length, in part if not behind at the longest", persistent);
    add("N.overlap", "Overlapping four chunks raises the throughput with transfers by 68 %, 13.4 to 22.5 Gbit/s",
        "N.overlap", gain_rule, overlap_gain);
    add("N.hidden", "Four chunks hide 65 % of the transfers' time", "N.overlap",
        "yes from two thirds of it on, in part from 5 %", overlap_hidden);
    shown("N.transfer-overhead", "A transfer has an overhead of 0.08 ms", "N.overlap", "fact: a copy of one block");
    shown("N.baseline-manavski", "Manavski on a GeForce 8800 GTX, 8 MB: 8.28 Gbit/s", "N.baselines",
          "his kernel's way (four tables in constant memory, four threads a block) on this GPU");
    shown("N.baseline-dibiagio", "Di Biagio and others, 128 MB: 12.5 Gbit/s", "N.baselines",
          "four tables in shared memory, a thread a block, on this GPU");
    shown("N.baseline-no-tables", "Without T-boxes: 6.25 Gbit/s", "N.baselines",
          "the S-box and arithmetic on this GPU");
    unmeasured("N.baseline-0.87", "An earlier implementation: 0.87 Gbit/s",
               "another's program on another's GPU; no code");
    unmeasured("N.baseline-cook", "Cook and others, through the graphics pipeline: 1.53 Mbit/s",
               "a fixed-function pipeline that GPUs no longer have");
    unmeasured("N.hardware", "GeForce GTX 285, CUDA 2.3", "no such GPU is supported by today's CUDA");
    return claims;
}

}  // namespace lab::claims
