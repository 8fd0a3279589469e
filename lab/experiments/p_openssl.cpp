// P.encryption and P.decryption repeat [P]'s comparison with openssl: the command `warpaes enc` compared with `openssl
// enc` by file size, 16 KiB to 256 MiB on a disk and to 1 GiB on a tmpfs (--quick: 16 KiB to 64 MiB). Encryption is
// AES-128-CTR, decryption AES-128-CBC. The host's clock measures from the start of the process to its end. On a disk,
// the input is evicted from the page cache before the clock starts. A second openssl line there adds an fsync of the
// output, because warpaes ends only when its output is on the disk. Each line of openssl is measured twice: with the
// processor's AES instructions, and without them, like the paper's openssl. Processor seconds of the whole machine are
// recorded for the same runs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/compare.hpp"
#include "lab/experiments/experiments.hpp"
#include "lab/experiments/file_trials.hpp"
#include "lab/experiments/panels.hpp"
#include "lab/files.hpp"
#include "lab/machine.hpp"
#include "lab/process.hpp"
#include "lab/published.hpp"
#include "lab/reference.hpp"

namespace lab::experiments {

namespace {

struct CommandSubject {
    std::string name;
    Series::Role role;
    std::vector<std::string> command;  ///< arguments without the files
    bool sync;                         ///< whether the time includes flushing the output to the disk
    bool only_on_disk;
    std::vector<std::string> environment = {};
};

std::string hex(std::span<const std::uint8_t> bytes) {
    std::string text;
    for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
    return text;
}

constexpr const char* openssl_name = "openssl enc";
constexpr const char* openssl_synced_name = "openssl enc, then fsync";

/// Returns the value of OPENSSL_ia32cap(3) that disables AES instructions (and carry-less products) in libcrypto. Empty
/// if there is no such value for this processor.
std::vector<std::string> without_aes_instructions() {
#if defined(__x86_64__)
    return {"OPENSSL_ia32cap=~0x200000200000000"};
#elif defined(__aarch64__)
    return {"OPENSSL_armcap=1"};  // NEON only
#else
    return {};
#endif
}

std::vector<CommandSubject> subjects_of(const Context& context, const std::vector<std::string>& arguments) {
    if (context.command.empty()) throw LeftOut("it starts the command `warpaes`, whose path is unknown");
    const auto openssl = find_program("openssl");
    if (!openssl) throw LeftOut("it needs the command `openssl`, which is missing");
    const auto command = [&](std::vector<std::string> beginning, const std::vector<std::string>& more) {
        beginning.insert(beginning.end(), arguments.begin(), arguments.end());
        beginning.insert(beginning.end(), more.begin(), more.end());
        return beginning;
    };
    const std::string warpaes = context.command;
    std::vector<CommandSubject> subjects{
        {"warpaes enc", Series::Role::measured, command({warpaes, "enc"}, {"-f", "--no-progress"}), false, false}};
    if (context.gpu >= 0) {
        subjects.push_back({"warpaes enc on the GPU", Series::Role::measured,
                            command({warpaes, "enc"}, {"-f", "--no-progress", "--backend", "cuda", "--device",
                                                       std::to_string(context.gpu)}),
                            false, false});
    }
    subjects.push_back({openssl_name, Series::Role::baseline, command({*openssl, "enc"}, {}), false, false});
    subjects.push_back({openssl_synced_name, Series::Role::baseline, command({*openssl, "enc"}, {}), true, true});
    if (const auto environment = without_aes_instructions(); !environment.empty()) {
        subjects.push_back({"openssl enc without AES instructions", Series::Role::baseline,
                            command({*openssl, "enc"}, {}), false, false, environment});
        subjects.push_back({"openssl enc without AES instructions, then fsync", Series::Role::baseline,
                            command({*openssl, "enc"}, {}), true, true, environment});
    }
    return subjects;
}

/// The key and IV used in the runs.
struct Secrets {
    std::vector<std::uint8_t> key = random_bytes(16, 1), iv = random_bytes(16, 2);
};

/// Returns the seconds from the start of the process to its end, plus the fsync if the subject has one.
double run_subject(const CommandSubject& subject, const Place& place) {
    const std::filesystem::path input = place.folder / "input", output = place.folder / "output";
    std::filesystem::remove(output);
    if (place.on_disk) File::read_only(input).evict();
    std::vector<std::string> command = subject.command;
    for (const std::string& argument : {std::string("-in"), input.string(), std::string("-out"), output.string()}) {
        command.push_back(argument);
    }
    const Finished finished = run_process(command, subject.environment);
    if (finished.status != 0) {
        throw std::runtime_error(fmt::format("{}: exit status {}: {}", subject.name, finished.status, finished.errors));
    }
    return finished.seconds + (subject.sync ? time_of([&] { File::read_write(output).sync(); }) : 0);
}

/// A disk may be slow, and each file is processed many times, so the largest size is used only on the tmpfs.
std::vector<std::uint64_t> sizes_for(const Context& context, const Place& place) {
    if (context.quick) return {16 << 10, 1 << 20, 64 << 20};
    std::vector<std::uint64_t> list{16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20};
    if (!place.on_disk) list.push_back(1 << 30);
    return list;
}

/// `processors` receives the processor seconds of the whole machine per gigabyte, for the same runs.
Panel measure_place(const Context& context, const Place& place, const std::vector<CommandSubject>& all,
                    const std::vector<std::uint64_t>& file_sizes, Direction direction, double done, double share,
                    Panel& processors) {
    Panel panel{place.on_disk ? "On a disk" : "On a tmpfs",
                Panel::Kind::lines,
                sizes("file", file_sizes),
                numbers("throughput", "GB/s", Axis::Scale::log, {}),
                {},
                {},
                place.on_disk
                    ? "AES-128, from the start of the process to its end; the input is not in the page cache. "
                      "warpaes ends when its output is on the disk, openssl when its output is in memory. openssl's "
                      "second line includes the flush to the disk."
                    : "AES-128, from the start of the process to its end."};
    std::vector<CommandSubject> subjects = all;
    if (!place.on_disk) std::erase_if(subjects, [](const CommandSubject& s) { return s.only_on_disk; });
    for (const CommandSubject& subject : subjects) panel.series.push_back({subject.name, subject.role, {}, {}});
    processors = {"Processor seconds a gigabyte",
                  Panel::Kind::lines,
                  panel.x,
                  numbers("processor seconds", "s/GB", Axis::Scale::linear, {}),
                  {},
                  panel.series,
                  fmt::format("{}: user and system time of all processes of the machine while the programs above ran; "
                              "median of runs, in steps of a hundredth of a second.",
                              panel.title)};
    const Effort effort = context.quick ? Effort{3, 3, 0} : Effort{3, 9, 0.3};
    const Secrets secrets;
    for (std::size_t i = 0; i < file_sizes.size(); ++i) {
        context.step(done + share * static_cast<double>(i) / static_cast<double>(file_sizes.size()),
                     fmt::format("{}, {}", place.name, place_name(panel.x, i)));
        // For decryption, the input is libcrypto's ciphertext and the expected output is the plaintext.
        const bool encrypt = direction == Direction::encrypt;
        std::vector<std::uint8_t> input = random_bytes(file_sizes[i], i);
        std::vector<std::uint8_t> expected =
            Reference(encrypt ? Mode::ctr : Mode::cbc, Direction::encrypt, secrets.key).run(secrets.iv, input);
        if (!encrypt) std::swap(input, expected);
        write_file(place.folder / "input", input);
        std::vector<std::function<double()>> works;
        for (const CommandSubject& subject : subjects) {
            works.push_back(verified_once(
                context, [&subject, &place] { return run_subject(subject, place); },
                [&] {
                    require_equal(expected, read_file(place.folder / "output"), subject.name + ", " + place.name);
                }));
        }
        const Counted counted = sample_in_turns(effort, works, [] { return processor_seconds().value_or(0); });
        for (std::size_t s = 0; s < subjects.size(); ++s) {
            const double gigabytes = static_cast<double>(file_sizes[i]) / 1e9;
            add(panel.series[s], rate(gigabytes, counted.seconds[s]));
            add(processors.series[s], scaled(counted.grown[s], 1 / gigabytes));
        }
    }
    std::filesystem::remove(place.folder / "input");
    std::filesystem::remove(place.folder / "output");
    return panel;
}

/// Returns the average gain of the first series over the series `openssl`, for files of at least `from` bytes, or for
/// the largest file if all files are smaller. 0.5 means 50 %.
double gain_on_large_files(const Panel& panel, const std::string& openssl, std::uint64_t from) {
    const Series &ours = panel.series.front(),
                 &theirs = *std::find_if(panel.series.begin(), panel.series.end(),
                                         [&](const Series&s) { return s.name == openssl; });
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < panel.x.values.size(); ++i) {
        const bool last = i + 1 == panel.x.values.size();
        if (panel.x.values[i] < static_cast<double>(from) && !(last && count == 0)) continue;
        sum += *ours.values[i] / *theirs.values[i] - 1;
        ++count;
    }
    return sum / count;
}

Result run_both(const Context& context, Direction direction, const std::vector<std::string>& mode, std::uint64_t from) {
    const Secrets secrets;
    std::vector<std::string> arguments = mode;
    for (const std::string& more : {std::string("-K"), hex(secrets.key), std::string("-iv"), hex(secrets.iv)}) {
        arguments.push_back(more);
    }
    Result result;
    const std::vector<CommandSubject> subjects = subjects_of(context, arguments);
    const std::vector<Place> places = places_of(context, result.notes);
    Panel of_first, of_next;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const double share = 1.0 / static_cast<double>(places.size());
        result.panels.push_back(
            measure_place(context, places[i], subjects, fitting(context, {places[i]}, sizes_for(context, places[i]), 2),
                          direction, share * static_cast<double>(i), share, i == 0 ? of_first : of_next));
        const Panel& panel = result.panels.back();
        const char* openssl = places[i].on_disk ? openssl_synced_name : openssl_name;
        result.facts.push_back({fmt::format("{}: warpaes as it chooses ahead of {}, large files", panel.title, openssl),
                                100 * gain_on_large_files(panel, openssl, from), "%", std::nullopt});
    }
    result.panels.push_back(std::move(of_first));
    if (context.gpu < 0) result.notes.emplace_back("warpaes on a GPU is left out: there is none.");
    return result;
}

Result run_encryption(const Context& context) {
    return run_both(context, Direction::encrypt, {"-aes-128-ctr"}, published::paracrypt::encryption_gains_from_bytes);
}

Result run_decryption(const Context& context) {
    return run_both(context, Direction::decrypt, {"-d", "-aes-128-cbc", "-nopad"},
                    published::paracrypt::decryption_gains_from_bytes);
}

}  // namespace

const Experiment p_encryption{"P.encryption",
                              Paper::paracrypt,
                              "Encryption of files against openssl, by size (CTR)",
                              "From which file size is warpaes ahead of openssl, and by how much?",
                              Experiment::Needs::either,
                              95,
                              14,
                              run_encryption};

const Experiment p_decryption{"P.decryption",
                              Paper::paracrypt,
                              "Decryption of files against openssl, by size (CBC)",
                              "From which file size is it ahead in a mode that only decrypts in parallel?",
                              Experiment::Needs::either,
                              95,
                              14,
                              run_decryption};

}  // namespace lab::experiments
