// Reports by the commands on files: lines, the record of --json, and the exit status.
#pragma once

#include <vector>

#include "crypt_file.hpp"

namespace cli {

/// The outcomes of all files.
struct CryptResults {
    const CryptKeys& keys;
    const std::vector<FileTask>& tasks;
    std::vector<FileOutcome> outcomes{};     ///< one for each task
    std::vector<Failure> rename_failures{};  ///< reencrypt: of directories
    OutputNotes notes{};
    double seconds = 0;

    /// The status of the first file that failed.
    [[nodiscard]] warpaes_status status() const;
};

/// Prints the results for the files. Throws Failure if one of them failed.
void report(const CryptResults& results);
/// Prints the record of a run that failed before it processed any file.
void print_failure(const CryptOptions& options, const Failure& failure);

/// Whether the results go to standard output.
bool data_on_stdout(const CryptOptions& options, const std::vector<FileTask>& tasks);

/// For --dry-run: prints the files that the command would make, and writes nothing. Throws Failure as the command
/// would: for keys that cannot be loaded, for files that are missing or too many, and for results that exist.
void dry_run(const CryptOptions& options);

}  // namespace cli
