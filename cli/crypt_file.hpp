// The processing of one file by `warpaes encrypt`, `decrypt`, `cat`, `verify` and `reencrypt`, and the keys of all
// files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "crypt_options.hpp"
#include "file_list.hpp"
#include "keyset_source.hpp"
#include "output_notes.hpp"
#include "own_keyset.hpp"
#include "progress.hpp"
#include "stored_names.hpp"
#include "templates.hpp"

namespace cli {

/// A range of zeros in a result, where the file is not authentic.
struct Hole {
    std::uint64_t first, length;
};

/// The outcome of one file.
struct FileOutcome {
    warpaes_status status = WARPAES_ERROR_CANCELLED;
    bool skipped = false;
    std::string error = "not started";
    std::uint64_t bytes_read = 0;
    std::uint64_t bytes_written = 0;
    std::uint32_t key_id = 0;
    std::string backend;
    int device = -1;
    std::vector<Hole> holes;  ///< ranges found by --salvage
};

/// The keys that a command uses for files and their names, and the associated data.
class CryptKeys {
public:
    /// Loads the keys. Throws Failure and UsageError.
    explicit CryptKeys(const CryptOptions& options);
    CryptKeys(const CryptKeys&) = delete;
    CryptKeys& operator=(const CryptKeys&) = delete;
    /// Creates the keyset that is stored in each encrypted file, or chooses the key for re-encryption. Must be called
    /// after all checks and before the first file. Throws Failure and UsageError.
    void settle();

    [[nodiscard]] std::string aad_of(const FileTask& task) const {
        return names == nullptr ? aad : bound_aad(task.plain, aad);
    }
    /// Whether the key with ID `id`, which was used for a file, is a raw key.
    [[nodiscard]] bool is_raw(std::uint32_t id) const {
        return options.to.keys.empty() ? cli::is_raw(keys, id) : to.raw;
    }
    /// Returns the template of a raw key if its files have no recognizable header; otherwise an empty string.
    [[nodiscard]] std::string raw_template() const { return is_raw_only(keys.format) ? keys.format : ""; }

    const CryptOptions& options;
    OwnKeysets own;  ///< the keysets in the files to decrypt
    Keys keys;
    std::string front{};   ///< first bytes of each encrypted file, with its keyset; empty if the files have none
    Keys to;               ///< reencrypt: the keys of --to
    Keyset new_primary{};  ///< reencrypt: contains only the new key; null if the new key is raw
    const warpaes_keyset* new_key = nullptr;  ///< reencrypt: the keyset whose primary key encrypts
    std::uint32_t new_id = 0;
    std::string aad;
    std::unique_ptr<StoredNames> names;  ///< null if the names are not encrypted

private:
    void choose_new_key();
};

/// Processes individual files.
class FileCrypt {
public:
    FileCrypt(CryptKeys& keys, SharedProgress& progress, OutputNotes& notes)
        : o_(keys.options), k_(keys), progress_(progress), notes_(notes) {}

    /// Never throws, so that the other files are still processed if one fails. Thread-safe.
    void run(warpaes_engine* engine, const FileTask& task, FileOutcome& outcome) noexcept;

private:
    void crypt(warpaes_engine* engine, const FileTask& task, FileOutcome& outcome);
    void reencrypt(warpaes_engine* engine, const FileTask& task, FileOutcome& outcome);
    void note_of(const FileTask& task, const warpaes_file_result& result);
    [[nodiscard]] Failure with_hint(warpaes_status status, std::string sentence, bool key_opens, warpaes_engine* engine,
                                    const FileTask& task) const;

    const CryptOptions& o_;
    CryptKeys& k_;
    SharedProgress& progress_;
    OutputNotes& notes_;
};

/// The outcomes of all files.
struct CryptResults {
    const CryptKeys& keys;
    const std::vector<FileTask>& tasks;
    std::vector<FileOutcome> outcomes{};     ///< one for each task
    std::vector<Failure> rename_failures{};  ///< reencrypt: directories that could not be renamed
    OutputNotes notes{};
    double seconds = 0;

    /// Returns the status of the first failure, or WARPAES_OK.
    [[nodiscard]] warpaes_status status() const;
};

/// Prints the results for the files. Throws Failure if a file failed.
void report(const CryptResults& results);
/// Prints the record of a run that failed before it processed any file.
void print_failure(const CryptOptions& options, const Failure& failure);

/// Whether the results go to standard output.
bool data_on_stdout(const CryptOptions& options, const std::vector<FileTask>& tasks);

/// For --dry-run: prints the files that the command would create, and writes nothing. Like the command, throws Failure
/// if keys cannot be loaded, inputs are missing or results already exist.
void dry_run(const CryptOptions& options);

}  // namespace cli
