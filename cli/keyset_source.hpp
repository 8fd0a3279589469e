// Loads keys for files from a file, a descriptor, the environment or a program. The keys are a Tink keyset or a raw
// key.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "key_place.hpp"
#include "passphrase.hpp"

namespace cli {

struct Keys {
    Keyset keyset;
    bool raw = false;            ///< a raw key, which has no ID
    std::string format{};        ///< the template of a raw key
    std::optional<Lock> lock{};  ///< for an encrypted keyset
    bool other_raw = false;      ///< one of several keysets is a raw key, whose ID is 1
    bool peeked = false;         ///< not decrypted; contains only the IDs and states of the keys, and the lock's cost
};

/// The places of keys on the command line.
struct KeyOptions {
    std::vector<std::string> keys;             ///< places (key_place.hpp); empty: the place in WARPAES_KEYSET
    std::optional<std::string> template_name;  ///< template of a raw key; nothing: determined by its length
    bool raw = false;  ///< keys of 16 or 32 bytes are used unchanged, even if they look like text
    std::optional<std::string> passphrase_from;  ///< for a keyset under a passphrase; nothing: prompts for it
    std::string passphrase_option =
        "--passphrase-from";  ///< the option or place that named the passphrase, for messages
    bool asks = false;        ///< the place requires a keyset under a passphrase, which the user must enter
    /// The passphrase after it has been read. It is kept, because a descriptor can be read only once.
    std::shared_ptr<std::optional<SecretBytes>> passphrase = std::make_shared<std::optional<SecretBytes>>();
    KekOptions kek;     ///< for a keyset under a key-encryption key
    bool peek = false;  ///< the unencrypted parts of an encrypted keyset are sufficient
};
void add_key_options(CLI::App& app, KeyOptions& options);

/// Refuses keys that are given instead of their locations, and hides them in `argv` before anything copies them. Throws
/// UsageError.
void refuse_keys_in_arguments(int argc, char** argv);

/// Loads each keyset separately. Warns about a file that other users can read. Throws Failure. An unencrypted keyset
/// that is not marked `clear:` is also a failure if an option requires encryption, because anyone who can replace an
/// encrypted keyset could otherwise choose the keys.
std::vector<Keys> load_each(const KeyOptions& options);

/// Loads all keysets as one: the first key encrypts, and decryption tries all keys in order.
Keys load_keys(const KeyOptions& options);

/// Loads a keyset from an open file, as load_each() does.
Keys load_keyset_file(const KeysetPlace& place, int fd, const KeyOptions& options);

/// Decrypts the text of an encrypted keyset. Throws Failure.
Keys unwrap_keyset(const std::string& what, std::string_view text, const KeyOptions& options);

/// Returns the options for a keyset at `place`. The place can replace options that determine how to open the keyset.
KeyOptions options_at(const KeysetPlace& place, const KeyOptions& options);

/// Throws UsageError if --kek or --passphrase-from was given but opened no keyset. Must be called after all keysets are
/// loaded.
void refuse_unused_locks(const KeyOptions& options);

/// Whether the key with ID `id`, which opened a file, is a raw key.
inline bool is_raw(const Keys& keys, std::uint32_t id) {
    return keys.raw || (keys.other_raw && id == 1);
}

/// Returns a copy of `keys` with only the primary key enabled.
Keyset primary_of(const Keys& keys);

/// Returns the ID of a disabled key that opens the file, if there is one, to explain why no enabled key opens the file.
std::optional<std::uint32_t> disabled_key_of(warpaes_engine* engine, const warpaes_keyset* keyset,
                                             const std::string& path, const std::string& aad);

/// Returns a keyset as JSON for a file, encrypted if `lock` is given.
SecretText keyset_text(const warpaes_keyset* keyset, const std::optional<Lock>& lock = std::nullopt);

}  // namespace cli
