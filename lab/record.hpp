// The record of a run: the machine, the options, and the results. Its JSON form is schema 1 of docs/lab.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab/experiment.hpp"
#include "lab/result.hpp"

namespace lab {

/// Thrown for a file that is not a record or has an unsupported schema. The text contains the reason.
class RecordError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The machine of a run. Empty strings and zeros mean unknown.
struct Machine {
    struct Gpu {
        int device = 0;
        std::string name;
        std::string compute_capability;  ///< "9.0"
        int multiprocessors = 0;
        int clock_mhz = 0;         ///< highest multiprocessor clock
        int memory_clock_mhz = 0;  ///< highest
        std::uint64_t memory_bytes = 0;
        std::string driver;  ///< version of the driver, "570.86.15"
        std::string cuda;    ///< version of the runtime, "12.8"
        std::string clocks;  ///< at the start of the run, in nvidia-smi's words
    };
    std::optional<Gpu> gpu;
    std::string cpu;
    unsigned threads = 0;                   ///< processors that this process may use
    std::vector<std::string> instructions;  ///< instruction sets relevant to AES, as named in /proc/cpuinfo
    std::uint64_t memory_bytes = 0;
    std::string os;
    std::string openssl;
    std::optional<bool> is_virtual;  ///< whether the machine is virtual; none if unknown
};

/// Command-line options.
struct Options {
    std::vector<std::string> keys;  ///< as given; empty: all experiments
    bool quick = false;
    int gpu = -1;  ///< device; -1: none
    unsigned threads = 1;
    std::string disk, memory;  ///< the folders in Context
};

enum class Status {
    measured,
    left_out,  ///< cannot run here; see `reason`
    failed,    ///< threw an exception; see `reason`
    not_run    ///< did not start, or was interrupted
};

/// A quantity that was sampled during an experiment.
struct Sampled {
    double low, median, high;
};

/// An experiment of the run, and its result.
struct Entry {
    std::string key;
    std::string paper;  ///< the paper's letter
    std::string citation, title, question;
    Status status = Status::not_run;
    std::string reason;
    std::string commit;  ///< commit of the build that ran it, in the format of Record::commit; "" if it has not run
    double seconds = 0;
    /// The share of the machine's processor time that other processes used during the run; none if unknown.
    std::optional<double> load;
    /// The GPU's state during the run: multiprocessor clock in MHz, power in W, temperature in °C. None without a GPU,
    /// or if the state could not be read.
    std::optional<Sampled> clocks, power, temperature;
    Result result;
};
Entry make_entry(const Experiment& experiment);

struct Record {
    static constexpr int schema = 1;
    std::string version;  ///< version of warpaes
    std::string commit;   ///< commit of the build that began the run; "" if unknown; ends in "+" if the tree had
                          ///< uncommitted changes
    std::string date;     ///< start of the run, ISO 8601, UTC
    double seconds = 0;   ///< sum over all experiments
    Machine machine;
    Options options;
    std::vector<Entry> experiments;  ///< all selected experiments, in order
};

/// Throws RecordError if the number of figures does not match the axes, or if two panels, or two series of one panel,
/// have the same name.
void check(const Result& result);

nlohmann::json to_json(const Record& record);
/// Throws RecordError.
Record record_from_json(const nlohmann::json& json);

/// Throws RecordError if the file is not a record, std::system_error if it cannot be read.
Record load(const std::filesystem::path& path);
/// Replaces the file atomically. Throws std::system_error.
void save(const Record& record, const std::filesystem::path& path);
/// Returns whether the path is "-", /dev/stdout, /dev/fd/1 or /proc/self/fd/1.
bool is_standard_output(const std::filesystem::path& path);
/// Replaces a file's contents with `text` atomically, as save() does. The new file has the permissions of the old file.
/// If `path` is a link, its target is replaced. FIFOs, devices and files named by a descriptor are written directly.
void replace_file(const std::filesystem::path& path, const std::string& text);

/// Returns the record for submission: with figures of six significant digits, without folder names, and without
/// verdicts, which the rules compute again. The submission of a submission is identical to it. Throws RecordError, with
/// a remedy, if the figures cannot be traced to a commit, an experiment failed, or none was measured.
Record submission_of(const Record& record);

/// Returns the contents of a submission's file: JSON on one line.
std::string text_of_submission(const Record& submission);

/// Returns the machine and the date in letters, digits and "-", such as "nvidia-h200-2026-11-23t062601z.json".
std::string submission_file_name(const Record& record);

nlohmann::json to_json(const Result& result);
/// Throws RecordError.
Result result_from_json(const nlohmann::json& json);

}  // namespace lab
