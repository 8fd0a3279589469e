// Turns the command line's files and directories into the list of files to process, with the path of each result.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "command.hpp"
#include "crypt_options.hpp"
#include "stored_names.hpp"

namespace cli {

using warpaes::Descriptor;

struct FileTask {
    std::string input{};                    ///< empty: standard input
    std::string output{};                   ///< empty: standard output, or no output
    std::filesystem::path root{};           ///< for a file found in a directory: the directory on the command line
    std::filesystem::path below{};          ///< the path of the file below `root`
    std::filesystem::path stored_output{};  ///< if the result's name is encrypted: its path below --output-dir
    std::string plain{};                    ///< with encrypted names: the plain path below the root of the tree
    bool stored = false;                    ///< the name of the input is encrypted
    std::uint64_t bytes = 0;                ///< size of a regular file
    warpaes_status status = WARPAES_OK;     ///< not WARPAES_OK: the file is not processed, and `error` is the reason
    std::string error{};

    /// The name for messages.
    [[nodiscard]] const std::string& called() const { return stored && !plain.empty() ? plain : input; }
};

/// A directory that gets the permissions and times of another directory.
struct DirectoryTask {
    std::string input;
    std::string output;
    std::string plain{};            ///< with encrypted names: its plain path
    std::filesystem::path root{};   ///< root of the tree with encrypted names, which is read or written
    std::filesystem::path below{};  ///< the stored path below the root
};

struct FileList {
    std::vector<FileTask> files;
    std::vector<DirectoryTask> directories;  ///< each directory precedes its subdirectories
    std::size_t foreign = 0;                 ///< number of files found in directories that do not look encrypted
};

/// Lists the files in the order of the command line, and the content of a directory in sorted order. If `unmarked` is
/// set, encrypted files have no header that distinguishes them from other files. `names` encrypts or decrypts the names
/// for --encrypt-names and --encrypted-names; null without these options. Warns about the files that it skips. Throws
/// Failure for an input that does not exist, for an empty list, for two results with the same path, and for a result
/// that would replace an input.
FileList list_files(const CryptOptions& options, bool unmarked, StoredNames* names);

struct ListedFile {
    Descriptor folder, file;
    std::string name{};  ///< path of the file in the folder
};

/// Opens a file that was found in a directory from the command line. Does not follow links below that directory,
/// because another user may have replaced the file or a directory. Throws Failure{NOT_FOUND}.
ListedFile open_listed(const FileTask& task);

/// For --skip-existing: returns the reason why the file at a result's path is not a result, or an empty string if it is
/// a result or does not exist. `raw_template` is the template of a raw key whose files have no recognizable header;
/// otherwise empty.
std::string objection_to_result(const CryptOptions& options, const std::string& output,
                                const std::string& raw_template);

}  // namespace cli
