// `warpaes encrypt`, `decrypt`, `cat`, `verify` and `reencrypt`: files of authenticated segments, one or many.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <new>
#include <numeric>
#include <span>
#include <system_error>
#include <thread>

#include "command.hpp"
#include "crypt_options.hpp"
#include "dry_run.hpp"
#include "enc_options.hpp"
#include "file_list.hpp"
#include "foreign_file.hpp"
#include "interrupt.hpp"
#include "key_files.hpp"
#include "keyset_source.hpp"
#include "output_directory.hpp"
#include "output_notes.hpp"
#include "own_keyset.hpp"
#include "progress.hpp"
#include "record.hpp"
#include "reencrypt.hpp"
#include "stored_names.hpp"
#include "templates.hpp"

namespace cli {

namespace {

using nlohmann::json;

/// A file of at least this size is processed by all workers. Smaller files are processed in parallel, with one worker
/// for each.
constexpr std::uint64_t large_file = 32u << 20;

/// A range of zeros in a result, where the file is not authentic.
struct Hole {
    std::uint64_t first, length;
};

struct Outcome {
    warpaes_status status = WARPAES_ERROR_CANCELLED;
    bool skipped = false;
    std::string error = "not begun";
    std::uint64_t bytes_read = 0;
    std::uint64_t bytes_written = 0;
    std::uint32_t key_id = 0;
    std::string backend;
    int device = -1;
    std::vector<Hole> holes;  ///< of --salvage
};

void on_hole(void* user, std::uint64_t first, std::uint64_t length) {
    static_cast<std::vector<Hole>*>(user)->push_back({first, length});
}

/// One progress line for all files.
class SharedProgress {
public:
    SharedProgress(bool shown, const std::vector<FileTask>& tasks) : line_(shown), single_(tasks.size() == 1) {
        for (const FileTask& task : tasks) total_ += task.bytes;
    }
    void update(std::uint64_t& before, std::uint64_t done, std::uint64_t total) {
        const std::lock_guard lock(mutex_);
        done_ += done - before;
        before = done;
        line_.update(done_, single_ ? total : total_);
    }
    double finish() {
        const double seconds = line_.seconds();
        line_.clear();
        return seconds;
    }

private:
    std::mutex mutex_;
    ProgressLine line_;
    bool single_;
    std::uint64_t done_ = 0;
    std::uint64_t total_ = 0;
};

struct FileProgress {
    SharedProgress& shared;
    std::uint64_t before = 0;
};

int on_file_progress(void* user, std::uint64_t done, std::uint64_t total) {
    auto& file = *static_cast<FileProgress*>(user);
    file.shared.update(file.before, done, total);
    return caught_signal();
}

/// A sentence from the library, with the name of the file instead of the path that was passed to the library.
std::string with_name(std::string sentence, const std::string& path, const std::string& name) {
    if (path == name || path.empty()) return sentence;
    for (std::size_t at = 0; (at = sentence.find(path, at)) != std::string::npos; at += name.size()) {
        sentence.replace(at, path.size(), name);
    }
    return sentence;
}

/// The path of a result, after its directory is created.
class OutputPlace {
public:
    OutputPlace(const CryptOptions& options, const FileTask& task) : task_(task), path_(task.output) {
        const std::filesystem::path whole(task.output);
        if (!task.stored_output.empty()) {
            const std::string name = whole.filename();
            directory_ = make_stored_directory(*options.output_dir, task.stored_output.parent_path());
            refuse_planted(directory_, name, task.output);
            path_ = fmt::format("{}/{}", warpaes::path_of(directory_.get()), name);
        } else if (options.output_dir) {
            make_directory(whole.parent_path());
        }
    }
    [[nodiscard]] const std::string& path() const { return path_; }

