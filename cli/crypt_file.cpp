#include "crypt_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>

#include "command.hpp"
#include "enc_options.hpp"
#include "foreign_file.hpp"
#include "interrupt.hpp"
#include "output_directory.hpp"
#include "reencrypt.hpp"
#include "secrets.hpp"

namespace cli {

namespace {

void on_hole(void* user, std::uint64_t first, std::uint64_t length) {
    static_cast<std::vector<Hole>*>(user)->push_back({first, length});
}

struct FileProgress {
    SharedProgress& shared;
    std::uint64_t before = 0;
};

int on_file_progress(void* user, std::uint64_t done, std::uint64_t total) {
    auto& file = *static_cast<FileProgress*>(user);
    file.shared.update(file.before, done, total);
    return caught_signal();
}

/// Returns a sentence from the library with the name of the file in place of the path that was passed to the library.
std::string with_name(std::string sentence, const std::string& path, const std::string& name) {
    if (path == name || path.empty()) return sentence;
    for (std::size_t at = 0; (at = sentence.find(path, at)) != std::string::npos; at += name.size()) {
        sentence.replace(at, path.size(), name);
    }
    return sentence;
}

/// The path of a result. The constructor creates the directory.
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

    /// Returns a sentence from the library with the names of the output and its directory.
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

/// Returns a job with the options that all files share.
warpaes_file_job job_of(const CryptOptions& o) {
    warpaes_file_job job = WARPAES_FILE_JOB_INIT;
    job.format = WARPAES_FORMAT_STREAMING_AEAD;
    job.direction = o.action == Action::encrypt ? WARPAES_ENCRYPT : WARPAES_DECRYPT;
    job.input_fd = STDIN_FILENO;
    job.output_fd = STDOUT_FILENO;
    if (o.force) job.flags |= WARPAES_FILE_OVERWRITE;
    if (o.no_sync) job.flags |= WARPAES_FILE_NO_SYNC;
    if (o.output_dir) job.flags |= WARPAES_FILE_KEEP_ATTRIBUTES;
    if (o.action == Action::verify) job.flags |= WARPAES_FILE_VERIFY;
    if (o.range) {
        const FirstLast range = parse_range(*o.range);
        job.flags |= WARPAES_FILE_RANGE;
        job.range_first = range.first;
        job.range_last = range.last;
    }
    return job;
}

const Descriptor& open_input(std::optional<Descriptor>& input, const std::string& path, const std::string& name) {
    input.emplace(path.c_str(), O_RDONLY);
    if (input->get() >= 0) return *input;
    const int error = errno;
    throw Failure(WARPAES_ERROR_NOT_FOUND, fmt::format("cannot open '{}': {}{}", name, std::strerror(error),
                                                       error == ENOENT ? did_you_mean_file(name) : ""));
}

/// Returns the keysets for the names of files. The first keyset encrypts names.
std::vector<const warpaes_keyset*> keysets_of_names(const Keys& keys, const Keys& to) {
    if (to.keyset == nullptr) return {keys.keyset.get()};
    return {to.keyset.get(), keys.keyset.get()};
}

}  // namespace

CryptKeys::CryptKeys(const CryptOptions& o)
    : options(o),
      own(o.own.value_or(KeyOptions{})),
      keys(o.own ? Keys{} : load_keys(o.keys)),
      to(o.to.keys.empty() ? Keys{} : load_keys(o.to)),
      aad(read_aad(o.aad, o.aad_file)),
      names(stored_names(o, keysets_of_names(keys, to))) {}

void CryptKeys::settle() {
    if (options.own && options.action == Action::encrypt) {
        NewOwnKeyset made = make_own_keyset(*options.own, options.to_keks, options.passphrase_seconds);
        keys = std::move(made.keys);
        front = std::move(made.front);
    }
    if (options.action == Action::reencrypt) choose_new_key();
}

/// Chooses the loaded key that encrypts the files.
void CryptKeys::choose_new_key() {
    const Keys& from = options.to.keys.empty() ? keys : to;
    if (options.to.keys.empty() && keys.raw) {
        throw UsageError(
            "--to: missing; a raw key has no new primary key. Give a keyset, which `warpaes keygen -o new.json` "
            "creates");
    }
    new_primary = from.raw ? nullptr : primary_of(from);
    new_key = from.raw ? from.keyset.get() : new_primary.get();
    for (std::size_t i = 0; i < warpaes_keyset_count(new_key); ++i) {
        warpaes_key_info info = WARPAES_KEY_INFO_INIT;
        check(warpaes_keyset_query(new_key, i, &info));
        if (info.primary != 0) new_id = info.key_id;
    }
}

void FileCrypt::reencrypt(warpaes_engine* engine, const FileTask& task, FileOutcome& outcome) {
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
    outcome.key_id = k_.new_id;
    const std::string aad = k_.aad_of(task);
    if (!o_.force && opens(engine, k_.new_key, opened, aad)) {
        outcome.skipped = true;
        return;
    }
    std::uint64_t before = 0;
    const Reencryption how{
        engine, k_.keys.keyset.get(), k_.new_key, aad, !o_.no_sync, [&](std::uint64_t done, std::uint64_t total) {
            progress_.update(before, done, total);
            return caught_signal() == 0;
        }};
    try {
        outcome.bytes_written = reencrypt_file(how, opened, path);
        outcome.bytes_read = task.bytes;
    } catch (const Failure& failure) {
        const std::string sentence = with_name(with_name(failure.what(), path, task.called()), opened, task.called());
        throw with_hint(failure.status(), sentence, false, engine, task);
    }
}

void FileCrypt::run(warpaes_engine* engine, const FileTask& task, FileOutcome& outcome) noexcept {
    if (caught_signal() != 0) return;
    try {
        crypt(engine, task, outcome);
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

void FileCrypt::crypt(warpaes_engine* engine, const FileTask& task, FileOutcome& outcome) {
    if (o_.action == Action::reencrypt) return reencrypt(engine, task, outcome);
    warpaes_file_job job = job_of(o_);
    FileProgress progress{progress_};
    job.keyset = k_.keys.keyset.get();
    const std::string aad = k_.aad_of(task);
    job.aad = aad.data();
    job.aad_len = aad.size();
    std::optional<ListedFile> listed;
    std::string path = task.input;
    if (!task.root.empty()) path = warpaes::path_of(listed.emplace(open_listed(task)).file.get());
    std::shared_ptr<const Keys> own;  // from now on, these are the keys of this file
    std::optional<Descriptor> input;
    if (o_.own && o_.action == Action::encrypt) {
        job.prefix = k_.front.data();
        job.prefix_len = k_.front.size();
    } else if (o_.own) {
        if (!path.empty()) path = warpaes::path_of(open_input(input, path, task.input).get());
        own = k_.own.open(input ? fmt::format("'{}'", task.input) : "standard input",
                          read_front(input ? fmt::format("'{}'", task.input) : "standard input",
                                     input ? input->get() : STDIN_FILENO, k_.own.option()));
        job.keyset = own->keyset.get();
    }
    if (!path.empty()) job.input_path = path.c_str();
    const OutputPlace output(o_, task);
    if (!output.path().empty()) job.output_path = output.path().c_str();
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

void FileCrypt::note_of(const FileTask& task, const warpaes_file_result& result) {
    notes_.add(result.notes, task.output);
    if ((result.notes & WARPAES_NOTE_DEVICE_FAILED) != 0) {
        warn(fmt::format("'{}': a GPU failed, and the CPU finished the work; the result is complete", task.called()));
    }
    if ((result.notes & WARPAES_NOTE_INPUT_GREW) != 0) warn_of_growth(task.called(), result.bytes_read);
}

/// Returns the failure of a file that no key opens, with a hint about the cause.
Failure FileCrypt::with_hint(warpaes_status status, std::string sentence, bool key_opens, warpaes_engine* engine,
                             const FileTask& task) const {
    const std::string &path = task.input, aad = k_.aad_of(task);
    // The library's messages begin with "input: …"; reports name the file instead.
    constexpr std::string_view subject = "input: ";
    if (sentence.starts_with(subject)) sentence.erase(0, subject.size());
    const bool no_key = status == WARPAES_ERROR_FORMAT || status == WARPAES_ERROR_AUTHENTICATION;
    if (no_key && !key_opens && can_be_read_again(path) && !opens(engine, k_.keys.keyset.get(), path, aad)) {
        const auto id = disabled_key_of(engine, k_.keys.keyset.get(), path, aad);
        const Look look = look_at(path);
        if (status == WARPAES_ERROR_FORMAT && !id && !look.encrypted) {
            return {status, fmt::format("does not look encrypted ({})", sentence)};
        }
        sentence +=
            id ? fmt::format(
                     "; the disabled key {} opens the file; enable the key with `warpaes keys enable KEYSET {}`", *id,
                     *id)
            : status == WARPAES_ERROR_FORMAT ? look.hint
            : task.stored
                ? "; the file may have been moved within the tree, or --aad may differ from the --aad of the encryption"
            : k_.names == nullptr && looks_like_stored_name(std::filesystem::path(path).filename())
                ? "; its name looks encrypted, so give --encrypted-names and the complete directory"
                : "; repeat -k to try several keys, and give the --aad that was used for encryption";
    }
    if (status == WARPAES_ERROR_NOT_FOUND && ::access(path.c_str(), F_OK) != 0) sentence += did_you_mean_file(path);
    return {status, sentence};
}

}  // namespace cli
