// Programs in the same folder as this one. A default installation does not include them.
#pragma once

#include <filesystem>
#include <string>

namespace cli {

/// The path of `name`, existing or not, in the folder of the running program.
std::filesystem::path neighbour(const std::string& name);

/// Replaces this process with that program and passes the arguments after argv[0]. If the program does not exist,
/// throws Failure with `remedy`, which explains how to get it.
[[noreturn]] void become(const std::string& name, int argc, char** argv, const std::string& remedy);

}  // namespace cli
