#include "foreign_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <warpaes/files.h>

#include <iterator>
#include <string_view>

#include "base/descriptor.hpp"

namespace cli {

using warpaes::Descriptor;

namespace {

struct Beginning {
    std::string_view bytes;
    const char* what;
};

constexpr Beginning beginnings[] = {
    {"Salted__",
     "a file written by `openssl enc`, which `warpaes enc -d` opens with the same options as for encryption"},
    {"U2FsdGVkX1",
     "a file written by `openssl enc -a`, which `warpaes enc -d -a` opens with the same options as for encryption"},
    {"age-encryption.org/", "an age file, which `age -d` opens"},
    {"-----BEGIN AGE ENCRYPTED FILE-----", "an age file, which `age -d` opens"},
    {"-----BEGIN PGP MESSAGE-----", "an OpenPGP message, which `gpg -d` opens"},
    {"\x84\x5e", "an OpenPGP message, which `gpg -d` opens"},  // encrypted to a key on curve 25519
    {"\x85\x01\x0c\x03", "an OpenPGP message, which `gpg -d` opens"},
    {"\x85\x02\x0c\x03", "an OpenPGP message, which `gpg -d` opens"},
    {"\x8c\x0d\x04", "an OpenPGP message, which `gpg -d` opens"},  // encrypted with a passphrase
    {"LUKS\xba\xbe", "a LUKS volume, which `cryptsetup open` opens"},
    {"PK\x03\x04", "a zip archive, which `unzip` opens"},
    {"7z\xbc\xaf\x27\x1c", "a 7z archive, which `7z x` opens"},
    {"\x1f\x8b", "gzip data, which is not encrypted"},
    {"\x28\xb5\x2f\xfd", "zstd data, which is not encrypted"},
    {"warpaes-own-1 ", "a file with its own keyset, so omit -k and give --passphrase or --kek"},
    {"{\"primaryKeyId\"", "a keyset; use it with -k"},
    {"{\n  \"primaryKeyId\"", "a keyset; use it with -k"},
};

}  // namespace

bool can_be_read_again(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool looks_like_ours(const std::string& path) {
    if (!can_be_read_again(path)) return false;
    warpaes_file_info info = WARPAES_FILE_INFO_INIT;
    return warpaes_file_inspect(path.c_str(), nullptr, &info) == WARPAES_OK &&
           info.format == WARPAES_FORMAT_STREAMING_AEAD;
}

Look look_at(const std::string& path) {
    const Descriptor file(path.c_str(), O_RDONLY | O_NONBLOCK);
    struct stat status {};
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
    char begin[64];
    const ssize_t n = ::read(file.get(), begin, sizeof begin);
    const std::string_view seen(begin, n > 0 ? static_cast<std::size_t>(n) : 0);
    for (const Beginning& known : beginnings) {
        if (seen.starts_with(known.bytes)) return {.hint = std::string("; it looks like ") + known.what};
    }
    warpaes_file_info info = WARPAES_FILE_INFO_INIT;
    if (warpaes_file_inspect(path.c_str(), nullptr, &info) != WARPAES_OK) return {.encrypted = false, .hint = {}};
    if (info.key_bits == 0) return {};
    return {.hint = fmt::format("; it looks like a key file for AES-{}", info.key_bits)};
}

}  // namespace cli
