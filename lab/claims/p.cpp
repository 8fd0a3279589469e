// [P] Martín Berlanga.
#include <algorithm>

#include "lab/claims/words.hpp"

namespace lab::claims {

namespace {

namespace paracrypt = published::paracrypt;

constexpr const char *on_disk = "On a disk", *gpu_name = "warpaes enc on the GPU";
/// The paper's openssl ran without AES instructions.
constexpr const char *with_instructions = "openssl enc, then fsync",
                     *without_instructions = "openssl enc without AES instructions, then fsync";

Row on_a_disk(const Figures& figures, const std::string& experiment, const char* name) {
    return figures.row(experiment, on_disk, name);
}

/// Returns the mean ratio of `a` to `b` for all files of at least `bytes` bytes.
Ratio mean_from(const Row& a, const Row& b, double bytes) {
    std::vector<Ratio> ratios;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a.x()[i] >= bytes && a.has(i) && b.has(i)) ratios.push_back(over(a[i], b[i]));
    }
    if (ratios.empty()) throw Missing(fmt::format("no file was as large as {:.0f} MB", bytes / 1e6));
    return mean(ratios);
}

/// Returns the ratio of the GPU's speed to the speed of openssl without AES instructions, as in the paper.
Ratio gain_of(const Figures& figures, const std::string& experiment, double from) {
    return mean_from(on_a_disk(figures, experiment, gpu_name), on_a_disk(figures, experiment, without_instructions),
                     from);
}

constexpr auto from_encryption = static_cast<double>(paracrypt::encryption_gains_from_bytes),
               from_decryption = static_cast<double>(paracrypt::decryption_gains_from_bytes);

Verdict large_files(const Figures& figures, const std::string& experiment, double from, double published) {
    const Ratio r = gain_of(figures, experiment, from);
    const Ratio today =
        mean_from(on_a_disk(figures, experiment, gpu_name), on_a_disk(figures, experiment, with_instructions), from);
    std::string against = fmt::format("against one with them it is {}", experiments::how_fast(today.value, 1));
    return verdict(
        by_gain(r, 1 + published),
        fmt::format("On a disk, from {:.0f} MB on, the GPU is {} openssl without AES instructions, on average; "
                    "{} (published: {:.0f} % faster, on a disk of 208 MB/s).",
                    from / 1e6, compared(r), against, 100 * published));
}

Verdict encryption(const Figures& figures) {
    return large_files(figures, "P.encryption", from_encryption, paracrypt::encryption_gain);
}
Verdict decryption(const Figures& figures) {
    return large_files(figures, "P.decryption", from_decryption, paracrypt::decryption_gain);
}

Verdict decryption_less(const Figures& figures) {
    const Ratio d = gain_of(figures, "P.decryption", from_decryption),
                e = gain_of(figures, "P.encryption", from_encryption);
    return verdict(at_both_ends(over(d, e),
                                [](double x) {
                                    return x > 1 / (1 + tie) ? Holds::no : x >= 0.85 ? Holds::yes : Holds::partly;
                                }),
                   fmt::format("On average the GPU decrypts {} openssl without AES instructions from 125 MB on, and "
                               "encrypts {} it from 63 MB on.",
                               compared(d), compared(e)));
}

/// Returns the ratio of openssl's speed to the GPU's speed for the smallest file.
Ratio smallest(const Figures& figures, const std::string& experiment) {
    const Row gpu = on_a_disk(figures, experiment, gpu_name);
    try {
        return over(on_a_disk(figures, experiment, without_instructions)[0], gpu[0]);
    } catch (const Missing&) {
        // Such a small file takes milliseconds; the lack of AES instructions adds only 30 µs.
        return over(on_a_disk(figures, experiment, with_instructions)[0], gpu[0]);
    }
}

Verdict small_files(const Figures& figures) {
    const Ratio e = smallest(figures, "P.encryption"), d = smallest(figures, "P.decryption");
    const auto rule = [](double r) { return r > 1.25 ? Holds::yes : r > 1 + tie ? Holds::partly : Holds::no; };
    const Holds of_e = at_both_ends(e, rule), of_d = at_both_ends(d, rule);
    return verdict(
        less_of(of_e, of_d),
        fmt::format("A file of {} on a disk takes the GPU {} as long as openssl to encrypt, and {} to decrypt.",
                    size_of(on_a_disk(figures, "P.encryption", gpu_name).x()[0]), times(e.value), times(d.value)));
}

