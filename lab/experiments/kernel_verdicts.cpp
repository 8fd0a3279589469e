#include "lab/experiments/kernel_verdicts.hpp"

#include <algorithm>
#include <cmath>

#include "lab/experiments/panels.hpp"
#include "lab/published.hpp"

namespace lab::experiments {

namespace {

using Holds = Verdict::Holds;

Holds by(bool yes, bool partly) {
    return yes ? Holds::yes : partly ? Holds::partly : Holds::no;
}
std::string then(int a, int b) {
    return how_fast(published_speed(a), published_speed(b));
}
double at(const Series& series, std::size_t place) {
    return *series.values[place];
}
/// "4.77, 3.93 and 2.41 GB/s"
std::string in_a_row(const std::array<double, 3>& rates) {
    return fmt::format("{:.3g}, {:.3g} and {}", rates[0], rates[1], gb_per_s(rates[2]));
}
/// 1 is the fastest.
int place_in(std::span<const double> speeds, std::size_t i) {
    return 1 + static_cast<int>(std::count_if(speeds.begin(), speeds.end(), [&](double v) { return v > speeds[i]; }));
}
std::size_t place_of_most(const Series& series) {
    const auto& values = series.values;
    return static_cast<std::size_t>(
        std::max_element(values.begin(), values.end(), [](auto a, auto b) { return *a < *b; }) - values.begin());
}

/// Those whose place in the order changed most: "4 from place 10 to 2, …"; empty if none changed much.
std::string describe_moves(std::span<const double> theirs, std::span<const double> here) {
    constexpr int worth_saying = 3;
    constexpr std::size_t most = 3;
    struct Move {
        std::size_t number;
        int from, to;
        [[nodiscard]] int places() const { return std::abs(to - from); }
    };
    std::vector<Move> moves;
    for (std::size_t i = 0; i < here.size(); ++i) {
        const Move move{i + 1, place_in(theirs, i), place_in(here, i)};
        if (move.places() >= worth_saying) moves.push_back(move);
    }
    std::stable_sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) { return a.places() > b.places(); });
    std::string said;
    for (std::size_t i = 0; i < std::min(moves.size(), most); ++i) {
        said +=
            fmt::format("{}{} from place {} to {}", i == 0 ? "" : ", ", moves[i].number, moves[i].from, moves[i].to);
    }
    return said;
}

}  // namespace

double published_speed(int number) {
    const auto& all = published::gibadullin::implementations;
    return published::gb_per_s_of_gbit(all[static_cast<std::size_t>(number - 1)].gbit_per_s);
}

double rank_correlation(std::span<const double> a, std::span<const double> b) {
    const auto ranks = [](std::span<const double> values) {
        std::vector<double> ranks;
        for (const double v : values) {
            const auto below = std::count_if(values.begin(), values.end(), [v](double w) { return w < v; });
            const auto equal = std::count(values.begin(), values.end(), v);
            ranks.push_back(static_cast<double>(below) + static_cast<double>(equal - 1) / 2);
        }
        return ranks;
    };
    const std::vector<double> ra = ranks(a), rb = ranks(b);
    const double n = static_cast<double>(a.size()), mean = (n - 1) / 2;
    double both = 0, of_a = 0, of_b = 0;
    for (std::size_t i = 0; i < ra.size(); ++i) {
        both += (ra[i] - mean) * (rb[i] - mean);
        of_a += (ra[i] - mean) * (ra[i] - mean);
        of_b += (rb[i] - mean) * (rb[i] - mean);
    }
    return of_a == 0 || of_b == 0 ? 0 : both / std::sqrt(of_a * of_b);
}

