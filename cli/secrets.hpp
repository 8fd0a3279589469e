// Reads keys and passphrases from a file, a descriptor, the environment or the terminal. Keys and passphrases on the
// command line cause a warning, because every process on the machine can read the command line. Also records the files
// that contain the keys, passphrases and associated data of a command.
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

/// Returns a key that is given in hexadecimal digits, or as `file:PATH`, `env:NAME`, `fd:N` or `prompt`. A file or
/// descriptor can also contain the key itself: exactly `bytes` bytes that are not text, or any bytes if `raw` is set.
/// If `argument` itself is the secret, it is overwritten.
SecretBytes read_key(const std::string& what, char* argument, std::size_t bytes, bool raw);

/// Throws Failure{KEYSET} if a raw key is text (warpaes_keyset_check_raw). The message names --raw.
void refuse_text(const std::string& what, std::string_view key);

/// Decodes `hex`, which must be 2 `bytes` digits. `status` is the status for a wrong length.
std::vector<unsigned char> parse_hex(const std::string& what, const std::string& hex, std::size_t bytes, int status);

/// Reads the passphrase of openssl's -pass: pass:PASSWORD, env:NAME, file:PATH, fd:N or stdin. Uses as much of a line
/// as openssl does, and warns if the line is longer.
SecretBytes read_passphrase(const std::string& what, char* argument);
/// Reads the passphrase of openssl's -kfile from the first line of a file. `-` is standard input.
SecretBytes read_passphrase_file(const std::string& what, const std::string& path);
/// Returns the secret `argument` itself, as for openssl's -k. Overwrites the argument, and prints a warning that
/// contains `advice`.
SecretBytes take_argument(const std::string& what, char* argument, const std::string& advice);

/// Reads an environment variable.
SecretBytes read_environment(const std::string& what, const std::string& name);

/// Overwrites an argument, which may be null, with asterisks, because other processes can read the command line.
void conceal(char* argument);

/// Asks on the terminal without echo, twice if `confirm` is set. Returns nothing if there is no terminal.
std::optional<SecretBytes> prompt(const std::string& question, bool confirm);

/// Warns if other users of the machine can read the open file. `name` is its name in the message.
void warn_if_others_can_read(const std::string& name, int fd);

/// Records the open file as one that the command needs, if it is a regular file.
void note_needed_file(const std::string& name, int fd);

/// Calls both functions above for a file that contains keys or a passphrase.
void note_key_file(const std::string& name, int fd);

/// Throws Failure{SAME_FILE} if an output is one of the recorded files, under any name. An empty `path` means standard
/// output. Must be called after all needed files are recorded and before anything is written.
void refuse_needed_file(const std::string& path);

}  // namespace cli