    /// A sentence from the library, with the names of the output and its directory.
    [[nodiscard]] std::string named(std::string sentence) const {
        if (task_.stored_output.empty()) return sentence;
        const std::filesystem::path whole(task_.output);
        sentence = with_name(std::move(sentence), path_, task_.output);
        return with_name(std::move(sentence), fmt::format("'{}'", warpaes::path_of(directory_.get())),
                         fmt::format("'{}'", whole.parent_path().string()));
    }

private:
    const FileTask& task_;
    Descriptor directory_;
    std::string path_;
};

class Run {
public:
    explicit Run(const CryptOptions& options)
        : o_(options),
          own_(options.own.value_or(KeyOptions{})),
          keys_(options.own ? Keys{} : load_keys(options.keys)),
          to_(options.to.keys.empty() ? Keys{} : load_keys(options.to)),
          aad_(read_aad(options.aad, options.aad_file)),
          names_(stored_names(options, keysets_of_names())),
          list_(list_files(options, is_raw_only(keys_.format), names_.get())),
          tasks_(list_.files),
          outcomes_(tasks_.size()),
          progress_(options.progress.value_or(::isatty(STDERR_FILENO) != 0), tasks_) {
        if (!o_.own) refuse_unused_locks(options.keys);
        check_terminal();
        if (o_.own && o_.action == Action::encrypt) {
            NewOwnKeyset made = make_own_keyset(*o_.own, o_.to_keks, o_.passphrase_seconds);
            keys_ = std::move(made.keys);
            front_ = std::move(made.front);
        }
        if (o_.action == Action::reencrypt) choose_new_key();
        for (std::size_t i = 0; i < tasks_.size(); ++i) {
            if (tasks_[i].status == WARPAES_OK) continue;
            outcomes_[i].status = tasks_[i].status;
            outcomes_[i].error = tasks_[i].error;
        }
    }

