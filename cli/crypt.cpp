// `warpaes encrypt`, `decrypt`, `cat`, `verify` and `reencrypt`: process files of authenticated segments.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <system_error>
#include <thread>

#include "command.hpp"
#include "crypt_file.hpp"
#include "enc_options.hpp"
#include "interrupt.hpp"
#include "output_directory.hpp"

namespace cli {

namespace {

/// All workers together process a file of at least this size. Smaller files are processed in parallel, one worker per
/// file.
constexpr std::uint64_t large_file = 32u << 20;

std::uint64_t bytes_of(const std::vector<FileTask>& tasks) {
    return std::accumulate(tasks.begin(), tasks.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const FileTask& task) { return sum + task.bytes; });
}

class Run {
public:
    explicit Run(const CryptOptions& options)
        : o_(options),
          k_(options),
          list_(list_files(options, !k_.raw_template().empty(), k_.names.get())),
          tasks_(list_.files),
          results_{k_, tasks_, std::vector<FileOutcome>(tasks_.size())},
          progress_(options.progress.value_or(::isatty(STDERR_FILENO) != 0), tasks_.size(), bytes_of(tasks_)),
          files_(k_, progress_, results_.notes) {
        if (!o_.own) refuse_unused_locks(options.keys);
        check_terminal();
        k_.settle();
        for (std::size_t i = 0; i < tasks_.size(); ++i) {
            if (tasks_[i].status == WARPAES_OK) continue;
            results_.outcomes[i].status = tasks_[i].status;
            results_.outcomes[i].error = tasks_[i].error;
        }
    }

    void run() {
        if (o_.output_dir) prepare_output_directory();
        // Only the owner can open a new directory of results until it receives the permissions of the corresponding
        // input.
        const mode_t before = o_.output_dir ? ::umask(0077) : 0;
        const std::vector<MadeDirectory> places = make_directories();
        std::vector<std::size_t> small, large;
        for (std::size_t i = 0; i < tasks_.size(); ++i) {
            if (tasks_[i].status != WARPAES_OK) continue;
            if (is_skipped(i)) continue;
            (tasks_.size() > 1 && !tasks_[i].input.empty() && tasks_[i].bytes < large_file ? small : large)
                .push_back(i);
        }
        if (o_.action == Action::cat) {
            run_in_order();
        } else {
            if (!small.empty()) run_side_by_side(small);
            if (!large.empty()) {
                const Engine engine = engine_with(o_.threads);
                for (const std::size_t i : large) run_one(engine.get(), i);
            }
        }
        if (o_.action == Action::reencrypt && k_.names != nullptr) rename_under_new_key();
        // The deepest directories come first, because creating a file in a directory changes the directory's time.
        for (std::size_t i = places.size(); i-- > 0;) keep_attributes(list_.directories[i].input, places[i]);
        if (o_.output_dir) ::umask(before);
        results_.seconds = progress_.finish();
    }

    [[nodiscard]] const CryptResults& results() const { return results_; }

private:
    std::vector<MadeDirectory> make_directories() const {
        std::vector<MadeDirectory> places;
        for (const DirectoryTask& directory : list_.directories) {
            if (directory.output.empty()) continue;
            if (k_.names != nullptr && o_.action == Action::encrypt) {
                places.push_back(made_directory(make_stored_directory(directory.root, directory.below)));
            } else {
                make_directory(directory.output);
                places.push_back(made_directory(directory.output));
            }
            open_to_owner(places.back().path);
        }
        return places;
    }

    /// For --skip-existing: returns whether there is a file at the result's path. It is an error if that file is not a
    /// result.
    bool is_skipped(std::size_t i) {
        const std::string& output = tasks_[i].output;
        if (!o_.skip_existing || ::access(output.c_str(), F_OK) != 0) return false;
        const std::string why = objection_to_result(o_, output, k_.raw_template());
        FileOutcome& outcome = results_.outcomes[i];
        outcome.skipped = why.empty();
        outcome.status = why.empty() ? WARPAES_OK : WARPAES_ERROR_EXISTS;
        outcome.error = why.empty() ? "" : fmt::format("output: '{}' already exists and {}; move it away", output, why);
        return true;
    }

    void check_terminal() const {
        if (o_.action == Action::encrypt && data_on_stdout(o_, tasks_) && !o_.force && ::isatty(STDOUT_FILENO) != 0) {
            throw UsageError("ciphertext is not written to a terminal; give -o FILE, write to a pipe, or add -f");
        }
    }

