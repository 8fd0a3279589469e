// Turns the command line's files and directories into the list of files to process, with the path of each result.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "command.hpp"
#include "crypt_options.hpp"
#include "descriptor.hpp"
#include "stored_names.hpp"

namespace cli {

struct FileTask {
    std::string input{};                    ///< empty: standard input
    std::string output{};                   ///< empty: standard output, or none
    std::filesystem::path root{};           ///< for a file found in a directory: that directory of the command line
    std::filesystem::path below{};          ///< the path below it
    std::filesystem::path stored_output{};  ///< with an encrypted name of the result: its path below --output-dir
    std::string plain{};                    ///< with encrypted names: the plain path below the root of the tree
    bool stored = false;                    ///< the name of the input is encrypted
    std::uint64_t bytes = 0;                ///< size of a regular file
    warpaes_status status = WARPAES_OK;     ///< otherwise nothing is done; `error` says why
    std::string error{};

    /// What messages call it.
    [[nodiscard]] const std::string& called() const { return stored && !plain.empty() ? plain : input; }
};

/// A directory that gets the permissions and times of another.
struct DirectoryTask {
    std::string input;
    std::string output;
    std::string plain{};            ///< with encrypted names: its plain path
    std::filesystem::path root{};   ///< of the tree with encrypted names, which is read or written
    std::filesystem::path below{};  ///< the stored path below the root
};

struct FileList {
    std::vector<FileTask> files;
    std::vector<DirectoryTask> directories;  ///< each before the directories in it
    std::size_t foreign = 0;                 ///< files in directories that are not encrypted files
};

/// Files in the order of the command line, directories sorted. `unmarked`: the files to decrypt have no mark that tells
/// them from others. Throws Failure: nothing there, nothing to do, two results that would be one file, a result that
/// would replace an input. Warns of everything that it skips. `names`: of --encrypt-names and --encrypted-names, or
/// null.
FileList list_files(const CryptOptions& options, bool unmarked, StoredNames* names);

struct ListedFile {
    Descriptor folder, file;
    std::string name{};  ///< of the file, in the folder
};

/// Opens a file that was found in a directory of the command line. Follows no link below that directory, where another
/// user may have replaced a directory or the file since. Throws Failure{NOT_FOUND}.
ListedFile open_listed(const FileTask& task);

/// The reason why a file at a result's path is not a result, for --skip-existing; nothing if it is one, or if there is
/// no file. `raw_template`: template of a raw key whose files have no mark; else nothing.
std::string objection_to_result(const CryptOptions& options, const std::string& output,
                                const std::string& raw_template);

}  // namespace cli