    void run() {
        if (o_.output_dir) prepare_output_directory();
        // Only the owner can open a directory of results until it gets the permissions of its input.
        const mode_t before = o_.output_dir ? ::umask(0077) : 0;
        std::vector<MadeDirectory> places;
        for (const DirectoryTask& directory : list_.directories) {
            if (directory.output.empty()) continue;
            if (names_ != nullptr && o_.action == Action::encrypt) {
                places.push_back(made_directory(make_stored_directory(directory.root, directory.below)));
            } else {
                make_directory(directory.output);
                places.push_back(made_directory(directory.output));
            }
            open_to_owner(places.back().path);
        }
        std::vector<std::size_t> small, large;
        for (std::size_t i = 0; i < tasks_.size(); ++i) {
            if (tasks_[i].status != WARPAES_OK) continue;
            if (o_.skip_existing && ::access(tasks_[i].output.c_str(), F_OK) == 0) {
                const std::string why =
                    objection_to_result(o_, tasks_[i].output, is_raw_only(keys_.format) ? keys_.format : "");
                outcomes_[i].skipped = why.empty();
                outcomes_[i].status = why.empty() ? WARPAES_OK : WARPAES_ERROR_EXISTS;
                outcomes_[i].error = why.empty() ? ""
                                                 : fmt::format("output: '{}' already exists and {}; move it away",
                                                               tasks_[i].output, why);
                continue;
            }
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
        if (o_.action == Action::reencrypt && names_ != nullptr) rename_under_new_key();
        // The deepest directories come first, because creating a file in a directory changes the directory's time.
        for (std::size_t i = places.size(); i-- > 0;) keep_attributes(list_.directories[i].input, places[i]);
        if (o_.output_dir) ::umask(before);
        seconds_ = progress_.finish();
    }

    /// The status of the first file that failed.
    [[nodiscard]] warpaes_status status() const {
        for (const Outcome& outcome : outcomes_) {
            if (outcome.status != WARPAES_OK) return outcome.status;
        }
        return rename_failures_.empty() ? WARPAES_OK : rename_failures_.front().status();
    }

    void report() const {
        if (o_.json) {
            print_json(record(), -1, data_on_stdout() ? stderr : stdout);
        } else if (o_.action == Action::verify) {
            for (std::size_t i = 0; i < tasks_.size(); ++i) {
                if (outcomes_[i].status == WARPAES_OK) fmt::print("{}: authentic\n", one_line(name_of(i)));
            }
        }
        if (o_.progress.value_or(false) && status() == WARPAES_OK) {
            const auto bytes = static_cast<double>(bytes_read());
            say(fmt::format("{} in {:.2f} s: {:.2f} GB/s on {}\n", human_bytes(bytes), seconds_, bytes / seconds_ / 1e9,
                            outcomes_[0].backend));
        }
        flush_output();
        for (std::size_t i = 0; o_.verbose && i < tasks_.size(); ++i) {
            if (outcomes_[i].status == WARPAES_OK) say(one_line(without_keys(what_became_of(i))) + "\n");
        }
        output_notes_.tell();
        for (std::size_t i = 0; i < tasks_.size(); ++i) list_holes(i);
        const auto skipped =
            std::count_if(outcomes_.begin(), outcomes_.end(), [](const Outcome& o) { return o.skipped; });
        if (skipped != 0 && !o_.json) {
            note(fmt::format("{} of {} {}\n", skipped, tasks_.size(),
                             o_.action == Action::reencrypt ? "already had the new key" : "results already existed"));
        }
        if (tasks_.size() == 1) {
            if (outcomes_[0].status != WARPAES_OK) throw Failure(status(), named_error(0));
            if (!rename_failures_.empty()) throw rename_failures_.front();
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
        if (failed != 0) throw Failure(status(), fmt::format("{} of {} files failed", failed, tasks_.size()));
        if (!rename_failures_.empty()) throw rename_failures_.front();
    }

private:
    /// Only the first ranges; the record of --json contains all.
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
        if (holes.size() > most) say(fmt::format("and {} more ranges; --json lists all\n", holes.size() - most));
    }

    [[nodiscard]] bool data_on_stdout() const {
        // A directory that cannot be read has no output.
        if (o_.action == Action::cat) return true;
        return makes_files(o_.action) && tasks_[0].output.empty() && tasks_[0].status == WARPAES_OK;
    }

    [[nodiscard]] std::string name_of(std::size_t i) const {
        return tasks_[i].input.empty() ? "standard input" : tasks_[i].called();
    }

    /// The error with the name of the file.
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

    void check_terminal() const {
        if (o_.action == Action::encrypt && data_on_stdout() && !o_.force && ::isatty(STDOUT_FILENO) != 0) {
            throw UsageError("ciphertext is not written to a terminal: give -o FILE, write to a pipe, or add -f");
        }
    }

    [[nodiscard]] Engine engine_with(std::uint32_t threads) const {
        warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
        if (!o_.backend.empty()) options.backend = o_.backend.c_str();
        if (o_.device) options.device = static_cast<std::int32_t>(*o_.device);
        options.threads = threads;
        return create_engine(options);
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
            } else {  // the old file is removed when the new one is complete
                replacing = std::max(replacing, task.bytes);
            }
        }
        if (!any) return;
        bytes += replacing;
        require_space(*o_.output_dir, bytes - bytes / 64);  // decrypted files are slightly shorter
        make_directory(*o_.output_dir);
    }

    /// The keysets whose first key encrypts names.
    [[nodiscard]] std::vector<const warpaes_keyset*> keysets_of_names() const {
        if (o_.to.keys.empty()) return {keys_.keyset.get()};
        return {to_.keyset.get(), keys_.keyset.get()};
    }

    [[nodiscard]] std::string aad_of(const FileTask& task) const {
        return names_ == nullptr ? aad_ : bound_aad(task.plain, aad_);
    }

    /// The files are processed one after the other, up to the first failure, because the output must have no gap.
    void run_in_order() {
        const Engine engine = engine_with(o_.threads);
        for (std::size_t i = 0; i < tasks_.size(); ++i) {
            if (outcomes_[i].error.empty() || tasks_[i].status == WARPAES_OK) run_one(engine.get(), i);
            if (outcomes_[i].status != WARPAES_OK) return;
        }
    }

