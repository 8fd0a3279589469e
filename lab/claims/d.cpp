// [D] Damjanović.
#include <algorithm>
#include <array>

#include "lab/claims/words.hpp"

namespace lab::claims {

namespace {

constexpr const char *cpp_name = "C++ with T-tables", *ni_name = "AES-NI", *cuda_name = "CUDA";
constexpr std::array surfaces{"AES-128 encryption", "AES-192 encryption", "AES-256 encryption",
                              "AES-128 decryption", "AES-192 decryption", "AES-256 decryption"};

/// Returns the best figure over all buffers, at one file size.
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
    [[nodiscard]] Ratio large_against(const Row& other) const {
        return over(best_of(cuda, last_file(cuda)), best_of(other, last_file(other)));
    }
    [[nodiscard]] std::size_t last_buffer() const { return cuda.rows() - 1; }
    /// Returns the ratio for the largest file and the largest buffer.
    [[nodiscard]] Ratio largest_against(const Row& other) const {
        return over(cuda.at(last_file(cuda), last_buffer()), other.at(last_file(other), last_buffer()));
    }
    [[nodiscard]] double buffer_bytes(std::size_t buffer) const { return cuda.y()[buffer]; }
    Row cpp, ni, cuda;
};

Holds badly(const Ratio& r) {
    return at_both_ends(r, [](double x) { return x >= 2 ? Holds::yes : x >= 1 + tie ? Holds::partly : Holds::no; });
}
/// The minimum speed, relative to AES-NI, for "tek neznatno zaostaju" (only slightly slower).
constexpr double slightly = 0.85;
bool is_close(double x) {
    return x >= slightly && x < 1 + tie;
}
/// Returns whether the ratio's range extends beyond both ends of the range that counts as close.
bool is_around(const Ratio& r) {
    return r.low < slightly && r.high >= 1 + tie;
}
Holds close(const Ratio& r) {
    if (is_around(r)) return Holds::open;
    return at_both_ends(r, [](double x) { return is_close(x) ? Holds::yes : x < 0.5 ? Holds::no : Holds::partly; });
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

/// Returns the additional nanoseconds that one file takes with the smallest buffer, compared with the best buffer.
Figure lost_by_small_buffer(const Surface& s, std::size_t file) {
    const Figure small = s.cuda.at(file, 0), best = best_of(s.cuda, file);
    const double bytes = s.cuda.x()[file];
    return {bytes / small.value - bytes / best.value, bytes / small.high - bytes / best.low,
            bytes / small.low - bytes / best.high};
}

Verdict small_buffers(const Figures& figures) {
    const Surface s(figures, surfaces[0]);
    if (s.cuda.columns() < 2) throw Missing("there are no longer files");
    Count grows;
    Figure less = lost_by_small_buffer(s, 0);
    for (std::size_t file = 1; file < s.cuda.columns(); ++file) {
        const Figure more = lost_by_small_buffer(s, file);
        grows.add(more.low > less.high, more.low <= less.high && more.high > less.low);
        less = more;
    }
    return verdict(
        by_count(grows),
        fmt::format("Through a buffer of {} the GPU takes longer than through the best buffer, by {:.2g} ms with a "
                    "file of {} and by {:.2g} s with a file of {}; the difference grows at {} of {} steps.",
                    size_of(s.buffer_bytes(0)), lost_by_small_buffer(s, 1).value / 1e6, size_of(s.cuda.x()[1]),
                    less.value / 1e9, size_of(s.cuda.x().back()), grows.is, grows.of));
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
    const Ratio r = s.largest_against(s.ni);
    return verdict(close(r),
                   fmt::format("With a file of {}, both through a buffer of {}, the GPU reaches {:.0f} % of the "
                               "speed of AES-NI on one thread.",
                               size_of(s.cuda.x().back()), size_of(s.buffer_bytes(s.last_buffer())), 100 * r.value));
}

Verdict ni_faster(const Figures& figures) {
    const Surface s(figures, surfaces[0]);
    Count ahead, gpu_ahead;
    double most = 0;
    for (std::size_t buffer = 0; buffer < s.cuda.rows(); ++buffer) {
        for (std::size_t file = 0; file < s.cuda.columns(); ++file) {
            const Figure gpu = s.cuda.at(file, buffer), ni = s.ni.at(file, buffer);
            ahead.add_ahead(order_of(ni, gpu)), gpu_ahead.add_ahead(order_of(gpu, ni));
            most = std::max(most, gpu.value / ni.value);
        }
    }
    return verdict(
        by_count(ahead),
        fmt::format("AES-NI on one thread is ahead at {} of {} files and buffers, the GPU at {}, where it is at "
                    "most {:.2f} times as fast.",
                    ahead.is, ahead.of, gpu_ahead.is, most));
}

Verdict other_keys(const Figures& figures) {
    Count alike;
    double least = 1e9, most = 0;
    for (const char* title : surfaces) {
        const Surface s(figures, title);
        const Ratio ratio = s.largest_against(s.ni);
        least = std::min(least, ratio.value), most = std::max(most, ratio.value);
        const bool surely = is_close(ratio.low) && is_close(ratio.high);
        alike.add(surely, !surely && (is_close(ratio.low) || is_close(ratio.high) || is_around(ratio)));
    }
    return verdict(
        by_count(alike),
        fmt::format("With the largest file and buffer the GPU is close to AES-NI, or slightly behind, in {} of "
                    "{} surfaces of key size and direction: {:.0f} to {:.0f} % of it.",
                    alike.is, alike.of, 100 * least, 100 * most));
}

Verdict same_models(const Figures& figures) {
    Count alike;
    double most = 1;
    for (std::size_t i = 0; i < surfaces.size(); ++i) {
        const std::size_t base = i < 3 ? 0 : 3;  // encryption, then decryption
        if (i == base) continue;
        const Surface of_128(figures, surfaces[base]), other(figures, surfaces[i]);
        for (std::size_t cell = 0; cell < other.cuda.size(); ++cell) {
            const Ratio r = over(other.cuda[cell], of_128.cuda[cell]);
            alike.add_at_both_ends(r, [](double x) { return x <= 1.15 && x >= 1 / 1.15; });
            most = std::max(most, std::max(r.value, 1 / r.value));
        }
    }
    return verdict(by_count(alike),
                   fmt::format("With longer keys the GPU's speed is within 15 % of that with 128 bits at "
                               "{} of {} files and buffers, at most {:.2f} times apart.",
                               alike.is, alike.of, most));
}

Verdict faster_with_data(const Figures& figures) {
    const Surface s(figures, surfaces[0]);
    Count faster;
    for (std::size_t file = 1; file < s.cuda.columns(); ++file) {
        faster.add_ahead(order_of(best_of(s.cuda, file), best_of(s.cuda, file - 1)));
    }
    return verdict(by_count(faster),
                   fmt::format("The GPU is faster than with the next smaller file at {} of {} steps, "
                               "from {} with {} to {} with {}.",
                               faster.is, faster.of, gb_per_s(best_of(s.cuda, 0)), size_of(s.cuda.x()[0]),
                               gb_per_s(best_of(s.cuda, last_file(s.cuda))), size_of(s.cuda.x().back())));
}

Verdict one_large_transfer(const Figures& figures) {
    const Surface s(figures, surfaces[0]);
    const Figure large = s.cuda.at(last_file(s.cuda), s.last_buffer()), small = s.cuda.at(last_file(s.cuda), 0);
    const Ratio r = over(large, small);
    return verdict(badly(r),
                   fmt::format("The largest file goes through a buffer of {} at {} and through a buffer of {} at {}, "
                               "{} as fast.",
                               size_of(s.buffer_bytes(s.last_buffer())), gb_per_s(large), size_of(s.buffer_bytes(0)),
                               gb_per_s(small), times(r.value)));
}

Verdict kernel_is_fast(const Figures& figures) {
    const Surface s(figures, surfaces[0]);
    const Figure whole = s.cuda.at(last_file(s.cuda), s.last_buffer()),
                 kernel = figures.row("D.occupancy", "Sixteen thread blocks, and a grid for this GPU", "speed")[0];
    const Ratio share = over(whole, kernel);
    return verdict(
        at_both_ends(in_another_run(share),
                     [](double x) { return x < 0.25  ? Holds::yes
                                           : x < 0.5 ? Holds::partly
                                                     : Holds::no; }),
        fmt::format(
            "With the largest file and buffer, CUDA reaches {}, and its kernel alone reaches {}: the kernel takes {} "
            "of the time.",
            gb_per_s(whole), gb_per_s(kernel), percent(share.value)));
}

Verdict stronger_gpus(const Figures& figures) {
    const Surface s(figures, surfaces[0]);
    bool ahead = false, unclear = false;
    double most = 0;
    for (std::size_t buffer = 0; buffer < s.cuda.rows(); ++buffer) {
        const Figure gpu = s.cuda.at(last_file(s.cuda), buffer), ni = s.ni.at(last_file(s.ni), buffer);
        const Order order = order_of(gpu, ni);
        ahead = ahead || order == Order::ahead, unclear = unclear || order == Order::unclear;
        most = std::max(most, gpu.value / ni.value);
    }
    return verdict(
        ahead     ? Holds::yes
        : unclear ? Holds::open
                  : Holds::no,
        fmt::format("With a file of {} the GPU is at most {:.2f} times as fast as AES-NI on one thread, both "
                    "through the same buffer.",
                    size_of(s.cuda.x().back()), most));
}

Verdict both_platforms(const Figures& figures) {
    (void)figures.panel("D.surfaces", surfaces[0]);
    throw Missing("a record is of one machine, and the sentence is about two");
}

Verdict cheap_machines(const Figures& figures) {
    const auto& gpu = figures.record().machine.gpu;
    if (!gpu || gpu->name.find("GeForce") == std::string::npos) {
        throw Missing(
            fmt::format("the sentence is about GPUs of the middle and lower price range, and this one is "
                        "{}",
                        gpu ? gpu->name : "none"));
    }
    const Surface s(figures, surfaces[0]);
    const Ratio cpp = s.largest_against(s.cpp), ni = s.largest_against(s.ni);
    const Holds of_cpp = by_gain(cpp);
    const Holds of_ni = at_both_ends(ni, [](double x) { return x >= slightly ? Holds::yes : Holds::partly; });
    return verdict(of_cpp == Holds::yes ? of_ni : of_cpp,
                   fmt::format("With the largest file and buffer {} is {} as fast as plain C++ and {} as fast as "
                               "AES-NI, on one thread each.",
                               gpu->name, times(cpp.value), times(ni.value)));
}

Verdict combinations(const Figures& figures) {
    const Row speed = figures.row("D.occupancy", "What the size of a thread block is worth", "speed");
    const std::size_t best = speed.best(), worst = speed.worst();
    const Ratio r = over(speed[best], speed[worst]);
    return verdict(
        at_both_ends(r, [](double x) { return x >= 1.05      ? Holds::yes
                                              : x >= 1 + tie ? Holds::partly
                                                             : Holds::no; }),
        fmt::format("{:.0f} threads per thread block reach {}, and {:.0f} reach {}.", speed.x()[best],
                    gb_per_s(speed[best]), speed.x()[worst], gb_per_s(speed[worst])));
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
    return verdict(
        all_or_most(full, of),
        fmt::format("According to the calculator, {} of these {} sizes reach all warps on compute capability 2.1.",
                    full, of));
}

Verdict cpu_freed_of_aes_ni(const Figures& figures) {
    const Panel& panel = figures.panel("D.surfaces", "Processor seconds a gigabyte");
    const Row row = Figures::row(panel, "largest file and buffer");
    const Figure gpu = row.at(std::string(cuda_name)), ni = row.at(std::string(ni_name));
    const Ratio r = over(ni, gpu);
    return verdict(by_gain(r, 2),
                   fmt::format("With the largest file and buffer, the GPU takes {:.2g} processor seconds per "
                               "gigabyte, and AES-NI takes {:.2g}.",
                               gpu.value, ni.value));
}

}  // namespace

std::vector<Rule> rules_of_damjanovic() {
    return {
        {"D.small-data", small_data},
        {"D.small-buffers", small_buffers},
        {"D.faster-with-data", faster_with_data},
        {"D.large-cpp", large_against_cpp},
        {"D.aes-ni-faster", ni_faster},
        {"D.large-aes-ni", large_against_ni},
        {"D.key-sizes", other_keys},
        {"D.same-models", same_models},
        {"D.both-platforms", both_platforms},
        {"D.one-large-transfer", one_large_transfer},
        {"D.kernel-fast", kernel_is_fast},
        {"D.stronger-gpus", stronger_gpus},
        {"D.cheap", cheap_machines},
        {"D.cpu-freed", cpu_freed_of_aes_ni},
        {"D.model", model_fit},
        {"D.calculator", calculator},
        {"D.combinations", combinations},
    };
}

}  // namespace lab::claims