Verdict delay(const Figures& figures) {
    const Panel& panel = figures.panel("W.worth", "Throughput by size and place");
    const Row gpu = Figures::row(panel, "GPU, page-locked memory");
    for (const char* name : {"aesni, one thread", "armv8, one thread"}) {
        try {
            const Row cpu = Figures::row(panel, name);
            const Ratio r = over(cpu[0], gpu[0]);
            return verdict(by_gain(r),
                           fmt::format("With {} one CPU thread ({}), {}, is {} the GPU with transfers, {}.",
                                       size_of(gpu.x()[0]), name, gb_per_s(cpu[0]), compared(r), gb_per_s(gpu[0])));
        } catch (const Missing&) {
        }
    }
    throw Missing("no CPU thread by itself was measured");
}

Verdict streams(const Figures& figures) {
    std::string in_memory;
    try {
        const Row rates = figures.row("P.streams", "Throughput with transfers, by number of streams",
                                      "one thread a block, tables in shared memory");
        in_memory =
            fmt::format(" From memory to memory four streams are {} one.", compared(over(rates.at(4), rates.at(1))));
    } catch (const Missing&) {
    }
    const Panel* panel = nullptr;
    try {
        panel = &figures.panel_like("P.streams", "A file of ");
    } catch (const Missing&) {
        throw Missing("the paper's program waits for a disk, and none was used in this record" +
                      (in_memory.empty() ? in_memory : "." + in_memory.substr(0, in_memory.size() - 1)));
    }
    const Row rates = Figures::row(*panel, "cuda");
    const Ratio r = over(rates.at(4), rates.at(1));
    return verdict(at_both_ends(r,
                                [](double gain) {
                                    return gain < 1 + tie ? Holds::no : gain <= 1.14 ? Holds::yes : Holds::partly;
                                }),
                   fmt::format("From and to a disk four streams are {} one, {} and {}.{}", compared(r),
                               gb_per_s(rates.at(4)), gb_per_s(rates.at(1)), in_memory));
}

constexpr const char* on_a_disk_begin = "A file of ";

/// Returns the panel for files on a disk.
const Panel& of_disk(const Figures& figures, const std::string& experiment) {
    return figures.panel_like(experiment, on_a_disk_begin, "on a disk");
}

Verdict staging_best(const Figures& figures) {
    const Row rates = Figures::row(of_disk(figures, "P.staging"), "cuda");
    const std::size_t best = rates.best();
    const std::string found =
        fmt::format("Chunks of {} are best on a disk, {}", size_of(rates.x()[best]), gb_per_s(rates[best]));
    const auto eight = static_cast<double>(paracrypt::best_staging_bytes);
    if (std::find(rates.x().begin(), rates.x().end(), eight) == rates.x().end()) {
        throw Missing(fmt::format("chunks of 8 MiB were not measured; {}{}", static_cast<char>(std::tolower(found[0])),
                                  found.substr(1)));
    }
    const Ratio r = over(rates.at(eight), rates[best]);
    return verdict(by_sameness(r), fmt::format("{}; chunks of 8 MiB reach {} of it.", found, percent(r.value)));
}

Verdict staging_ends(const Figures& figures) {
    const Row rates = Figures::row(of_disk(figures, "P.staging"), "cuda");
    const std::size_t best = rates.best(), last = rates.size() - 1;
    return verdict(
        by_both_ends_behind(rates),
        fmt::format("On a disk, chunks of {} reach {}; with {} the speed is {} less, and with {} it is {} less.",
                    size_of(rates.x()[best]), gb_per_s(rates[best]), size_of(rates.x()[0]),
                    percent(1 - rates[0].value / rates[best].value), size_of(rates.x()[last]),
                    percent(1 - rates[last].value / rates[best].value)));
}

Verdict one_thread(const Figures& figures) {
    const Row speed = figures.row("P.threads", "Threads a block of AES", "encryption");
    const Figure others[] = {speed.at(std::string("2")), speed.at(std::string("4")), speed.at(std::string("16"))};
    const Figure one = speed.at(std::string("1")), next = best_figure(others);
    const Ratio r = over(one, next);
    return verdict(by_gain(r), fmt::format("One thread per block, {}, is {} the best of 2, 4 and 16, {}.",
                                           gb_per_s(one), compared(r), gb_per_s(next)));
}

