#include "lab/record.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "lab/files.hpp"
#include "lab/matrix.hpp"
#include "lab/names.hpp"

namespace lab {

namespace {

using nlohmann::json;

json of(const Machine::Gpu& gpu) {
    return {{"device", gpu.device},
            {"name", gpu.name},
            {"compute_capability", gpu.compute_capability},
            {"multiprocessors", gpu.multiprocessors},
            {"clock_mhz", gpu.clock_mhz},
            {"memory_clock_mhz", gpu.memory_clock_mhz},
            {"memory_bytes", gpu.memory_bytes},
            {"driver", gpu.driver},
            {"cuda", gpu.cuda},
            {"clocks", gpu.clocks}};
}

Machine::Gpu to_gpu(const json& in) {
    return {in.at("device"),          in.at("name"),      in.at("compute_capability"),
            in.at("multiprocessors"), in.at("clock_mhz"), in.at("memory_clock_mhz"),
            in.at("memory_bytes"),    in.at("driver"),    in.at("cuda"),
            in.at("clocks")};
}

json of(const Machine& machine) {
    return {{"gpu", machine.gpu ? of(*machine.gpu) : json(nullptr)},
            {"cpu", machine.cpu},
            {"threads", machine.threads},
            {"instructions", machine.instructions},
            {"memory_bytes", machine.memory_bytes},
            {"os", machine.os},
            {"openssl", machine.openssl},
            {"virtual", machine.is_virtual ? json(*machine.is_virtual) : json(nullptr)}};
}

Machine to_machine(const json& in) {
    Machine machine;
    if (!in.at("gpu").is_null()) machine.gpu = to_gpu(in.at("gpu"));
    in.at("cpu").get_to(machine.cpu);
    in.at("threads").get_to(machine.threads);
    in.at("instructions").get_to(machine.instructions);
    in.at("memory_bytes").get_to(machine.memory_bytes);
    in.at("os").get_to(machine.os);
    in.at("openssl").get_to(machine.openssl);
    if (in.contains("virtual") && !in["virtual"].is_null()) machine.is_virtual = in["virtual"].get<bool>();
    return machine;
}

json of(const Options& options) {
    return {{"keys", options.keys},       {"quick", options.quick}, {"gpu", options.gpu},
            {"threads", options.threads}, {"disk", options.disk},   {"memory", options.memory}};
}

Options to_options(const json& in) {
    return {in.at("keys"), in.at("quick"), in.at("gpu"), in.at("threads"), in.at("disk"), in.at("memory")};
}

json of(const std::optional<Sampled>& sampled) {
    return sampled ? json::array({sampled->low, sampled->median, sampled->high}) : json(nullptr);
}

/// Records of older builds do not contain all of these fields.
std::optional<Sampled> to_sampled(const json& in, const char* name) {
    if (!in.contains(name) || in[name].is_null()) return {};
    return Sampled{in[name].at(0), in[name].at(1), in[name].at(2)};
}

json of(const Entry& entry) {
    return {{"key", entry.key},
            {"paper", entry.paper},
            {"citation", entry.citation},
            {"title", entry.title},
            {"question", entry.question},
            {"status", statuses(entry.status)},
            {"reason", entry.reason},
            {"commit", entry.commit},
            {"seconds", entry.seconds},
            {"load", entry.load ? json(*entry.load) : json(nullptr)},
            {"clocks", of(entry.clocks)},
            {"power", of(entry.power)},
            {"temperature", of(entry.temperature)},
            {"result", to_json(entry.result)}};
}

Entry to_entry(const json& in) {
    Entry entry;
    entry.key = in.at("key");
    entry.paper = in.at("paper");
    entry.citation = in.at("citation");
    entry.title = in.at("title");
    entry.question = in.at("question");
    entry.status = statuses.parse(in.at("status").get<std::string>());
    entry.reason = in.at("reason");
    entry.commit = in.at("commit");
    entry.seconds = in.at("seconds");
    if (entry.seconds < 0) throw RecordError(fmt::format("{}: it took less than no time", entry.key));
    if (in.contains("load") && !in["load"].is_null()) entry.load = in["load"].get<double>();
    entry.clocks = to_sampled(in, "clocks");
    entry.power = to_sampled(in, "power");
    entry.temperature = to_sampled(in, "temperature");
    try {
        entry.result = result_from_json(in.at("result"));
    } catch (const RecordError& error) {
        throw RecordError(fmt::format("{}: {}", entry.key, error.what()));
    }
    return entry;
}

}  // namespace

Entry make_entry(const Experiment& experiment) {
    Entry entry;
    entry.key = experiment.key;
    entry.paper = letter_of(experiment.paper);
    entry.citation = citation_of(experiment.paper);
    entry.title = experiment.title;
    entry.question = experiment.question;
    return entry;
}

json to_json(const Record& record) {
    json experiments = json::array();
    for (const Entry& entry : record.experiments) experiments.push_back(of(entry));
    return {{"schema", Record::schema},      {"warpaes", record.version}, {"commit", record.commit},
            {"date", record.date},           {"seconds", record.seconds}, {"machine", of(record.machine)},
            {"options", of(record.options)}, {"experiments", experiments}};
}

Record record_from_json(const json& in) {
    try {
        const int schema = in.at("schema");
        if (schema != Record::schema || !in.contains("experiments")) {
            throw RecordError(fmt::format("not a record of schema {}", Record::schema));
        }
        Record record;
        in.at("warpaes").get_to(record.version);
        in.at("commit").get_to(record.commit);
        in.at("date").get_to(record.date);
        in.at("seconds").get_to(record.seconds);
        record.machine = to_machine(in.at("machine"));
        record.options = to_options(in.at("options"));
        if (record.seconds < 0) throw RecordError("it took less than no time");
        std::set<std::string> keys;
        for (const json& entry : in.at("experiments")) {
            record.experiments.push_back(to_entry(entry));
            const std::string& key = record.experiments.back().key;
            if (!keys.insert(key).second) throw RecordError(fmt::format("{} is in it twice", key));
        }
        return record;
    } catch (const json::exception&) {
        throw RecordError("a field is missing or has the wrong type");
    }
}

Record load(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    if (!file) throw_system_error(errno, path.string());
    text << file.rdbuf();
    if (file.bad()) throw_system_error(errno, path.string());
    if (text.str().empty()) throw RecordError("the file is empty");
    json parsed = json::parse(text.str(), nullptr, false);
    if (parsed.is_discarded() || !parsed.is_object()) throw RecordError("it is not a JSON object");
    return record_from_json(parsed);
}

void save(const Record& record, const std::filesystem::path& path) {
    replace_file(path, to_json(record).dump(1) + "\n");
}

namespace {

/// Writes all of `text`, and flushes it if it is a file on a disk. Returns 0 or a value of errno.
int write_all(int descriptor, const std::string& text, bool to_disk) {
    std::size_t written = 0;
    while (written < text.size()) {
        const ssize_t n = write(descriptor, text.data() + written, text.size() - written);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        written += static_cast<std::size_t>(n);
    }
    return to_disk && fsync(descriptor) != 0 ? errno : 0;
}

/// Writes `text` and closes the descriptor. Throws if the descriptor could not be opened or written.
void finish(int descriptor, const std::string& text, bool to_disk, const std::filesystem::path& path) {
    if (descriptor < 0) throw_system_error(errno, path.string());
    const int error = write_all(descriptor, text, to_disk);
    close(descriptor);
    if (error != 0) throw_system_error(error, path.string());
}

/// Returns the descriptor denoted by the name of an open file: /dev/stdout, /dev/fd/3, /proc/self/fd/3.
std::optional<int> descriptor_of(const std::filesystem::path& path) {
    if (path == "/dev/stdout") return STDOUT_FILENO;
    if (path == "/dev/stderr") return STDERR_FILENO;
    const std::filesystem::path folder = path.parent_path();
    if (folder != "/dev/fd" && folder != "/proc/self/fd") return std::nullopt;
    const std::string name = path.filename();
    int descriptor = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), descriptor);
    if (error != std::errc() || end != name.data() + name.size() || descriptor < 0) return std::nullopt;
    return descriptor;
}

}  // namespace

