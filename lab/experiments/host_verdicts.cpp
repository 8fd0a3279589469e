#include "lab/experiments/host_verdicts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "lab/experiments/panels.hpp"
#include "lab/published.hpp"

namespace lab::experiments {

namespace {

using Holds = Verdict::Holds;
namespace paper = published::harrison;

double at(const Series& series, std::size_t i) {
    return *series.values[i];
}
double least(const Series& series) {
    return **std::min_element(series.values.begin(), series.values.end());
}
double most(const Series& series) {
    return **std::max_element(series.values.begin(), series.values.end());
}
/// Where `most` is.
std::size_t place_of_most(const Series& series) {
    return static_cast<std::size_t>(std::max_element(series.values.begin(), series.values.end()) -
                                    series.values.begin());
}
std::string name_of_size(double bytes) {
    return size_name(static_cast<std::size_t>(bytes));
}
/// "30 %": by how much `a` is more than `b`; with a minus if it is less.
std::string more(double a, double b) {
    return fmt::format("{:.0f} %", (a / b - 1) * 100);
}
/// "16 %"; "0 %", not "-0 %"
std::string whole_percent(double percent) {
    const double whole = std::round(percent);
    return fmt::format("{:.0f} %", whole == 0 ? 0 : whole);
}
/// "16,384"
std::string grouped(double whole) {
    return fmt::format("{}", fmt::group_digits(static_cast<std::uint64_t>(whole)));
}
/// "1 block", "16,384 blocks"
std::string blocks_name(double blocks) {
    return grouped(blocks) + (blocks == 1 ? " block" : " blocks");
}
/// Both of two things, one of them, none.
Holds both(bool one, bool other) {
    return one && other ? Holds::yes : one || other ? Holds::partly : Holds::no;
}

}  // namespace

Verdict judge_overlap(std::span<const int> chunks, const Series& rates, const Series& hidden, double kernel_share) {
    const auto four = static_cast<std::size_t>(
        std::find(chunks.begin(), chunks.end(), published::gibadullin::overlap.chunks) - chunks.begin());
    const double gain = at(rates, four) / at(rates, 0) - 1;
    const Holds holds = gain >= 0.25 ? Holds::yes : gain > 0.05 ? Holds::partly : Holds::no;
    const char* limit = kernel_share < 0.2 ? ", so that what is left to gain is copying both ways at once" : "";
    return {holds,
            fmt::format("Published: four chunks raise the throughput by 68 % and hide 65 % of the transfers. Here "
                        "they raise it by {} and hide {:.0f} %; the best number of chunks, {}, gives {} against {} "
                        "in one, of which the kernel takes {:.0f} % of the time{}.",
                        more(at(rates, four), at(rates, 0)), at(hidden, four), chunks[place_of_most(rates)],
                        gb_per_s(most(rates)), gb_per_s(at(rates, 0)), 100 * kernel_share, limit)};
}

Verdict judge_streams(const Series& rates, std::size_t staging_bytes) {
    const double one = at(rates, 0), two = at(rates, 1), four = at(rates, 2), eight = at(rates, 3);
    const Holds holds = four > 1.03 * one ? Holds::yes : four > one ? Holds::partly : Holds::no;
    return {holds,
            fmt::format("Published: four streams gain up to 7 %, in a program that waits for its disk. From memory "
                        "to memory, in buffers of {}, four streams gain {} over one ({} against {}), two {}, eight "
                        "{}.",
                        size_name(staging_bytes), more(four, one), gb_per_s(four), gb_per_s(one), more(two, one),
                        more(eight, one))};
}

Verdict judge_mapped(const std::vector<double>& x, const Series& plain, const Series& overlapped,
                     const Series& mapped) {
    std::size_t ahead_of_plain = 0, ahead_of_overlapped = 0, last_ahead = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (at(mapped, i) > at(plain, i)) ++ahead_of_plain;
        if (at(mapped, i) > at(overlapped, i)) ++ahead_of_overlapped, last_ahead = i;
    }
    const std::size_t last = x.size() - 1;
    const Holds holds = ahead_of_plain == x.size() && ahead_of_overlapped == x.size() ? Holds::yes
                        : 2 * ahead_of_plain > x.size()                               ? Holds::partly
                                                                                      : Holds::no;
    const std::string against = ahead_of_overlapped == 0
                                    ? "are ahead of it at every size"
                                    : fmt::format("are behind it at {} of {} sizes, last at {}", ahead_of_overlapped,
                                                  x.size(), name_of_size(x[last_ahead]));
    return {holds,
            fmt::format("Published: mapped, write-combined memory is faster than page-locked copies at every "
                        "size, almost three times at 8 MB. Here, at {}, it is {} as fast as copies one after the "
                        "other ({} against {}), and ahead of them at {} of {} sizes; copies that overlap reach {} "
                        "there and {}.",
                        name_of_size(x[last]), times(at(mapped, last) / at(plain, last)), gb_per_s(at(mapped, last)),
                        gb_per_s(at(plain, last)), ahead_of_plain, x.size(), gb_per_s(at(overlapped, last)), against)};
}