/// Judges the claim that the choice of the kernel makes little difference to the speed from disk to disk.
Verdict differ_little(const Figures& figures, std::initializer_list<const char*> kernels) {
    const Panel* panel = nullptr;
    try {
        panel = &figures.panel("P.memory", "From disk to disk, by kernel");
    } catch (const Missing&) {
        (void)figures.panel("P.memory", "Tables by memory, keys by memory");  // throws Missing if nothing was measured
        throw Missing("what was published is of files on a disk, and no kernel was measured with one");
    }
    const Row speed = Figures::row(*panel, "speed");
    std::vector<Figure> all;
    std::string said;
    for (const char* kernel : kernels) {
        all.push_back(speed.at(std::string(kernel)));
        said += fmt::format("{}{} {}", said.empty() ? "" : ", ", kernel, gb_per_s(all.back()));
    }
    const Ratio r = over(worst_figure(all), best_figure(all));
    return verdict(
        at_both_ends(r, [](double x) { return x >= 0.85        ? Holds::yes
                                              : x >= 2.0 / 3.0 ? Holds::partly
                                                               : Holds::no; }),
        fmt::format("From disk to disk: {}.", said));
}
Verdict teams_alike(const Figures& figures) {
    return differ_little(figures, {"1 thread a block", "2 threads a block", "4 threads a block", "16 threads a block"});
}
Verdict memories(const Figures& figures) {
    return differ_little(figures, {"tables in global memory", "tables in constant memory", "tables in shared memory"});
}

Verdict tables_pay(const Figures& figures) {
    const char* title = "Tables by memory and number";
    const Figure tables = figures.row("N.tables", title, "4 tables").at(std::string("shared")),
                 s_box = figures.row("N.tables", title, "S-box, arithmetic").at(std::string("shared"));
    const Ratio r = over(tables, s_box);
    return verdict(by_gain(r), fmt::format("In shared memory four tables, {}, are {} the S-box and arithmetic, {}.",
                                           gb_per_s(tables), compared(r), gb_per_s(s_box)));
}

Verdict random_access(const Figures& figures) {
    const Row time = figures.row("P.random_access", "Time by range", "CTR, a file job with a range");
    const std::size_t last = time.size() - 1;
    const double share = time[0].value / time[last].value;
    return verdict(at_both_ends(in_another_run(share),
                                [](double x) { return x < 0.1   ? Holds::yes
                                                      : x < 0.5 ? Holds::partly
                                                                : Holds::no; }),
                   fmt::format("{:.0f} bytes of {} take {:.3g} µs, {:.2g} % of the time of the complete file.",
                               time.x()[0], size_of(time.x()[last]), time[0].value, 100 * share));
}

Verdict aes_ni(const Figures& figures) {
    const Ratio r = mean_from(on_a_disk(figures, "P.encryption", with_instructions),
                              on_a_disk(figures, "P.encryption", gpu_name), from_encryption);
    const auto similar = [](double ratio) { return ratio >= 2.0 / 3 && ratio <= 1.5; };
    const bool around = r.low < 2.0 / 3 && r.high > 1.5;
    return verdict(
        around || similar(r.low) != similar(r.high) ? Holds::open
        : similar(r.low)                            ? Holds::yes
                                                    : Holds::no,
        fmt::format("On a disk, from 63 MB on, openssl with AES instructions is {} the GPU, on average.", compared(r)));
}

Verdict cpu_freed_of_openssl(const Figures& figures) {
    const Panel& panel = figures.panel("P.encryption", "Processor seconds a gigabyte");
    const Row gpu = Figures::row(panel, gpu_name),
              openssl = Figures::row(panel, "openssl enc without AES instructions");
    const std::size_t last = gpu.size() - 1;
    const Ratio r = over(openssl[last], gpu[last]);
    return verdict(by_gain(r, 2),
                   fmt::format("With {} the GPU takes {:.2g} processor seconds of the whole "
                               "machine per gigabyte, and openssl without AES instructions takes {:.2g}.",
                               size_of(gpu.x()[last]), gpu[last].value, openssl[last].value));
}

Verdict page_locked_at_last(const Figures& figures) {
    const char* title = "Copies in and out around the kernel";
    const Row locked = figures.row("P.host_memory", title, "page-locked"),
              pageable = figures.row("P.host_memory", title, "pageable");
    const std::size_t last = locked.size() - 1;
    const Ratio r = over(locked[last], pageable[last]);
    return verdict(by_gain(r),
                   fmt::format("With {} page-locked memory, {}, is {} pageable memory, {}.", size_of(locked.x()[last]),
                               gb_per_s(locked[last]), compared(r), gb_per_s(pageable[last])));
}

}  // namespace

std::vector<Rule> rules_of_paracrypt() {
    return {
        {"P.encryption-large", encryption},
        {"P.decryption-large", decryption},
        {"P.decryption-less", decryption_less},
        {"P.small-files", small_files},
        {"P.delay", delay},
        {"P.aes-ni", aes_ni},
        {"P.streams", streams},
        {"P.staging", staging_best},
        {"P.staging-ends", staging_ends},
        {"P.page-locked", page_locked_at_last},
        {"P.one-thread", one_thread},
        {"P.teams-alike", teams_alike},
        {"P.memories", memories},
        {"P.tables-pay", tables_pay},
        {"P.random-access", random_access},
        {"P.cpu-freed", cpu_freed_of_openssl},
    };
}

}  // namespace lab::claims
