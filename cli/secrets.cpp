#include "secrets.hpp"

#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "command.hpp"
#include "descriptor.hpp"

namespace cli {

namespace {

/// Byte by byte, so that what follows the line stays for whoever reads the descriptor next.
bool read_byte(const std::string& what, int fd, char& c) {
    const ssize_t n = ::read(fd, &c, 1);
    if (n < 0 && errno == EINTR) throw Failure(WARPAES_ERROR_CANCELLED, what + ": interrupted");
    if (n < 0) throw Failure(WARPAES_ERROR_READ, fmt::format("{}: cannot read: {}", what, std::strerror(errno)));
    return n == 1;
}

SecretBytes read_all(const std::string& what, int fd, bool first_line) {
    SecretBytes bytes;
    for (char c = 0; read_byte(what, fd, c);) {
        if (first_line && c == '\n') break;
        if (!bytes.push_back(c)) {
            throw UsageError(fmt::format("{}: is longer than {} bytes", what, SecretBytes::capacity));
        }
    }
    return bytes;
}

SecretBytes read_file(const std::string& what, const std::string& path, bool first_line) {
    const Descriptor file(path.c_str(), O_RDONLY);
    if (file.get() < 0) {
        throw Failure(WARPAES_ERROR_NOT_FOUND,
                      fmt::format("{}: cannot open '{}': {}", what, path, std::strerror(errno)));
    }
    return read_all(what, file.get(), first_line);
}

SecretBytes copy(const std::string& what, const char* text) {
    SecretBytes bytes;
    for (; *text != '\0'; ++text) {
        if (!bytes.push_back(*text)) {
            throw UsageError(fmt::format("{}: is longer than {} bytes", what, SecretBytes::capacity));
        }
    }
    return bytes;
}

SecretBytes read_environment(const std::string& what, const std::string& name) {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) throw UsageError(fmt::format("{}: there is no environment variable {}", what, name));
    return copy(what, value);
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/// `digits` is a view into memory that its owner wipes.
void decode_exactly(const std::string& what, std::string_view digits, std::size_t bytes, int status,
                    unsigned char* out) {
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (hex_digit(digits[i]) < 0) {
            throw UsageError(fmt::format("{}: character {} is not a hexadecimal digit", what, i + 1));
        }
    }
    if (digits.size() != 2 * bytes) {
        throw Failure(static_cast<warpaes_status>(status),
                      fmt::format("{}: must be {} hexadecimal digits ({} bytes), got {}; a short one is not filled up "
                                  "with zeros as openssl does",
                                  what, 2 * bytes, bytes, digits.size()));
    }
    decode_hex(digits, out);
}

/// The terminal with its echo off until this goes out of scope.
class SilentTerminal {
public:
    explicit SilentTerminal(int fd) : fd_(fd) {
        if (::tcgetattr(fd_, &before_) != 0) return;
        termios silent = before_;
        silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
        changed_ = ::tcsetattr(fd_, TCSAFLUSH, &silent) == 0;
    }
    SilentTerminal(const SilentTerminal&) = delete;
    SilentTerminal& operator=(const SilentTerminal&) = delete;
    ~SilentTerminal() {
        if (changed_) ::tcsetattr(fd_, TCSAFLUSH, &before_);
    }

private:
    int fd_;
    termios before_{};
    bool changed_ = false;
};

void say(int fd, const std::string& text) {
    if (::write(fd, text.data(), text.size()) < 0) throw Failure(WARPAES_ERROR_WRITE, "cannot write to the terminal");
}

SecretBytes ask(int terminal, const std::string& question) {
    say(terminal, question + ": ");
    SecretBytes answer;
    {
        const SilentTerminal silent(terminal);
        answer = read_all("prompt", terminal, true);
    }
    say(terminal, "\n");
    return answer;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
    constexpr const char* space = " \t\r\n";
    const std::size_t first = text.find_first_not_of(space);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(space) - first + 1);
}

bool is_hex(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return hex_digit(c) >= 0; });
}

void decode_hex(std::string_view digits, unsigned char* bytes) {
    for (std::size_t i = 0; i < digits.size() / 2; ++i) {
        bytes[i] = static_cast<unsigned char>(hex_digit(digits[2 * i]) * 16 + hex_digit(digits[2 * i + 1]));
    }
}

