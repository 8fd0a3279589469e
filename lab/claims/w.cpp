// [W] The lab's own conclusions, which no paper contains.
#include <algorithm>

#include "lab/claims/words.hpp"

namespace lab::claims {

namespace {

constexpr const char* memory_and_number_title = "Tables by memory and number";

Verdict copies_of_four_tables(const Figures& figures) {
    const Row four = figures.row("N.tables", memory_and_number_title, "4 tables");
    const Figure each = four.at(std::string("shared, one copy a bank")), one = four.at(std::string("shared"));
    const Ratio r = over(each, one);
    return verdict(by_gain(r), fmt::format("A copy of the tables for each bank, {}, is {} one copy, {}.",
                                           gb_per_s(each), compared(r), gb_per_s(one)));
}

Verdict s_box(const Figures& figures) {
    const Figure s_box =
                     figures.row("N.tables", memory_and_number_title, "S-box, arithmetic").at(std::string("shared")),
                 four = figures.row("N.tables", memory_and_number_title, "4 tables").at(std::string("shared"));
    const Ratio r = over(s_box, four);
    return verdict(by_gain(r), fmt::format("With one copy, the S-box and arithmetic, {}, are {} four tables, {}.",
                                           gb_per_s(s_box), compared(r), gb_per_s(four)));
}

Verdict shuffles(const Figures& figures) {
    const char* title = "Bytes a thread, by how threads share a block";
    const Row shuffled = figures.row("N.granularity", title, "registers, shuffled"),
              shared = figures.row("N.granularity", title, "shared memory, thread block waits");
    const Figure alone = figures.row("N.granularity", title, "alone").at(std::string("16"));
    Count ahead;
    for (const char* bytes : {"8", "4", "1"}) {
        ahead.add_ahead(order_of(shuffled.at(std::string(bytes)), shared.at(std::string(bytes))));
    }
    return verdict(
        by_count(ahead),
        fmt::format("Shuffles are ahead of shared memory at {} of 3 sizes; 16 bytes per thread, {}, is {} the best "
                    "shuffles, {}.",
                    ahead.is, gb_per_s(alone), compared(over(alone, shuffled[shuffled.best()])),
                    gb_per_s(shuffled[shuffled.best()])));
}

Verdict shared_beside_texture(const Figures& figures) {
    const Row texture = figures.row("G.tables", "The lookup tables' memory", "texture"),
              shared = figures.row("G.tables", "The lookup tables' memory", "shared");
    const std::size_t last = shared.size() - 1;
    const Ratio r = over(shared[last], texture[last]);
    return verdict(by_gain(r), fmt::format("With {} tables in shared memory, {}, are {} tables in texture memory, {}.",
                                           size_of(shared.x()[last]), gb_per_s(shared[last]), compared(r),
                                           gb_per_s(texture[last])));
}

Verdict overlapped(const Figures& figures) {
    const char* title = "From host memory to host memory, by input size";
    const Row mapped = figures.row("G.transfers", title, "mapped, write-combined"),
              overlapped = figures.row("G.transfers", title, "page-locked, overlapped");
    std::size_t ahead = 0;
    for (std::size_t i = 0; i < mapped.size(); ++i) {
        ahead += order_of(mapped[i], overlapped[i]) == Order::ahead ? 1 : 0;
    }
    const std::size_t last = mapped.size() - 1;
    const Ratio r = over(overlapped[last], mapped[last]);
    return verdict(by_gain(r),
                   fmt::format("With {} copies that overlap, {}, are {} mapped memory, {}, which is ahead at {} "
                               "of {} sizes.",
                               size_of(mapped.x()[last]), gb_per_s(overlapped[last]), compared(r),
                               gb_per_s(mapped[last]), ahead, mapped.size()));
}

Verdict workers(const Figures& figures) {
    Count ahead;
    std::string said;
    for (const Entry& entry : figures.record().experiments) {
        if (entry.key != "P.pipeline") continue;
        for (const Panel& each : entry.result.panels) {
            const Panel& panel = figures.panel("P.pipeline", each.title);
            for (const Series& series : panel.series) {
                const Row rates(panel, series);
                const Figure symmetrical = rates[rates.size() - 1],
                             theirs = rates.at(std::string("reader, worker, writer"));
                ahead.add_ahead(order_of(symmetrical, theirs));
                said += fmt::format("{}{} {} with {}", said.empty() ? "" : ", ",
                                    experiments::how_fast(over(symmetrical, theirs).value, 1),
                                    panel.title.ends_with("on a disk") ? "on the disk" : "in memory", series.name);
            }
        }
    }
    if (ahead.of == 0) throw Missing("P.pipeline is not in this record");
    return verdict(
        by_count(ahead),
        fmt::format("Workers that each read and write are ahead of reader, worker and writer in {} of {} cases: "
                    "{}.",
                    ahead.is, ahead.of, said));
}

Verdict reader_and_writer(const Figures& figures) {
    const Row rates = Figures::row(figures.panel_like("P.pipeline", "A file of ", "on a disk"), "cuda");
    const Figure three = rates.at(std::string("reader, worker, writer")), one = rates.at(std::string("one thread"));
    const Ratio r = over(three, one);
    return verdict(
        by_gain(r),
        fmt::format(
            "On a disk, with the GPU, a reader and a writer in addition to the worker, {}, are {} one thread, {}.",
            gb_per_s(three), compared(r), gb_per_s(one)));
}

Verdict parallel_modes(const Figures& figures) {
    const Row cuda = Figures::row(figures.panel_like("P.modes", "Modes that are parallel"), "cuda");
    const Figure least = cuda[cuda.worst()], most = cuda[cuda.best()];
    return verdict(at_both_ends(in_another_run(over(least, most)),
                                [](double x) { return x > 0.8   ? Holds::yes
                                                      : x > 0.5 ? Holds::partly
                                                                : Holds::no; }),
                   fmt::format("ECB, CTR and decryption in CBC and CFB reach {:.3g} to {:.3g} GB/s from host to host.",
                               least.value, most.value));
}

Verdict transfers(const Figures& figures) {
    const Row alone = figures.row("H.ctr", "CTR, kernel alone", "four tables in shared memory"),
              copied =
                  figures.row("H.ctr", "CTR with transfers", "four tables in shared memory, one step after the other");
    const Figure a = alone[alone.best()], c = copied[copied.best()];
    const Ratio r = over(c, a);
    return verdict(
        at_both_ends(r, [](double x) { return x <= 0.5   ? Holds::yes
                                              : x <= 0.8 ? Holds::partly
                                                         : Holds::no; }),
        fmt::format("Transfers leave {:.1f} % of the kernel's throughput, {} of {} (on the GeForce 8800 GTX "
                    "of 2008: 45 %).",
                    100 * r.value, gb_per_s(c), gb_per_s(a)));
}

Verdict thirteen_order(const Figures& figures) {
    const Row row = figures.row("N.implementations", "Thirteen implementations", "speed");
    const auto [all, apart] = correlation_of_thirteen(figures);
    const auto best = row.best() + 1;
    const Holds holds = all.low >= 0.5 ? Holds::yes : all.low > 0 ? Holds::partly : Holds::no;
    return verdict(
        holds, fmt::format("Spearman's ρ of the thirteen is {:.2f} (n = 13, 95 %: {:.2f} to {:.2f}, speeds within 1 % "
                           "share a place); without 1 and 13, last then as now, {:.2f}. The fastest was 3 with 4.4 "
                           "GB/s and is {} with {}.",
                           all.value, all.low, all.high, apart.value, best, gb_per_s(row[best - 1])));
}

Verdict occupancy(const Figures& figures) {
    const Row warps = figures.row("D.occupancy", "Warps that a multiprocessor holds", "the runtime, here"),
              speed = figures.row("D.occupancy", "What the size of a thread block is worth", "speed");
    const double most = warps[warps.best()].value;
    Figure half, full;
    double full_least = 1e9;
    for (std::size_t i = 0; i < warps.size(); ++i) {
        if (warps[i].value <= most / 2 && speed[i].value > half.value) half = speed[i];
        if (warps[i].value < most) continue;
        full_least = std::min(full_least, speed[i].value);
        if (speed[i].value > full.value) full = speed[i];
    }
    if (half.value == 0) throw Missing("no size has half of the warps");
    return verdict(
        at_both_ends(over(half, full),
                     [](double x) { return x < 0.85   ? Holds::yes
                                           : x < 0.95 ? Holds::partly
                                                      : Holds::no; }),
        fmt::format(
            "At half of the occupancy, the kernel reaches {:.0f} GB/s, and at full occupancy {:.0f} to {:.0f} GB/s.",
            half.value, full_least, full.value));
}

Verdict ordering(const Figures& figures) {
    const Row ours = figures.row("H.mixing", "Seven orders of the same messages", "production: the engine orders");
    const Ratio r = over(ours[ours.best()], ours[ours.worst()]);
    return verdict(
        at_both_ends(r, [](double x) { return x <= 1.05   ? Holds::yes
                                              : x <= 1.15 ? Holds::partly
                                                          : Holds::no; }),
        fmt::format("Of seven orders the best is {:.2f} times as fast as the worst.", r.value));
}

Verdict text_paths(const Figures& figures) {
    const Row rates = figures.row("H.tables", "Text by memory", "tables in shared memory");
    const Figure global = rates.at(std::string("global memory")), texture = rates.at(std::string("texture"));
    const Ratio r = over(texture, global);
    return verdict(
        by_sameness(r),
        fmt::format("With text through textures, the kernel reaches {}, from global memory {}, by the read-only "
                    "path {}.",
                    gb_per_s(texture), gb_per_s(global),
                    gb_per_s(rates.at(std::string("global memory, read-only path")))));
}

Verdict staged_text(const Figures& figures) {
    const char* title = "Tables, keys and text by memory";
    const Figure staged = figures.row("D.memory", title, "text through shared memory").at(std::string("both shared")),
                 straight =
                     figures.row("D.memory", title, "text straight from global memory").at(std::string("both shared"));
    const Ratio r = over(straight, staged);
    return verdict(by_gain(r),
                   fmt::format("In [D]'s kernel text straight from global memory, {}, is {} text through shared "
                               "memory, {}.",
                               gb_per_s(straight), compared(r), gb_per_s(staged)));
}

/// Returns the figures of two series of H.modes at the largest number of messages.
std::pair<Figure, Figure> at_most_messages(const Figures& figures, const std::string& title, const char* a,
                                           const char* b) {
    const Panel& panel = figures.panel_like("H.modes", title);
    const Row one = Figures::row(panel, a), other = Figures::row(panel, b);
    return {one[one.size() - 1], other[other.size() - 1]};
}

Verdict serial_reaches(const Figures& figures) {
    const auto [serial, parallel] = at_most_messages(figures, "Serial beside parallel messages",
                                                     "production, CBC (serial)", "production, CTR (parallel)");
    const Panel& panel = figures.panel_like("H.modes", "Serial beside parallel messages");
    const Ratio r = over(serial, parallel);
    return verdict(
        at_both_ends(r, [](double x) { return x >= 0.8   ? Holds::yes
                                              : x >= 0.5 ? Holds::partly
                                                         : Holds::no; }),
        fmt::format("With {:.0f} messages of 2,048 blocks production's CBC reaches {}, {} of its CTR, {}.",
                    panel.x.values.back(), gb_per_s(serial), percent(r.value), gb_per_s(parallel)));
}

Verdict ofb_ahead(const Figures& figures) {
    const Panel& panel = figures.panel_like("H.modes", "OFB on processors and GPU");
    const std::size_t last = panel.x.size() - 1;
    const Figure gpu = Figures::row(panel, "GPU, page-locked memory")[last];
    Figure cpu;
    std::string name;
    for (const Series& s : panel.series) {
        if (!s.name.ends_with(", all threads")) continue;
        const Figure here = Figures::row(panel, s.name)[last];
        if (here.value > cpu.value) cpu = here, name = s.name;
    }
    if (name.empty()) throw Missing("no processor was measured in this record");
    const Ratio r = over(gpu, cpu);
    return verdict(by_gain(r), fmt::format("With {:.0f} messages in OFB the GPU, with transfers, {}, is {} {}, {}.",
                                           panel.x.values.back(), gb_per_s(gpu), compared(r), name, gb_per_s(cpu)));
}

Verdict contenders(const Figures& figures, const std::string& mode) {
    const Panel& panel = figures.panel("W.contenders", "Contenders, " + mode);
    const auto best_of = [&](const char* name) {
        const Row row = Figures::row(panel, name);
        return row[row.best()];
    };
    const Figure production = best_of("production");
    Figure other;
    for (const char* name :
         {"published way: shared tables, one copy", "a copy of the tables for each bank", "bitsliced"}) {
        if (best_of(name).value > other.value) other = best_of(name);
    }
    const Ratio r = over(production, other);
    return verdict(
        at_both_ends(r, [](double x) { return x >= 1 + tie  ? Holds::yes
                                              : x > 1 - tie ? Holds::partly
                                                            : Holds::no; }),
        fmt::format("{}: production's kernels, {}, are {} the fastest contender, {}.", mode, gb_per_s(production),
                    compared(r), gb_per_s(other)));
}
Verdict contenders_ecb(const Figures& figures) {
    return contenders(figures, "ECB");
}
Verdict contenders_ctr(const Figures& figures) {
    return contenders(figures, "CTR");
}

/// The |t| above which a difference is not attributed to chance, and the |t| above which it is certain.
constexpr double chance = 4.5, doubt = 10;

constexpr std::initializer_list<const char*> text_and_key{"text", "key"};

/// Returns the largest |t| of a kernel in the tests of these secrets.
double t_of(const Figures& figures, const std::string& kernel,
            std::initializer_list<const char*> secrets = text_and_key) {
    double most = 0;
    bool any = false;
    for (const char* what : secrets) {
        try {
            most = std::max(most, figures.fact("W.leakage", fmt::format("|t|, {}, {}", kernel, what)));
            any = true;
        } catch (const Missing&) {
        }
    }
    if (!any) throw Missing(fmt::format("'{}' of W.leakage is not in this record", kernel));
    return most;
}

/// Returns a sentence with the smallest difference that the tests of these kernels would have found.
std::string power(const Figures& figures, std::initializer_list<const char*> kernels) {
    double most = 0;
    std::string unit;
    for (const Entry& entry : figures.record().experiments) {
        if (entry.key != "W.leakage") continue;
        for (const Fact& fact : entry.result.facts) {
            for (const char* kernel : kernels) {
                if (!fact.name.starts_with(fmt::format("least difference that would be found, {}, ", kernel))) continue;
                if (fact.value >= most) most = fact.value, unit = fact.unit;
            }
        }
    }
    if (!unit.empty()) return fmt::format(" No difference above {:.2g} {} was found.", most, unit);
    const double n = figures.fact("W.leakage", "measurements of each kernel");
    // The standard deviation of the difference of two means, each computed from half of the times.
    return fmt::format(" With {:.0f} times of each, no difference above {:.3f} standard deviations was found.", n,
                       chance * 2 / std::sqrt(n));
}

Verdict of_times(const Figures& figures, std::initializer_list<const char*> kernels, bool tells,
                 std::initializer_list<const char*> secrets = text_and_key) {
    std::string said;
    std::size_t as_said = 0;
    for (const char* kernel : kernels) {
        const double t = t_of(figures, kernel, secrets);
        as_said += (tells ? t > doubt : t < chance) ? 1 : 0;
        said += fmt::format("{}{} {:.4g}", said.empty() ? "" : ", ", kernel, t);
    }
    std::string beyond;
    if (!tells && as_said == kernels.size()) {
        beyond = power(figures, kernels);
    }
    const Holds holds = as_said == kernels.size() ? Holds::yes : tells && as_said > 0 ? Holds::partly : Holds::no;
    return verdict(holds, fmt::format("|t|: {}.{}", said, beyond));
}

Verdict tables_tell(const Figures& figures) {
    return of_times(figures, {"constant memory", "shared memory", "global memory", "texture memory"}, true);
}
/// Returns the verdict on kernels timed by one warp, if the same tests, with texts and with keys, detect tables in
/// shared memory.
Verdict silent(const Figures& figures, std::initializer_list<const char*> kernels) {
    const double found = std::min(t_of(figures, "shared memory", {"text"}), t_of(figures, "shared memory", {"key"}));
    if (found <= doubt) {
        throw Missing(fmt::format("the same test does not find tables in shared memory either (|t| {:.4g})", found));
    }
    Verdict verdict = of_times(figures, kernels, false);
    verdict.sentence += fmt::format(" Of tables in shared memory |t| is {:.4g}.", found);
    return verdict;
}
Verdict apart_silent(const Figures& figures) {
    return silent(figures, {"one copy a bank", "bitsliced"});
}
Verdict production_silent(const Figures& figures) {
    return silent(figures, {"production's functions"});
}

/// Returns the verdict on production's launches, provided that the test detects T-tables that are launched with the
/// same classes of texts or keys.
Verdict launches_silent(const Figures& figures, const std::string& control, const char* secret,
                        std::initializer_list<const char*> launches) {
    try {
        (void)t_of(figures, "T-tables' launches, ECB, equal blocks");
    } catch (const Missing&) {
        throw Missing(
            "the build read fixed and random texts from different places, which this test finds whatever the kernel "
            "does, and launched no T-tables with equal blocks");
    }
    const double found = t_of(figures, control, {secret});
    if (found <= doubt) {
        throw Missing(fmt::format("the same test does not find {} either (|t| {:.4g})", control, found));
    }
    Verdict verdict = of_times(figures, launches, false, {secret});
    verdict.sentence += fmt::format(" Of {} |t| is {:.4g}.", control, found);
    return verdict;
}
Verdict launches_equal(const Figures& figures) {
    return launches_silent(figures, "T-tables' launches, ECB, equal blocks", "text",
                           {"production's launches, ECB, equal blocks"});
}
constexpr const char* tables_with_equal_warps = "T-tables' launches, ECB, equal warps";
Verdict launches_of_texts(const Figures& figures) {
    return launches_silent(
        figures, tables_with_equal_warps, "text",
        {"production's launches, ECB, equal warps", "production's launches, CTR, equal warps",
         "production's launches, ECB, decryption, equal warps", "production's launches, ECB, AES-256, equal warps"});
}
Verdict launches_of_keys(const Figures& figures) {
    return launches_silent(figures, tables_with_equal_warps, "key", {"production's launches, CTR, equal warps"});
}

}  // namespace

std::vector<Rule> rules_of_ours() {
    return {
        {"W.copies", copies_of_four_tables},
        {"W.s-box", s_box},
        {"W.shuffles", shuffles},
        {"W.texture", shared_beside_texture},
        {"W.overlapped", overlapped},
        {"W.workers", workers},
        {"W.occupancy", occupancy},
        {"W.ordering", ordering},
        {"W.text-paths", text_paths},
        {"W.text-straight", staged_text},
        {"W.serial-reaches", serial_reaches},
        {"W.ofb", ofb_ahead},
        {"W.tables-tell", tables_tell},
        {"W.apart-silent", apart_silent},
        {"W.production-silent", production_silent},
        {"W.launches-equal", launches_equal},
        {"W.launches-texts", launches_of_texts},
        {"W.launches-keys", launches_of_keys},
        {"W.attack-fails", attack_fails},
        {"W.cached-round", cached_round},
        {"W.bitsliced-tables", bitsliced_ahead},
        {"W.per-watt", most_per_watt},
        {"W.aes-generator", aes_generator},
        {"W.contenders-ecb", contenders_ecb},
        {"W.contenders-ctr", contenders_ctr},
        {"W.thirteen-order", thirteen_order},
        {"W.transfers", transfers},
        {"W.reader-writer", reader_and_writer},
        {"W.parallel-modes", parallel_modes},
    };
}

}  // namespace lab::claims
