// Where keys and passphrases come from: a file, a descriptor, the environment, the terminal; or, with a warning, the
// command line, which every process on the machine can read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "secret_bytes.hpp"

namespace cli {

/// `what` names the option in messages. Each throws Failure.

/// The bytes of a key written in hexadecimal; `-K 00ff…`, `file:PATH`, `env:NAME`, `fd:N` or `prompt`. A file may also
/// hold the key itself, exactly `bytes` bytes that are not all digits. `argument` is wiped where it is itself the
/// secret.
SecretBytes read_key(const std::string& what, char* argument, std::size_t bytes);

/// `hex` as bytes: an even number of digits, `bytes` of them. `status` is that of a wrong length.
std::vector<unsigned char> parse_hex(const std::string& what, const std::string& hex, std::size_t bytes, int status);

/// openssl's -pass: pass:PASSWORD, env:NAME, file:PATH, fd:N, stdin. Of a line as much as openssl takes, which a
/// warning says where it is not all.
SecretBytes read_passphrase(const std::string& what, char* argument);
/// openssl's -kfile: the first line of a file, likewise; `-` is standard input.
SecretBytes read_passphrase_file(const std::string& what, const std::string& path);
/// openssl's -k: the argument itself.
SecretBytes take_argument(const std::string& what, char* argument, const std::string& advice);

/// All that can be read from `fd`, and a variable of the environment.
SecretBytes read_secret(const std::string& what, int fd);
SecretBytes read_environment(const std::string& what, const std::string& name);

/// Overwrites an argument, which may be null, with stars: other processes can read the command line.
void conceal(char* argument);

/// Without white space around it.
std::string_view trimmed(std::string_view text);
bool is_hex(std::string_view text);
/// Whether it could be a key or most of one, in hexadecimal, base64 or JSON: then no message repeats it.
bool looks_like_key(std::string_view text);
/// `digits`, of which there are twice as many, as bytes. `digits` belongs to somebody who wipes it.
void decode_hex(std::string_view digits, unsigned char* bytes);
/// The number in "fd:N".
int parse_fd(const std::string& what, const std::string& number);
/// What follows `prefix` in `text`, if it begins so.
const char* after(const char* text, const char* prefix);

/// Asks on the terminal, without echo; twice if `confirm`. Nothing if there is no terminal.
std::optional<SecretBytes> prompt(const std::string& question, bool confirm);

}  // namespace cli
