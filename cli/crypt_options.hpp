// The command lines of `warpaes encrypt`, `decrypt`, `cat`, `verify` and `reencrypt`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "keyset_source.hpp"

namespace cli {

enum class Action { encrypt, decrypt, cat, verify, reencrypt };

/// Whether the command writes a separate result for each input. The other commands write nothing (verify), write one
/// stream (cat) or replace the inputs (reencrypt).
constexpr bool makes_files(Action action) {
    return action == Action::encrypt || action == Action::decrypt;
}

struct CryptOptions {
    Action action = Action::encrypt;
    std::vector<std::string> files;  ///< "-": standard input
    KeyOptions keys;
    KeyOptions to;                     ///< reencrypt: the new keys, if they are not among `keys`
    bool passphrase = false;           ///< the files contain their own keysets, encrypted under a passphrase
    std::vector<std::string> to_keks;  ///< encrypt: key-encryption keys of the files' own keyset
    std::optional<double> passphrase_seconds;
    std::optional<KeyOptions> own;  ///< how the files' own keysets are opened
    std::optional<std::string> output;
    std::optional<std::string> output_dir;
    bool encrypted_names = false;      ///< --encrypt-names, --encrypted-names
    std::vector<std::string> names;    ///< only these files, by their plain paths
    std::vector<std::string> include;  ///< patterns
    std::vector<std::string> exclude;  ///< patterns, which take precedence over `include`
    bool dry_run = false;
    bool skip_existing = false;
    std::optional<std::string> range;
    bool salvage = false;
    std::optional<std::string> aad;
    std::optional<std::string> aad_file;
    bool force = false;
    bool no_sync = false;
    bool verbose = false;

    std::string backend;
    std::optional<std::uint32_t> device;
    std::uint32_t threads = 0;
    std::uint32_t jobs = 0;
    std::optional<bool> progress;
    bool json = false;
};

/// Returns nothing if it printed the help. Throws UsageError.
std::optional<CryptOptions> parse_crypt_options(Action action, int argc, char** argv);

Help help_of(Action action);

/// Returns the text of --aad or the content of --aad-file. Throws Failure.
std::string read_aad(const std::optional<std::string>& text, const std::optional<std::string>& file);

}  // namespace cli