std::vector<Verdict> judge_thirteen(std::span<const double> here) {
    const auto of = [&](int number) { return here[static_cast<std::size_t>(number - 1)]; };
    std::vector<double> theirs;
    for (int i = 1; i <= static_cast<int>(here.size()); ++i) theirs.push_back(published_speed(i));
    const double correlation = rank_correlation(theirs, here);
    const auto best = std::max_element(here.begin(), here.end());
    const double alone = std::max(of(2), of(3)), shared = *std::max_element(here.begin() + 6, here.end());
    const double keys = of(2) / of(3), four = of(3) / of(4), soa = of(3) / of(5), aos = of(3) / of(6);
    const std::string moves = describe_moves(theirs, here);
    const char* order = correlation > 0.8   ? "is much the same"
                        : correlation > 0.5 ? "is similar"
                                            : "is another one today";
    return {
        {by(correlation > 0.8, correlation > 0.5),
         fmt::format(
             "The order of the thirteen {} (rank correlation {:.2f}): the fastest was 3 with {} and is {} with {}.{}",
             order, correlation, gb_per_s(published_speed(3)), best - here.begin() + 1, gb_per_s(*best),
             moves.empty() ? "" : fmt::format(" What moved most: {} (docs/lab-profile.md profiles them).", moves))},
        {by(alone > 1.15 * shared, alone > shared),
         fmt::format("A thread for a whole block is {} the best that shares one, {} and {} (published: {}).",
                     compared(alone, shared), gb_per_s(alone), gb_per_s(shared), then(3, 7))},
        {by(of(2) > 3 * of(1), of(2) > 1.2 * of(1)),
         fmt::format("With tables in shared memory it is {} with tables in constant memory, {} and {} (published: {}).",
                     compared(of(2), of(1)), gb_per_s(of(2)), gb_per_s(of(1)), then(2, 1))},
        {by(keys > 0.95, keys > 0.85),
         fmt::format(
             "With round keys in constant memory it is {} with round keys in shared memory, {} and {} (published: "
             "{}).",
             compared(of(2), of(3)), gb_per_s(of(2)), gb_per_s(of(3)), then(2, 3))},
        {by(four > 1.2, four > 1.03),
         fmt::format("With four tables it is {} with one and rotations, {} and {} (published: {}){}.",
                     compared(of(3), of(4)), gb_per_s(of(3)), gb_per_s(of(4)), then(3, 4),
                     four > 1.2 ? "" : "; N.tables has both where no lane waits for another")},
        {by(soa > 1.1 && aos > 1.1, soa > 1.02 || aos > 1.02),
         fmt::format(
             "A state in registers, {}, is {} one in shared memory as a structure of arrays and {} one as an array "
             "of structures (published: {} and {}).",
             gb_per_s(of(3)), compared(of(3), of(5)), compared(of(3), of(6)), then(3, 5), then(3, 6))}};
}

Verdict judge_granularity(const std::array<double, 4>& best) {
    const double next = std::max({best[1], best[2], best[3]});
    return {by(best[0] > 1.15 * next, best[0] > next),
            fmt::format("A thread a block, {}, is {} the best way to share one, shuffles included; 2, 4 and 16 threads "
                        "reach {}, {} and {} (published, without shuffles: {}).",
                        gb_per_s(best[0]), compared(best[0], next), gb_per_s(best[1]), gb_per_s(best[2]),
                        gb_per_s(best[3]), then(3, 7))};
}

Verdict judge_waiting(double barrier, double warp, double shuffled) {
    return {by(warp > 1.03 * barrier, warp > barrier),
            fmt::format(
                "Four threads a block that wait for their warp alone are {} those that wait for the thread block, {} "
                "and {}; without shared memory between them they reach {}.",
                compared(warp, barrier), gb_per_s(warp), gb_per_s(barrier), gb_per_s(shuffled))};
}

std::vector<Verdict> judge_tables(const TablePlaces& t) {
    const bool pays = t.shared > 1.2 * t.one, pays_without_waiting = t.copies > 1.2 * t.one_copies;
    const std::string without_waiting =
        fmt::format(" Where no lane waits for another, {} and {}, they are {} one{}.", gb_per_s(t.copies),
                    gb_per_s(t.one_copies), compared(t.copies, t.one_copies),
                    !pays && pays_without_waiting ? ": there rotations count, here waiting for banks hides them" : "");
    return {
        {by(t.shared > 3 * t.constant, t.shared > 1.2 * t.constant),
         fmt::format("Tables in shared memory, {}, are {} tables in constant memory, {} (published: {}).",
                     gb_per_s(t.shared), compared(t.shared, t.constant), gb_per_s(t.constant), then(2, 1))},
        {by(pays, t.shared > 1.03 * t.one),
         fmt::format("Four tables in shared memory are {} one and rotations, {} and {} (published: {}).{}",
                     compared(t.shared, t.one), gb_per_s(t.shared), gb_per_s(t.one), then(3, 4), without_waiting)},
        {by(t.copies > 1.2 * t.shared, t.copies > t.shared),
         fmt::format("Beyond the published: a copy of the tables for each bank, where no lane waits for another, is {} "
                     "one copy, {}.",
                     compared(t.copies, t.shared), gb_per_s(t.copies))},
        {by(t.s_box > 1.03 * t.shared, t.s_box > 0.97 * t.shared),
         fmt::format("Beyond the published: with one copy, the S-box and arithmetic, {}, are {} four tables, {}.",
                     gb_per_s(t.s_box), compared(t.s_box, t.shared), gb_per_s(t.shared))}};
}

