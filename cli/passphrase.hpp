// Reads the passphrases of keysets from a file, a descriptor, the environment, a program or the terminal.
#pragma once

#include <warpaes/files.h>

#include <memory>
#include <optional>
#include <string>

#include "command.hpp"
#include "key_place.hpp"
#include "secret_bytes.hpp"

namespace cli {

/// Reads one line of arbitrary bytes, without its line ending. `place` is the value of `option`: a path, env:NAME, fd:N
/// or exec:COMMAND. Without a place, asks `question` on the terminal, twice if `new_one` is set. Throws Failure. No
/// message repeats the place, which may be the passphrase itself.
SecretBytes take_passphrase(const std::string& option, const std::optional<std::string>& place,
                            const std::string& question, bool new_one);

/// The secret that encrypts a keyset: a passphrase with its cost, or a key-encryption key.
struct Lock {
    SecretBytes passphrase{};
    warpaes_scrypt cost = WARPAES_SCRYPT_INIT;  ///< n = 0: there is no passphrase
    std::shared_ptr<const Kek> kek{};           ///< null if the keyset was only listed

    [[nodiscard]] bool has_passphrase() const noexcept { return kek == nullptr && cost.n != 0; }
};

/// The command-line options for a new passphrase.
class NewPassphrase {
public:
    explicit NewPassphrase(const char* from_option) : from_option_(from_option) {}
    void add_options(CLI::App& app);
    /// Whether the command line specifies a place.
    [[nodiscard]] bool is_given() const noexcept { return from_.has_value(); }
    /// Throws UsageError if --passphrase-seconds was given without a passphrase.
    void refuse_cost() const;
    /// Reads the passphrase or prompts for it, and chooses the cost of a guess. The question contains `what`, the
    /// purpose of the passphrase.
    [[nodiscard]] Lock take(const std::string& what) const;

private:
    const char* from_option_;
    std::optional<std::string> from_;
    std::optional<double> seconds_;  ///< seconds that one guess takes; nothing: 1
};

/// --passphrase is a flag, so an argument after it is probably a passphrase. Throws UsageError and hides that argument
/// in `argv`.
void refuse_passphrase_in_argument(int argc, char** argv);

/// Returns the cost of a guess as text, for example "256 MiB (scrypt, n = 262144, r = 8, p = 1)".
std::string cost_text(const warpaes_scrypt& cost);

}  // namespace cli
