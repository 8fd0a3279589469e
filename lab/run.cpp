#include "lab/run.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <warpaes/warpaes.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <exception>
#include <set>
#include <string>

#include "lab/claims/claim.hpp"
#include "lab/machine.hpp"
#include "lab/measure.hpp"

namespace lab {

namespace {

const Experiment& find(std::span<const Experiment> experiments, const std::string& key) {
    const auto found = std::find_if(experiments.begin(), experiments.end(),
                                    [&](const Experiment& experiment) { return experiment.key == key; });
    if (found == experiments.end()) throw RecordError(fmt::format("the experiment '{}' no longer exists", key));
    return *found;
}

bool is_to_run(const Entry& entry) {
    return entry.status == Status::not_run || entry.status == Status::failed;
}

double estimate(const Experiment& experiment, const Context& context) {
    if (experiment.needs == Experiment::Needs::gpu && context.gpu < 0) return 0;
    return context.quick ? experiment.quick_seconds : experiment.seconds;
}

/// Runs an experiment and writes the outcome to its entry. After an interrupt, the entry states that it has not run.
void run_one(const Experiment& experiment, const Context& context, const Conditions& conditions, Entry& entry) {
    entry.result = {};
    entry.reason.clear();
    entry.load.reset();
    entry.clocks = entry.power = entry.temperature = std::nullopt;
    GpuWatch watch(conditions.state);
    const auto start = std::chrono::steady_clock::now();
    const std::optional<double> others = processor_seconds_of_others();
    try {
        if (experiment.needs == Experiment::Needs::gpu && context.gpu < 0) throw LeftOut(conditions.no_gpu);
        context.step(0, "");
        Result result = experiment.run(context);
        check(result);
        entry.result = std::move(result);
        entry.status = Status::measured;
    } catch (const LeftOut& why) {
        entry.status = Status::left_out;
        entry.reason = why.what();
    } catch (const Interrupted&) {
        entry.status = Status::not_run;
        entry.reason = "interrupted";
    } catch (const std::exception& error) {
        // A signal also reaches the programs that the experiment started. If they fail, so does the experiment, but the
        // cause is the interruption.
        entry.status = conditions.interrupted() ? Status::not_run : Status::failed;
        entry.reason = conditions.interrupted() ? "interrupted" : error.what();
    }
    const GpuWatch::Seen seen = watch.stop();
    if (entry.status == Status::measured) {
        entry.clocks = seen.clocks, entry.power = seen.power, entry.temperature = seen.temperature;
    }
    const bool has_run = entry.status != Status::not_run;
    entry.seconds = has_run ? seconds_since(start) : 0;
    entry.commit = has_run ? commit_of_build() : "";
    const std::optional<double> others_now = processor_seconds_of_others();
    if (entry.status == Status::measured && others && others_now && entry.seconds > 0) {
        entry.load = std::max(0.0, *others_now - *others) / (entry.seconds * all_processors());
    }
}

}  // namespace

void TimeLeft::finished(std::size_t index, double seconds) {
    seen_ += seconds;
    expected_ += estimates_.at(index);
    estimates_[index] = 0;
}

void TimeLeft::skipped(std::size_t index) {
    estimates_.at(index) = 0;
}

double TimeLeft::seconds(std::size_t index, double elapsed, double done) const {
    // A few seconds that are assumed to have taken as long as estimated are added to both sums, so that a short first
    // experiment has little weight.
    constexpr double belief = 5;
    const double factor = (seen_ + belief) / (expected_ + belief);
    double left = 0;
    for (std::size_t i = 0; i < estimates_.size(); ++i) left += i == index ? 0 : estimates_[i] * factor;
    // The more of the experiment is done, the more its reported progress counts compared with its estimate.
    const double by_estimate = std::max(0.0, estimates_.at(index) * factor - elapsed);
    const double by_share = done > 0 ? elapsed * (1 - done) / done : by_estimate;
    return left + by_estimate * (1 - done) + by_share * done;
}

Record make_record(std::span<const Experiment> experiments, Machine machine, Options options) {
    Record record;
    record.version = warpaes_version();
    record.commit = commit_of_build();
    record.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    record.machine = std::move(machine);
    record.options = std::move(options);
    for (const Experiment& experiment : experiments) record.experiments.push_back(make_entry(experiment));
    return record;
}

bool run(Record& record, const Conditions& conditions) {
    std::vector<double> estimates;
    for (const Entry& entry : record.experiments) {
        const double seconds = estimate(find(conditions.experiments, entry.key), conditions.context);
        estimates.push_back(is_to_run(entry) ? seconds : 0);
    }
    TimeLeft time_left(estimates);
    const auto begin = std::chrono::steady_clock::now();
    const auto over = [&](double after) { return conditions.seconds && after > *conditions.seconds; };
    bool first = true;
    std::set<std::string> waiting;  // experiments deferred to the next call
    save(record, conditions.path);
    for (std::size_t i = 0; i < record.experiments.size(); ++i) {
        Entry& entry = record.experiments[i];
        if (!is_to_run(entry)) continue;
        if (conditions.interrupted()) return false;
        const Experiment& experiment = find(conditions.experiments, entry.key);
        if ((!first && over(seconds_since(begin) + estimates[i])) || waiting.contains(experiment.after)) {
            // A shorter experiment later in the list may still fit.
            time_left.skipped(i);
            waiting.insert(entry.key);
            continue;
        }
        const auto start = std::chrono::steady_clock::now();
        Context context = conditions.context;
        context.check = [&] {
            if (conditions.interrupted() || over(seconds_since(begin))) throw Interrupted();
        };
        context.step = [&](double done, const std::string& next) {
            context.check();
            const double left = time_left.seconds(i, seconds_since(start), std::clamp(done, 0.0, 1.0));
            conditions.progress({entry, i, record.experiments.size(), done, next, left});
        };
        if (conditions.state) {
            context.joules = [&] { return conditions.state().joules; };
        }
        context.measured = [&](const std::string& key) -> const Result* {
            for (const Entry& other : record.experiments) {
                if (other.key == key && other.status == Status::measured) return &other.result;
            }
            return nullptr;
        };
        record.seconds -= entry.seconds;  // from an earlier run that failed or is repeated
        run_one(experiment, context, conditions, entry);
        if (entry.status == Status::measured) {
            first = false;
            time_left.finished(i, entry.seconds);
        } else {
            time_left.skipped(i);
        }
        record.seconds += entry.seconds;
        judge(record);
        save(record, conditions.path);
        conditions.finished(entry);
        if (entry.status == Status::not_run) return false;
    }
    return waiting.empty();
}

}  // namespace lab
