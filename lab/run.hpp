// Carrying out a run: the experiments of a record in order, the record stored after each.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/clocks.hpp"
#include "lab/record.hpp"

namespace lab {

/// How long a run still takes: the experiments' own estimates, corrected by how long those took that are done.
class TimeLeft {
public:
    /// Seconds of each experiment of the run.
    explicit TimeLeft(std::vector<double> estimates) : estimates_(std::move(estimates)) {}
    /// The experiment is not to come any more, and took so long.
    void finished(std::size_t index, double seconds);
    /// The same, and how long it took says nothing about the others: it was left out, or it failed.
    void skipped(std::size_t index);
    /// Seconds; experiment `index` has been running for `elapsed` and says that the share `done` of it is.
    [[nodiscard]] double seconds(std::size_t index, double elapsed, double done) const;

private:
    std::vector<double> estimates_;  ///< 0: not to come
    double seen_ = 0, expected_ = 0;
};

/// What is told while it runs.
struct Progress {
    const Entry& entry;
    std::size_t index, count;  ///< of the record's experiments
    double done;               ///< of this experiment, 0 to 1
    const std::string& next;   ///< what it does now
    double seconds_left;       ///< of the whole run
};

/// What a run is given besides its record.
struct Conditions {
    std::span<const Experiment> experiments;  ///< at least those of the record
    Context context;                          ///< for each experiment; its `step` is not used
    std::string no_gpu = "there is no GPU";   ///< why, if context.gpu is -1
    ClockReader clock;                        ///< of the GPU; none: clocks are not known
    std::filesystem::path path;               ///< where the record is stored
    /// Of this call: what would take longer, by its estimate, is not begun, unless it would be the first; and what is
    /// not done by then is interrupted. None: as long as it takes.
    std::optional<double> seconds;
    std::function<void(const Progress&)> progress = [](const Progress&) {};
    std::function<void(const Entry&)> finished = [](const Entry&) {};  ///< an experiment, however it ended
    std::function<bool()> interrupted = [] { return false; };
};

/// A record in which nothing has run yet.
Record make_record(std::span<const Experiment> experiments, Machine machine, Options options);

/// Runs what has not run, and what failed. True when all had their turn, false after an interrupt or if the seconds did
/// not suffice; the record stored says what has not run, and another call goes on with it. Throws
/// std::system_error if the record cannot be stored, RecordError if it names an experiment that there is not.
bool run(Record& record, const Conditions& conditions);

}  // namespace lab
