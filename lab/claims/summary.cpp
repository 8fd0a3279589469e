// The first screen of the page, also used in the README: when the GPU is worth it, five findings, and the tallies.
#include <algorithm>

#include "lab/claims/claim.hpp"
#include "lab/claims/words.hpp"
#include "lab/names.hpp"

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

/// A chart over sizes, and one sentence for each place of the text.
struct Worth {
    std::string from;  ///< experiment and panel
    std::vector<double> sizes;
    json series = json::array();
    std::vector<std::string> sentences;

    void add(const std::string& name, const char* place, const Row& row) {
        series.push_back({{"name", name}, {"place", place}, {"values", figures_of(row)}});
    }
};

/// The size from which `a` is ahead of `b` at all larger sizes; none if it is not ahead at the largest.
std::optional<double> ahead_from(const Row& a, const Row& b) {
    std::optional<double> from;
    for (std::size_t i = a.size(); i-- > 0;) {
        if (!a.has(i) || !b.has(i)) continue;
        if (order_of(a[i], b[i]) != Order::ahead) break;
        from = a.x()[i];
    }
    return from;
}

struct Processor {
    std::string name;
    Row row;
};

/// One sentence that compares the GPU with each of the processors.
std::string region(const std::string& where, const Row& gpu, const std::vector<Processor>& processors) {
    const std::size_t last = gpu.size() - 1;
    std::string against;
    for (const Processor& cpu : processors) {
        const auto from = ahead_from(gpu, cpu.row);
        against += fmt::format("{} {} against {} ({})", against.empty() ? " worth it" : ",",
                               from ? fmt::format("from {} on", size_of(*from)) : std::string("at no size measured"),
                               cpu.name, gb_per_s(cpu.row[last]));
    }
    return fmt::format("{}:{}; the GPU does {} at {}.", where, against, gb_per_s(gpu[last]), size_of(gpu.x()[last]));
}

std::string in_device_memory(const Row& device) {
    return fmt::format("Text in the GPU's memory: always, {} at {}; it would have to be copied to the CPU and back.",
                       gb_per_s(device[device.size() - 1]), size_of(device.x().back()));
}

std::string all_threads(const Figures& figures) {
    return fmt::format("the CPU with {} threads", figures.record().options.threads);
}

/// For each place with measured files: calls `f(panel, cpu, gpu)` and adds the sentence.
template <typename F>
void add_files(const Figures& figures, std::vector<std::string>& sentences, const F& f) {
    for (const char* place : {"On a tmpfs", "On a disk"}) {
        try {
            const Panel& panel = figures.panel("P.encryption", place);
            const Row cpu = Figures::row(panel, "warpaes enc"), gpu = Figures::row(panel, "warpaes enc on the GPU");
            f(panel, cpu, gpu);
            sentences.push_back(region(place == std::string("On a disk") ? "A file on a disk, process and all"
                                                                         : "A file in memory, process and all",
                                       gpu, {{all_threads(figures), cpu}}));
        } catch (const Missing&) {
        }
    }
}

/// When the GPU is worth it, by W.worth.
Worth of_memory(const Figures& figures) {
    const Panel& panel = figures.panel("W.worth", "Throughput by size and place");
    Worth worth;
    worth.from = "W.worth";
    worth.sizes = panel.x.values;
    for (const Series& s : panel.series) worth.add(s.name, s.name.starts_with("GPU") ? "gpu" : "cpu", Row(panel, s));
    try {
        worth.sentences.push_back(in_device_memory(Figures::row(panel, "GPU, device memory")));
    } catch (const Missing&) {
        worth.sentences.emplace_back("There is no GPU here.");
        return worth;
    }
    // From the slowest to the fastest choice of CPU.
    std::vector<Processor> processors;
    for (const char* cpu :
         {"aesni, one thread", "aesni, all threads", "vaes, all threads", "armv8, one thread", "armv8, all threads"}) {
        try {
            processors.push_back({cpu, Figures::row(panel, cpu)});
        } catch (const Missing&) {
        }
    }
    for (const char* memory : {"page-locked memory", "pageable memory"}) {
        worth.sentences.push_back(
            region(fmt::format("Text in {}", memory), Figures::row(panel, fmt::format("GPU, {}", memory)), processors));
    }
    add_files(figures, worth.sentences, [](const Panel&, const Row&, const Row&) {});
    return worth;
}

