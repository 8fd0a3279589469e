// Places of keysets, keys and passphrases (src/places) for the command: errors of that code become failures, signals
// interrupt a read, warnings go to standard error, and files are recorded as files that the command needs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "command.hpp"
#include "places/location.hpp"
#include "places/place.hpp"
#include "secret_bytes.hpp"

namespace CLI {
class App;
}

namespace cli {

using warpaes::places::KeysetPlace;
using warpaes::places::PlacedKey;
using warpaes::places::SecretText;

/// Runs `call`. Converts an Error from the library's code to a Failure.
template <typename Call>
decltype(auto) as_command(Call&& call) {
    try {
        return call();
    } catch (const warpaes::Error& error) {
        if (error.status() == WARPAES_ERROR_ARGUMENT) throw UsageError(error.what());
        throw Failure(error.status(), error.what());
    }
}

/// Parses the value of `option`. Throws UsageError, whose message repeats nothing that may be secret.
inline KeysetPlace parse_keyset_place(const std::string& option, std::string_view place) {
    return as_command([&] { return warpaes::places::parse_keyset_place(option, place); });
}

/// Reads `fd` to end of file. Throws Failure.
void read_text(SecretText& text, const std::string& what, int fd);

/// Reads `place`, the value of `option`. Records a file as one that the command needs, and warns if other users can
/// read it. Throws Failure.
PlacedKey read_key_place(const std::string& option, const std::string& place);

/// Like read_key_place(), for a passphrase. No message repeats the place, which may be the passphrase itself.
SecretBytes read_passphrase_place(const std::string& option, const std::string& place);

/// Throws Failure{NOT_FOUND} if the file `place` does not exist and the text may be a passphrase. The message does not
/// repeat the text.
void refuse_passphrase(const std::string& option, const std::string& place);

/// Throws UsageError for a key given instead of its location, because shell histories and process lists show it.
void refuse_key(const std::string& option, const char* place);

/// A key-encryption key (a Tink keyset of AES-GCM keys or a raw key) and the associated data of the keysets that it
/// encrypts.
struct Kek {
    PlacedKey key;
    std::string aad;
};

struct KekOptions {
    std::string option = "--kek";  ///< the option that contained the place, for messages
    std::optional<std::string> place, aad;
    /// The key after it has been read. It is kept, because a descriptor can be read only once.
    std::shared_ptr<std::shared_ptr<const Kek>> read = std::make_shared<std::shared_ptr<const Kek>>();

    void add(CLI::App& app);
    /// Returns the key at `place`, which must not be empty. Throws Failure.
    [[nodiscard]] std::shared_ptr<const Kek> take() const;
};

}  // namespace cli
