// [H] Harrison, Waldron.
#include <algorithm>
#include <array>

#include "lab/claims/words.hpp"

namespace lab::claims {

namespace {

namespace harrison = published::harrison;

constexpr const char* reads_title = "Reads a clock and multiprocessor";

Verdict random_reads(const Figures& figures) {
    const Row random = figures.row("H.reads", reads_title, "random");
    const Figure shared = random.at(std::string("shared")), constant = random.at(std::string("constant")),
                 texture = random.at(std::string("texture"));
    const Order first = order_of(shared, constant), second = order_of(shared, texture);
    return verdict(
        both(first == Order::ahead, second == Order::ahead),
        fmt::format("A multiprocessor answers {:.3g} random reads a clock from shared memory, {:.2g} from constant "
                    "memory and {:.2g} from textures.",
                    shared.value, constant.value, texture.value));
}

Verdict coherent_reads(const Figures& figures) {
    const Figure coherent = figures.row("H.reads", reads_title, "coherent: one word").at(std::string("constant")),
                 random = figures.row("H.reads", reads_title, "random").at(std::string("constant"));
    const Ratio r = over(coherent, random);
    return verdict(
        at_both_ends(r, [](double x) { return x >= 2         ? Holds::yes
                                              : x >= 1 + tie ? Holds::partly
                                                             : Holds::no; }),
        fmt::format("Constant memory answers {} as many reads of one word by all lanes as random ones.",
                    times(r.value)));
}

constexpr const char* single_or_four_title = "A single table or four";

Verdict shared_fastest(const Figures& figures) {
    const Row quad = figures.row("H.tables", single_or_four_title, "quad table"),
              single = figures.row("H.tables", single_or_four_title, "single table, rotations");
    const auto best = [&](const char* memory) {
        const Figure a = quad.at(std::string(memory)), b = single.at(std::string(memory));
        return a.value > b.value ? a : b;
    };
    const Figure shared = best("shared"), texture = best("texture"), constant = best("constant");
    const Figure next = texture.value > constant.value ? texture : constant;
    const Ratio r = over(shared, next);
    return verdict(by_gain(r), fmt::format("Without copies, tables in shared memory, {}, are {} the next, {}.",
                                           gb_per_s(shared), compared(r), gb_per_s(next)));
}

Verdict quad_table(const Figures& figures) {
    const Figure quad = figures.row("H.tables", single_or_four_title, "quad table").at(std::string("shared")),
                 single =
                     figures.row("H.tables", single_or_four_title, "single table, rotations").at(std::string("shared"));
    const Ratio r = over(quad, single);
    return verdict(by_gain(r), fmt::format("In shared memory four tables, {}, are {} one and rotations, {}.",
                                           gb_per_s(quad), compared(r), gb_per_s(single)));
}

Verdict copies_of_the_best(const Figures& figures) {
    const Row quad = figures.row("H.tables", single_or_four_title, "quad table"),
              single = figures.row("H.tables", single_or_four_title, "single table, rotations");
    const std::string each = "shared, one copy a bank", one = "shared";
    const Figure with = quad.at(each).value > single.at(each).value ? quad.at(each) : single.at(each),
                 without = quad.at(one).value > single.at(one).value ? quad.at(one) : single.at(one);
    const Ratio r = over(with, without);
    return verdict(
        at_both_ends(r, [](double x) { return x < 1 + tie ? Holds::yes
                                              : x < 1.1   ? Holds::partly
                                                          : Holds::no; }),
        fmt::format("A copy of the tables for each bank, {}, is {} one copy, {}.", gb_per_s(with), compared(r),
                    gb_per_s(without)));
}

struct CounterMode {
    explicit CounterMode(const Figures& figures) {
        const Row a = figures.row("H.ctr", "CTR, kernel alone", "four tables in shared memory"),
                  w = figures.row("H.ctr", "CTR with transfers",
                                  "four tables in shared memory, one step after the other");
        alone = a[a.best()], with = w[w.best()];
    }
    Figure alone, with;
};

Verdict transfers(const Figures& figures) {
    const CounterMode ctr(figures);
    const Ratio r = over(ctr.with, ctr.alone);
    return verdict(
        at_both_ends(r, [](double x) { return x <= 0.55  ? Holds::yes
                                              : x <= 0.8 ? Holds::partly
                                                         : Holds::no; }),
        fmt::format("Transfers leave {:.1f} % of the kernel's throughput, {} of {} (published: 45 %).", 100 * r.value,
                    gb_per_s(ctr.with), gb_per_s(ctr.alone)));
}

Figure plain_cpp(const Figures& figures) {
    const Row cpp = figures.row("D.surfaces", "AES-128 encryption", "C++ with T-tables");
    return cpp[cpp.best()];
}

Verdict over_cpu_alone(const Figures& figures) {
    const CounterMode ctr(figures);
    const Ratio r = over(ctr.alone, plain_cpp(figures));
    return verdict(by_gain(r, 10),
                   fmt::format("The kernel alone, {}, is {} as fast as plain C++ with T-tables on one thread, "
                               "{} (in ECB, D.surfaces).",
                               gb_per_s(ctr.alone), times(r.value), gb_per_s(plain_cpp(figures))));
}

Verdict over_cpu_with(const Figures& figures) {
    const CounterMode ctr(figures);
    const Ratio r = over(ctr.with, plain_cpp(figures));
    return verdict(by_gain(r, 4),
                   fmt::format("With transfers, {}, it is {} as fast as plain C++ with T-tables on one thread, "
                               "{} (in ECB, D.surfaces).",
                               gb_per_s(ctr.with), times(r.value), gb_per_s(plain_cpp(figures))));
}

/// Verdict on the data model's overhead with transfers, in per cent, at the message sizes for which [H] has a figure.
Verdict overhead(const Figures& figures, std::initializer_list<std::pair<double, double>> published) {
    const Row cost = figures.row("H.overhead", "Overhead of many messages", "[H]'s model, with transfers");
    std::string said;
    Count kept, less;
    for (const auto& [blocks, percent] : published) {
        const double here = cost.at(blocks).value;
        const Figure again = in_another_run(here);
        const double wanted = percent * 2 / 3;
        kept.add(again.low >= wanted, (again.low >= wanted) != (again.high >= wanted));
        less.add_at_both_ends(again, [](double x) { return x >= 5; });
        said += fmt::format("{}{:.0f} % with messages of {} blocks (published: {:.0f} %)", said.empty() ? "" : ", ",
                            std::max(0.0, std::round(here)), fmt::group_digits(static_cast<unsigned>(blocks)), percent);
    }
    const auto rule = [&](std::size_t with, std::size_t some) {
        return with == published.size() ? Holds::yes : some > 0 ? Holds::partly : Holds::no;
    };
    const Holds at_least = rule(kept.is, less.is), at_most = rule(kept.is + kept.may, less.is + less.may);
    return verdict(at_least == at_most ? at_least : Holds::open,
                   fmt::format("With transfers the data model costs {}.", said));
}

Verdict overhead_long(const Figures& figures) {
    return overhead(figures, {{16384, 16}, {512, 22}});
}
Verdict overhead_short(const Figures& figures) {
    return overhead(figures, {{16, 45}});
}

Verdict rekeying(const Figures& figures) {
    const Row one = figures.row("H.rekeying", "A new key for every message", "[H]'s model, one key"),
              each = figures.row("H.rekeying", "A new key for every message", "[H]'s model, a key each, expanded");
    Count slower;
    for (std::size_t i = 0; i < one.size(); ++i) {
        slower.add_at_both_ends(in_another_run(over(one[i], each[i])), [](double x) { return x > 1.25; });
    }
    const std::size_t last = one.size() - 1;
    return verdict(
        by_count(slower),
        fmt::format("In the model, a key for each message takes {} as long as one key for all with messages of "
                    "{:.0f} block and {} with {:.0f} blocks.",
                    times(one[0].value / each[0].value), one.x()[0], times(one[last].value / each[last].value),
                    one.x()[last]));
}

Verdict serial_counts(const Figures& figures) {
    const Panel& panel = figures.panel("H.serial", "CBC encryption: [H]'s model");
    const Row rates = Figures::row(panel, "[H]'s model");
    const std::size_t row = rates.rows() / 2;
    std::size_t most = 0;
    for (std::size_t i = 0; i < rates.columns(); ++i) {
        if (rates.has(row * rates.columns() + i)) most = i;
    }
    const Ratio r = over(rates.at(most, row), rates.at(0, row));
    return verdict(
        at_both_ends(r, [](double x) { return x > 4     ? Holds::yes
                                              : x > 1.5 ? Holds::partly
                                                        : Holds::no; }),
        fmt::format("The model's CBC does {} with {:.0f} messages of {:.0f} blocks and {} with {:.0f}, {} as much.",
                    gb_per_s(rates.at(0, row)), rates.x()[0], panel.y.values[row], gb_per_s(rates.at(most, row)),
                    rates.x()[most], times(r.value)));
}

Verdict serial_alike(const Figures& figures) {
    const char* title = "Serial modes by number of messages";
    const Row cbc = figures.row("H.serial", title, "CBC"), ofb = figures.row("H.serial", title, "OFB"),
              cfb = figures.row("H.serial", title, "CFB");
    Count alike;
    double most = 1;
    const auto by_value = [](const Figure& a, const Figure& b) { return a.value < b.value; };
    for (std::size_t i = 0; i < cbc.size(); ++i) {
        if (!cbc.has(i) || !ofb.has(i) || !cfb.has(i)) continue;
        const auto [low, high] = std::minmax({cbc[i], ofb[i], cfb[i]}, by_value);
        const Ratio apart = over(high, low);
        alike.add_at_both_ends(apart, [](double x) { return x <= 1.15; });
        most = std::max(most, apart.value);
    }
    return verdict(by_count(alike), fmt::format("CBC, OFB and CFB encryption are within {} of each other at every "
                                                "number of messages.",
                                                percent(most - 1)));
}

Verdict stride(const Figures& figures) {
    const Row reads = figures.row("H.reads", "Reads by the distance of neighbouring threads", "16 bytes a thread");
    const Figure far = reads.at(static_cast<double>(harrison::stride_blocks)), best = reads[reads.best()];
    const Ratio r = over(far, best);
    return verdict(at_both_ends(r, [](double x) { return x < 0.5   ? Holds::yes
                                                         : x < 0.8 ? Holds::partly
                                                                   : Holds::no; }),
                   fmt::format("Reads of threads 128 blocks apart do {}, at best {}.", gb_per_s(far), gb_per_s(best)));
}

/// The orders of the larger payload, with striped threads.
struct Orders {
    explicit Orders(const Figures& figures) {
        const char* title = "Seven orders, many times the messages";
        try {
            row.emplace(figures.row("H.mixing", title, "[H]'s model, striped threads"));
        } catch (const Missing&) {
            (void)figures.panel("H.mixing", "Seven orders of the same messages");  // throws if nothing was measured
            throw Missing(
                "in the paper's 16 MiB one chain of 2,048 blocks takes as long as all the rest, and no larger "
                "payload is in this record");
        }
    }
    [[nodiscard]] Figure operator()(int order) const { return (*row)[static_cast<std::size_t>(order - 1)]; }
    std::optional<Row> row;
};

Verdict packed(const Figures& figures) {
    const Orders of(figures);
    const Order first = order_of(of(3), of(1)), second = order_of(of(3), of(2));
    const Holds holds = first == Order::unclear || second == Order::unclear
                            ? Holds::open
                            : both(first == Order::ahead, second == Order::ahead);
    return verdict(holds, fmt::format("Order 3, {}, is {} order 1 and {} order 2.", gb_per_s(of(3)),
                                      compared(over(of(3), of(1))), compared(over(of(3), of(2)))));
}
Verdict step(const Figures& figures, int better, int worse) {
    const Orders of(figures);
    const Ratio r = over(of(better), of(worse));
    return verdict(by_gain(r), fmt::format("Order {}, {}, is {} order {}, {}.", better, gb_per_s(of(better)),
                                           compared(r), worse, gb_per_s(of(worse))));
}
Verdict grouping(const Figures& figures) {
    return step(figures, 5, 4);
}
Verdict spreading(const Figures& figures) {
    return step(figures, 6, 5);
}
Verdict sorting(const Figures& figures) {
    return step(figures, 7, 6);
}

Verdict striping(const Figures& figures) {
    const Row rate = figures.row("H.overhead", "Natural and striped threads", "[H]'s model, kernel alone");
    const Ratio r = over(rate.at(std::string("natural")), rate.at(std::string("striped")));
    return verdict(
        at_both_ends(r, [](double x) { return x <= 1.01   ? Holds::yes
                                              : x <= 1.05 ? Holds::partly
                                                          : Holds::no; }),
        fmt::format("Natural threads, {}, are {} striped ones, {}.", gb_per_s(rate.at(std::string("natural"))),
                    compared(r), gb_per_s(rate.at(std::string("striped")))));
}

Verdict registers_of_all_modes(const Figures& figures) {
    const char* title = "Registers a thread, by what the kernel knows";
    const Row alone = figures.row("H.modes", title, "this mode alone"),
              all = figures.row("H.modes", title, "all modes");
    const char* speeds = "A kernel for one mode, and the one for all";
    const Row own = figures.row("H.modes", speeds, "this mode alone"),
              mixed = figures.row("H.modes", speeds, "all modes");
    Count more;
    std::string by_mode, by_speed;
    for (std::size_t i = 0; i < alone.size(); ++i) {
        more.add(all[i].value > alone[i].value);
        by_mode += fmt::format("{}{} {:.0f}", i == 0 ? "" : ", ", alone.labels()[i], alone[i].value);
        by_speed += fmt::format("{}{:.2f}", i == 0 ? "" : ", ", mixed[i].value / own[i].value);
    }
    return verdict(by_count(more),
                   fmt::format("The kernel of all modes takes {:.0f} registers a thread, those of one mode {}; its "
                               "speed is {} times theirs.",
                               all[0].value, by_mode, by_speed));
}

Verdict page_locked_everywhere(const Figures& figures) {
    const char* title = "Copies in and out around the kernel";
    const Row locked = figures.row("P.host_memory", title, "page-locked"),
              pageable = figures.row("P.host_memory", title, "pageable");
    Count ahead;
    for (std::size_t i = 0; i < locked.size(); ++i) ahead.add_ahead(order_of(locked[i], pageable[i]));
    return verdict(by_count(ahead), fmt::format("Page-locked memory is ahead of pageable memory at {} of {} sizes.",
                                                ahead.is, ahead.of));
}

}  // namespace

std::vector<Claim> of_harrison() {
    constexpr Paper p = Paper::harrison;
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
    shown("H.memory-study", "5 billion reads from constant, shared and texture memory, coherent and random", "H.reads",
          "Reads a second");
    add("H.random-reads", "Shared memory is the place for random reads, before constant memory and textures", "H.reads",
        "yes if ahead of both by 1.5 % or more, in part of one", random_reads);
    add("H.coherent-reads", "Constant memory is for coherent reads", "H.reads",
        "yes if it answers twice as many coherent reads as random ones, in part if more", coherent_reads);
    shown("H.table-study", "One table and four, in texture, constant and shared memory", "H.tables",
          "A single table or four");
    add("H.shared-fastest", "Tables are fastest in shared memory", "H.tables", lead_rule, shared_fastest);
    add("H.quad-table", "In shared memory four tables are faster than one", "H.tables", lead_rule, quad_table);
    add("H.copies", "A table for each of the 16 banks does not pay", "H.tables",
        "yes if not ahead by 1.5 %, in part below 10 %", copies_of_the_best);
    shown("H.ctr-kernel", "CTR, kernel alone: 15,423 Mbit/s at most", "H.ctr",
          "fact: kernel alone, four tables in shared memory");
    shown("H.ctr-transfers", "CTR with transfers: 6,914 Mbit/s at most", "H.ctr",
          "fact: with transfers, one step after the other");
    shown("H.ctr-curve", "CTR over data size", "H.ctr", "CTR, kernel alone; CTR with transfers");
    add("H.transfers", "Transfers cost more than half of the kernel's throughput: they leave 45 %", "H.ctr",
        "yes if they leave at most 55 %, in part at most 80 %", transfers);
    add("H.over-cpu", "Ten times a CPU's 1,583 Mbit/s, kernel alone", "H.ctr", gain_rule, over_cpu_alone);
    add("H.over-cpu-transfers", "Four times a CPU's 1,583 Mbit/s, with transfers", "H.ctr", gain_rule, over_cpu_with);
    unmeasured("H.over-gpus", "Four times another GPU program's 3,584 Mbit/s, and twice with transfers",
               "other people's programs for other GPUs; no code");
    unmeasured("H.baselines", "1,151 and 870 Mbit/s of others", "other people's programs; no code");
    add("H.page-locked", "Page-locked host memory matters: ahead of pageable memory at every size", "P.host_memory",
        "yes if ahead by 1.5 % or more at every size, in part at most", page_locked_everywhere);
    shown("H.text-memory", "Text read from global memory or through textures", "H.tables", "Text by memory");
    shown("H.messages", "Parallel modes in the data model: 5,810 Mbit/s at most", "H.overhead",
          "Throughput by message size, with transfers");
    add("H.overhead-long", "The data model costs 16 % with messages of 16,384 blocks, 22 % with 512", "H.overhead",
        "yes from two thirds of both on, in part if 5 % or more of one", overhead_long);
    add("H.overhead-short", "The data model costs 45 % with messages of 16 blocks", "H.overhead",
        "yes from two thirds of it on, in part if 5 % or more", overhead_short);
    add("H.striping", "Striped threads cost 0.25 %", "H.overhead", "yes up to 1 %, in part up to 5 %", striping);
    add("H.rekeying", "A new key for every message costs, as the CPU expands each", "H.rekeying",
        "yes if one key for all is 1.25 times as fast at every message size, in part at most", rekeying);
    shown("H.key-table", "Expanded keys are found in a hash table", "H.rekeying", "a key each, found in its table");
    shown("H.serial-rates", "Serial modes by message size", "H.serial", "CBC encryption: [H]'s model");
    shown("H.fig4", "Fig. 4: serial modes by number of messages", "H.serial",
          "CBC encryption: [H]'s model, over messages");
    add("H.serial-counts", "Serial modes need very many messages at a time", "H.serial",
        "yes if the most messages do four times what the fewest do, in part 1.5 times", serial_counts);
    add("H.serial-alike", "OFB and CFB encryption behave like CBC", "H.serial",
        "yes within 15 % of each other at every number of messages, in part at most", serial_alike);
    add("H.stride",
        "Reads collapse where neighbouring threads' streams lie 128 blocks and more apart (a pure read test)",
        "H.reads", "yes if below half of the best distance, in part below 80 %", stride);
    shown("H.serial-parallel-2048", "Serial beside parallel messages of 2,048 blocks", "H.modes",
          "Serial beside parallel messages of 2,048 blocks");
    shown("H.cpu-ofb", "OFB on a CPU", "H.modes", "OFB on processors and GPU");
    add("H.registers", "Mixed modes in one kernel need more registers", "H.modes",
        "yes if the kernel of all modes takes more than each mode's own, in part than most", registers_of_all_modes);
    shown("H.mixing", "960 parallel messages of 512 blocks, 992 of 32, 1,024 serial ones in seven orders", "H.mixing",
          "Seven orders of the same messages");
    add("H.mixing-packed", "Order 3 is much faster than 1 and 2", "H.mixing",
        "yes if ahead of both by 1.5 % or more beyond the spread, in part of one", packed);
    add("H.mixing-groups", "First priority: serial messages in groups of 32 (5 beats 4)", "H.mixing", lead_rule,
        grouping);
    add("H.mixing-spread", "Second priority: groups spread evenly (6 beats 5)", "H.mixing", lead_rule, spreading);
    add("H.mixing-size", "Third priority: order by size (7 beats 6)", "H.mixing", lead_rule, sorting);
    unmeasured("H.future", "Future work: authenticated modes, cheaper mapping for small messages",
               "production does them; no figure was published");
    return claims;
}

}  // namespace lab::claims
