// Performs a run: executes the experiments of a record in order, and stores the record after each.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/machine.hpp"
#include "lab/record.hpp"

namespace lab {

/// Estimates the remaining time of a run: the estimates of the remaining experiments, scaled by the ratio of measured
/// to estimated time of the completed experiments.
class TimeLeft {
public:
    /// `estimates`: seconds of each experiment of the run.
    explicit TimeLeft(std::vector<double> estimates) : estimates_(std::move(estimates)) {}
    /// Records that the experiment is done and took `seconds`.
    void finished(std::size_t index, double seconds);
    /// Records that the experiment was omitted, was deferred or failed. Its duration does not affect the estimate.
    void skipped(std::size_t index);
    /// Remaining seconds. Experiment `index` has run for `elapsed` seconds and completed the share `done`.
    [[nodiscard]] double seconds(std::size_t index, double elapsed, double done) const;

private:
    std::vector<double> estimates_;  ///< 0: done
    double seen_ = 0, expected_ = 0;
};

/// Progress of a run, reported while it runs.
struct Progress {
    const Entry& entry;
    std::size_t index, count;  ///< index in the record's experiments
    double done;               ///< completed share of this experiment, 0 to 1
    const std::string& next;   ///< its current step
    double seconds_left;       ///< estimate for the whole run
};

/// The parameters of a run except its record.
struct Conditions {
    std::span<const Experiment> experiments;  ///< at least the experiments of the record
    Context context;                          ///< passed to each experiment, with callbacks for that experiment
    std::string no_gpu = "there is no GPU";   ///< reason, if context.gpu is -1
    GpuReader state;                          ///< reads the GPU's state; empty: the state is unknown
    std::filesystem::path path;               ///< where the record is stored
    /// Time limit of this call. An experiment whose estimate exceeds the remaining time is not started, unless it is
    /// the first experiment of the call. An experiment that is still running at the limit is interrupted. None: no
    /// limit.
    std::optional<double> seconds;
    std::function<void(const Progress&)> progress = [](const Progress&) {};
    std::function<void(const Entry&)> finished = [](const Entry&) {};  ///< after each experiment, however it ended
    std::function<bool()> interrupted = [] { return false; };
};

/// Creates a record without results.
Record make_record(std::span<const Experiment> experiments, Machine machine, Options options);

/// Runs every experiment that has not run or has failed. Returns true if all of them were executed, and false after an
/// interrupt or if the time limit did not suffice. In the latter cases, another call with the stored record runs the
/// remaining experiments. Throws std::system_error if the record cannot be stored, and RecordError if the record names
/// an unknown experiment.
bool run(Record& record, const Conditions& conditions);

}  // namespace lab
