// From the command line's files and directories to the files to work on, and where each result goes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "crypt_options.hpp"

namespace cli {

struct FileTask {
    std::string input;        ///< empty: standard input
    std::string output;       ///< empty: standard output, or none
    std::uint64_t bytes = 0;  ///< of a regular file
};

/// In the order of the command line, directories sorted. Throws Failure: nothing there, nothing to do, two results of
/// one name. Warns of what is left out.
std::vector<FileTask> list_files(const CryptOptions& options);

}  // namespace cli
