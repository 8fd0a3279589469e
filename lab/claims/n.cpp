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

/// Returns the verdict on "A is faster than B", with a sentence such as "A, 254 GB/s, is 46 % faster than B, 174 GB/s
/// (published: 31 % faster)."
Verdict by_pair(const std::string& a, const Figure& of_a, const std::string& b, const Figure& of_b, int pa, int pb) {
    const Ratio r = over(of_a, of_b);
    return verdict(by_gain(r, then(pa, pb)), fmt::format("{}, {}, is {} {}, {} (published: {}).", a, gb_per_s(of_a),
                                                         compared(r), b, gb_per_s(of_b), published(pa, pb)));
}

Verdict granularity(const Figures& figures) {
    const Thirteen of(figures);
    return by_pair("A thread for a whole block", of.best_of({2, 3}), "the best that shares one",
                   of.best_of({7, 8, 9, 10, 11, 12, 13}), 3, 7);
}

Verdict eight_and_four(const Figures& figures) {
    const Thirteen of(figures);
    const Figure eight = of.best_of({7, 8, 9}), four = of.best_of({10, 11, 12});
    const Ratio r = over(eight, four);
    return verdict(by_sameness(r), fmt::format("The best kernel with 8 bytes per thread, {}, is {} the best with 4, {} "
                                               "(published: 26.9 and 25.3 Gbit/s).",
                                               gb_per_s(eight), compared(r), gb_per_s(four)));
}

Verdict one_byte(const Figures& figures) {
    const Thirteen of(figures);
    return by_pair("A thread for a whole block", of.best_of({2, 3}), "a thread for a byte", of(13), 3, 13);
}

Verdict ten_times(const Figures& figures) {
    const Thirteen of(figures);
    const Figure best = of.row[of.row.best()], worst = of.row[of.row.worst()];
    const Ratio r = over(best, worst);
    return verdict(at_both_ends(in_another_run(r),
                                [](double x) { return x > 10  ? Holds::yes
                                                      : x > 5 ? Holds::partly
                                                              : Holds::no; }),
                   fmt::format("The fastest, {}, is {} as fast as the slowest, {}.", gb_per_s(best), times(r.value),
                               gb_per_s(worst)));
}

Verdict constant_tables(const Figures& figures) {
    const Thirteen of(figures);
    return by_pair("A kernel with tables in shared memory", of(2), "one with tables in constant memory", of(1), 2, 1);
}

Verdict constant_keys(const Figures& figures) {
    const Thirteen of(figures);
    const Ratio r = over(of(3), of(2));
    return verdict(
        by_sameness(r),
        fmt::format(
            "A kernel with round keys in shared memory is {} a kernel with round keys in constant memory, {} and {} "
            "(published: 2 % faster).",
            compared(r), gb_per_s(of(3)), gb_per_s(of(2))));
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
        by_gain(r),
        fmt::format("With 4 bytes per thread, a kernel with round keys in constant memory, {}, is {} one with them "
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
    return verdict(together(by_gain(soa, then(3, 5)), by_gain(aos, then(3, 6))),
                   fmt::format("A state in registers, {}, is {} a structure of arrays in shared memory and {} an "
                               "array of structures (published: {} and {}).",
                               gb_per_s(of(3)), compared(soa), compared(aos), published(3, 5), published(3, 6)));
}

Verdict layout_16(const Figures& figures) {
    const Thirteen of(figures);
    const Ratio r = over(of(5), of(6));
    return verdict(
        by_gain(r),
        fmt::format("With 16 bytes per thread, the structure of arrays, {}, is {} the array of structures, {} "
                    "(published: {}).",
                    gb_per_s(of(5)), compared(r), gb_per_s(of(6)), published(5, 6)));
}

Verdict layout_8_4(const Figures& figures) {
    const Thirteen of(figures);
    const Ratio four = over(of(10), of(12)), eight = over(of(7), of(9));
    return verdict(
        together(by_gain(four, 1.5), by_gain(eight, 1.12)),
        fmt::format("The array of structures is {} the structure of arrays with 4 bytes per thread, and {} it "
                    "with 8 (published: 50 % and 12 % faster).",
                    compared(four), compared(eight)));
}

Verdict persistent(const Figures& figures) {
    const Row stays = figures.row("N.persistent", "By length of the text", "threads that stay"),
              once = figures.row("N.persistent", "By length of the text", "a thread a block of text");
    const std::size_t last = stays.size() - 1;
    const Ratio r = over(stays[last], once[last]);
    return verdict(by_gain(r),
                   fmt::format("With {} threads that stay, {}, are {} a thread for each block of text, {}; "
                               "with {} they are {} it.",
                               size_of(stays.x()[last]), gb_per_s(stays[last]), compared(r), gb_per_s(once[last]),
                               size_of(stays.x()[0]), compared(over(stays[0], once[0]))));
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

Verdict chunk_size(const Figures& figures) {
    const Row rates = figures.row("N.overlap", overlap_title, its_best);
    const std::size_t last = rates.size() - 1;
    return verdict(by_both_ends_behind(rates),
                   fmt::format("{:.0f} chunks are best, {}; {:.0f} reaches {}, and {:.0f} reach {}.",
                               rates.x()[rates.best()], gb_per_s(rates[rates.best()]), rates.x()[0], gb_per_s(rates[0]),
                               rates.x()[last], gb_per_s(rates[last])));
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

std::vector<Rule> rules_of_gibadullin() {
    return {
        {"N.ten-times", ten_times},
        {"N.granularity", granularity},
        {"N.eight-and-four", eight_and_four},
        {"N.one-byte", one_byte},
        {"N.constant-tables", constant_tables},
        {"N.constant-keys", constant_keys},
        {"N.constant-keys-8", constant_keys_8},
        {"N.constant-keys-4", constant_keys_4},
        {"N.four-tables", four_tables},
        {"N.registers", state_in_registers},
        {"N.layout-16", layout_16},
        {"N.layout-8-4", layout_8_4},
        {"N.persistent", persistent},
        {"N.overlap", overlap_gain},
        {"N.hidden", overlap_hidden},
        {"N.chunk-size", chunk_size},
    };
}

}  // namespace lab::claims
