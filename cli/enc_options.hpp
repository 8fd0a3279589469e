// The command line of `warpaes enc`: the flags of `openssl enc`, with a single dash, and a few additional flags.
#pragma once

#include <warpaes/files.h>

#include <cstdint>
#include <optional>
#include <string>

namespace cli {

struct EncOptions {
    warpaes_mode mode = WARPAES_CTR;
    unsigned key_bits = 0;  ///< 0: no cipher was named
    bool decrypt = false;
    std::string input;   ///< empty: standard input
    std::string output;  ///< empty: standard output
    bool base64 = false;
    bool one_line = false;  ///< single line of base64; has no effect without base64, as with openssl
    bool no_padding = false;

    // key, pass and passphrase point into argv, so that conceal() can overwrite the secrets there.
    char* key = nullptr;
    bool raw = false;  ///< the file of -K contains the key itself, even if it looks like text
    std::optional<std::string> iv;
    char* pass = nullptr;
    char* passphrase = nullptr;
    std::optional<std::string> passphrase_file;
    bool pbkdf2 = false;
    std::optional<std::uint32_t> iterations;
    std::optional<std::string> digest;
    std::optional<std::string> salt;
    bool no_salt = false;

    std::optional<std::string> range;
    std::optional<std::string> backend;
    std::optional<std::uint32_t> device;
    std::uint32_t threads = 0;
    std::uint32_t depth = 0;
    std::uint64_t chunk = 0;
    bool force = false;
    std::optional<bool> progress;
    bool summary = false;
    bool json = false;
    bool help = false;
};

/// Flags may have one dash or two. Throws UsageError, which names the flag.
EncOptions parse_enc_options(int argc, char** argv);

const char* enc_help();

/// A range "FIRST:LAST" or "FIRST:". Both ends are included. parse_range() throws UsageError.
struct FirstLast {
    std::uint64_t first = 0;
    std::uint64_t last = WARPAES_UNKNOWN;
};
FirstLast parse_range(const std::string& text);

}  // namespace cli
