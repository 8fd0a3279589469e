// Finds variables and keys on the command line, and removes keys and control characters from messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// Stores a reference to `argv` for the functions below. Must be called once, before them.
void remember_arguments(int argc, char** argv);

/// Returns the environment variables that env:NAME names on the command line.
std::vector<std::string> variables_in_arguments();

/// Returns `sentence` with "…" in place of each command-line argument, or part of one, that looks like a key and is not
/// a file name.
std::string without_keys(std::string sentence);

/// Returns `text` with escapes such as \x0a and \x1b for control characters, bytes that are not UTF-8, and characters
/// that change the writing direction. A line break in a name therefore does not add a line to the output, and a name
/// cannot send control sequences to the terminal or look like a different name.
std::string one_line(std::string_view text);

}  // namespace cli
