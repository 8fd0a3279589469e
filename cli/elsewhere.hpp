// Runs commands that are separate programs in the same folder or part of the Python package.
#pragma once

#include <filesystem>
#include <string>

namespace cli {

/// Returns the path of `name` in the folder of the running program. The file need not exist.
std::filesystem::path neighbour(const std::string& name);

/// Replaces this process with the program `name` from the same folder and passes the arguments after argv[0]. If the
/// program does not exist, throws Failure with `remedy`, which explains how to get it.
[[noreturn]] void become(const std::string& name, int argc, char** argv, const std::string& remedy);

/// Replaces this process with Python, which runs the command `argv[0]` of the package `warpaes` with the remaining
/// arguments. WARPAES_PYTHON names the interpreter, which is `python3` by default. Throws Failure if there is no
/// interpreter. If the package is not installed for the interpreter, Python prints how to install it and exits with the
/// same status.
[[noreturn]] int run_in_package(int argc, char** argv);

}  // namespace cli
