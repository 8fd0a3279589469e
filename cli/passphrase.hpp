// Passphrases of keysets: from a file, a descriptor, the environment, a program, or asked for.
#pragma once

#include <warpaes/files.h>

#include <optional>
#include <string>

#include "command.hpp"
#include "secret_bytes.hpp"

namespace cli {

/// One line of any bytes, whose end is left out. `place`: a path, env:NAME, fd:N or exec:COMMAND, which `option` gave;
/// nothing: asked for on the terminal by `question`, twice if it is `new_one`. Throws Failure; no message repeats a
/// place, which may be the passphrase itself.
SecretBytes take_passphrase(const std::string& option, const std::optional<std::string>& place,
                            const std::string& question, bool new_one);

/// What a keyset is encrypted with, for whoever writes it back.
struct Lock {
    SecretBytes passphrase;
    warpaes_scrypt cost = WARPAES_SCRYPT_INIT;
};

/// The options of a new passphrase, by whose names it is asked for in messages.
class NewPassphrase {
public:
    explicit NewPassphrase(const char* from_option) : from_option_(from_option) {}
    void add_options(CLI::App& app);
    /// Whether its place was.
    [[nodiscard]] bool is_given() const noexcept { return from_.has_value(); }
    /// Asks for it, and chooses what a guess costs. `what` it is for stands in the question.
    [[nodiscard]] Lock take(const std::string& what) const;

private:
    const char* from_option_;
    std::optional<std::string> from_;
    double seconds_ = 1;
};

/// --passphrase is a flag: what stands at or behind it is likely a passphrase. Throws UsageError and hides it in
/// `argv`.
void refuse_passphrase_in_argument(int argc, char** argv);

/// "256 MiB (scrypt, n = 262144, r = 8, p = 1)": what a guess takes.
std::string cost_text(const warpaes_scrypt& cost);

}  // namespace cli
