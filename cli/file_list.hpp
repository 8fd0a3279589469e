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

/// In the order of the command line, directories sorted. Throws Failure: nothing there, nothing to do, two results that
/// would be one file, a result that would take the place of an input. Warns of what is left out.
std::vector<FileTask> list_files(const CryptOptions& options);

}  // namespace cli
