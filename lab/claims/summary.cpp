// The first screen of the page, which the README also uses: when the GPU is worth using, five findings, and the
// tallies.
#include <algorithm>

#include "lab/claims/claim.hpp"
#include "lab/claims/words.hpp"
#include "lab/elsewhere.hpp"
#include "lab/names.hpp"
#include "lab/statement_files.hpp"

namespace lab {

namespace {

using claims::gb_per_s;
using claims::size_of;
using nlohmann::json;

json figures_of(const Row& row) {
    json values = json::array();
    for (std::size_t i = 0; i < row.size(); ++i) values.push_back(row.has(i) ? json(row[i].value) : json(nullptr));
    return values;
}

/// A competitor of the GPU for one location of the data.
struct Against {
    std::string name;            ///< "all 16 threads of the CPU"
    std::optional<double> from;  ///< the GPU is ahead from this size on; none if it is not ahead at the largest size
    std::string speed;           ///< the competitor's speed with the longest text
};

/// A location of the data, and the sizes at which the GPU is faster for data in this location.
struct Answer {
    std::string where;
    std::vector<Against> against;
    std::string gpu, at;  ///< the GPU's speed in both units, and the length of its text
    std::string note;     ///< a sentence, or empty

    [[nodiscard]] std::string sentence() const {
        std::vector<std::string> said;
        for (const Against& a : against) {
            said.push_back(a.from ? fmt::format("the GPU is faster than {} ({} at {}) from {}", a.name, a.speed, at,
                                                size_of(*a.from))
                                  : fmt::format("{} {} faster than the GPU at every measured size ({} at {})", a.name,
                                                a.name == "one thread" ? "is" : "are", a.speed, at));
        }
        if (said.empty()) {
            return fmt::format("{}: the GPU reaches {} at {}; transfers to the CPU and back were not measured.", where,
                               gpu, at);
        }
        return fmt::format("{}: {}. The GPU reaches {} at {}.{}{}", where, fmt::join(said, "; "), gpu, at,
                           note.empty() ? "" : " ", note);
    }
    [[nodiscard]] json to_json() const {
        json others = json::array();
        for (const Against& a : against) {
            others.push_back(
                {{"name", a.name}, {"from", a.from ? json(size_of(*a.from)) : json(nullptr)}, {"speed", a.speed}});
        }
        return {{"where", where}, {"against", others}, {"gpu", gpu}, {"at", at}, {"note", note}};
    }
};

/// A chart over sizes, with the sizes at which the GPU overtakes the CPU, and one answer for each location of the text.
/// If figures are missing, it contains sentences instead.
struct Worth {
    std::string from;  ///< experiment and panel
    std::vector<double> sizes;
    json series = json::array(), crossings = json::array();
    std::vector<Answer> answers;
    std::vector<std::string> sentences;
    json elsewhere;  ///< without a GPU: another machine and its answers

