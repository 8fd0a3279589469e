// The command line, a client of the C ABI.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "command.hpp"
#include "elsewhere.hpp"

namespace {

using cli::Command;

constexpr Command commands[] = {
    {"encrypt", "encrypt files, with authentication", cli::run_encrypt, true},
    {"decrypt", "decrypt files, or a part of one", cli::run_decrypt, true},
    {"cat", "write the plaintext of files to standard output", cli::run_cat, true},
    {"verify", "authenticate files, without output", cli::run_verify, true},
    {"reencrypt", "re-encrypt files under a different key", cli::run_reencrypt, true},
    {"list", "list the plain names of files with encrypted names", cli::run_list},
    {"inspect", "show an encrypted file's format and key", cli::run_inspect},
    {"keygen", "create a keyset", cli::run_keygen},
    {"keys", "list and rotate the keys of a keyset", cli::run_keys},
    {"enc", "encrypt and decrypt files as `openssl enc` does", cli::run_enc},
    {"bulk", "encrypt and re-encrypt datasets (Python package)", cli::run_in_package},
    {"keysources", "wrap keysets with key managers (Python package)", cli::run_in_package},
    {"model", "encrypt model folders (Python package)", cli::run_in_package},
    {"parquet", "encrypt Parquet files (Python package)", cli::run_in_package},
    {"qkd", "encrypt files with quantum-distributed keys (Python package)", cli::run_in_package},
    {"provider", "provide AES to programs that use OpenSSL", cli::run_provider},
    {"devices", "list backends and devices", cli::run_devices},
    {"selftest", "run known-answer tests on every backend", cli::run_selftest},
    {"bench", "measure throughput", cli::run_bench},
    {"plan", "predict the backend and duration of a call", cli::run_plan},
    {"calibrate", "measure this machine for the planner", cli::run_calibrate},
    {"tune", "find the fastest launch parameters of a GPU", cli::run_tune},
    {"lab", "run published experiments (program warpaes-lab)", cli::run_lab},
};

/// Prints a status and its message in at most 80 columns.
void print_status(int status, std::string_view message) {
    constexpr std::size_t room = 80 - 7;
    const std::size_t end = message.size() <= room ? message.size() : message.rfind(' ', room);
    fmt::print("  {:>3}  {}\n", status, message.substr(0, end));
    if (end != message.size()) fmt::print("       {}\n", message.substr(end + 1));
}

void print_help(bool all) {
    fmt::print("Usage: warpaes COMMAND [options]\n\nAES (FIPS 197) on GPUs and CPUs.\n\n");
    for (const Command& command : commands) fmt::print("  {:<11}{}\n", command.name, command.summary);
    fmt::print(
        "\n`warpaes COMMAND --help` describes a command. `--version` prints the version;\n"
        "`--help-all` also lists the exit statuses.\n"
        "\nExamples\n"
        "  warpaes devices\n"
        "  warpaes keygen -o keyset.json\n"
        "  warpaes encrypt -k keyset.json disk.img\n"
        "  warpaes decrypt -k keyset.json -o disk.img disk.img.warpaes\n"
        "  warpaes enc -aes-256-ctr -pbkdf2 -in disk.img -out disk.img.enc\n");
    if (!all) return;
    fmt::print("\nExit status\n");
    for (int status = 0; status <= WARPAES_ERROR_HOLES; ++status) {
        print_status(status, warpaes_status_message(static_cast<warpaes_status>(status)));
    }
    fmt::print("  {:>3}  ended by signal N\n", "128+N");
}

/// Whether the command runs as the filter of `tar -I warpaes`. tar passes only -d to decrypt, and no arguments to
/// encrypt. Without arguments, WARPAES_KEYSET must be set, and standard input and output must not be terminals.
bool is_filter(int argc, char** argv) {
    if (argc == 2 && (std::strcmp(argv[1], "-d") == 0 || std::strcmp(argv[1], "--decrypt") == 0)) return true;
    const char* keys = std::getenv("WARPAES_KEYSET");
    return argc == 1 && keys != nullptr && *keys != '\0' && ::isatty(STDIN_FILENO) == 0 && ::isatty(STDOUT_FILENO) == 0;
}

int run(int argc, char** argv);

/// Runs `warpaes help COMMAND` like `warpaes COMMAND --help`.
int help_of_command(int argc, char** argv) {
    if (argc > 3)
        throw cli::UsageError(fmt::format("'{}': unexpected argument; `warpaes help` accepts one command", argv[3]));
    std::string option = "--help";
    char* words[] = {argv[0], argv[2], option.data(), nullptr};
    return run(3, words);
}

int run(int argc, char** argv) {
    const char* name = argc > 1 ? argv[1] : "";
    if (std::strcmp(name, "--version") == 0 || std::strcmp(name, "version") == 0) {
        cli::print_version();
        return 0;
    }
    if (std::strcmp(name, "help") == 0 && argc > 2) return help_of_command(argc, argv);
    if (std::strcmp(name, "--help") == 0 || std::strcmp(name, "-h") == 0 || std::strcmp(name, "help") == 0) {
        print_help(false);
        return 0;
    }
    if (std::strcmp(name, "--help-all") == 0) {
        print_help(true);
        return 0;
    }
    if (std::strcmp(name, "provider-stats") == 0) {  // other software uses this name for `provider stats`
        std::string command = "provider", verb = "stats";
        std::vector<char*> arguments{command.data(), verb.data()};
        arguments.insert(arguments.end(), argv + 2, argv + argc);
        return cli::run_provider(static_cast<int>(arguments.size()), arguments.data());
    }
    if (is_filter(argc, argv)) {
        std::string decrypt = "decrypt", encrypt = "encrypt";
        char* only = argc == 1 ? encrypt.data() : decrypt.data();
        return argc == 1 ? cli::run_encrypt(1, &only) : cli::run_decrypt(1, &only);
    }
    for (const Command& command : commands) {
        if (std::strcmp(name, command.name) != 0) continue;
        if (argc == 3 && !command.has_more_help && std::strcmp(argv[2], "--help-all") == 0) argv[2][6] = '\0';
        return command.run(argc - 1, argv + 1);
    }
    if (*name == '\0') throw cli::UsageError("no command; see `warpaes --help`");
    std::vector<std::string> names;
    for (const Command& command : commands) names.emplace_back(command.name);
    if (::access(name, F_OK) == 0) {
        throw cli::UsageError(
            fmt::format("'{}' is a file, not a command; use `warpaes encrypt` or `warpaes decrypt`", name));
    }
    const std::string hint = cli::did_you_mean(name, names);
    throw cli::UsageError(fmt::format("'{}': unknown command{} see `warpaes --help`", name, hint.empty() ? ";" : hint));
}

}  // namespace

int main(int argc, char** argv) {
    return cli::run_program(argc, argv, run);
}
