// Other programs, run to their end.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lab {

struct Finished {
    int status = 0;      ///< exit status; 128 + N after signal N
    std::string output;  ///< what it wrote to standard output
    std::string errors;  ///< and to standard error
    double seconds = 0;  ///< from its start to its end
};

/// Runs `arguments[0]`, found along PATH, with nothing on its standard input. Throws std::system_error if it cannot be
/// started.
Finished run_process(const std::vector<std::string>& arguments);

/// Where `program` is along PATH.
std::optional<std::filesystem::path> find_program(const std::string& program);

}  // namespace lab
