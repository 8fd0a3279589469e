// The command line, and text for messages, without keys and with each name on one line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// Call it once, before anything else. `argv` must not move.
void remember_arguments(int argc, char** argv);

/// The variables that places env:NAME on the command line name.
std::vector<std::string> variables_in_arguments();

/// `sentence` without those arguments, or parts of arguments, that look like a key and are not the name of a file.
std::string without_keys(std::string sentence);

/// `text` with control characters, bytes that are not UTF-8 and characters that change the direction of writing as
/// escapes such as \x0a and \x1b: a line break in a name adds no line to the output, and no name sends control
/// sequences to the terminal or looks like another name.
std::string one_line(std::string_view text);

}  // namespace cli
