// [H] Harrison, Waldron.
#include <algorithm>
#include <array>

#include "lab/claims/words.hpp"

namespace lab::claims {

namespace {

namespace harrison = published::harrison;

constexpr const char* reads_title = "Reads a clock and multiprocessor";

/// Judges "much faster than both", given the ratios to both others: `yes` if both are at least 2, `partly` if the
/// subject is faster than both others.
Holds by_large_margin(const Ratio& a, const Ratio& b) {
    return at_both_ends({std::min(a.value, b.value), std::min(a.low, b.low), std::min(a.high, b.high)}, [](double x) {
        return x >= 2 ? Holds::yes : x >= 1 + tie ? Holds::partly : Holds::no;
    });
}

Verdict random_reads(const Figures& figures) {
    const Row random = figures.row("H.reads", reads_title, "random");
    const Figure shared = random.at(std::string("shared")), constant = random.at(std::string("constant")),
                 texture = random.at(std::string("texture"));
    return verdict(
        by_large_margin(over(shared, constant), over(shared, texture)),
        fmt::format(
            "A multiprocessor answers {:.3g} random reads per clock cycle from shared memory, {:.2g} from constant "
            "memory and {:.2g} from textures.",
            shared.value, constant.value, texture.value));
}

Verdict coherent_reads(const Figures& figures) {
    const Row coherent = figures.row("H.reads", reads_title, "coherent: one word");
    const Figure constant = coherent.at(std::string("constant")), shared = coherent.at(std::string("shared")),
                 texture = coherent.at(std::string("texture"));
    const Order first = order_of(constant, shared), second = order_of(constant, texture);
    return verdict(
        first == Order::unclear || second == Order::unclear ? Holds::open
                                                            : both(first == Order::ahead, second == Order::ahead),
        fmt::format("If all lanes read one word, a multiprocessor answers {:.3g} reads per clock cycle from constant "
                    "memory, {:.3g} from textures and {:.3g} from shared memory.",
                    constant.value, texture.value, shared.value));
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
    return verdict(by_gain(r),
                   fmt::format("Without copies, tables in shared memory, {}, are {} the next best tables, {}.",
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

Verdict copied_table(const Figures& figures) {
    const Figure copied = figures.row("H.tables", single_or_four_title, "single table, rotations")
                              .at(std::string("shared, one copy a bank")),
                 quad = figures.row("H.tables", single_or_four_title, "quad table").at(std::string("shared"));
    const Ratio r = over(copied, quad);
    return verdict(
        at_both_ends(r, [](double x) { return x < 1 + tie ? Holds::yes
                                              : x < 1.1   ? Holds::partly
                                                          : Holds::no; }),
        fmt::format("A single table with a copy for each bank, {}, is {} the quad table, {}.", gb_per_s(copied),
                    compared(r), gb_per_s(quad)));
}

Verdict global_text(const Figures& figures) {
    const Row rates = figures.row("H.tables", "Text by memory", "tables in shared memory");
    const Figure global = rates.at(std::string("global memory")), texture = rates.at(std::string("texture"));
    const Ratio r = over(global, texture);
    return verdict(by_gain(r), fmt::format("Text from global memory, {}, is {} text through textures, {}.",
                                           gb_per_s(global), compared(r), gb_per_s(texture)));
}

Verdict threads_256(const Figures& figures) {
    const Row speed = figures.row("P.threads", "Threads a thread block", "encryption");
    const Figure ours = speed.at(static_cast<double>(harrison::threads));
    std::size_t best = speed.size();
    for (std::size_t i = 0; i < speed.size(); ++i) {
        if (speed.x()[i] == harrison::threads || !speed.has(i)) continue;
        if (best == speed.size() || speed[i].value > speed[best].value) best = i;
    }
    const Ratio r = over(speed[best], ours);
    return verdict(
        at_both_ends(r, [](double x) { return x < 1 + tie ? Holds::yes
                                              : x <= 1.05 ? Holds::partly
                                                          : Holds::no; }),
        fmt::format("256 threads per thread block reach {}, and the next size, {:.0f}, reaches {}.", gb_per_s(ours),
                    speed.x()[best], gb_per_s(speed[best])));
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

Verdict many_threads(const Figures& figures) {
    const Row rates = figures.row("H.ctr", "CTR, kernel alone", "four tables in shared memory");
    const Ratio r = over(rates[0], rates[rates.best()]);
    return verdict(at_both_ends(r, [](double x) { return x < 0.5   ? Holds::yes
                                                         : x < 0.8 ? Holds::partly
                                                                   : Holds::no; }),
                   fmt::format("With {}, the kernel reaches {}, and with {}, it reaches {}.", size_of(rates.x()[0]),
                               gb_per_s(rates[0]), size_of(rates.x()[rates.best()]), gb_per_s(rates[rates.best()])));
}

Figure plain_cpp(const Figures& figures) {
    const Row cpp = figures.row("D.surfaces", "AES-128 encryption", "C++ with T-tables");
    return cpp[cpp.best()];
}

/// Returns the fastest single thread of this machine, a modern reading of "fastest CPU implementation".
std::string fastest_thread(const Figures& figures, const Figure& gpu) {
    try {
        const Panel& panel = figures.panel("W.worth", "Throughput by size and place");
        Figure best;
        std::string name;
        for (const Series& s : panel.series) {
            if (!s.name.ends_with(", one thread")) continue;
            const Row row(panel, s);
            if (row[row.best()].value > best.value) best = row[row.best()], name = s.name;
        }
        if (name.empty()) return "";
        return fmt::format(" Of the fastest thread here, {} at its best, {}, it is {}.", name, gb_per_s(best),
                           times(gpu.value / best.value));
    } catch (const Missing&) {
        return "";
    }
}

Verdict small_payloads(const Figures& figures) {
    const Row gpu =
                  figures.row("H.ctr", "CTR with transfers", "four tables in shared memory, one step after the other"),
              cpp = figures.row("D.surfaces", "AES-128 encryption", "C++ with T-tables");
    const auto at = std::find(cpp.x().begin(), cpp.x().end(), gpu.x()[0]);
    if (at == cpp.x().end()) throw Missing("the CPU was not measured at the smallest size");
    std::vector<Figure> cpu;
    for (std::size_t buffer = 0; buffer < cpp.rows(); ++buffer) {
        const std::size_t cell = buffer * cpp.columns() + static_cast<std::size_t>(at - cpp.x().begin());
        if (cpp.has(cell)) cpu.push_back(cpp[cell]);
    }
    if (cpu.empty()) throw Missing("the CPU was not measured at the smallest size");
    const Ratio r = over(best_figure(cpu), gpu[0]);
    return verdict(by_gain(r),
                   fmt::format("With {} plain C++ with T-tables on one thread, {}, is {} the GPU with "
                               "transfers, {}.",
                               size_of(gpu.x()[0]), gb_per_s(best_figure(cpu)), compared(r), gb_per_s(gpu[0])));
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
                               "{} (in ECB, D.surfaces).{}",
                               gb_per_s(ctr.with), times(r.value), gb_per_s(plain_cpp(figures)),
                               fastest_thread(figures, ctr.with)));
}

/// Returns the verdict on the data model's overhead with transfers, in per cent, at the message sizes that [H] reports.
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

/// Counts the steps, from the fewest to the most messages, at which a cost in per cent falls by no more than one
/// percentage point.
Count growing(const std::vector<double>& costs) {
    Count grows;
    for (std::size_t i = 1; i < costs.size(); ++i) grows.add(costs[i] >= costs[i - 1] - 1);
    return grows;
}

Verdict overhead_grows(const Figures& figures) {
    const Row cost = figures.row("H.overhead", "Overhead of many messages", "[H]'s model, with transfers");
    std::vector<double> costs;
    for (std::size_t i = cost.size(); i-- > 0;) {
        if (cost.has(i)) costs.push_back(cost[i].value);
    }
    const Count grows = growing(costs);
    return verdict(by_count(grows), fmt::format("The overhead grows at {} of {} steps to more, shorter messages, from "
                                                "{:.1f} to {:.1f} %.",
                                                grows.is, grows.of, costs.front(), costs.back()));
}

Verdict rekeying(const Figures& figures) {
    const Row one = figures.row("H.rekeying", "A new key for every message", "[H]'s model, one key"),
              each = figures.row("H.rekeying", "A new key for every message", "[H]'s model, a key each, expanded");
    Count behind;
    std::vector<double> costs;
    for (std::size_t i = one.size(); i-- > 0;) {
        behind.add_behind(order_of(each[i], one[i]));
        costs.push_back(100 * (1 - each[i].value / one[i].value));
    }
    const Count grows = growing(costs);
    const Holds everywhere = by_count(behind);
    const Holds holds = everywhere == Holds::yes ? by_count(grows) : behind.may > 0 ? Holds::open : Holds::no;
    return verdict(holds,
                   fmt::format("A key for each message costs {:.0f} % with messages of {:.0f} blocks and {:.0f} % "
                               "with messages of {:.0f}; it grows at {} of {} steps to more messages.",
                               costs.front(), one.x().back(), costs.back(), one.x().front(), grows.is, grows.of));
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
        fmt::format(
            "The model's CBC reaches {} with {:.0f} messages of {:.0f} blocks and {} with {:.0f} messages, {} as much.",
            gb_per_s(rates.at(0, row)), rates.x()[0], panel.y.values[row], gb_per_s(rates.at(most, row)),
            rates.x()[most], times(r.value)));
}

Verdict serial_collapse(const Figures& figures) {
    const Panel& panel = figures.panel("H.serial", "CBC encryption: [H]'s model");
    const Row rates = Figures::row(panel, "[H]'s model");
    std::vector<Figure> longest;
    for (std::size_t i = 0; i < rates.columns(); ++i) {
        const std::size_t cell = (rates.rows() - 1) * rates.columns() + i;
        if (rates.has(cell)) longest.push_back(rates[cell]);
    }
    if (longest.empty()) throw Missing("no messages of the longest kind were measured");
    const Ratio r = over(longest.back(), best_figure(longest));
    return verdict(
        at_both_ends(r, [](double x) { return x < 0.8              ? Holds::yes
                                              : x <= 1 / (1 + tie) ? Holds::partly
                                                                   : Holds::no; }),
        fmt::format("With messages of {:.0f} blocks, the model's CBC reaches {} with the most messages, and {} at "
                    "its best.",
                    panel.y.values.back(), gb_per_s(longest.back()), gb_per_s(best_figure(longest))));
}

/// The data model's serial and parallel messages of 2,048 blocks, by number of messages.
struct SerialAndParallel {
    explicit SerialAndParallel(const Figures& figures)
        : panel(figures.panel_like("H.modes", "Serial beside parallel messages")),
          serial(Figures::row(panel, "[H]'s model, CBC (serial)")),
          parallel(Figures::row(panel, "[H]'s model, CTR (parallel)")) {}
    [[nodiscard]] std::string messages(std::size_t i) const {
        return fmt::format("{} messages of 2,048 blocks", fmt::group_digits(static_cast<unsigned>(panel.x.values[i])));
    }
    const Panel& panel;
    Row serial, parallel;
};

Verdict serial_exceeds(const Figures& figures) {
    const SerialAndParallel of(figures);
    const std::size_t last = of.serial.size() - 1;
    const Ratio r = over(of.serial[last], of.parallel[last]);
    return verdict(by_gain(r), fmt::format("With {} the model's CBC, {}, is {} its CTR, {}.", of.messages(last),
                                           gb_per_s(of.serial[last]), compared(r), gb_per_s(of.parallel[last])));
}

Verdict parallel_few(const Figures& figures) {
    const SerialAndParallel of(figures);
    const Ratio r = over(of.parallel[0], of.serial[0]);
    return verdict(
        at_both_ends(r, [](double x) { return x >= 2         ? Holds::yes
                                              : x >= 1 + tie ? Holds::partly
                                                             : Holds::no; }),
        fmt::format("With {} the model's CTR, {}, is {} its CBC, {}.", of.messages(0), gb_per_s(of.parallel[0]),
                    compared(r), gb_per_s(of.serial[0])));
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
                   fmt::format("Reads by threads 128 blocks apart reach {}; the best distance reaches {}.",
                               gb_per_s(far), gb_per_s(best)));
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
    const Ratio first = over(of(3), of(1)), second = over(of(3), of(2));
    return verdict(by_large_margin(first, second), fmt::format("Order 3, {}, is {} order 1 and {} order 2.",
                                                               gb_per_s(of(3)), compared(first), compared(second)));
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
        fmt::format("Natural threads, {}, are {} striped threads, {}.", gb_per_s(rate.at(std::string("natural"))),
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
    return verdict(
        by_count(more),
        fmt::format("The kernel for all modes takes {:.0f} registers per thread, and kernels for one mode take {}; its "
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

std::vector<Rule> rules_of_harrison() {
    return {
        {"H.random-reads", random_reads},
        {"H.coherent-reads", coherent_reads},
        {"H.shared-fastest", shared_fastest},
        {"H.quad-table", quad_table},
        {"H.copies", copied_table},
        {"H.global-text", global_text},
        {"H.threads-256", threads_256},
        {"H.many-threads", many_threads},
        {"H.over-cpu", over_cpu_alone},
        {"H.over-cpu-transfers", over_cpu_with},
        {"H.page-locked", page_locked_everywhere},
        {"H.overhead-long", overhead_long},
        {"H.overhead-short", overhead_short},
        {"H.overhead-grows", overhead_grows},
        {"H.striping", striping},
        {"H.rekeying", rekeying},
        {"H.serial-counts", serial_counts},
        {"H.parallel-few", parallel_few},
        {"H.serial-alike", serial_alike},
        {"H.serial-exceeds", serial_exceeds},
        {"H.serial-collapse", serial_collapse},
        {"H.stride", stride},
        {"H.registers", registers_of_all_modes},
        {"H.mixing-packed", packed},
        {"H.mixing-groups", grouping},
        {"H.mixing-spread", spreading},
        {"H.mixing-size", sorting},
        {"H.small-payloads", small_payloads},
    };
}

}  // namespace lab::claims