    /// Chooses, from the loaded keys, the one that encrypts the files.
    void choose_new_key() {
        const Keys& from = o_.to.keys.empty() ? keys_ : to_;
        if (o_.to.keys.empty() && keys_.raw) {
            throw UsageError(
                "--to: is missing; a raw key has no new primary key, so give a keyset (`warpaes keygen -o new.json` "
                "creates a keyset)");
        }
        new_primary_ = from.raw ? nullptr : primary_of(from);
        new_key_ = from.raw ? from.keyset.get() : new_primary_.get();
        for (std::size_t i = 0; i < warpaes_keyset_count(new_key_); ++i) {
            warpaes_key_info info = WARPAES_KEY_INFO_INIT;
            check(warpaes_keyset_query(new_key_, i, &info));
            if (info.primary != 0) new_id_ = info.key_id;
        }
    }

    /// Encrypts the names of the files that are under the new key, and then the names of directories, the deepest
    /// first.
    void rename_under_new_key() {
        for (std::size_t i = 0; i < tasks_.size() && caught_signal() == 0; ++i) {
            if (outcomes_[i].status != WARPAES_OK) continue;
            try {
                names_->rename(tasks_[i].root, tasks_[i].below, tasks_[i].plain);
            } catch (const Failure& failure) {
                outcomes_[i].status = failure.status();
                outcomes_[i].error = failure.what();
            }
        }
        for (std::size_t i = list_.directories.size(); i-- > 0 && caught_signal() == 0;) {
            const DirectoryTask& directory = list_.directories[i];
            try {
                names_->rename(directory.root, directory.below, directory.plain);
            } catch (const Failure& failure) {
                rename_failures_.push_back(failure);
            }
        }
    }

    void reencrypt(warpaes_engine* engine, const FileTask& task, Outcome& outcome) {
        refuse_needed_file(task.input);
        std::string opened = task.input, path = task.input;
        std::optional<ListedFile> listed;
        if (task.root.empty()) {
            refuse_irregular(task.input);
        } else {
            listed.emplace(open_listed(task));
            opened = warpaes::path_of(listed->file.get());
            path = fmt::format("{}/{}", warpaes::path_of(listed->folder.get()), listed->name);
        }
        outcome.key_id = new_id_;
        const std::string aad = aad_of(task);
        if (!o_.force && opens(engine, new_key_, opened, aad)) {
            outcome.skipped = true;
            return;
        }
        std::uint64_t before = 0;
        const Reencryption how{
            engine, keys_.keyset.get(), new_key_, aad, !o_.no_sync, [&](std::uint64_t done, std::uint64_t total) {
                progress_.update(before, done, total);
                return caught_signal() == 0;
            }};
        try {
            outcome.bytes_written = reencrypt_file(how, opened, path);
            outcome.bytes_read = task.bytes;
        } catch (const Failure& failure) {
            const std::string sentence =
                with_name(with_name(failure.what(), path, task.called()), opened, task.called());
            throw with_hint(failure.status(), sentence, false, engine, task);
        }
    }

    /// Never throws, so that the other files are still processed if one fails.
    void run_one(warpaes_engine* engine, std::size_t i) noexcept {
        if (caught_signal() != 0) return;
        Outcome& outcome = outcomes_[i];
        try {
            crypt(engine, tasks_[i], outcome);
            outcome.status = WARPAES_OK;
            outcome.error.clear();
        } catch (const Failure& failure) {
            outcome.status = failure.status();
            outcome.error = failure.what();
        } catch (const std::bad_alloc&) {
            outcome.status = WARPAES_ERROR_OUT_OF_MEMORY;
            outcome.error = "out of memory";
        } catch (const std::exception& error) {
            outcome.status = WARPAES_ERROR_INTERNAL;
            outcome.error = error.what();
        }
    }

