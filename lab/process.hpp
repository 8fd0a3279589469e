// Runs other programs and waits until they end.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lab {

struct Finished {
    int status = 0;      ///< exit status; 128 + N after signal N
    std::string output;  ///< standard output
    std::string errors;  ///< standard error
    double seconds = 0;  ///< from start to end
};

/// Runs `arguments[0]`, found along PATH, with an empty standard input. `environment`: strings "NAME=value", in
/// addition to this process's own variables. Throws std::system_error if the program cannot be started.
Finished run_process(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {});

/// Searches PATH for `program` and returns its path; none if it is not found.
std::optional<std::filesystem::path> find_program(const std::string& program);

}  // namespace lab
