// Runs commands of other programs: programs in the same folder, if they are installed, or the Python package.
#pragma once

#include <filesystem>
#include <string>

namespace cli {

/// The path of `name`, existing or not, in the folder of the running program.
std::filesystem::path neighbour(const std::string& name);

/// Replaces this process with that program and passes the arguments after argv[0]. If the program does not exist,
/// throws Failure with `remedy`, which explains how to get it.
[[noreturn]] void become(const std::string& name, int argc, char** argv, const std::string& remedy);

/// Replaces this process with Python, which runs the command `argv[0]` of the package `warpaes` with the arguments
/// after it. WARPAES_PYTHON names the interpreter, which is `python3` by default. Throws Failure if there is no
/// interpreter. If the package is not installed for the interpreter, explains how to install it and exits with the same
/// status.
[[noreturn]] int run_in_package(int argc, char** argv);

}  // namespace cli
