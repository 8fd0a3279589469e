// The command line, a client of the C ABI like any other.
#include <fmt/format.h>

#include <cstring>
#include <string>
#include <vector>

#include "command.hpp"
#include "neighbour.hpp"
#include "program.hpp"

namespace {

using cli::Command;

int become_lab(int argc, char** argv) {
    cli::become("warpaes-lab", argc, argv, "`make install-lab`, where warpaes was built, puts it there");
}

constexpr Command commands[] = {
    {"encrypt", "encrypt files, authenticated", cli::run_encrypt},
    {"decrypt", "decrypt them, or a part of one", cli::run_decrypt},
    {"verify", "authenticate them and write nothing", cli::run_verify},
    {"inspect", "what an encrypted file says of itself", cli::run_inspect},
    {"keygen", "make a keyset", cli::run_keygen},
    {"keys", "what a keyset holds, and the rotation of its keys", cli::run_keys},
    {"enc", "encrypt and decrypt files as `openssl enc` does", cli::run_enc},
    {"devices", "what can run here, and why not", cli::run_devices},
    {"selftest", "known answers on every backend", cli::run_selftest},
    {"bench", "measure throughput", cli::run_bench},
    {"plan", "which backend would do it, and what it would take", cli::run_plan},
    {"calibrate", "measure this machine for such choices", cli::run_calibrate},
    {"lab", "published experiments, run on this machine (the program warpaes-lab)", become_lab},
};

void print_help() {
    fmt::print("Usage: warpaes COMMAND [options]\n\nAES (FIPS 197) on GPUs and CPUs.\n\n");
    for (const Command& command : commands) fmt::print("  {:<10}{}\n", command.name, command.summary);
    fmt::print(
        "\n`warpaes COMMAND --help` says more; `warpaes --version` says which this is.\n"
        "\nExamples\n"
        "  warpaes devices\n"
        "  warpaes keygen -o keyset.json\n"
        "  warpaes encrypt -k keyset.json -o disk.img.warpaes disk.img\n"
        "  warpaes decrypt -k keyset.json -o disk.img disk.img.warpaes\n"
        "  warpaes enc -aes-256-ctr -pbkdf2 -in disk.img -out disk.img.enc\n"
        "\nExit status\n");
    for (int status = 0; status <= WARPAES_ERROR_IV_REUSED; ++status) {
        fmt::print("  {:>3}  {}\n", status, warpaes_status_message(static_cast<warpaes_status>(status)));
    }
    fmt::print("  {:>3}  ended by signal N\n", "128+N");
}

/// Without a look at GPUs, which takes a second.
void print_version() {
    warpaes_backend_info portable{};
    portable.struct_size = sizeof portable;
    cli::check(warpaes_backend_query(0, &portable));
    fmt::print("warpaes {}\nwith {}; `warpaes devices` says what can run here\n", warpaes_version(),
               portable.description);
}

int run(int argc, char** argv) {
    const char* name = argc > 1 ? argv[1] : "";
    if (std::strcmp(name, "--version") == 0 || std::strcmp(name, "version") == 0) {
        print_version();
        return 0;
    }
    if (std::strcmp(name, "--help") == 0 || std::strcmp(name, "-h") == 0 || std::strcmp(name, "help") == 0) {
        print_help();
        return 0;
    }
    for (const Command& command : commands) {
        if (std::strcmp(name, command.name) == 0) return command.run(argc - 1, argv + 1);
    }
    if (*name == '\0') throw cli::UsageError("no command; see `warpaes --help`");
    std::vector<std::string> names;
    for (const Command& command : commands) names.emplace_back(command.name);
    const std::string hint = cli::did_you_mean(name, names);
    throw cli::UsageError(
        fmt::format("'{}': there is no such command{} see `warpaes --help`", name, hint.empty() ? ";" : hint));
}

}  // namespace

int main(int argc, char** argv) {
    return cli::run_program(argc, argv, run);
}
