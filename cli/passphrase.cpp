#include "passphrase.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstring>

#include "command.hpp"
#include "key_place.hpp"
#include "secrets.hpp"

namespace cli {

SecretBytes take_passphrase(const std::string& option, const std::optional<std::string>& place,
                            const std::string& question, bool new_one) {
    if (!place) {
        auto answer = prompt(question, new_one);
        if (!answer) {
            throw UsageError(fmt::format("{}: no terminal for a prompt; give {} FILE, env:NAME, fd:N or exec:COMMAND",
                                         question, option));
        }
        return *answer;
    }
    return read_passphrase_place(option, *place);
}

void NewPassphrase::add_options(CLI::App& app) {
    app.add_option(from_option_, from_);
    app.add_option("--passphrase-seconds", seconds_);
}

void NewPassphrase::refuse_cost() const {
    if (seconds_) throw UsageError("--passphrase-seconds: applies only to a new passphrase; omit it");
}

Lock NewPassphrase::take(const std::string& what) const {
    Lock lock;
    lock.passphrase = take_passphrase(from_option_, from_, "New passphrase of " + what, true);
    check(warpaes_scrypt_choose(seconds_.value_or(1), &lock.cost));
    return lock;
}

void refuse_passphrase_in_argument(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--") == 0) return;
        char* value = nullptr;
        if (std::strncmp(argv[i], "--passphrase=", 13) == 0) value = argv[i] + 13;
        if (std::strcmp(argv[i], "--passphrase") == 0 && i + 1 < argc && argv[i + 1][0] != '-') value = argv[i + 1];
        if (value == nullptr) continue;
        conceal(value);
        throw UsageError(
            "--passphrase: accepts no value, because other processes can read command lines; the command prompts on "
            "the "
            "terminal. To read a passphrase from a place, give --passphrase-from FILE, env:NAME, fd:N or exec:COMMAND");
    }
}

std::string cost_text(const warpaes_scrypt& cost) {
    return fmt::format("{} MiB (scrypt, n = {}, r = {}, p = {})", 128 * cost.n * cost.r >> 20, cost.n, cost.r, cost.p);
}

}  // namespace cli