    void crypt(warpaes_engine* engine, const FileTask& task, Outcome& outcome) {
        if (o_.action == Action::reencrypt) return reencrypt(engine, task, outcome);
        warpaes_file_job job = WARPAES_FILE_JOB_INIT;
        FileProgress progress{progress_};
        job.format = WARPAES_FORMAT_STREAMING_AEAD;
        job.direction = o_.action == Action::encrypt ? WARPAES_ENCRYPT : WARPAES_DECRYPT;
        job.keyset = keys_.keyset.get();
        const std::string aad = aad_of(task);
        job.aad = aad.data();
        job.aad_len = aad.size();
        job.input_fd = STDIN_FILENO;
        job.output_fd = STDOUT_FILENO;
        std::optional<ListedFile> listed;
        std::string path = task.input;
        if (!task.root.empty()) path = warpaes::path_of(listed.emplace(open_listed(task)).file.get());
        std::shared_ptr<const Keys> own;  // from here on, these are the keys of this file
        std::optional<Descriptor> input;
        if (o_.own && o_.action == Action::encrypt) {
            job.prefix = front_.data();
            job.prefix_len = front_.size();
        } else if (o_.own) {
            if (!path.empty()) path = warpaes::path_of(open_input(input, path, task.input).get());
            own = own_.open(input ? fmt::format("'{}'", task.input) : "standard input",
                            read_front(input ? fmt::format("'{}'", task.input) : "standard input",
                                       input ? input->get() : STDIN_FILENO, own_.option()));
            job.keyset = own->keyset.get();
        }
        if (!path.empty()) job.input_path = path.c_str();
        const OutputPlace output(o_, task);
        if (!output.path().empty()) job.output_path = output.path().c_str();
        if (o_.force) job.flags |= WARPAES_FILE_OVERWRITE;
        if (o_.no_sync) job.flags |= WARPAES_FILE_NO_SYNC;
        if (o_.output_dir) job.flags |= WARPAES_FILE_KEEP_ATTRIBUTES;
        if (o_.action == Action::verify) job.flags |= WARPAES_FILE_VERIFY;
        if (o_.range) {
            const FirstLast range = parse_range(*o_.range);
            job.flags |= WARPAES_FILE_RANGE;
            job.range_first = range.first;
            job.range_last = range.last;
        }
        if (o_.salvage) {
            job.flags |= WARPAES_FILE_SALVAGE;
            job.hole = on_hole;
            job.hole_user = &outcome.holes;
        }
        job.progress = on_file_progress;
        job.progress_user = &progress;
        if (o_.action != Action::verify) refuse_needed_file(task.output);
        warpaes_file_result result = WARPAES_FILE_RESULT_INIT;
        const warpaes_status status = warpaes_file_run(engine, &job, &result);
        outcome.bytes_read = result.bytes_read;
        outcome.bytes_written = result.bytes_written;
        outcome.key_id = result.key_id;
        outcome.backend = result.backend;
        outcome.device = result.device;
        if (status != WARPAES_OK) {
            std::string sentence = with_name(output.named(warpaes_last_error()), path, task.called());
            if (status == WARPAES_ERROR_EXISTS) sentence += " with -f";
            const bool key_opens = (result.notes & WARPAES_NOTE_KEY_OPENS) != 0;
            if (status == WARPAES_ERROR_HOLES) note_of(task, result);
            if (o_.own) throw Failure(status, sentence);
            throw with_hint(status, std::move(sentence), key_opens, engine, task);
        }
        note_of(task, result);
    }

    static const Descriptor& open_input(std::optional<Descriptor>& input, const std::string& path,
                                        const std::string& name) {
        input.emplace(path.c_str(), O_RDONLY);
        if (input->get() >= 0) return *input;
        const int error = errno;
        throw Failure(WARPAES_ERROR_NOT_FOUND, fmt::format("cannot open '{}': {}{}", name, std::strerror(error),
                                                           error == ENOENT ? did_you_mean_file(name) : ""));
    }

    void note_of(const FileTask& task, const warpaes_file_result& result) {
        output_notes_.add(result.notes, task.output);
        if ((result.notes & WARPAES_NOTE_DEVICE_FAILED) != 0) {
            warn(fmt::format("'{}': a GPU failed, and the CPU finished the work; the result is complete",
                             task.called()));
        }
        if ((result.notes & WARPAES_NOTE_INPUT_GREW) != 0) warn_of_growth(task.called(), result.bytes_read);
    }