int parse_fd(const std::string& what, const std::string& number) {
    int fd = -1;
    const char* end = number.data() + number.size();
    const auto [at, error] = std::from_chars(number.data(), end, fd);
    if (error != std::errc() || at != end || fd < 0) {
        throw UsageError(fmt::format("{}: '{}' is not a descriptor number", what, number));
    }
    return fd;
}

const char* after(const char* text, const char* prefix) {
    const std::size_t n = std::strlen(prefix);
    return std::strncmp(text, prefix, n) == 0 ? text + n : nullptr;
}

std::optional<SecretBytes> prompt(const std::string& question, bool confirm) {
    const Descriptor terminal("/dev/tty", O_RDWR);
    if (terminal.get() < 0) return std::nullopt;
    const SecretBytes answer = ask(terminal.get(), question);
    if (answer.size() == 0) throw UsageError("prompt: nothing was entered");
    if (confirm && ask(terminal.get(), question + " (again)").view() != answer.view()) {
        throw UsageError("prompt: the two entries differ");
    }
    return answer;
}

SecretBytes take_argument(const std::string& what, char* argument, const std::string& advice) {
    const SecretBytes bytes = copy(what, argument);
    // Other processes can read the command line; from here on they see stars.
    std::memset(argument, '*', std::strlen(argument));
    fmt::print(stderr, "warpaes: warning: {} on the command line can be seen by other processes; {}\n", what, advice);
    return bytes;
}

SecretBytes read_passphrase(const std::string& what, char* argument) {
    if (const char* text = after(argument, "pass:")) {
        return take_argument(what, argument + (text - argument),
                             "use env:NAME, file:PATH, fd:N or stdin, or leave it out to be asked");
    }
    if (const char* name = after(argument, "env:")) return read_environment(what, name);
    if (const char* path = after(argument, "file:")) return read_file(what, path, true);
    if (const char* fd = after(argument, "fd:")) return read_all(what, parse_fd(what, fd), true);
    if (std::strcmp(argument, "stdin") == 0) return read_all(what, STDIN_FILENO, true);
    throw UsageError(fmt::format("{}: must be pass:PASSWORD, env:NAME, file:PATH, fd:N or stdin", what));
}

SecretBytes read_passphrase_file(const std::string& what, const std::string& path) {
    SecretBytes line = read_file(what, path, true);
    while (line.size() != 0 && line.view().back() == '\r') line.truncate(line.size() - 1);
    if (line.size() == 0) throw UsageError(fmt::format("{}: the first line of '{}' is empty", what, path));
    return line;
}

SecretBytes read_key(const std::string& what, char* argument, std::size_t bytes) {
    SecretBytes text;
    bool may_be_raw = false;
    if (const char* path = after(argument, "file:")) {
        text = read_file(what, path, false);
        may_be_raw = true;
    } else if (const char* fd = after(argument, "fd:")) {
        text = read_all(what, parse_fd(what, fd), false);
        may_be_raw = true;
    } else if (const char* name = after(argument, "env:")) {
        text = read_environment(what, name);
    } else if (std::strcmp(argument, "prompt") == 0) {
        auto answer = prompt("Key in hexadecimal", false);
        if (!answer) throw UsageError(fmt::format("{}: there is no terminal to ask on", what));
        text = *answer;
    } else {
        text = take_argument(what, argument, "use file:PATH, env:NAME, fd:N or prompt");
    }
    if (may_be_raw && text.size() == bytes) return text;
    SecretBytes key;
    for (std::size_t i = 0; i < bytes; ++i) key.push_back('\0');
    decode_exactly(what, trimmed(text.view()), bytes, WARPAES_ERROR_KEY_LENGTH,
                   const_cast<unsigned char*>(key.bytes()));
    return key;
}

std::vector<unsigned char> parse_hex(const std::string& what, const std::string& hex, std::size_t bytes, int status) {
    std::vector<unsigned char> out(bytes);
    decode_exactly(what, hex, bytes, status, out.data());
    return out;
}

}  // namespace cli
