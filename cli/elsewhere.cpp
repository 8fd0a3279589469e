#include "elsewhere.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
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
        throw Failure(WARPAES_ERROR_NOT_FOUND, fmt::format("'{}': not installed; {}", program.string(), remedy));
    }
    throw Failure(WARPAES_ERROR_INTERNAL,
                  fmt::format("'{}': cannot be run: {}", program.string(), std::strerror(error)));
}

namespace {

/// Returns the Python code that runs the package's command. It removes the working directory, which `-c` adds, from
/// sys.path, because a module in that directory could replace the package.
std::string program(const char* remedy) {
    return fmt::format(
        "import sys\n"
        "sys.path[:] = [each for each in sys.path if each]\n"
        "try:\n"
        "    from warpaes.__main__ import main\n"
        "except ModuleNotFoundError as error:\n"
        "    if error.name != 'warpaes': raise\n"
        "    sys.stderr.write('warpaes: `warpaes %s`: requires the Python package, which is not installed for %s; "
        "{}\\n'\n"
        "                     % (sys.argv[1], sys.executable))\n"
        "    sys.exit({})\n"
        "sys.argv[0] = 'warpaes'\n"
        "main()\n",
        remedy, static_cast<int>(WARPAES_ERROR_NOT_FOUND));
}

}  // namespace

int run_in_package(int argc, char** argv) {
    constexpr auto remedy =
        "install it with `pip install warpaes[bulk]`, or set WARPAES_PYTHON to another Python interpreter";
    const char* given = std::getenv("WARPAES_PYTHON");
    std::string python = given != nullptr && *given != '\0' ? given : "python3", option = "-c", text = program(remedy);
    std::vector<char*> arguments{python.data(), option.data(), text.data()};
    arguments.insert(arguments.end(), argv, argv + argc);
    arguments.push_back(nullptr);
    ::execvp(python.c_str(), arguments.data());
    throw Failure(WARPAES_ERROR_NOT_FOUND, fmt::format("`warpaes {}`: requires Python, but '{}' cannot be run: {}; {}",
                                                       argv[0], python, std::strerror(errno), remedy));
}

}  // namespace cli
