// [D] Damjanović.
#include <algorithm>
#include <array>

#include "lab/claims/words.hpp"

namespace lab::claims {

namespace {

constexpr const char *cpp_name = "C++ with T-tables", *ni_name = "AES-NI", *cuda_name = "CUDA";
constexpr std::array surfaces{"AES-128 encryption", "AES-192 encryption", "AES-256 encryption",
                              "AES-128 decryption", "AES-192 decryption", "AES-256 decryption"};

/// The best figure over all buffers, at one file size.
Figure best_of(const Row& surface, std::size_t file) {
    Figure best;
    for (std::size_t buffer = 0; buffer < surface.rows(); ++buffer) {
        const Figure f = surface.at(file, buffer);
        if (f.value > best.value) best = f;
    }
    return best;
}
std::size_t last_file(const Row& surface) {
    return surface.columns() - 1;
}

struct Surface {
    Surface(const Figures& figures, const char* title)
        : cpp(figures.row("D.surfaces", title, cpp_name)),
          ni(figures.row("D.surfaces", title, ni_name)),
          cuda(figures.row("D.surfaces", title, cuda_name)) {}
    [[nodiscard]] Ratio small_against(const Row& other) const { return over(best_of(other, 0), best_of(cuda, 0)); }
    /// The ratio for the largest file and the smallest buffer.
    [[nodiscard]] Ratio buffer_against(const Row& other) const {
        return over(other.at(last_file(other), 0), cuda.at(last_file(cuda), 0));
    }
    [[nodiscard]] Ratio large_against(const Row& other) const {
        return over(best_of(cuda, last_file(cuda)), best_of(other, last_file(other)));
    }
    Row cpp, ni, cuda;
};

Holds badly(const Ratio& r) {
    return at_both_ends(r, [](double x) { return x >= 2 ? Holds::yes : x >= 1 + tie ? Holds::partly : Holds::no; });
}
Holds close(const Ratio& r) {
    return at_both_ends(r, [](double x) {
        return x >= 0.5 && x < 1 + tie ? Holds::yes : x < 0.5 ? Holds::no : Holds::partly;
    });
}
Holds less_of(Holds a, Holds b) {
    if (a == Holds::open || b == Holds::open) return Holds::open;
    return std::max(a, b);  // the enumerators are ordered yes, partly, no
}

Verdict small_data(const Figures& figures) {
    const Surface s(figures, surfaces[0]);
    const Ratio cpp = s.small_against(s.cpp), ni = s.small_against(s.ni);
    return verdict(
        less_of(badly(cpp), badly(ni)),
        fmt::format("A file of {} takes the GPU {} as long as plain C++ and {} as long as AES-NI, each through "
                    "its best buffer.",
                    size_of(s.cuda.x()[0]), times(cpp.value), times(ni.value)));
}

Verdict small_buffers(const Figures& figures) {
    const Surface s(figures, surfaces[0]);
    const Ratio cpp = s.buffer_against(s.cpp), ni = s.buffer_against(s.ni);
    return verdict(
        less_of(badly(cpp), badly(ni)),
        fmt::format("The largest file through the smallest buffer takes the GPU {} as long as plain C++ and {} as "
                    "long as AES-NI.",
                    times(cpp.value), times(ni.value)));
}

Verdict large_against_cpp(const Figures& figures) {
    const Surface s(figures, surfaces[0]);
    const Ratio r = s.large_against(s.cpp);
    return verdict(by_gain(r),
                   fmt::format("With a file of {}, each through its best buffer, the GPU is {} as fast as plain "
                               "C++ on one thread.",
                               size_of(s.cuda.x().back()), times(r.value)));
}

Verdict large_against_ni(const Figures& figures) {
    const Surface s(figures, surfaces[0]);
    const Ratio r = s.large_against(s.ni);
    return verdict(close(r),
                   fmt::format("With a file of {}, each through its best buffer, the GPU does {:.0f} % of what "
                               "AES-NI does on one thread.",
                               size_of(s.cuda.x().back()), 100 * r.value));
}

Verdict ni_faster(const Figures& figures) {
    const Surface s(figures, surfaces[0]);
    Count ahead;
    for (std::size_t file = 0; file < s.cuda.columns(); ++file) {
        ahead.add_not_behind(order_of(best_of(s.ni, file), best_of(s.cuda, file)));
    }
    return verdict(by_count(ahead),
                   fmt::format("AES-NI on one thread is ahead of the GPU, or as fast, at {} of {} file "
                               "sizes, each through its best buffer.",
                               ahead.is, ahead.of));
}

Verdict other_keys(const Figures& figures) {
    Count alike;
    double least = 1e9, most = 0;
    for (const char* title : surfaces) {
        const Surface s(figures, title);
        const Ratio ratio = s.large_against(s.ni);
        least = std::min(least, ratio.value), most = std::max(most, ratio.value);
        const auto twice = [](double x) { return x >= 2; };
        Count all;
        all.add_at_both_ends(s.small_against(s.ni), twice);
        all.add_at_both_ends(s.buffer_against(s.ni), twice);
        all.add_at_both_ends(s.large_against(s.cpp), [](double x) { return x >= 1 + tie; });
        all.add_at_both_ends(ratio, [](double x) { return x >= 0.5; });
        all.add_at_both_ends(ratio, [](double x) { return x < 1.15; });
        alike.add(all.is == all.of, all.is != all.of && all.is + all.may == all.of);
    }
    return verdict(
        by_count(alike),
        fmt::format("In {} of {} surfaces of key size and direction small data and small buffers lose, large data "
                    "win against C++ and come close to AES-NI ({:.0f} to {:.0f} % of it at the largest file).",
                    alike.is, alike.of, 100 * least, 100 * most));
}

Verdict model_fit(const Figures& figures) {
    double worst = 0;
    std::string of;
    for (const char* name : {cpp_name, ni_name, cuda_name}) {
        double error = 0;
        try {
            error = figures.fact("D.model", std::string(name) + ": relative absolute error");
        } catch (const Missing&) {
            if (name == std::string(cpp_name)) throw;
            continue;
        }
        if (error > worst) worst = error, of = name;
    }
    return verdict(
        at_both_ends(in_another_run(worst),
                     [](double x) { return x < 15   ? Holds::yes
                                           : x < 40 ? Holds::partly
                                                    : Holds::no; }),
        fmt::format("Cross-validated, the relative absolute error of the logarithm of time is at most {:.1f} % "
                    "({}).",
                    worst, of));
}

Verdict calculator(const Figures& figures) {
    const char* title = "Warps that a multiprocessor holds";
    const Row theirs = figures.row("D.occupancy", title, "calculator, 2.1, published"),
              ours = figures.row("D.occupancy", title, "calculator, 2.1");
    std::size_t full = 0, of = 0;
    for (std::size_t i = 0; i < theirs.size(); ++i) {
        if (!theirs.has(i)) continue;
        ++of;
        full += ours[i].value == theirs[i].value ? 1 : 0;
    }
    return verdict(all_or_most(full, of),
                   fmt::format("The calculator finds {} of these {} sizes full on compute capability 2.1.", full, of));
}

Verdict grid(const Figures& figures) {
    const char* title = "Sixteen thread blocks, and a grid for this GPU";
    const Row speed = figures.row("D.occupancy", title, "speed");
    const Ratio r = over(speed[1], speed[0]);
    return verdict(by_sameness(r), fmt::format("16 thread blocks of 256 threads do {}, as many as this GPU holds {}.",
                                               gb_per_s(speed[0]), gb_per_s(speed[1])));
}

Verdict cpu_freed_of_aes_ni(const Figures& figures) {
    const Panel& panel = figures.panel("D.surfaces", "Processor seconds a gigabyte");
    const Row row = Figures::row(panel, "largest file and buffer");
    const Figure gpu = row.at(std::string(cuda_name)), ni = row.at(std::string(ni_name));
    const Ratio r = over(ni, gpu);
    return verdict(by_gain(r, 2), fmt::format("At the largest file and buffer the GPU takes {:.2g} processor seconds a "
                                              "gigabyte, AES-NI {:.2g}.",
                                              gpu.value, ni.value));
}

}  // namespace

std::vector<Claim> of_damjanovic() {
    constexpr Paper p = Paper::damjanovic;
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
    add("D.small-data", "Small data lose badly on the GPU, against C++ and AES-NI", "D.surfaces",
        "yes if it takes twice as long as both or more, in part if longer", small_data);
    add("D.small-buffers", "Small buffers lose badly on the GPU, against C++ and AES-NI", "D.surfaces",
        "yes if it takes twice as long as both or more, in part if longer", small_buffers);
    add("D.large-cpp", "Large data win on the GPU against C++ on one thread", "D.surfaces", lead_rule,
        large_against_cpp);
    add("D.large-aes-ni", "Large data come close to AES-NI, slightly behind", "D.surfaces",
        "yes from half of AES-NI's speed to a tie, in part if ahead, each at its best buffer", large_against_ni);
    add("D.aes-ni-faster", "AES-NI is faster than the GPU", "D.surfaces",
        "yes if ahead or a tie at every file size, in part at most, each at its best buffer", ni_faster);
    add("D.key-sizes", "The same with keys of 192 and 256 bits, and decrypting", "D.surfaces",
        "yes if all six surfaces say so, in part if most do", other_keys);
    add("D.cpu-freed", "The GPU takes load off the CPU", "D.surfaces", "a gain of two, in processor seconds",
        cpu_freed_of_aes_ni);
    add("D.model", "M5' trees describe the surfaces", "D.model",
        "yes below 15 % relative absolute error of the worst tree, in part below 40 %", model_fit);
    add("D.calculator", "192, 256, 384, 512 and 768 threads reach all 48 warps by the occupancy calculator",
        "D.occupancy", "yes if all five do, in part if most do", calculator);
    add("D.grid", "16 thread blocks of 256 threads keep the GPU busy", "D.occupancy", same_rule, grid);
    shown("D.surfaces-cpp", "Surface: C++ with T-tables over buffer and file", "D.surfaces",
          "series C++ with T-tables");
    shown("D.surfaces-aes-ni", "Surface: AES-NI over buffer and file", "D.surfaces", "series AES-NI");
    shown("D.surfaces-cuda", "Surface: CUDA over buffer and file", "D.surfaces", "series CUDA");
    shown("D.gpu-cpp", "Surface: GPU against C++", "D.model", "CUDA against C++ with T-tables");
    shown("D.gpu-aes-ni", "Surface: GPU against AES-NI", "D.model", "CUDA against AES-NI");
    shown("D.trees", "Model trees of each implementation", "D.model", "a panel each, measured beside M5'");
    shown("D.registers", "18 registers a thread", "D.occupancy", "fact: registers a thread");
    shown("D.buffers", "Files longer than memory pass through a buffer", "D.surfaces", "every panel");
    unmeasured("D.second-platform", "Two laptops, GT 525M and GT 740M",
               "a record is of one machine: `warpaes lab compare` sets two beside each other");
    shown("D.memories", "S-box, tables, key and text in global and in shared memory", "D.memory",
          "Tables, keys and text by memory");
    return claims;
}

}  // namespace lab::claims