/// The same for records without W.worth: files, process against process, and text in page-locked and device memory.
Worth of_files(const Figures& figures) {
    Worth worth;
    worth.from = "P.encryption, H.ctr";
    add_files(figures, worth.sentences, [&](const Panel& panel, const Row& cpu, const Row& gpu) {
        if (!worth.sizes.empty()) return;
        worth.sizes = panel.x.values;
        worth.add(all_threads(figures), "cpu", cpu);
        worth.add("the GPU", "gpu", gpu);
    });
    try {
        const Row locked = figures.row("H.ctr", "CTR with transfers", "production"),
                  device = figures.row("H.ctr", "CTR, kernel alone", "production");
        worth.sentences.push_back(
            fmt::format("Text in page-locked memory: the GPU does {} at {} and {} at {}; a CPU with all "
                        "its threads was not set beside it in this record.",
                        gb_per_s(locked[0]), size_of(locked.x()[0]), gb_per_s(locked[locked.size() - 1]),
                        size_of(locked.x().back())));
        worth.sentences.push_back(in_device_memory(device));
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
            "Of thirteen kernels of 2010 the fastest did 4.4 GB/s and the fastest here does {}, production {}; "
            "Spearman's ρ of their order then and now is {:.2f}.",
            gb_per_s(speeds[speeds.best()]),
            experiments::gb_per_s(figures.fact("N.implementations", "production, ECB, on the same text")), rho);
    });
    say([&] {
        const char* title = "Tables by memory and number";
        const Row four = figures.row("N.tables", title, "4 tables"),
                  s_box = figures.row("N.tables", title, "S-box, arithmetic");
        return fmt::format(
            "Four T-tables in shared memory do {} and in constant memory {}; the S-box and arithmetic do {}, "
            "tables with a copy for each bank {}.",
            gb_per_s(four.at("shared")), gb_per_s(four.at("constant")), gb_per_s(s_box.at("shared")),
            gb_per_s(four.at("shared, one copy a bank")));
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
            "T-tables in shared memory tell text and key by their time (|t| {:.0f}); of production's functions "
            "|t| is at most {:.1f}, where chance ends at 4.5.",
            shared, ours);
    });
    say([&] {
        const Row cbc = figures.row("H.serial", "Serial modes by number of messages", "CBC");
        return fmt::format("CBC encryption does {} with {:.0f} messages at once and {} with {}.", gb_per_s(cbc[0]),
                           cbc.x()[0], gb_per_s(cbc[cbc.best()]),
                           fmt::group_digits(static_cast<unsigned>(cbc.x()[cbc.best()])));
    });
    say([&] {
        return fmt::format(
            "From host to host, kernels that read and write host memory do {}, copies one after the other {}, "
            "and copies that overlap {}.",
            experiments::gb_per_s(figures.fact("G.transfers", "mapped, write-combined, at most")),
            experiments::gb_per_s(figures.fact("G.transfers", "page-locked, one step after the other, at most")),
            experiments::gb_per_s(figures.fact("G.transfers", "page-locked, overlapped, at most")));
    });
    return said;
}

}  // namespace

json summary_of(const Record& record) {
    json tallies = json::array();
    for (const Paper paper :
         {Paper::gibadullin, Paper::gu, Paper::paracrypt, Paper::damjanovic, Paper::harrison, Paper::ours}) {
        const Tally t = tally(record, paper);
        tallies.push_back(
            {{"paper", letter_of(paper)}, {"yes", t.yes}, {"partly", t.partly}, {"no", t.no}, {"open", t.open}});
    }
    Worth worth;
    try {
        worth = of_memory(Figures(record));
    } catch (const Missing&) {
        worth = of_files(Figures(record));
    }
    if (worth.sentences.empty()) {
        worth.from.clear();
        worth.sentences.emplace_back("This record has no figures of it: W.worth has not run.");
    }
    return {{"worth",
             {{"from", worth.from}, {"sizes", worth.sizes}, {"series", worth.series}, {"sentences", worth.sentences}}},
            {"findings", findings(record)},
            {"tallies", tallies},
            {"claims", claims_of(record)}};
}

}  // namespace lab
