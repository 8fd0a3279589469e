// From the command line's files and directories to the files to work on, and where each result goes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "command.hpp"
#include "crypt_options.hpp"

namespace cli {

struct FileTask {
    std::string input{};                 ///< empty: standard input
    std::string output{};                ///< empty: standard output, or none
    std::uint64_t bytes = 0;             ///< of a regular file
    warpaes_status status = WARPAES_OK;  ///< else there is nothing to do: it is a directory that cannot be read
    std::string error{};
};

/// A directory that is to look like another.
struct DirectoryTask {
    std::string input;
    std::string output;
};

struct FileList {
    std::vector<FileTask> files;
    std::vector<DirectoryTask> directories;  ///< each before what lies in it
    std::size_t foreign = 0;                 ///< files in directories that are none of ours
};

/// In the order of the command line, directories sorted. `unmarked`: the files to decrypt have no mark by which they
/// could be told from others. Throws Failure: nothing there, nothing to do, two results that would be one file, a
/// result that would take the place of an input. Warns of what is left out.
FileList list_files(const CryptOptions& options, bool unmarked);

/// Where a result will be: a link that is there already leads to it.
std::string place_of(const std::string& output);

/// Why what is at the place of a result is none, for --skip-existing; nothing if it is one, or nothing is there.
/// `raw_template`: of a key whose files have no mark; else nothing.
std::string objection_to_result(const CryptOptions& options, const std::string& output,
                                const std::string& raw_template);

/// Lets the owner of a directory write in it, who made it in an earlier run like one in which nobody may write.
/// keep_attributes() takes that back in the end.
void open_to_owner(const std::string& directory);

/// Gives `output` the permissions and the time of `input`, as far as possible; warns otherwise. Nothing that is not of
/// the same kind, and nothing that a link leads to: place_of() was asked before it was made.
void keep_attributes(const std::string& input, const std::string& output);

}  // namespace cli
