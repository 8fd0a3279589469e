// Turns the command line's files and directories into the list of files to process, with the place of each result.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "command.hpp"
#include "crypt_options.hpp"

namespace cli {

struct FileTask {
    std::string input{};                 ///< empty: standard input
    std::string output{};                ///< empty: standard output, or none
    std::uint64_t bytes = 0;             ///< size of a regular file
    warpaes_status status = WARPAES_OK;  ///< otherwise a directory that cannot be read, with nothing to do
    std::string error{};
};

/// A directory that gets the permissions and times of another.
struct DirectoryTask {
    std::string input;
    std::string output;
};

struct FileList {
    std::vector<FileTask> files;
    std::vector<DirectoryTask> directories;  ///< each before the directories in it
    std::size_t foreign = 0;                 ///< files in directories that are not encrypted files
};

/// Files in the order of the command line, directories sorted. `unmarked`: the files to decrypt have no mark that tells
/// them from others. Throws Failure: nothing there, nothing to do, two results that would be one file, a result that
/// would replace an input. Warns of everything that it skips.
FileList list_files(const CryptOptions& options, bool unmarked);

/// A directory of results.
struct MadeDirectory {
    std::string path;  ///< with a link at its end resolved
    dev_t device;
    ino_t inode;
};
MadeDirectory made_directory(const std::string& path);

/// Why the file at the place of a result is not a result, for --skip-existing; nothing if it is one, or if there is no
/// file. `raw_template`: template of a raw key whose files have no mark; else nothing.
std::string objection_to_result(const CryptOptions& options, const std::string& output,
                                const std::string& raw_template);

/// Lets the owner of a directory write in it, if an earlier run made it as a copy of a directory without that
/// permission. keep_attributes() removes the permission at the end.
void open_to_owner(const std::string& directory);

/// Gives `output` the permissions and the time of `input`, as far as possible, and warns otherwise. It changes no other
/// directory that has taken the place of `output`.
void keep_attributes(const std::string& input, const MadeDirectory& output);

}  // namespace cli