std::vector<Verdict> judge_layouts(const Layouts& l) {
    const double slower = std::max(l.soa, l.aos);
    const bool alone = l.soa > l.aos,
               together = l.aos_of_two >= 0.97 * l.soa_of_two && l.aos_of_four >= 0.97 * l.soa_of_four;
    return {
        {by(l.registers > 1.1 * slower, l.registers > 1.02 * slower),
         fmt::format("A state in registers, {}, is {} a structure of arrays in shared memory, {}, and {} an array of "
                     "structures, {} (published: {} and {}).",
                     gb_per_s(l.registers), compared(l.registers, l.soa), gb_per_s(l.soa), compared(l.registers, l.aos),
                     gb_per_s(l.aos), then(3, 5), then(3, 6))},
        {by(alone && together, alone || together),
         fmt::format(
             "The structure of arrays is {} the array of structures where a thread has a block, {} it where two "
             "threads share one, and {} it where four do (published: {}, {} and {}).",
             compared(l.soa, l.aos), compared(l.soa_of_two, l.aos_of_two), compared(l.soa_of_four, l.aos_of_four),
             then(5, 6), then(9, 7), then(12, 10))}};
}

Verdict judge_staying(std::span<const unsigned> blocks, const Series& stays, double once) {
    const double best = at(stays, place_of_most(stays));
    std::size_t enough = 0;
    while (at(stays, enough) < 0.95 * best) ++enough;
    return {by(best > 0.97 * once && blocks[enough] <= 8, best > 0.97 * once),
            fmt::format(
                "Threads that stay reach {} at best, and 95 % of it with {} thread block{} a multiprocessor; a thread "
                "for each block of text reaches {}.",
                gb_per_s(best), blocks[enough], blocks[enough] == 1 ? "" : "s", gb_per_s(once))};
}

Verdict judge_schemes(std::size_t bytes, const std::array<double, 3>& constant, const std::array<double, 3>& shared) {
    const auto best = [](const std::array<double, 3>& s) {
        return static_cast<std::size_t>(std::max_element(s.begin(), s.end()) - s.begin());
    };
    constexpr std::array names{"first scheme, one thread a block,", "second scheme, four threads a block,",
                               "third scheme, sixteen threads a block,"};
    const bool same = best(constant) == best(shared);
    return {by(best(constant) == 1, best(shared) == 1),
            fmt::format("At {} the {} is the fastest with tables in constant memory ({} with one, four and sixteen "
                        "threads), {} with tables in shared memory ({}); published: the second.",
                        size_name(bytes), names[best(constant)], in_a_row(constant),
                        same ? "and" : fmt::format("the {}", names[best(shared)]), in_a_row(shared))};
}

std::vector<Verdict> judge_texture(const std::vector<double>& x, const Series& constant, const Series& texture,
                                   double shared, double copies) {
    // From where on texture is ahead for good.
    std::size_t ahead = x.size();
    while (ahead > 0 && at(texture, ahead - 1) > at(constant, ahead - 1)) --ahead;
    const std::string where = ahead == 0          ? "is ahead of constant memory at every length"
                              : ahead == x.size() ? "is not ahead of constant memory for long texts"
                                                  : fmt::format("is ahead of constant memory from {} on",
                                                                size_name(static_cast<std::size_t>(x[ahead])));
    const double t = at(texture, x.size() - 1), c = at(constant, x.size() - 1);
    return {{by(ahead < x.size() && t > 1.05 * c, ahead < x.size()),
             fmt::format("Texture memory {}: {} and {} at {} (published: from 512 KB on, 1.5 times as fast at 8 MB).",
                         where, gb_per_s(t), gb_per_s(c), size_name(static_cast<std::size_t>(x.back())))},
            {by(t >= shared, t > 0.9 * shared),
             fmt::format(
                 "As the place for tables texture memory is {} shared memory with one copy, {}, and {} a copy for each "
                 "bank, {}.",
                 compared(t, shared), gb_per_s(shared), compared(t, copies), gb_per_s(copies))}};
}

