// Programs in the same folder as this one, which a default installation does not have.
#pragma once

#include <filesystem>
#include <string>

namespace cli {

/// The path of `name`, existing or not, in the folder of the running program.
std::filesystem::path neighbour(const std::string& name);

/// Replaces this process by that program, with the arguments after argv[0]. Throws Failure if it does not exist;
/// `remedy` says how to get it.
[[noreturn]] void become(const std::string& name, int argc, char** argv, const std::string& remedy);

}  // namespace cli
