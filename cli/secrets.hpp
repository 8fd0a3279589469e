// Reads keys and passphrases from a file, a descriptor, the environment or the terminal; or, with a warning, the
// command line, which every process on the machine can read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "places/key_text.hpp"
#include "secret_bytes.hpp"

namespace cli {

using warpaes::places::after;
using warpaes::places::decode_hex;
using warpaes::places::hex_digit;
using warpaes::places::is_hex;
using warpaes::places::looks_like_key;
using warpaes::places::trimmed;

// In all functions, `what` is the name of the option in messages, and a failure throws Failure.

/// The bytes of a key in hexadecimal: `-K 00ff…`, `file:PATH`, `env:NAME`, `fd:N` or `prompt`. A file may also hold the
/// key itself, exactly `bytes` bytes that are not text; with `raw` any bytes. If `argument` is itself the secret, it is
/// overwritten.
SecretBytes read_key(const std::string& what, char* argument, std::size_t bytes, bool raw);

/// Throws Failure{KEYSET} if a raw key is text (warpaes_keyset_check_raw). The message names --raw.
void refuse_text(const std::string& what, std::string_view key);

/// Decodes `hex`: an even number of digits, `bytes` bytes. `status` is the status for a wrong length.
std::vector<unsigned char> parse_hex(const std::string& what, const std::string& hex, std::size_t bytes, int status);

/// openssl's -pass: pass:PASSWORD, env:NAME, file:PATH, fd:N, stdin. Takes as much of a line as openssl does, and warns
/// if that is not the complete line.
SecretBytes read_passphrase(const std::string& what, char* argument);
/// openssl's -kfile: the first line of a file, as above; `-` is standard input.
SecretBytes read_passphrase_file(const std::string& what, const std::string& path);
/// openssl's -k: the passphrase is the argument itself.
SecretBytes take_argument(const std::string& what, char* argument, const std::string& advice);

/// Reads an environment variable.
SecretBytes read_environment(const std::string& what, const std::string& name);

/// Overwrites an argument, which may be null, with stars: other processes can read the command line.
void conceal(char* argument);

/// Asks on the terminal, without echo; twice if `confirm`. Returns nothing if there is no terminal.
std::optional<SecretBytes> prompt(const std::string& question, bool confirm);

}  // namespace cli