    [[nodiscard]] Engine engine_with(std::uint32_t threads) const {
        warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
        if (!o_.backend.empty()) options.backend = o_.backend.c_str();
        if (o_.device) options.device = static_cast<std::int32_t>(*o_.device);
        options.threads = threads;
        return create_engine(options);
    }

    void run_one(warpaes_engine* engine, std::size_t i) noexcept {
        files_.run(engine, tasks_[i], results_.outcomes[i]);
    }

    void run_side_by_side(const std::vector<std::size_t>& files) {
        const Engine engine = engine_with(1);
        const std::size_t wanted = o_.jobs != 0 ? o_.jobs : std::max(1u, std::thread::hardware_concurrency());
        std::atomic<std::size_t> next{0};
        const auto work = [&] {
            for (std::size_t i = next++; i < files.size(); i = next++) run_one(engine.get(), files[i]);
        };
        std::vector<std::jthread> others;
        try {
            for (std::size_t n = 1; n < std::min(wanted, files.size()); ++n) others.emplace_back(work);
        } catch (const std::system_error&) {
            // The system cannot create more threads, so the running threads do all the work.
        }
        work();
    }

    void prepare_output_directory() const {
        std::uint64_t bytes = 0, replacing = 0;
        bool any = false;
        for (const FileTask& task : tasks_) {
            if (task.status != WARPAES_OK) continue;
            any = true;
            if (::access(task.output.c_str(), F_OK) != 0) {
                bytes += task.bytes;
            } else {  // the old file is removed when the new file is complete
                replacing = std::max(replacing, task.bytes);
            }
        }
        if (!any) return;
        bytes += replacing;
        require_space(*o_.output_dir, bytes - bytes / 64);  // decrypted files are slightly shorter than encrypted files
        make_directory(*o_.output_dir);
    }

    /// Processes the files one after the other and stops at the first failure, because the output must not have gaps.
    void run_in_order() {
        const Engine engine = engine_with(o_.threads);
        for (std::size_t i = 0; i < tasks_.size(); ++i) {
            if (results_.outcomes[i].error.empty() || tasks_[i].status == WARPAES_OK) run_one(engine.get(), i);
            if (results_.outcomes[i].status != WARPAES_OK) return;
        }
    }

    /// Encrypts the names of the files that the new key opens, and then the names of directories, deepest first.
    void rename_under_new_key() {
        for (std::size_t i = 0; i < tasks_.size() && caught_signal() == 0; ++i) {
            if (results_.outcomes[i].status != WARPAES_OK) continue;
            try {
                k_.names->rename(tasks_[i].root, tasks_[i].below, tasks_[i].plain);
            } catch (const Failure& failure) {
                results_.outcomes[i].status = failure.status();
                results_.outcomes[i].error = failure.what();
            }
        }
        for (std::size_t i = list_.directories.size(); i-- > 0 && caught_signal() == 0;) {
            const DirectoryTask& directory = list_.directories[i];
            try {
                k_.names->rename(directory.root, directory.below, directory.plain);
            } catch (const Failure& failure) {
                results_.rename_failures.push_back(failure);
            }
        }
    }

    const CryptOptions& o_;
    CryptKeys k_;
    FileList list_;
    const std::vector<FileTask>& tasks_;
    CryptResults results_;
    SharedProgress progress_;
    FileCrypt files_;
};

int run_action(Action action, int argc, char** argv) {
    const auto options = parse_crypt_options(action, argc, argv);
    if (!options) return 0;
    if (options->range) parse_range(*options->range);
    bool reported = false;
    try {
        if (options->dry_run) {
            dry_run(*options);
            return 0;
        }
        Run run(*options);
        run.run();
        reported = true;
        report(run.results());
    } catch (const Failure& failure) {
        if (options->json && !reported) print_failure(*options, failure);
        throw;
    }
    return 0;
}

}  // namespace

int run_encrypt(int argc, char** argv) {
    // `tar -I` appends -d to the command that encrypts.
    for (int i = 1; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
        if (std::strcmp(argv[i], "-d") == 0 || std::strcmp(argv[i], "--decrypt") == 0) {
            return run_action(Action::decrypt, argc, argv);
        }
    }
    return run_action(Action::encrypt, argc, argv);
}

int run_cat(int argc, char** argv) {
    return run_action(Action::cat, argc, argv);
}

int run_reencrypt(int argc, char** argv) {
    return run_action(Action::reencrypt, argc, argv);
}

int run_decrypt(int argc, char** argv) {
    return run_action(Action::decrypt, argc, argv);
}

int run_verify(int argc, char** argv) {
    return run_action(Action::verify, argc, argv);
}

}  // namespace cli
