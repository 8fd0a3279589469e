#include "places/location.hpp"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>

#include "base/error.hpp"
#include "places/host.hpp"
#include "places/key_text.hpp"
#include "places/place.hpp"
#include "places/program.hpp"

namespace warpaes::places {

namespace {

[[noreturn]] void refuse_length(const std::string& what) {
    throw Error(WARPAES_ERROR_KEYSET, what + ": is longer than " + std::to_string(SecretText::capacity - 1) + " bytes");
}

}  // namespace

SecretText::~SecretText() {
    if (bytes_) ::explicit_bzero(bytes_.get(), size_);
}

void SecretText::read(const std::string& what, int fd, Host& host) {
    for (;;) {
        if (size_ == capacity) refuse_length(what);
        const ssize_t n = host.read(fd, bytes_.get() + size_, capacity - size_);
        if (n < 0 && errno == EINTR) throw Error(WARPAES_ERROR_CANCELLED, what + ": interrupted");
        if (n < 0) throw Error(WARPAES_ERROR_READ, what + ": cannot read: " + error_text(errno));
        if (n == 0) return;
        size_ += static_cast<std::size_t>(n);
    }
}

void SecretText::copy(const std::string& what, std::string_view text) {
    if (text.size() >= capacity) refuse_length(what);
    size_ = text.copy(bytes_.get(), text.size());
}

namespace {

class OpenFile {
public:
    OpenFile(const char* path, Host& host) {
        do {
            fd_ = ::open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        } while (fd_ < 0 && errno == EINTR && !host.is_interrupted());
    }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    ~OpenFile() {
        if (fd_ >= 0) ::close(fd_);
    }
    [[nodiscard]] int get() const noexcept { return fd_; }

private:
    int fd_ = -1;
};

bool is_variable_name(std::string_view name) {
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    return !name.empty() && is_letter(name[0]) &&
           std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

/// Returns the variable's value. Messages do not repeat text that cannot be a variable's name.
const char* variable(const std::string& option, const char* name) {
    const char* value = std::getenv(name);
    if (value != nullptr) return value;
    throw Error(WARPAES_ERROR_ARGUMENT, option + ": there is no environment variable " +
                                            (is_variable_name(name) && !looks_like_key(name) ? name : "of this name"));
}

void read_program(PlacedKey& key, const std::string& option, const char* command, Host& host) {
    KeyProgram program(option, command, host);
    key.name = program.name();
    key.text.read(key.name, program.output(), host);
    program.finish();
}

void read_descriptor(PlacedKey& key, const std::string& option, const char* number, Host& host) {
    const int fd = parse_fd(option, number);
    key.name = option + " fd:" + std::to_string(fd);
    host.note_file(key.name, fd);
    key.text.read(key.name, fd, host);
}

}  // namespace

void refuse_unknown_kind(const std::string& option, const std::string& location) {
    const auto is_in_kind = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '-';
    };
    const auto end = std::find_if_not(location.begin(), location.end(), is_in_kind);
    const std::string kind(location.begin(), end);
    if (kind.empty() || kind.size() > 24 || end == location.end() || *end != ':') return;
    constexpr std::string_view managers[] = {"aws-kms", "azure-kv", "gcp-kms",       "gcp-kms+http",
                                             "pkcs11",  "tpm2",     "vault-transit", "vault-transit+http"};
    if (std::find(std::begin(managers), std::end(managers), kind) != std::end(managers)) {
        throw Error(WARPAES_ERROR_ARGUMENT, option + ": only the Python package opens keysets under " + kind +
                                                ": keys; use exec:'warpaes keysources open URL FILE' as their place");
    }
    // Text with digits or capitals is more likely a secret than the name of a kind.
    const bool is_shown =
        std::all_of(kind.begin(), kind.end(), [](char c) { return c == '-' || (c >= 'a' && c <= 'z'); });
    throw Error(WARPAES_ERROR_ARGUMENT, option + ": there are no places of " +
                                            (is_shown ? "the kind " + kind + ":" : "this kind") +
                                            ", and no such file; it must be " + std::string(locations));
}

void refuse_key(const std::string& option, const char* location) {
    if (after(location, "exec:") != nullptr) return;  // a command that contains a key only causes a warning
    if (!looks_like_key(location) || ::access(location, F_OK) == 0) return;
    throw Error(WARPAES_ERROR_ARGUMENT,
                option +
                    ": must be the place of a key, not the key itself, because other processes can read command lines. "
                    "No file has this name, which looks like a key. Write keys to a file of your own, or use env:NAME, "
                    "fd:N or exec:COMMAND");
}

PlacedKey read_location(const std::string& option, const std::string& location, Host& host) {
    if (location.empty()) {
        throw Error(WARPAES_ERROR_ARGUMENT, option + ": is empty; give the place of a keyset or a key");
    }
    refuse_key(option, location.c_str());
    PlacedKey key;
    if (const char* name = after(location.c_str(), "env:")) {
        const char* value = variable(option, name);
        key.name = is_variable_name(name) ? name : "env:";
        key.text.copy(key.name, value);
    } else if (const char* command = after(location.c_str(), "exec:")) {
        read_program(key, option, command, host);
        if (trimmed(key.text.view()).empty()) {
            throw Error(WARPAES_ERROR_KEYSET,
                        key.name + ": succeeded but printed nothing; it must print a keyset or a key");
        }
    } else if (const char* number = after(location.c_str(), "fd:")) {
        read_descriptor(key, option, number, host);
    } else {
        const char* rest = after(location.c_str(), "file:");
        const std::string path = rest != nullptr ? rest : location;
        key.name = "'" + path + "'";
        const OpenFile file(path.c_str(), host);
        if (file.get() < 0) {
            const int error = errno;
            if (error == ENOENT && rest == nullptr) refuse_unknown_kind(option, path);
            host.refuse_file(option, path, error);
        }
        host.note_file(key.name, file.get());
        key.text.read(key.name, file.get(), host);
    }
    return key;
}

std::string_view passphrase_in(const std::string& option, std::string_view text) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (text.empty()) throw Error(WARPAES_ERROR_ARGUMENT, option + ": the passphrase is empty");
    if (text.find('\n') != std::string_view::npos) {
        throw Error(WARPAES_ERROR_ARGUMENT, option + ": contains more than one line, but a passphrase is one line");
    }
    if (text.size() > most_passphrase) {
        throw Error(WARPAES_ERROR_ARGUMENT, option + ": is longer than " + std::to_string(most_passphrase) + " bytes");
    }
    return text;
}

PlacedKey read_passphrase_at(const std::string& option, const std::string& location, Host& host) {
    PlacedKey key;
    key.name = option;
    if (const char* name = after(location.c_str(), "env:")) {
        key.text.copy(option, variable(option, name));
    } else if (const char* number = after(location.c_str(), "fd:")) {
        read_descriptor(key, option, number, host);
    } else if (const char* command = after(location.c_str(), "exec:")) {
        read_program(key, option, command, host);
    } else {
        const char* rest = after(location.c_str(), "file:");
        const char* path = rest != nullptr ? rest : location.c_str();
        const OpenFile file(path, host);
        if (file.get() < 0) {
            const int error = errno;
            throw Error(WARPAES_ERROR_NOT_FOUND,
                        option +
                            ": must be the place of a passphrase (a file, env:NAME, fd:N or exec:COMMAND); "
                            "cannot open the file of that name: " +
                            error_text(error));
        }
        host.note_file("'" + location + "'", file.get());
        key.text.read(option, file.get(), host);
    }
    return key;
}

}  // namespace warpaes::places