    /// Adds the answers from the newest committed record, for machines without a GPU.
    void add_elsewhere() {
        sentences.emplace_back("This machine has no GPU.");
        elsewhere = json::parse(elsewhere::answer);
        const std::string machine = elsewhere.at("machine");
        for (const std::string sentence : elsewhere.at("sentences")) {
            sentences.push_back(fmt::format("On another machine, {}: {}", machine, sentence));
        }
    }
    void add(const std::string& name, const char* place, const Row& row) {
        series.push_back({{"name", name}, {"place", place}, {"values", figures_of(row)}});
    }
    void add(const Answer& answer) {
        sentences.push_back(answer.sentence());
        answers.push_back(answer);
    }
    /// Marks the positions at which the line of a series overtakes the lines that it is compared with.
    void mark(const std::string& name, const Answer& answer) {
        for (const Against& a : answer.against) {
            if (a.from) crossings.push_back({{"series", name}, {"over", a.name}, {"from", *a.from}});
        }
    }
};

/// Returns the smallest size such that `a` is ahead of `b` at this and all larger sizes; none if `a` is not ahead at
/// the largest size.
std::optional<double> ahead_from(const Row& a, const Row& b) {
    std::optional<double> from;
    for (std::size_t i = a.size(); i-- > 0;) {
        if (!a.has(i) || !b.has(i)) continue;
        if (order_of(a[i], b[i]) != Order::ahead) break;
        from = a.x()[i];
    }
    return from;
}

/// Returns, for example, "911 GB/s (7,288 Gbit/s)". The papers use Gbit/s.
std::string both_units(const Figure& f) {
    const double gbit = 8 * f.value;
    const std::string text =
        gbit < 99.95 ? fmt::format("{:.3g}", gbit) : fmt::format("{}", fmt::group_digits(std::lround(gbit)));
    return fmt::format("{} ({} Gbit/s)", gb_per_s(f), text);
}

std::string threads_of(const Figures& figures) {
    return fmt::format("all {} threads of the CPU", figures.record().options.threads);
}

/// Returns the series of W.worth that is fastest for the longest text, among the series whose names end with `end`.
std::optional<Row> fastest(const Panel& panel, const std::string& end) {
    std::optional<Row> best;
    for (const Series& s : panel.series) {
        if (!s.name.ends_with(end)) continue;
        const Row row(panel, s);
        const std::size_t last = row.size() - 1;
        if (row.has(last) && (!best || row[last].value > (*best)[last].value)) best.emplace(row);
    }
    return best;
}

Against against(const Row& gpu, const Row& cpu, const std::string& name) {
    return {name, ahead_from(gpu, cpu), gb_per_s(cpu[cpu.size() - 1])};
}

Answer answer(const std::string& where, const Row& gpu, std::vector<Against> others) {
    const std::size_t last = gpu.size() - 1;
    return {where, std::move(others), both_units(gpu[last]), size_of(gpu.x()[last]), {}};
}

Answer in_device_memory(const Row& device) {
    return answer("In the GPU's memory", device, {});
}

/// Returns a sentence about the start of CUDA, or "". The time of the smallest file consists mostly of this start.
std::string start_of(const Row& gpu) {
    const std::size_t last = gpu.size() - 1;
    const double start = gpu.x()[0] / gpu[0].value / 1e9, all = gpu.x()[last] / gpu[last].value / 1e9;
    if (start >= all) return "";
    return fmt::format(
        "Starting CUDA takes {:.2f} s in each process; without this time, the speed would be {:.3g} GB/s.", start,
        gpu.x()[last] / 1e9 / (all - start));
}

/// Calls `f(panel, cpu, gpu)` for each place with measured files, and adds its answer.
template <typename F>
void add_files(const Figures& figures, Worth& worth, const F& f) {
    for (const char* place : {"On a tmpfs", "On a disk"}) {
        try {
            const Panel& panel = figures.panel("P.encryption", place);
            const Row cpu = Figures::row(panel, "warpaes enc"), gpu = Figures::row(panel, "warpaes enc on the GPU");
            f(panel, cpu, gpu);
            Answer found = answer(place == std::string("On a disk") ? "In a file on a disk" : "In a file in memory",
                                  gpu, {against(gpu, cpu, threads_of(figures))});
            found.note = start_of(gpu);
            worth.add(found);
        } catch (const Missing&) {
        }
    }
}

/// Returns the name of a W.worth series for readers who do not know the names of backends, such as "CPU with VAES, one
/// thread".
std::string in_words(const std::string& series) {
    constexpr std::pair<std::string_view, std::string_view> instructions[] = {
        {"aesni,", "CPU with AES-NI,"}, {"vaes,", "CPU with VAES,"}, {"armv8,", "CPU with Arm's AES,"}};
    for (const auto& [backend, words] : instructions) {
        if (series.starts_with(backend)) return std::string(words) + series.substr(backend.size());
    }
    return series;
}

/// Returns when the GPU is worth using, according to W.worth.
Worth of_memory(const Figures& figures) {
    const Panel& panel = figures.panel("W.worth", "Throughput by size and place");
    Worth worth;
    worth.from = "W.worth";
    worth.sizes = panel.x.values;
    for (const Series& s : panel.series) {
        worth.add(in_words(s.name), s.name.starts_with("GPU") ? "gpu" : "cpu", Row(panel, s));
    }
    try {
        worth.add(in_device_memory(Figures::row(panel, "GPU, device memory")));
    } catch (const Missing&) {
        worth.add_elsewhere();
        return worth;
    }
    const auto all = fastest(panel, ", all threads"), one = fastest(panel, ", one thread");
    for (const auto& [where, memory] : {std::pair{"In page-locked memory", "GPU, page-locked memory"},
                                        std::pair{"In ordinary memory", "GPU, pageable memory"}}) {
        const Row gpu = Figures::row(panel, memory);
        std::vector<Against> others;
        if (all) others.push_back(against(gpu, *all, threads_of(figures)));
        if (one) others.push_back(against(gpu, *one, "one thread"));
        const Answer found = answer(where, gpu, std::move(others));
        worth.add(found);
        worth.mark(memory, found);
    }
    add_files(figures, worth, [](const Panel&, const Row&, const Row&) {});
    return worth;
}

/// Returns answers for records without W.worth, from complete processes on files and from text in page-locked and
/// device memory.
Worth of_files(const Figures& figures) {
    Worth worth;
    worth.from = "P.encryption, H.ctr";
    add_files(figures, worth, [&](const Panel& panel, const Row& cpu, const Row& gpu) {
        if (!worth.sizes.empty()) return;
        worth.sizes = panel.x.values;
        worth.add(threads_of(figures), "cpu", cpu);
        worth.add("the GPU", "gpu", gpu);
    });
    try {
        const Row locked = figures.row("H.ctr", "CTR with transfers", "production"),
                  device = figures.row("H.ctr", "CTR, kernel alone", "production");
        worth.sentences.push_back(
            fmt::format("In page-locked memory: the GPU reaches {} at {} and {} at {}; this record does not compare it "
                        "with all threads of a CPU.",
                        gb_per_s(locked[0]), size_of(locked.x()[0]), gb_per_s(locked[locked.size() - 1]),
                        size_of(locked.x().back())));
        worth.add(in_device_memory(device));
    } catch (const Missing&) {
    }
    return worth;
}

std::vector<std::string> findings(const Record& record) {
    const Figures figures(record);
    std::vector<std::string> said;
    const auto say = [&](const auto& make) {
        try {
            said.push_back(make());
        } catch (const Missing&) {
        }
    };
    say([&] {
        const Row speeds = figures.row("N.implementations", "Thirteen implementations", "speed");
        const double rho = claims::correlation_of_thirteen(figures).first.value;
        return fmt::format(
            "The fastest of the thirteen kernels reached 4.4 GB/s in 2010, and the fastest here reaches {}; production "
            "reaches {}. Spearman's ρ between the two rankings is {:.2f}.",
            gb_per_s(speeds[speeds.best()]),
            experiments::gb_per_s(figures.fact("N.implementations", "production, ECB, on the same text")), rho);
    });
    say([&] {
        const char* title = "Tables by memory and number";
        const Row four = figures.row("N.tables", title, "4 tables"),
                  s_box = figures.row("N.tables", title, "S-box, arithmetic");
        return fmt::format(
            "Four T-tables reach {} in shared memory and {} in constant memory; the S-box and arithmetic reach {}, "
            "and tables with a copy for each bank {}.",
            gb_per_s(four.at("shared")), gb_per_s(four.at("constant")), gb_per_s(s_box.at("shared")),
            gb_per_s(four.at("shared, one copy a bank")));
    });
    say([&] {
        const Panel& panel = figures.panel("W.contenders", "Contenders, CTR");
        const auto speed = [&](const char* name) {
            const Row row = Figures::row(panel, name);
            return gb_per_s(row[row.best()]);
        };
        return fmt::format(
            "In CTR, production's kernels reach {}, tables with a copy for each bank {}, the best published method "
            "with "
            "one copy {}, and the bitsliced cipher {}.",
            speed("production"), speed("a copy of the tables for each bank"),
            speed("published way: shared tables, one copy"), speed("bitsliced"));
    });
    say([&] {
        double shared = 0, ours = 0;
        for (const Entry& entry : record.experiments) {
            if (entry.key != "W.leakage") continue;
            for (const Fact& fact : entry.result.facts) {
                if (!fact.name.starts_with("|t|")) continue;
                if (fact.name.find("shared memory") != std::string::npos) shared = std::max(shared, fact.value);
                if (fact.name.find("production's functions") != std::string::npos) ours = std::max(ours, fact.value);
            }
        }
        if (shared == 0 || ours == 0) throw Missing("W.leakage");
        return fmt::format(
            "The times of T-tables in shared memory reveal the text and the key (|t| is {:.0f}); for production's "
            "functions |t| is at most {:.1f}. Values up to 4.5 can be due to chance.",
            shared, ours);
    });
    say([&] {
        const Row cbc = figures.row("H.serial", "Serial modes by number of messages", "CBC");
        return fmt::format("CBC encryption reaches {} with {:.0f} messages and {} with {}.", gb_per_s(cbc[0]),
                           cbc.x()[0], gb_per_s(cbc[cbc.best()]),
                           fmt::group_digits(static_cast<unsigned>(cbc.x()[cbc.best()])));
    });
    say([&] {
        return fmt::format(
            "From host to host, kernels that read and write host memory reach {}, sequential copies {}, and "
            "overlapping copies {}.",
            experiments::gb_per_s(figures.fact("G.transfers", "mapped, write-combined, at most")),
            experiments::gb_per_s(figures.fact("G.transfers", "page-locked, one step after the other, at most")),
            experiments::gb_per_s(figures.fact("G.transfers", "page-locked, overlapped, at most")));
    });
    return said;
}

/// Returns the start of a citation, such as "R. Gibadullin and others".
std::string authors_of(Paper paper) {
    const std::string citation = citation_of(paper), authors = citation.substr(0, citation.find(':'));
    return authors.size() > 40 ? authors.substr(0, authors.find(',')) + " and others" : authors;
}

}  // namespace

json summary_of(const Record& record) {
    json tallies = json::array();
    for (const Source& source : all_sources()) {
        const Tally t = tally(record, source.paper);
        tallies.push_back(
            {{"paper", letter_of(source.paper)}, {"yes", t.yes}, {"partly", t.partly}, {"no", t.no}, {"open", t.open}});
    }
    Worth worth;
    try {
        worth = of_memory(Figures(record));
    } catch (const Missing&) {
        worth = of_files(Figures(record));
    }
    if (worth.sentences.empty()) {
        worth.from.clear();
        if (record.machine.gpu) {
            worth.sentences.emplace_back(
                "This record has no figures for this: W.worth has not run, or other processes used the CPU.");
        } else {
            worth.add_elsewhere();
        }
    }
    json answers = json::array();
    for (const Answer& a : worth.answers) answers.push_back(a.to_json());
    json sources = json::array();
    for (const Source& source : all_sources()) {
        sources.push_back({{"paper", letter_of(source.paper)},
                           {"authors", authors_of(source.paper)},
                           {"reference", source.reference},
                           {"language", source.language},
                           {"link", source.link},
                           {"link_is", source.link_is}});
    }
    return {{"sources", sources},
            {"corrections", json::parse(statements::corrections)},
            {"worth",
             {{"from", worth.from},
              {"sizes", worth.sizes},
              {"series", worth.series},
              {"crossings", worth.crossings},
              {"answers", answers},
              {"elsewhere", worth.elsewhere},
              {"sentences", worth.sentences}}},
            {"findings", findings(record)},
            {"tallies", tallies},
            {"claims", claims_of(record)}};
}

}  // namespace lab
