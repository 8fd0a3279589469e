// Programs beside this one, which a default installation does not have.
#pragma once

#include <filesystem>
#include <string>

namespace cli {

/// Where `name` lies, or would lie: in the folder of the program that runs.
std::filesystem::path neighbour(const std::string& name);

/// Becomes that program, with the arguments behind argv[0]. Throws Failure if it is not there; `remedy` says how to get
/// it.
[[noreturn]] void become(const std::string& name, int argc, char** argv, const std::string& remedy);

}  // namespace cli
