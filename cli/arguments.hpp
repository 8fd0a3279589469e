// The command line, of which messages repeat nothing that could be a key, and names as they are printed.
#pragma once

#include <string>
#include <string_view>

namespace cli {

/// To be called once, first of all. `argv` stays where it is.
void remember_arguments(int argc, char** argv);

/// `sentence` without those arguments, or parts of them, that look like a key and are not the name of a file.
std::string without_keys(std::string sentence);

/// `text` with its control characters written as \x0a, \x1b: a name with a line break in it adds no line to what is
/// printed, and none speaks to the terminal.
std::string one_line(std::string_view text);

}  // namespace cli
