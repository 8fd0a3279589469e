// Reads locations: a path, file:PATH, env:NAME, fd:N or exec:COMMAND.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "places/host.hpp"
#include "places/secret_text.hpp"

namespace warpaes::places {

struct PlacedKey {
    std::string name;  ///< name of the location, for messages
    SecretText text;
};

/// Reads the file, variable or program output at `location`, the value of the argument `option`. Throws Error.
PlacedKey read_location(const std::string& option, const std::string& location, Host& host);

/// Reads a passphrase: one line of any bytes, without its line ending. No message repeats `location`, which may be the
/// passphrase itself. Throws Error.
PlacedKey read_passphrase_at(const std::string& option, const std::string& location, Host& host);

/// Maximum length of a passphrase in bytes.
inline constexpr std::size_t most_passphrase = 4096;

/// Returns the passphrase in `text`: one line, without its line ending. Throws Error{ARGUMENT} if there are several
/// lines or none; the message begins with `option`.
std::string_view passphrase_in(const std::string& option, std::string_view text);

/// Throws Error{ARGUMENT} if `location`, which is not a file, has a kind that does not exist, or that only the Python
/// package supports.
void refuse_unknown_kind(const std::string& option, const std::string& location);

/// Throws Error{ARGUMENT} if `location` is the key itself, because shell histories and process lists would show it.
void refuse_key(const std::string& option, const char* location);

}  // namespace warpaes::places
