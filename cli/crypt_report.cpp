#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <span>

#include "command.hpp"
#include "crypt_file.hpp"
#include "record.hpp"

namespace cli {

namespace {

using nlohmann::json;

class FilesReport {
public:
    explicit FilesReport(const CryptResults& results)
        : r_(results), o_(results.keys.options), tasks_(results.tasks), outcomes_(results.outcomes) {}

    void print() const {
        if (o_.json) {
            print_json(record(), -1, data_on_stdout(o_, tasks_) ? stderr : stdout);
        } else if (o_.action == Action::verify) {
            for (std::size_t i = 0; i < tasks_.size(); ++i) {
                if (outcomes_[i].status == WARPAES_OK) fmt::print("{}: authentic\n", one_line(name_of(i)));
            }
        }
        if (o_.progress.value_or(false) && r_.status() == WARPAES_OK) {
            const auto bytes = static_cast<double>(bytes_read());
            say(fmt::format("{} in {:.2f} s: {:.2f} GB/s on {}\n", human_bytes(bytes), r_.seconds,
                            bytes / r_.seconds / 1e9, outcomes_[0].backend));
        }
        flush_output();
        for (std::size_t i = 0; o_.verbose && i < tasks_.size(); ++i) {
            if (outcomes_[i].status == WARPAES_OK) say(one_line(without_keys(what_became_of(i))) + "\n");
        }
        r_.notes.tell();
        for (std::size_t i = 0; i < tasks_.size(); ++i) list_holes(i);
        const auto skipped =
            std::count_if(outcomes_.begin(), outcomes_.end(), [](const FileOutcome& o) { return o.skipped; });
        if (skipped != 0 && !o_.json) {
            note(fmt::format("{} of {} {}\n", skipped, tasks_.size(),
                             o_.action == Action::reencrypt ? "already had the new key" : "results already existed"));
        }
        if (tasks_.size() == 1) {
            if (outcomes_[0].status != WARPAES_OK) throw Failure(r_.status(), named_error(0));
            if (!r_.rename_failures.empty()) throw r_.rename_failures.front();
            return;
        }
        std::size_t failed = 0;
        for (std::size_t i = 0; i < tasks_.size(); ++i) {
            if (outcomes_[i].status == WARPAES_OK) continue;
            ++failed;
            if (outcomes_[i].status != WARPAES_ERROR_CANCELLED) {
                say(fmt::format("{} {}\n", painted(Colour::red, "warpaes:"), one_line(without_keys(named_error(i)))));
            }
        }
        if (failed != 0) throw Failure(r_.status(), fmt::format("{} of {} files failed", failed, tasks_.size()));
        if (!r_.rename_failures.empty()) throw r_.rename_failures.front();
    }

private:
    /// Prints only the first damaged ranges. The record of --json contains all of them.
    void list_holes(std::size_t i) const {
        constexpr std::size_t most = 20;
        const std::vector<Hole>& holes = outcomes_[i].holes;
        for (const Hole& hole : std::span(holes).first(std::min(holes.size(), most))) {
            const bool ends = hole.length == WARPAES_UNKNOWN;
            const std::string where = ends ? fmt::format("from byte {} on", hole.first)
                                           : fmt::format("bytes {}:{}", hole.first, hole.first + hole.length - 1);
            say(one_line(fmt::format("'{}': {}: not authentic, {}", name_of(i), where,
                                     ends ? "and the end of the file may be missing" : "zeros in the result")) +
                "\n");
        }
        if (holes.size() > most) {
            const std::size_t more = holes.size() - most;
            say(fmt::format("and {} more range{}; --json lists all ranges\n", more, more == 1 ? "" : "s"));
        }
    }

    [[nodiscard]] std::string name_of(std::size_t i) const {
        return tasks_[i].input.empty() ? "standard input" : tasks_[i].called();
    }

    /// Returns the error with the name of the file.
    [[nodiscard]] std::string named_error(std::size_t i) const {
        const std::string& error = outcomes_[i].error;
        const std::string name = tasks_[i].input.empty() ? "standard input" : "'" + tasks_[i].called() + "'";
        if (error.find(name) != std::string::npos) return error;
        const warpaes_status status = outcomes_[i].status;
        const bool of_process = status == WARPAES_ERROR_CANCELLED || status == WARPAES_ERROR_OUT_OF_MEMORY;
        const bool of_another = error.starts_with("output: ") || error.starts_with("range: ");
        if (tasks_.size() == 1 && (of_process || of_another)) return error;
        return name + ": " + error;
    }