Verdict judge_breakdown(const std::vector<double>& x, const Series& compute) {
    std::string until = "at no size", from = "at no size";
    bool compute_first = true, transfers_last = true;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const bool mostly_compute = at(compute, i) > 50;
        if (mostly_compute) until = fmt::format("up to {}", name_of_size(x[i]));
        if (x[i] < static_cast<double>(published::gu::compute_dominates_below)) compute_first &= mostly_compute;
        if (x[i] > static_cast<double>(published::gu::transfers_dominate_above)) transfers_last &= !mostly_compute;
    }
    for (std::size_t i = x.size(); i-- > 0 && at(compute, i) <= 50;)
        from = fmt::format("from {} on", name_of_size(x[i]));
    return {
        both(compute_first, transfers_last),
        fmt::format("Published: computing takes most of the time below 32 KB, transfers above 128 KB. Here, with the "
                    "kernel that the paper found best, computing takes more than half {} and transfers {}; at {} "
                    "transfers take {:.0f} % of the time.",
                    until, from, name_of_size(x.back()), 100 - at(compute, x.size() - 1))};
}

Verdict judge_reads(const Series& coherent, const Series& random) {
    const double constant = at(random, 0), shared = at(random, 1), replicated = at(random, 2), texture = at(random, 3);
    return {both(shared > std::max(constant, texture), at(coherent, 0) > 2 * constant),
            fmt::format(
                "Published: shared memory is the place for tables that are read at random, constant memory only for "
                "what all lanes read together. Here a multiprocessor answers {:.1f} random reads a clock from shared "
                "memory and {:.2g} from constant memory, which answers {} as many coherent ones; {:.2g} from "
                "textures, {:.2g} from the first-level cache, and {:.3g} where shared memory holds the table once for "
                "each bank, {} as many as with one copy.",
                shared, constant, times(at(coherent, 0) / constant), texture, at(random, 4), replicated,
                times(replicated / shared))};
}

Verdict judge_counter_mode(double alone, double with_transfers, double production, double production_with_transfers) {
    const double published_alone = published::gb_per_s_of_mbit(paper::ctr_kernel_mbit_per_s);
    const double published_with = published::gb_per_s_of_mbit(paper::ctr_with_transfers_mbit_per_s);
    const double kept = with_transfers / alone, published_kept = published_with / published_alone;
    const Holds holds = kept <= published_kept             ? Holds::yes
                        : kept <= (1 + published_kept) / 2 ? Holds::partly
                                                           : Holds::no;
    return {holds, fmt::format(
                       "Published: transfers leave {:.0f} % of the kernel's throughput, so that the bus is the limit "
                       "of what the host can have. Here they leave {:.1f} % of the same kernel's, {} of {}: alone it "
                       "has become {} as fast, with transfers {}. Production reaches {} on the device and {} from host "
                       "memory to host memory.",
                       100 * published_kept, 100 * kept, gb_per_s(with_transfers), gb_per_s(alone),
                       times(alone / published_alone), times(with_transfers / published_with), gb_per_s(production),
                       gb_per_s(production_with_transfers))};
}

Verdict judge_overhead(const std::vector<double>& x, const Overheads& o) {
    std::string with_transfers, kernel, production, beyond, alone;
    double of_long = 0, of_short = 0, least_beyond = 0, most_beyond = 0;
    bool grows = true;
    for (const auto& published : paper::overhead) {  // from long messages to short ones
        const auto place = std::find(x.begin(), x.end(), static_cast<double>(published.message_blocks));
        if (place == x.end()) continue;
        const auto i = static_cast<std::size_t>(place - x.begin());
        const bool first = with_transfers.empty();
        const double model = at(o.with_transfers, i);
        if (first) of_long = model, least_beyond = most_beyond = o.beyond_us[i];
        grows = first || (grows && model >= of_short - 1);
        of_short = model;
        least_beyond = std::min(least_beyond, o.beyond_us[i]);
        most_beyond = std::max(most_beyond, o.beyond_us[i]);
        const char* comma = first ? "" : ", ";
        with_transfers += fmt::format("{}{} with {}", comma, whole_percent(model), grouped(x[i]));
        kernel += fmt::format("{}{}", comma, whole_percent(at(o.kernel, i)));
        production += fmt::format("{}{}", comma, whole_percent(at(o.production, i)));
        beyond += fmt::format("{}{:.0f}", comma, o.beyond_us[i]);
        alone += fmt::format("{}{:.0f}", comma, o.message_us[i]);
    }
    if (with_transfers.empty()) return {Holds::open, "No messages were as long as one of the paper's."};
    const bool is_fixed = least_beyond > 0 && most_beyond < 3 * least_beyond;
    return {both(grows && of_short > of_long + 5, of_short > 10),
            fmt::format("Published: with transfers the data model costs 16 % with messages of 16,384 blocks, 22 % with "
                        "512 and 45 % with 16. Rebuilt here, with transfers, it costs {}; its kernel alone {}. "
                        "Production's batches in device memory, one after the other, cost {}, submitting and checking "
                        "included; one by itself takes {} µs beyond the {} µs of one message{}.",
                        with_transfers, kernel, production, beyond, alone,
                        is_fixed ? ", mostly what any batch costs, whatever its messages" : "")};
}