Verdict judge_teams(const Series& encryption, const Series& decryption) {
    constexpr std::array names{"One thread a block is", "Two threads a block are", "Four threads a block are",
                               "Sixteen threads a block are"};
    const std::size_t best = place_of_most(encryption);
    return {by(best == 0, at(encryption, 0) > 0.97 * at(encryption, best)),
            fmt::format("{} fastest: 1, 2, 4 and 16 threads encrypt {}, {}, {} and {} and decrypt {}, {}, {} and {}.",
                        names[best], gb_per_s(at(encryption, 0)), gb_per_s(at(encryption, 1)),
                        gb_per_s(at(encryption, 2)), gb_per_s(at(encryption, 3)), gb_per_s(at(decryption, 0)),
                        gb_per_s(at(decryption, 1)), gb_per_s(at(decryption, 2)), gb_per_s(at(decryption, 3)))};
}

Range range_of(const Series& series) {
    const auto [least, most] =
        std::minmax_element(series.values.begin(), series.values.end(), [](auto a, auto b) { return *a < *b; });
    return {**most, **least};
}

Verdict judge_block_sizes(const Range& speeds) {
    const bool matters = speeds.most > 1.15 * speeds.least;
    return {by(matters, true), fmt::format("The size of a thread block {}: the best is {} the worst, {} and {}.",
                                           matters ? "matters" : "hardly matters", compared(speeds.most, speeds.least),
                                           gb_per_s(speeds.most), gb_per_s(speeds.least))};
}

Verdict judge_memories(const Range& tables, const Range& keys, double slowest) {
    namespace paper = published::paracrypt;
    const bool hidden = slowest > paper::disk_mb_per_s / 1000, behind_bus = slowest > paper::bus_gb_per_s;
    return {by(tables.most < 1.3 * tables.least && keys.most < 1.3 * keys.least, hidden),
            fmt::format("The best memory for tables is {} the worst, {} and {}, and for keys {} the worst, {} and {}; "
                        "the slowest of the nine, {}, is {} than the published disk, {:.0f} MB/s, behind which their "
                        "differences were hidden, and {} than its bus, {:.0f} GB/s.",
                        compared(tables.most, tables.least), gb_per_s(tables.most), gb_per_s(tables.least),
                        compared(keys.most, keys.least), gb_per_s(keys.most), gb_per_s(keys.least), gb_per_s(slowest),
                        hidden ? "faster" : "slower", paper::disk_mb_per_s, behind_bus ? "faster" : "slower",
                        paper::bus_gb_per_s)};
}

Verdict judge_words(double registers, double shared) {
    return {
        by(shared > 1.1 && registers > 1.1, shared > 1.1 || registers > 1.1),
        fmt::format("Words are {} bytes where the state is in registers, and {} bytes where it is in shared memory.",
                    compared(registers, 1), compared(shared, 1))};
}

Verdict judge_launch_orders(const Range& speeds) {
    return {by(speeds.most < 1.05 * speeds.least, speeds.most < 1.2 * speeds.least),
            fmt::format("The best order in which text is taken is {} the worst, {} and {}.",
                        compared(speeds.most, speeds.least), gb_per_s(speeds.most), gb_per_s(speeds.least))};
}

Verdict judge_calculator(unsigned full, unsigned wrong, std::size_t sizes) {
    const std::size_t published = published::damjanovic::full_occupancy_threads.size();
    return {
        by(full == published && wrong == 0, full == published),
        fmt::format("The calculator finds {} of the {} published sizes full on compute capability 2.1, and here it {}.",
                    full, published,
                    wrong == 0 ? std::string("agrees with the runtime for every size")
                               : fmt::format("contradicts the runtime for {} of {} sizes", wrong, sizes))};
}

