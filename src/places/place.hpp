// The place of a keyset and the way to open the keyset, in one string; docs/keys.md contains the grammar.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warpaes::places {

/// The kinds of locations, for messages.
inline constexpr std::string_view locations = "PATH, file:PATH, env:NAME, fd:N or exec:COMMAND";

struct KeysetPlace {
    std::string location;                   ///< a path, file:PATH, env:NAME, fd:N or exec:COMMAND; or own:
    bool clear = false;                     ///< marked as not encrypted
    bool asks = false;                      ///< under a passphrase that the user must enter
    std::optional<std::string> passphrase;  ///< the location of the passphrase
    std::optional<std::string> kek;         ///< the location of the key-encryption key
    std::optional<std::string> kek_aad;     ///< the associated data for the key-encryption key

    /// Whether the place contains a way to open an encrypted keyset.
    [[nodiscard]] bool opens() const noexcept { return asks || passphrase || kek; }
    /// Whether the keyset is stored at the beginning of each encrypted file.
    [[nodiscard]] bool is_own() const noexcept { return location == "own:"; }
    /// Returns the file's path if the location is a file.
    [[nodiscard]] std::optional<std::string> path() const;
};

/// Parses the value of `option`. Throws Error{ARGUMENT}, whose message never repeats text that may be secret.
KeysetPlace parse_keyset_place(const std::string& option, std::string_view place);

/// Returns the names of the environment variables in `place`, even if parse_keyset_place() would refuse `place`.
std::vector<std::string> variables_named_by(std::string_view place);

}  // namespace warpaes::places