Verdict judge_rekeying(const std::vector<double>& x, const Rekeying& model, const Rekeying& production) {
    const std::size_t last = x.size() - 1;
    const auto slower = [](const Rekeying& r, std::size_t i) { return at(r.one, i) / at(r.each, i); };
    const double small = slower(production, 0), large = slower(production, last);
    return {
        both(small > 1.25, large > 1.25),
        fmt::format("Published: a new key for every message costs, as the CPU expands each. In the model, a key each "
                    "takes {} as long as one key for all with messages of {} and {} with {}; in production, "
                    "whose GPU expands them, {} and {}.",
                    times(slower(model, 0)), blocks_name(x[0]), times(slower(model, last)), blocks_name(x[last]),
                    times(small), times(large))};
}

Verdict judge_serial_counts(const std::vector<double>& counts, const Series& rates, std::size_t row) {
    const auto of_count = [&](std::size_t i) { return rates.values[row * counts.size() + i].value_or(0); };
    std::size_t best = 0;
    for (std::size_t i = 1; i < counts.size(); ++i) {
        if (of_count(i) > of_count(best)) best = i;
    }
    const double few = of_count(0), many = of_count(best);
    const Holds holds = many > 4 * few ? Holds::yes : many > 1.5 * few ? Holds::partly : Holds::no;
    return {holds,
            fmt::format("Published: serial modes need very many messages at a time, as one thread takes one message. "
                        "Here production's CBC does {} with {} messages and at best {}, with {}: {} as much.",
                        gb_per_s(few), grouped(counts[0]), gb_per_s(many), grouped(counts[best]), times(many / few))};
}

Verdict judge_distance(const std::vector<double>& x, const Series& model, const Series& production) {
    const auto far =
        static_cast<std::size_t>(std::find(x.begin(), x.end(), static_cast<double>(paper::stride_blocks)) - x.begin());
    if (far == x.size()) return {Holds::open, "No messages were 128 blocks apart."};
    const double best = most(model);
    const Holds holds = at(model, far) < best / 2     ? Holds::yes
                        : at(model, far) < 0.8 * best ? Holds::partly
                                                      : Holds::no;
    return {
        holds,
        fmt::format("Published: reads collapse where threads' messages lie 128 blocks and more apart. Here the "
                    "same kernel does {} with neighbouring blocks in neighbouring threads, {} at its best, {} at "
                    "128 blocks and {} at {}; production, which moves whole lines through shared memory, is at 128 "
                    "blocks {} at the least distance.",
                    gb_per_s(at(model, 0)), gb_per_s(best), gb_per_s(at(model, far)), gb_per_s(at(model, x.size() - 1)),
                    grouped(x.back()), compared(at(production, far), at(production, 0)))};
}

Verdict judge_orders(const Series& natural, const Series& striped, const Series& production) {
    const auto spread = [](const Series& s) { return most(s) / least(s); };
    const auto worst = static_cast<std::size_t>(std::min_element(natural.values.begin(), natural.values.end()) -
                                                natural.values.begin());
    const bool best_holds = at(natural, paper::mixed_best_order - 1) >= 0.95 * most(natural);
    const bool worst_holds = at(natural, paper::mixed_worst_order - 1) <= 1.05 * least(natural);
    const bool matters = spread(natural) > 1.1;
    return {
        matters ? both(best_holds, worst_holds) : Holds::no,
        fmt::format(
            "Published: order 7 is the best and order 1 the worst, so that a client should group serial messages "
            "by size and spread the groups. In the model, which takes messages as they come, order {} is the best "
            "here ({}) and order {} the worst ({}), a factor of {:.2f}; with striped threads {:.2f}. Production orders "
            "messages itself: {} to {}, a factor of {:.2f}.",
            place_of_most(natural) + 1, gb_per_s(most(natural)), worst + 1, gb_per_s(least(natural)), spread(natural),
            spread(striped), gb_per_s(least(production)), gb_per_s(most(production)), spread(production))};
}

}  // namespace lab::experiments