Verdict judge_occupancy(std::span<const unsigned> x, const std::vector<std::optional<double>>& warps,
                        const Series& speeds) {
    const double most = **std::max_element(warps.begin(), warps.end(), [](auto a, auto b) { return *a < *b; });
    const std::size_t best = place_of_most(speeds);
    double best_full = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (*warps[i] == most) best_full = std::max(best_full, at(speeds, i));
    }
    const bool good = best_full >= 0.97 * at(speeds, best);
    if (*warps[best] == most) {
        return {Holds::yes, fmt::format("Occupancy is a good guide: the fastest size, {} threads with {}, has all "
                                        "{:.0f} warps that there can be.",
                                        x[best], gb_per_s(best_full), most)};
    }
    return {by(good, best_full >= 0.9 * at(speeds, best)),
            fmt::format(
                "Occupancy {} a good guide: the best size with all {:.0f} warps that there can be reaches {}, the "
                "fastest of all, {} threads with {:.0f} warps, {}.",
                good ? "is" : "is not", most, gb_per_s(best_full), x[best], *warps[best], gb_per_s(at(speeds, best)))};
}

std::vector<Verdict> judge_table_study(const Series& single, const Series& quad) {
    constexpr std::array memories{"texture", "constant", "shared"};
    std::size_t place = 0;
    bool is_quad = false;
    double fastest = 0;
    for (const bool four : {false, true}) {
        for (std::size_t i = 0; i < memories.size(); ++i) {
            const double speed = at(four ? quad : single, i);
            if (speed > fastest) fastest = speed, place = i, is_quad = four;
        }
    }
    const double copies = std::max(at(quad, 3), at(single, 3));
    return {{by(is_quad && place == 2, at(quad, 2) > 0.95 * fastest),
             fmt::format(
                 "Of tables without copies the {} in {} memory is the fastest, {} (published: the quad table in shared "
                 "memory, {}).",
                 is_quad ? "quad table" : "single table", memories[place], gb_per_s(fastest),
                 gb_per_s(published::gb_per_s_of_mbit(published::harrison::ctr_kernel_mbit_per_s)))},
            {by(copies <= fastest, false),
             fmt::format(
                 "A copy for each bank, which did not pay in 2008, is {} the fastest without: {} with the quad table, "
                 "{} with the single one.",
                 compared(copies, fastest), gb_per_s(at(quad, 3)), gb_per_s(at(single, 3)))}};
}

Verdict judge_contenders(const std::string& mode, const std::array<double, 5>& best) {
    const double others = std::max({best[0], best[1], best[2]});
    return {by(best[3] > same_within * others, best[3] > 0.95 * others),
            fmt::format(
                "{}: production's kernels, {}, are {} the fastest contender; the published way with one copy of the "
                "tables reaches {}, a copy for each bank {}, bitsliced {}, and a bare copy {}.",
                mode, gb_per_s(best[3]), compared(best[3], others), gb_per_s(best[0]), gb_per_s(best[1]),
                gb_per_s(best[2]), gb_per_s(best[4]))};
}

std::string in_words(double t) {
    return t >= no_doubt ? "beyond measure" : fmt::format("{:.4g}", t);
}

std::vector<Verdict> judge_leakage(const Leakage& leakage) {
    std::vector<std::string> meeting, apart, production;
    bool any_clear = false, all_meeting = true;
    double of_apart = 0, of_production = 0;
    std::size_t fewest = ~std::size_t{0};
    for (const Leakage::Kernel& k : leakage.kernels) {
        const std::string said = fmt::format("{} {}", k.name, in_words(k.t));
        if (k.production) {
            production.push_back(said);
            of_production = std::max(of_production, k.t);
            fewest = std::min(fewest, k.times);
        } else if (k.meets) {
            meeting.push_back(said);
            any_clear = any_clear || k.t > leaks_clearly;
            all_meeting = all_meeting && k.t > leaks_clearly;
        } else {
            apart.push_back(said);
            of_apart = std::max(of_apart, k.t);
        }
    }
    return {{by(all_meeting, any_clear), fmt::format("Tables in which lanes meet {} what is looked up (|t|: {}).",
                                                     all_meeting ? "tell by their time"
                                                     : any_clear ? "tell, not all of them, by their time"
                                                                 : "do not clearly tell by their time",
                                                     fmt::join(meeting, ", "))},
            {by(of_apart < leaks_from, false),
             fmt::format("Where no lane waits for another {} (|t|: {}).",
                         of_apart < leaks_from ? "time tells nothing" : "time still differs beyond chance",
                         fmt::join(apart, ", "))},
            {by(of_production < leaks_from, false),
             fmt::format("Of production {}, in at least {} measurements of each (|t|: {}).",
                         of_production < leaks_from ? "time tells nothing" : "time differs beyond chance",
                         fmt::group_digits(fewest), fmt::join(production, ", "))}};
}

}  // namespace lab::experiments
