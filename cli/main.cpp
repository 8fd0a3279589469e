// The command line, a client of the C ABI like any other.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "command.hpp"
#include "interrupt.hpp"
#include "process.hpp"

namespace {

using cli::Command;

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
#ifdef WARPAES_LAB
    {"lab", "published experiments, run on this machine", cli::run_lab},
#endif
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

int run(int argc, char** argv) {
    const char* name = argc > 1 ? argv[1] : "";
    if (std::strcmp(name, "--version") == 0 || std::strcmp(name, "version") == 0) {
        fmt::print("warpaes {}\n", warpaes_version());
        return 0;
    }
    if (std::strcmp(name, "--help") == 0 || std::strcmp(name, "-h") == 0 || std::strcmp(name, "help") == 0) {
        print_help();
        return 0;
    }
    for (const Command& command : commands) {
        if (std::strcmp(name, command.name) == 0) return command.run(argc - 1, argv + 1);
    }
    throw cli::UsageError(*name == '\0' ? "no command; see `warpaes --help`"
                                        : fmt::format("'{}': there is no such command; see `warpaes --help`", name));
}

}  // namespace

int main(int argc, char** argv) {
    cli::secure_process();
    cli::remember_arguments(argc, argv);
    cli::catch_signals();
    int code = WARPAES_ERROR_INTERNAL;
    try {
        code = run(argc, argv);
    } catch (const cli::Failure& failure) {
        code = failure.status();
        cli::say(fmt::format("warpaes: {}\n", failure.what()));
    } catch (const std::bad_alloc&) {
        code = WARPAES_ERROR_OUT_OF_MEMORY;
        cli::say("warpaes: out of memory\n");
    } catch (const std::exception& error) {
        if (std::ferror(stdout) != 0) code = WARPAES_ERROR_WRITE;
        cli::say(fmt::format("warpaes: {}\n", cli::one_line(error.what())));
    }
    // Also if it was told before, and what it was told of is no longer in the buffer.
    const bool flushed = std::fflush(stdout) == 0;
    if (code == 0 && (!flushed || std::ferror(stdout) != 0)) {
        cli::say(fmt::format("warpaes: cannot write to standard output: {}\n",
                             flushed ? "not all of it arrived" : std::strerror(errno)));
        code = WARPAES_ERROR_WRITE;
    }
    if (cli::caught_signal() != 0) cli::end_by(cli::caught_signal());
    return code;
}