bool is_standard_output(const std::filesystem::path& path) {
    return path == "-" || descriptor_of(path) == STDOUT_FILENO;
}

void replace_file(const std::filesystem::path& path, const std::string& text) {
    std::error_code none;
    // If the path is a symbolic link, its target is replaced, so that the link refers to the new file.
    std::filesystem::path target = path;
    for (int links = 0; !descriptor_of(target) && std::filesystem::is_symlink(target, none); ++links) {
        if (links == 40) throw_system_error(ELOOP, path.string());
        const std::filesystem::path next = std::filesystem::read_symlink(target, none);
        target = next.is_absolute() ? next : target.parent_path() / next;
    }
    if (const std::optional<int> descriptor = descriptor_of(target)) {
        // An open descriptor is written directly: the file may already have contents, and other writers.
        finish(fcntl(*descriptor, F_DUPFD_CLOEXEC, 0), text, false, path);
        return;
    }
    struct stat before {};
    const bool exists = stat(target.c_str(), &before) == 0;
    if (exists && !S_ISREG(before.st_mode)) {
        // A FIFO or a device is written directly, because it cannot be replaced by a file.
        finish(open(target.c_str(), O_WRONLY | O_CLOEXEC), text, false, path);
        return;
    }
    const std::filesystem::path temporary = target.string() + ".new";
    try {
        // Another user may have put a link there.
        unlink(temporary.c_str());
        const int descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (descriptor >= 0 && exists) (void)fchmod(descriptor, before.st_mode & 0777);
        finish(descriptor, text, true, path);
        if (rename(temporary.c_str(), target.c_str()) != 0) throw_system_error(errno, path.string());
    } catch (const std::system_error&) {
        unlink(temporary.c_str());
        throw;
    }
}

