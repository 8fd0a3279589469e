// The command line and texts for messages, without keys and with each name on one line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// Call it once, before anything else. `argv` must not move.
void remember_arguments(int argc, char** argv);

/// The environment variables that are named by env:NAME on the command line.
std::vector<std::string> variables_in_arguments();

/// Returns `sentence` without arguments, or parts of arguments, that look like a key and are not file names.
std::string without_keys(std::string sentence);

/// `text` with control characters, bytes that are not UTF-8 and characters that change the direction of writing as
/// escapes such as \x0a and \x1b. A line break in a name therefore does not add a line to the output, and a name cannot
/// send control sequences to the terminal or look like a different name.
std::string one_line(std::string_view text);

}  // namespace cli