    [[nodiscard]] std::uint64_t bytes_read() const {
        return std::accumulate(outcomes_.begin(), outcomes_.end(), std::uint64_t{0},
                               [](std::uint64_t sum, const FileOutcome& outcome) { return sum + outcome.bytes_read; });
    }

    /// Returns the line that -v prints for a file.
    [[nodiscard]] std::string what_became_of(std::size_t i) const {
        const FileOutcome& outcome = outcomes_[i];
        std::string line = name_of(i);
        if (makes_files(o_.action)) {
            line += " -> " + (tasks_[i].output.empty() ? std::string("standard output") : tasks_[i].output);
        }
        if (outcome.skipped) return line + ": unchanged";
        line += fmt::format(": {}", human_bytes(static_cast<double>(outcome.bytes_read)));
        line += r_.keys.is_raw(outcome.key_id) ? ", the raw key" : fmt::format(", key {}", outcome.key_id);
        return outcome.backend.empty() ? line : line + ", " + outcome.backend;
    }

    [[nodiscard]] json record() const {
        json files = json::array();
        for (std::size_t i = 0; i < tasks_.size(); ++i) {
            const FileOutcome& outcome = outcomes_[i];
            json file = {{"status", outcome.status}};
            put_name(file, "input", without_keys(tasks_[i].input));
            if (makes_files(o_.action)) put_name(file, "output", tasks_[i].output);
            if (!tasks_[i].plain.empty()) put_name(file, "name", tasks_[i].plain);
            for (const Hole& hole : outcome.holes) {
                const json length = hole.length == WARPAES_UNKNOWN ? json() : json(hole.length);
                file["holes"].push_back({{"first", hole.first}, {"length", length}});
            }
            if (outcome.status != WARPAES_OK) {
                file["error"] = outcome.error;
            } else if (outcome.skipped) {
                file["skipped"] = true;
            } else {
                file["bytes_read"] = outcome.bytes_read;
                file["bytes_written"] = outcome.bytes_written;
                file["key_id"] = r_.keys.is_raw(outcome.key_id) ? json() : json(outcome.key_id);
                file["backend"] = outcome.backend;
                file["device"] = outcome.device;
            }
            files.push_back(std::move(file));
        }
        return {{"status", r_.status()},
                {"files", std::move(files)},
                {"bytes_read", bytes_read()},
                {"seconds", r_.seconds},
                {"bytes_per_second", static_cast<double>(bytes_read()) / r_.seconds}};
    }

    const CryptResults& r_;
    const CryptOptions& o_;
    const std::vector<FileTask>& tasks_;
    const std::vector<FileOutcome>& outcomes_;
};

}  // namespace

warpaes_status CryptResults::status() const {
    for (const FileOutcome& outcome : outcomes) {
        if (outcome.status != WARPAES_OK) return outcome.status;
    }
    return rename_failures.empty() ? WARPAES_OK : rename_failures.front().status();
}

void report(const CryptResults& results) {
    FilesReport(results).print();
}

bool data_on_stdout(const CryptOptions& o, const std::vector<FileTask>& tasks) {
    // The task of a directory that cannot be read also has an empty `output`, but its status is not WARPAES_OK.
    if (o.action == Action::cat) return true;
    return makes_files(o.action) && tasks[0].output.empty() && tasks[0].status == WARPAES_OK;
}

void print_failure(const CryptOptions& o, const Failure& failure) {
    const bool has_files = o.output_dir || (o.output && o.output != "-") || o.action == Action::verify ||
                           o.action == Action::reencrypt || (o.action == Action::encrypt && o.files[0] != "-");
    print_json({{"status", failure.status()},
                {"error", failure.what()},
                {"files", json::array()},
                {"bytes_read", 0},
                {"seconds", 0},
                {"bytes_per_second", 0}},
               -1, has_files && o.output != "-" ? stdout : stderr);
}

}  // namespace cli