namespace {

double rounded(double value) {
    return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

void round_figures(Result& result) {
    for (Panel& panel : result.panels) {
        for (Series& series : panel.series) {
            for (auto& value : series.values) {
                if (value) value = rounded(*value);
            }
            for (auto& spread : series.spread) {
                if (spread) spread = Series::Spread{rounded(spread->low), rounded(spread->high)};
            }
        }
    }
    for (Fact& fact : result.facts) {
        fact.value = rounded(fact.value);
        if (fact.published) fact.published = rounded(*fact.published);
    }
}

bool is_commit(const std::string& text) {
    return text.size() == 40 &&
           std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
}

void require_commit(const std::string& commit, const std::string& of) {
    if (is_commit(commit)) return;
    throw RecordError(commit.empty()
                          ? fmt::format("{} was run by a build of no known commit; build it from a clone", of)
                          : fmt::format("{} was run by a build with uncommitted changes ('{}'); commit them, "
                                        "or stash them, build, and run it again",
                                        of, commit));
}

}  // namespace

Record submission_of(const Record& record) {
    Record out = record;
    require_commit(record.commit, "the record");
    bool any = false;
    for (Entry& entry : out.experiments) {
        if (entry.status == Status::failed) {
            throw RecordError(
                fmt::format("{} failed ({}); `warpaes lab run --resume` tries it again", entry.key, entry.reason));
        }
        if (entry.status == Status::measured) require_commit(entry.commit, entry.key), any = true;
        entry.result.verdicts.clear();
        round_figures(entry.result);
    }
    if (!any) throw RecordError("no experiment was measured; `warpaes lab run` measures them");
    out.options.disk.clear();
    out.options.memory.clear();
    return out;
}

std::string text_of_submission(const Record& submission) {
    return to_json(submission).dump() + "\n";
}

std::string submission_file_name(const Record& record) {
    std::string name;
    for (const char c : machine_name(record) + "-" + record.date) {
        const auto letter = static_cast<unsigned char>(c);
        if (c == ':') continue;
        if (std::isalnum(letter) != 0) {
            name += static_cast<char>(std::tolower(letter));
        } else if (!name.empty() && name.back() != '-') {
            name += '-';
        }
    }
    return name + ".json";
}

}  // namespace lab
