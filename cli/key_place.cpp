#include "key_place.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "command.hpp"
#include "descriptor.hpp"
#include "interrupt.hpp"
#include "key_files.hpp"
#include "key_program.hpp"
#include "secrets.hpp"

namespace cli {

namespace {

[[noreturn]] void refuse_length(const std::string& what) {
    throw Failure(WARPAES_ERROR_KEYSET, fmt::format("{}: is longer than {} bytes", what, SecretText::capacity - 1));
}

/// Whether text in the place of a path may be a passphrase: words with spaces between them, or letters with other
/// characters than names of files usually have. Messages do not repeat it.
bool looks_like_passphrase(std::string_view text) {
    return text.find('/') == std::string_view::npos &&
           text.find_first_of(" \t!\"#$%&'()*;<=>?@[\\]^`{|}") < text.size();
}

}  // namespace

void refuse_passphrase(const std::string& option, const std::string& place) {
    if (!looks_like_passphrase(place) || ::access(place.c_str(), F_OK) == 0) return;
    throw Failure(WARPAES_ERROR_NOT_FOUND,
                  fmt::format("{}: there is no file of this name, which is not repeated here because it may be a "
                              "passphrase. Give a file of keys; a keyset under a passphrase asks for it "
                              "(`warpaes keygen --passphrase -o keyset.json`)",
                              option));
}

SecretText::~SecretText() {
    if (bytes_) explicit_bzero(bytes_.get(), size_);
}

void SecretText::read(const std::string& what, int fd) {
    for (;;) {
        if (size_ == capacity) refuse_length(what);
        const ssize_t n = read_or_interrupted(fd, bytes_.get() + size_, capacity - size_);
        if (n < 0 && errno == EINTR) throw Failure(WARPAES_ERROR_CANCELLED, what + ": interrupted");
        if (n < 0) throw Failure(WARPAES_ERROR_READ, fmt::format("{}: cannot read: {}", what, std::strerror(errno)));
        if (n == 0) return;
        size_ += static_cast<std::size_t>(n);
    }
}

void SecretText::copy(const std::string& what, std::string_view text) {
    if (text.size() >= capacity) refuse_length(what);
    size_ = text.copy(bytes_.get(), text.size());
}

void refuse_unknown_kind(const std::string& option, const std::string& place) {
    const auto is_in_kind = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '-';
    };
    const auto end = std::find_if_not(place.begin(), place.end(), is_in_kind);
    const std::string kind(place.begin(), end);
    if (kind.empty() || kind.size() > 24 || end == place.end() || *end != ':') return;
    for (const char* manager : {"aws-kms", "pkcs11", "tpm2", "vault-transit", "vault-transit+http"}) {
        if (kind != manager) continue;
        throw UsageError(
            fmt::format("{}: the Python package opens keysets under {}: keys; give "
                        "exec:'warpaes keysources open URL FILE' as their place",
                        option, kind));
    }
    throw UsageError(
        fmt::format("{}: there is no place of the kind {}:, and no such file; it must be PATH, file:PATH, "
                    "env:NAME, fd:N or exec:COMMAND",
                    option, kind));
}

void refuse_key(const std::string& option, const char* place) {
    if (after(place, "exec:") != nullptr) return;  // exec: warns of a key among its words
    if (!looks_like_key(place) || ::access(place, F_OK) == 0) return;
    throw UsageError(
        fmt::format("{}: takes the place of a key, not the key: other processes can read command lines. No file has "
                    "this name, which looks like a key. Write keys to a file of your own, or use env:NAME, fd:N "
                    "or exec:COMMAND",
                    option));
}

PlacedKey read_key_place(const std::string& option, const std::string& place) {
    if (place.empty()) throw UsageError(option + ": is empty: the place of a keyset or a key belongs there");
    refuse_key(option, place.c_str());
    PlacedKey key;
    if (const char* variable = after(place.c_str(), "env:")) {
        key.name = variable;
        const char* value = std::getenv(variable);
        if (value == nullptr)
            throw UsageError(fmt::format("{}: there is no environment variable {}", option, variable));
        key.text.copy(key.name, value);
    } else if (const char* command = after(place.c_str(), "exec:")) {
        KeyProgram program(option, command);
        key.name = program.name();
        key.text.read(key.name, program.output());
        program.finish();
        if (trimmed(key.text.view()).empty()) {
            throw Failure(
                WARPAES_ERROR_KEYSET,
                fmt::format("{}: succeeded, but printed nothing: it has to print a keyset or a key", key.name));
        }
    } else if (const char* number = after(place.c_str(), "fd:")) {
        const int fd = parse_fd(option, number);
        key.name = fmt::format("{} fd:{}", option, fd);
        note_key_file(key.name, fd);
        key.text.read(key.name, fd);
    } else {
        const char* rest = after(place.c_str(), "file:");
        const std::string path = rest != nullptr ? rest : place;
        key.name = fmt::format("'{}'", path);
        const Descriptor file(path.c_str(), O_RDONLY);
        if (file.get() < 0) {
            const int error = errno;
            if (error == ENOENT && rest == nullptr) refuse_unknown_kind(option, path);
            if (error == ENOENT) refuse_passphrase(option, path);
            throw Failure(WARPAES_ERROR_NOT_FOUND, fmt::format("{}: cannot open {}: {}{}", option, key.name,
                                                               std::strerror(error), did_you_mean_file(path)));
        }
        note_key_file(key.name, file.get());
        key.text.read(key.name, file.get());
    }
    return key;
}

}  // namespace cli
