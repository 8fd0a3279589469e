// The record of a run: where, how and what. As JSON it is docs/lab.md's schema 1.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab/experiment.hpp"

namespace lab {

/// A file that is no record, or one of another schema; says what is wrong.
class RecordError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// What a run was on. Empty strings and zeros: not known.
struct Machine {
    struct Gpu {
        int device = 0;
        std::string name;
        std::string compute_capability;  ///< "9.0"
        int multiprocessors = 0;
        int clock_mhz = 0;         ///< highest of the multiprocessors
        int memory_clock_mhz = 0;  ///< highest
        std::uint64_t memory_bytes = 0;
        std::string driver;  ///< version of the driver, "570.86.15"
        std::string cuda;    ///< version of the runtime, "12.8"
        std::string clocks;  ///< at the start of the run, in nvidia-smi's words
    };
    std::optional<Gpu> gpu;
    std::string cpu;
    unsigned threads = 0;                   ///< processors that this process may use
    std::vector<std::string> instructions;  ///< those that matter to AES, by the names of /proc/cpuinfo
    std::uint64_t memory_bytes = 0;
    std::string os;
    std::string openssl;
    std::optional<bool> is_virtual;  ///< a machine on a hypervisor; none if it is not known
};

/// What was asked for.
struct Options {
    std::vector<std::string> keys;  ///< as given; none: all
    bool quick = false;
    int gpu = -1;  ///< device, -1: none
    unsigned threads = 1;
    std::string disk, memory;  ///< folders of Context
};

enum class Status {
    measured,
    left_out,  ///< it cannot run here; see `reason`
    failed,    ///< it ran and threw; see `reason`
    not_run    ///< its turn has not come, or it was interrupted
};

/// Of a GPU's multiprocessors, MHz, while something ran.
struct Clocks {
    double low, median, high;
};

/// An experiment of the run.
struct Entry {
    std::string key;
    std::string paper;  ///< its letter
    std::string citation, title, question;
    Status status = Status::not_run;
    std::string reason;
    std::string commit;  ///< of the build that ran it, as the record's; "" if it has not run
    double seconds = 0;
    /// Share of the machine's processor time that others used meanwhile; none if it is not known.
    std::optional<double> load;
    std::optional<Clocks> clocks;  ///< none without a GPU, or if they could not be read
    Result result;
};
Entry make_entry(const Experiment& experiment);

struct Record {
    static constexpr int schema = 1;
    std::string version;  ///< of warpaes
    std::string commit;   ///< of the build that began; "" if not known; ends in "+" if it was not that commit's alone
    std::string date;     ///< when it began, ISO 8601, UTC
    double seconds = 0;   ///< what all experiments took together
    Machine machine;
    Options options;
    std::vector<Entry> experiments;  ///< all that were selected, in order
};

/// Throws RecordError if figures and axes do not fit each other, or if two panels, or two series of one, have one name.
void check(const Result& result);

nlohmann::json to_json(const Record& record);
/// Throws RecordError.
Record record_from_json(const nlohmann::json& json);

/// Throws RecordError if it is no record, std::system_error if the file cannot be read.
Record load(const std::filesystem::path& path);
/// Replaces the file in one step. Throws std::system_error.
void save(const Record& record, const std::filesystem::path& path);
/// The same for any text.
void replace_file(const std::filesystem::path& path, const std::string& text);

}  // namespace lab
