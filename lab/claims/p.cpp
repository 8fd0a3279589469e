// [P] Martín Berlanga.
#include <algorithm>

#include "lab/claims/words.hpp"

namespace lab::claims {

namespace {

namespace paracrypt = published::paracrypt;

constexpr const char *on_disk = "On a disk", *on_tmpfs = "On a tmpfs", *gpu_name = "warpaes enc on the GPU";

/// The GPU against openssl at each file size, in one place.
struct AgainstOpenssl {
    AgainstOpenssl(const Figures& figures, const std::string& experiment, const char* place)
        : gpu(figures.row(experiment, place, gpu_name)),
          openssl(figures.row(experiment, place, place == on_disk ? "openssl enc, then fsync" : "openssl enc")) {}
    /// The mean ratio over all files of at least `bytes` bytes.
    [[nodiscard]] Ratio from(double bytes) const {
        std::vector<Ratio> ratios;
        for (std::size_t i = 0; i < gpu.size(); ++i) {
            if (gpu.x()[i] >= bytes && gpu.has(i) && openssl.has(i)) ratios.push_back(over(gpu[i], openssl[i]));
        }
        if (ratios.empty()) throw Missing(fmt::format("no file was as large as {:.0f} MB", bytes / 1e6));
        return mean(ratios);
    }
    Row gpu, openssl;
};

Verdict large_files(const Figures& figures, const std::string& experiment, double from, double published) {
    const AgainstOpenssl disk(figures, experiment, on_disk);
    const Ratio r = disk.from(from);
    std::string memory;
    try {
        const AgainstOpenssl tmpfs(figures, experiment, on_tmpfs);
        const std::size_t last = tmpfs.gpu.size() - 1;
        memory = fmt::format("; on a tmpfs it is {} it, and with {} {}", compared(tmpfs.from(from)),
                             size_of(tmpfs.gpu.x()[last]), compared(over(tmpfs.gpu[last], tmpfs.openssl[last])));
        memory = memory.substr(0, memory.rfind(' '));  // removes the final "than" or "as"
    } catch (const Missing&) {
    }
    return verdict(by_gain(r, 1 + published),
                   fmt::format("On a disk, from {:.0f} MB on, the GPU is {} openssl, on average{} (published: {:.0f} % "
                               "faster, on a disk of 208 MB/s).",
                               from / 1e6, compared(r), memory, 100 * published));
}

Verdict encryption(const Figures& figures) {
    return large_files(figures, "P.encryption", 63e6, 0.55);
}
Verdict decryption(const Figures& figures) {
    return large_files(figures, "P.decryption", 125e6, 0.50);
}

Verdict small_files(const Figures& figures) {
    const AgainstOpenssl encryption(figures, "P.encryption", on_disk), decryption(figures, "P.decryption", on_disk);
    const Ratio e = over(encryption.openssl[0], encryption.gpu[0]), d = over(decryption.openssl[0], decryption.gpu[0]);
    const auto rule = [](double r) { return r > 1.25 ? Holds::yes : r > 1 + tie ? Holds::partly : Holds::no; };
    const Holds of_e = at_both_ends(e, rule), of_d = at_both_ends(d, rule);
    return verdict(
        of_e == of_d ? of_e : Holds::open,
        fmt::format("A file of {} on a disk takes the GPU {} as long as openssl to encrypt, and {} to decrypt.",
                    size_of(encryption.gpu.x()[0]), times(e.value), times(d.value)));
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

/// The panel for files on a disk.
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
    const Order small = order_of(rates[best], rates[0]), large = order_of(rates[best], rates[last]);
    const Holds holds = small == Order::unclear || large == Order::unclear
                            ? Holds::open
                            : both(small == Order::ahead, large == Order::ahead);
    return verdict(holds, fmt::format("On a disk chunks of {} do {}; with {} it is {} less, with {} {}.",
                                      size_of(rates.x()[best]), gb_per_s(rates[best]), size_of(rates.x()[0]),
                                      percent(1 - rates[0].value / rates[best].value), size_of(rates.x()[last]),
                                      percent(1 - rates[last].value / rates[best].value)));
}

Verdict reader_and_writer(const Figures& figures) {
    const Row rates = Figures::row(of_disk(figures, "P.pipeline"), "cuda");
    const Ratio r = over(rates.at(std::string("reader, worker, writer")), rates.at(std::string("one thread")));
    return verdict(by_gain(r),
                   fmt::format("On a disk, with the GPU, a reader and a writer beside the worker are {} one "
                               "thread, {} and {}.",
                               compared(r), gb_per_s(rates.at(std::string("reader, worker, writer"))),
                               gb_per_s(rates.at(std::string("one thread")))));
}

Verdict memories(const Figures& figures) {
    const Panel& panel = figures.panel("P.memory", "Tables by memory, keys by memory");
    double slowest = 1e9, fastest = 0;
    for (const Series& series : panel.series) {
        const Row row(panel, series);
        slowest = std::min(slowest, row[row.worst()].value);
        fastest = std::max(fastest, row[row.best()].value);
    }
    const Panel& files = of_disk(figures, "P.pipeline");
    const Row disk = Figures::row(files, "cuda");
    const double rate = disk[disk.best()].value;
    const Ratio r = in_another_run(slowest / rate);
    return verdict(
        at_both_ends(r, [](double x) { return x > 1 ? Holds::yes : Holds::no; }),
        fmt::format("Kernels differ by a factor of {:.0f}, {:.3g} to {:.3g} GB/s, but the slowest is {} as fast "
                    "as files go through a disk here, {:.2g} GB/s.",
                    fastest / slowest, slowest, fastest, times(slowest / rate), rate));
}

Verdict random_access(const Figures& figures) {
    const Row time = figures.row("P.random_access", "Time by range", "CTR, a file job with a range");
    const std::size_t last = time.size() - 1;
    const double share = time[0].value / time[last].value;
    return verdict(at_both_ends(in_another_run(share),
                                [](double x) { return x < 0.1   ? Holds::yes
                                                      : x < 0.5 ? Holds::partly
                                                                : Holds::no; }),
                   fmt::format("{:.0f} bytes of {} take {:.3g} µs, {:.2g} % of what all of it takes.", time.x()[0],
                               size_of(time.x()[last]), time[0].value, 100 * share));
}

Verdict aes_ni(const Figures& figures) {
    const AgainstOpenssl disk(figures, "P.encryption", on_disk);
    const Row cpu = figures.row("P.encryption", on_disk, "warpaes enc");
    std::vector<Ratio> ratios;
    for (std::size_t i = 0; i < cpu.size(); ++i) {
        if (cpu.x()[i] >= 63e6) ratios.push_back(over(cpu[i], disk.gpu[i]));
    }
    if (ratios.empty()) throw Missing("no file was as large as 63 MB");
    const Ratio r = mean(ratios);
    return verdict(at_both_ends(r,
                                [](double ratio) {
                                    return ratio < 2.0 / 3 ? Holds::no : ratio > 1.5 ? Holds::partly : Holds::yes;
                                }),
                   fmt::format("On a disk, from 63 MB on, the CPU's AES instructions are {} the GPU, on average{}.",
                               compared(r), r.value > 1.5 ? ": more than similar" : ""));
}

Verdict cpu_freed_of_openssl(const Figures& figures) {
    const Panel& panel = figures.panel("P.encryption", "Processor seconds a gigabyte");
    const Row gpu = Figures::row(panel, gpu_name), openssl = Figures::row(panel, "openssl enc");
    const std::size_t last = gpu.size() - 1;
    const Ratio r = over(openssl[last], gpu[last]);
    return verdict(by_gain(r, 2), fmt::format("With {} the GPU takes {:.2g} processor seconds a gigabyte of the whole "
                                              "machine, openssl {:.2g}.",
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

Verdict parallel_modes(const Figures& figures) {
    const Panel& panel = figures.panel_like("P.modes", "Modes that are parallel");
    const Row cuda = Figures::row(panel, "cuda");
    const Figure least = cuda[cuda.worst()], most = cuda[cuda.best()];
    return verdict(at_both_ends(in_another_run(over(least, most)),
                                [](double x) { return x > 0.8   ? Holds::yes
                                                      : x > 0.5 ? Holds::partly
                                                                : Holds::no; }),
                   fmt::format("ECB, CTR and decryption in CBC and CFB do {:.3g} to {:.3g} GB/s from host to host.",
                               least.value, most.value));
}

}  // namespace

std::vector<Claim> of_paracrypt() {
    constexpr Paper p = Paper::paracrypt;
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
    add("P.encryption-large", "Encryption: the GPU is ahead of OpenSSL by 55 % on average from 63 MB on",
        "P.encryption", gain_rule, encryption);
    add("P.decryption-large", "Decryption: the GPU is ahead of OpenSSL by 50 % on average from 125 MB on",
        "P.decryption", gain_rule, decryption);
    add("P.small-files", "Small files are poor: the GPU is behind OpenSSL, both ways", "P.encryption",
        "yes if the smallest file takes 1.25 times as long, in part if longer", small_files);
    add("P.streams", "Four streams gain up to 7 %, from disk to disk", "P.streams",
        "yes if ahead by no more than twice that, in part by more, no if a tie", streams);
    add("P.staging", "Staging buffers of 8 MB are best", "P.staging", "yes within 5 % of the best, in part within 15 %",
        staging_best);
    add("P.staging-ends", "Too small and too large staging buffers both lose", "P.staging",
        "yes if both lose 1.5 % or more beyond the spread, in part if one does", staging_ends);
    add("P.reader-writer", "A reader and a writer thread, joined by queues, gain", "P.pipeline", lead_rule,
        reader_and_writer);
    add("P.memories", "The memory of tables and keys differs little: the disk hides it", "P.memory",
        "yes if the slowest kernel is faster than files go through a disk here", memories);
    add("P.random-access", "A range of an encrypted file costs what the blocks under it cost", "P.random_access",
        "yes if 16 bytes take less than a tenth of the whole file's time, in part less than half", random_access);
    add("P.aes-ni", "AES-NI gives similar benefits", "P.encryption",
        "yes between two thirds and 1.5 times the GPU's speed, in part if faster", aes_ni);
    add("P.cpu-freed", "The GPU frees the CPU", "P.encryption",
        "a gain of two, in processor seconds of the whole machine at the largest file", cpu_freed_of_openssl);
    add("P.page-locked", "Page-locked staging buffers are faster than pageable ones", "P.host_memory", lead_rule,
        page_locked_at_last);
    add("P.modes", "ECB, CTR, and decryption in CBC and CFB run in parallel alike", "P.modes",
        "yes if the slowest is within 20 % of the fastest, in part within half", parallel_modes);
    shown("P.teams", "1, 2, 4 or 16 threads a block", "P.threads", "Threads a block of AES");
    shown("P.full-occupancy", "Threads laid out for full occupancy", "P.threads", "Threads a thread block");
    shown("P.integers", "Kernels of integers and of bytes", "P.memory", "Words or bytes");
    shown("P.out-of-order", "Launches out of order", "P.memory", "The order in which thread blocks take text");
    shown("P.disk", "A disk of 208 MB/s against a bus of 8 GB/s: what would faster storage show?", "P.encryption",
          "On a disk, On a tmpfs");
    shown("P.key-sizes", "Keys of 128, 192 and 256 bits", "D.surfaces", "a panel each");
    unmeasured("P.all-gpus", "All GPUs of the machine are used", "the lab uses one");
    unmeasured("P.qkd", "Links fed by quantum key distribution", "no such link");
    unmeasured("P.tests", "Standard vectors and random round trips", "warpaes' own tests do that");
    return claims;
}

}  // namespace lab::claims