    /// The failure of a file that no key opens, with a hint at the cause.
    [[nodiscard]] Failure with_hint(warpaes_status status, std::string sentence, bool key_opens, warpaes_engine* engine,
                                    const FileTask& task) const {
        const std::string &path = task.input, aad = aad_of(task);
        // The library's messages begin with "input: …"; reports name the file instead.
        constexpr std::string_view subject = "input: ";
        if (sentence.starts_with(subject)) sentence.erase(0, subject.size());
        const bool no_key = status == WARPAES_ERROR_FORMAT || status == WARPAES_ERROR_AUTHENTICATION;
        if (no_key && !key_opens && can_be_read_again(path) && !opens(engine, keys_.keyset.get(), path, aad)) {
            const auto id = disabled_key_of(engine, keys_.keyset.get(), path, aad);
            const Look look = look_at(path);
            if (status == WARPAES_ERROR_FORMAT && !id && !look.encrypted) {
                return {status, fmt::format("does not look encrypted: {}", sentence)};
            }
            sentence += id ? fmt::format("; the disabled key {} opens it: `warpaes keys enable KEYSET {}`", *id, *id)
                        : status == WARPAES_ERROR_FORMAT ? look.hint
                        : task.stored ? "; a file that was moved within the tree does not open, and --aad must be the "
                                        "same as for the encryption"
                        : names_ == nullptr && looks_like_stored_name(std::filesystem::path(path).filename())
                            ? "; its name looks encrypted: give --encrypted-names and the complete directory"
                            : "; repeat -k to try several keys, and give the --aad that was used for encryption";
        }
        if (status == WARPAES_ERROR_NOT_FOUND && ::access(path.c_str(), F_OK) != 0) sentence += did_you_mean_file(path);
        return {status, sentence};
    }

    [[nodiscard]] std::uint64_t bytes_read() const {
        return std::accumulate(outcomes_.begin(), outcomes_.end(), std::uint64_t{0},
                               [](std::uint64_t sum, const Outcome& outcome) { return sum + outcome.bytes_read; });
    }

    [[nodiscard]] bool is_raw(std::uint32_t key_id) const {
        return o_.to.keys.empty() ? cli::is_raw(keys_, key_id) : to_.raw;
    }

    /// Returns the line that -v prints for a file.
    [[nodiscard]] std::string what_became_of(std::size_t i) const {
        const Outcome& outcome = outcomes_[i];
        std::string line = name_of(i);
        if (makes_files(o_.action)) {
            line += " -> " + (tasks_[i].output.empty() ? std::string("standard output") : tasks_[i].output);
        }
        if (outcome.skipped) return line + ": unchanged";
        line += fmt::format(": {}", human_bytes(static_cast<double>(outcome.bytes_read)));
        line += is_raw(outcome.key_id) ? ", the raw key" : fmt::format(", key {}", outcome.key_id);
        return outcome.backend.empty() ? line : line + ", " + outcome.backend;
    }

    [[nodiscard]] json record() const {
        json files = json::array();
        for (std::size_t i = 0; i < tasks_.size(); ++i) {
            const Outcome& outcome = outcomes_[i];
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
                file["key_id"] = is_raw(outcome.key_id) ? json() : json(outcome.key_id);
                file["backend"] = outcome.backend;
                file["device"] = outcome.device;
            }
            files.push_back(std::move(file));
        }
        return {{"status", status()},
                {"files", std::move(files)},
                {"bytes_read", bytes_read()},
                {"seconds", seconds_},
                {"bytes_per_second", static_cast<double>(bytes_read()) / seconds_}};
    }

    const CryptOptions& o_;
    OwnKeysets own_;  ///< of files that are decrypted
    Keys keys_;
    std::string front_;                        ///< with the keyset of files that are encrypted, if that is their own
    Keys to_;                                  ///< reencrypt: of --to
    Keyset new_primary_;                       ///< reencrypt: holds only the new key, unless that is raw
    const warpaes_keyset* new_key_ = nullptr;  ///< reencrypt
    std::uint32_t new_id_ = 0;
    std::string aad_;
    std::unique_ptr<StoredNames> names_;  ///< if they are encrypted
    FileList list_;
    const std::vector<FileTask>& tasks_;
    std::vector<Outcome> outcomes_;
    std::vector<Failure> rename_failures_;  ///< reencrypt: of directories
    SharedProgress progress_;
    OutputNotes output_notes_;
    double seconds_ = 0;
};

/// The record of a run that failed before it processed any file.
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
        run.report();
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
