// The command line, of which messages repeat nothing that could be a key.
#pragma once

#include <string>

namespace cli {

/// To be called once, first of all. `argv` stays where it is.
void remember_arguments(int argc, char** argv);

/// `sentence` without those arguments, or parts of them, that look like a key and are not the name of a file.
std::string without_keys(std::string sentence);

}  // namespace cli
