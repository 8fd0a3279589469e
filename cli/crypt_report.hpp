// Reports the results of the commands on files: lines, the record of --json, and the exit status.
#pragma once

#include <vector>

#include "crypt_file.hpp"

namespace cli {

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
