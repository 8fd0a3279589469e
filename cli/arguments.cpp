#include "arguments.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "secrets.hpp"

namespace cli {

namespace {

std::span<char*> arguments;

/// A path that could be reached: its directory is there, and it is not the only one that begins with '/'.
bool is_path(const std::string& text) {
    if (::access(text.c_str(), F_OK) == 0) return true;
    const std::size_t slash = text.rfind('/');
    return slash != std::string::npos && slash != 0 && ::access(text.substr(0, slash).c_str(), F_OK) == 0;
}

void hide(std::string& sentence, std::string_view text) {
    if (!looks_like_key(text) || is_path(std::string(text))) return;
    for (std::size_t at = sentence.find(text); at != std::string::npos; at = sentence.find(text, at)) {
        sentence.replace(at, text.size(), "…");
    }
}

/// As a whole, and as a value behind "-k", "--keys=" or "env:".
void hide_parts(std::string& sentence, std::string_view argument) {
    hide(sentence, argument);
    if (argument.size() > 2 && argument[0] == '-') hide(sentence, argument.substr(argument[1] == '-' ? 2 : 1));
    if (argument.size() > 2 && argument[0] == '-') hide(sentence, argument.substr(2));
    for (const char separator : {'=', ':'}) {
        const std::size_t at = argument.find(separator);
        if (at != std::string_view::npos) hide(sentence, argument.substr(at + 1));
    }
}

}  // namespace

void remember_arguments(int argc, char** argv) {
    arguments = {argv, static_cast<std::size_t>(argc)};
}

std::string without_keys(std::string sentence) {
    for (const char* argument : arguments) hide_parts(sentence, argument);
    if (const char* variable = std::getenv("WARPAES_KEYSET")) hide_parts(sentence, variable);
    return sentence;
}

}  // namespace cli
