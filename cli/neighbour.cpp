#include "neighbour.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "command.hpp"

namespace cli {

std::filesystem::path neighbour(const std::string& name) {
    std::error_code unknown;
    return std::filesystem::read_symlink("/proc/self/exe", unknown).replace_filename(name);
}

void become(const std::string& name, int argc, char** argv, const std::string& remedy) {
    const std::filesystem::path program = neighbour(name);
    std::vector<char*> arguments(argv, argv + argc);
    std::string first = name;
    arguments[0] = first.data();
    arguments.push_back(nullptr);
    if (program.is_absolute()) ::execv(program.c_str(), arguments.data());
    const int error = program.is_absolute() ? errno : ENOENT;
    if (error == ENOENT) {
        throw Failure(WARPAES_ERROR_NOT_FOUND, fmt::format("there is no '{}'; {}", program.string(), remedy));
    }
    throw Failure(WARPAES_ERROR_INTERNAL,
                  fmt::format("'{}' cannot be run: {}", program.string(), std::strerror(error)));
}

}  // namespace cli
