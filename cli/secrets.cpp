#include "secrets.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/descriptor.hpp"
#include "command.hpp"
#include "interrupt.hpp"
#include "key_place.hpp"
#include "places/host.hpp"

namespace cli {

using warpaes::Descriptor;

namespace {

/// Reads one byte, so that the bytes after the line remain for the next reader of the descriptor.
bool read_byte(const std::string& what, int fd, char& c) {
    const ssize_t n = read_or_interrupted(fd, &c, 1);
    if (n < 0 && errno == EINTR) throw Failure(WARPAES_ERROR_CANCELLED, what + ": interrupted");
    if (n < 0) throw Failure(WARPAES_ERROR_READ, fmt::format("{}: cannot read: {}", what, std::strerror(errno)));
    return n == 1;
}

SecretBytes read_all(const std::string& what, int fd, bool first_line = false) {
    SecretBytes bytes;
    for (char c = 0; read_byte(what, fd, c);) {
        if (first_line && c == '\n') break;
        if (!bytes.push_back(c)) {
            throw UsageError(fmt::format("{}: longer than {} bytes", what, SecretBytes::capacity));
        }
    }
    return bytes;
}

/// Opens a file that holds the secret of option `what`.
Descriptor open_secret(const std::string& what, const std::string& path) {
    Descriptor file(path.c_str(), O_RDONLY);
    if (file.get() < 0) {
        throw Failure(WARPAES_ERROR_NOT_FOUND,
                      fmt::format("{}: cannot open '{}': {}", what, path, std::strerror(errno)));
    }
    note_key_file("'" + path + "'", file.get());
    return file;
}

int secret_fd(const std::string& what, const std::string& number) {
    const int fd = as_command([&] { return warpaes::places::parse_fd(what, number); });
    note_key_file(fmt::format("{} fd:{}", what, fd), fd);
    return fd;
}

/// Reads a line as openssl does with BIO_gets() and a C string: at most `most` bytes, including the end of the line, up
/// to the first NUL. Bytes that do not fit remain unread.
SecretBytes read_line(const std::string& what, int fd, std::size_t most) {
    SecretBytes line;
    bool ended = false;
    for (char c = 0; !ended && line.size() < most && read_byte(what, fd, c);) {
        line.push_back(c);
        ended = c == '\n';
    }
    if (line.size() == 0) throw UsageError(what + ": the first line is missing");
    if (!ended && line.size() == most) {
        warn(fmt::format("{}: only the first {} bytes of this line are used, as in openssl; the rest is ignored", what,
                         most));
    }
    const std::size_t nul = line.view().find('\0');
    if (nul == 0) throw UsageError(what + ": begins with a NUL byte, so the passphrase would be empty");
    if (nul != std::string_view::npos) {
        warn(fmt::format("{}: the passphrase ends before byte {}, which is a NUL, as in openssl; the rest is ignored",
                         what, nul + 1));
        line.truncate(nul);
    }
    return line;
}

/// openssl's APP_PASS_LEN and the size of its buffer for -kfile, each minus the final NUL.
constexpr std::size_t most_of_pass_line = 1023, most_of_kfile_line = 127;

SecretBytes read_pass_line(const std::string& what, int fd) {
    SecretBytes line = read_line(what, fd, most_of_pass_line);
    if (line.view().back() == '\n') line.truncate(line.size() - 1);
    return line;
}

/// Like openssl, refuses an empty line and, because of the way openssl counts, a passphrase of one character.
SecretBytes read_kfile_line(const std::string& what, int fd) {
    SecretBytes line = read_line(what, fd, most_of_kfile_line);
    while (line.size() > 1 && (line.view().back() == '\n' || line.view().back() == '\r'))
        line.truncate(line.size() - 1);
    if (line.size() == 1) {
        throw UsageError(what +
                         ": the first line is empty or has only one character, which openssl refuses; use -pass file:");
    }
    return line;
}

SecretBytes copy(const std::string& what, const char* text) {
    SecretBytes bytes;
    for (; *text != '\0'; ++text) {
        if (!bytes.push_back(*text)) {
            throw UsageError(fmt::format("{}: longer than {} bytes", what, SecretBytes::capacity));
        }
    }
    return bytes;
}

/// Decodes exactly `bytes` bytes. The caller wipes the memory of `digits`.
void decode_exactly(const std::string& what, std::string_view digits, std::size_t bytes, int status,
                    unsigned char* out) {
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (hex_digit(digits[i]) < 0) {
            throw UsageError(fmt::format("{}: character {} is not a hexadecimal digit", what, i + 1));
        }
    }
    if (digits.size() != 2 * bytes) {
        throw Failure(static_cast<warpaes_status>(status),
                      fmt::format("{}: requires {} hexadecimal digits ({} bytes), not {}; openssl would {}", what,
                                  2 * bytes, bytes, digits.size(),
                                  digits.size() < 2 * bytes ? "pad with zeros, so write them if they are intended"
                                                            : "ignore the rest, so omit it"));
    }
    decode_hex(digits, out);
}

/// Turns off the terminal's echo until the object is destroyed.
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

void write_to(int fd, const std::string& text) {
    if (::write(fd, text.data(), text.size()) < 0) throw Failure(WARPAES_ERROR_WRITE, "cannot write to the terminal");
}

SecretBytes ask(int terminal, const std::string& question) {
    write_to(terminal, one_line(question) + ": ");
    SecretBytes answer;
    {
        const SilentTerminal silent(terminal);
        answer = read_all("prompt", terminal, true);
    }
    write_to(terminal, "\n");
    return answer;
}

}  // namespace

SecretBytes read_environment(const std::string& what, const std::string& name) {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) throw UsageError(fmt::format("{}: the environment variable {} is not set", what, name));
    return copy(what, value);
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

void conceal(char* argument) {
    if (argument != nullptr) std::memset(argument, '*', std::strlen(argument));
}

SecretBytes take_argument(const std::string& what, char* argument, const std::string& advice) {
    const SecretBytes bytes = copy(what, argument);
    conceal(argument);
    warn(fmt::format("{}: other processes can read a secret on the command line; {}", what, advice));
    return bytes;
}

SecretBytes read_passphrase(const std::string& what, char* argument) {
    if (const char* text = after(argument, "pass:")) {
        return take_argument(what, argument + (text - argument),
                             "use env:NAME, file:PATH, fd:N or stdin, or omit the option for a prompt");
    }
    if (const char* name = after(argument, "env:")) return read_environment(what, name);
    if (const char* path = after(argument, "file:")) return read_pass_line(what, open_secret(what, path).get());
    if (const char* fd = after(argument, "fd:")) return read_pass_line(what, secret_fd(what, fd));
    if (std::strcmp(argument, "stdin") == 0) return read_pass_line(what, secret_fd(what, "0"));
    throw UsageError(fmt::format("{}: unknown source; give pass:PASSWORD, env:NAME, file:PATH, fd:N or stdin", what));
}

SecretBytes read_passphrase_file(const std::string& what, const std::string& path) {
    if (path == "-") return read_kfile_line(what, secret_fd(what, "0"));
    return read_kfile_line(what, open_secret(what, path).get());
}

void refuse_text(const std::string& what, std::string_view key) {
    if (warpaes_keyset_check_raw(key.data(), key.size()) == WARPAES_OK) return;
    constexpr std::string_view subject = "key: ";
    throw Failure(WARPAES_ERROR_KEYSET, fmt::format("{}: {}. To use these bytes as the key, give --raw", what,
                                                    std::string_view(warpaes_last_error()).substr(subject.size())));
}

SecretBytes read_key(const std::string& what, char* argument, std::size_t bytes, bool raw) {
    SecretBytes text;
    bool may_be_raw = false;
    if (const char* path = after(argument, "file:")) {
        text = read_all(what, open_secret(what, path).get());
        may_be_raw = true;
    } else if (const char* fd = after(argument, "fd:")) {
        text = read_all(what, secret_fd(what, fd));
        may_be_raw = true;
    } else if (const char* name = after(argument, "env:")) {
        text = read_environment(what, name);
    } else if (std::strcmp(argument, "prompt") == 0) {
        auto answer = prompt("Key in hexadecimal", false);
        if (!answer)
            throw UsageError(fmt::format("{}: no terminal for a prompt; use file:PATH, env:NAME or fd:N", what));
        text = *answer;
    } else {
        text = take_argument(what, argument, "use file:PATH, env:NAME, fd:N or prompt");
    }
    if (raw && !may_be_raw) throw UsageError("--raw: applies only to keys in files; give -K file:PATH or fd:N");
    if (raw && text.size() != bytes) {
        throw Failure(WARPAES_ERROR_KEY_LENGTH, fmt::format("{}: {} bytes, but a raw key for this cipher has {} bytes",
                                                            what, text.size(), bytes));
    }
    if (raw) return text;
    if (may_be_raw && text.size() == bytes && !is_hex(trimmed(text.view()))) {
        refuse_text(what, text.view());
        return text;
    }
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

namespace {

struct NeededFile {
    std::string name;
    dev_t device;
    ino_t inode;
};

/// Files that this process needs. A process runs one command, and all files are added before it starts threads.
std::vector<NeededFile>& needed_files() {
    static std::vector<NeededFile> files;
    return files;
}

}  // namespace

void warn_if_others_can_read(const std::string& name, int fd) {
    const std::string sentence = warpaes::places::open_to_others(name, fd);
    if (!sentence.empty()) warn(sentence);
}

void note_needed_file(const std::string& name, int fd) {
    struct stat status {};
    if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        needed_files().push_back({name, status.st_dev, status.st_ino});
    }
}

void note_key_file(const std::string& name, int fd) {
    warn_if_others_can_read(name, fd);
    note_needed_file(name, fd);
}

void refuse_needed_file(const std::string& path) {
    struct stat status {};
    if ((path.empty() ? ::fstat(STDOUT_FILENO, &status) : ::stat(path.c_str(), &status)) != 0) return;
    for (const NeededFile& file : needed_files()) {
        if (file.device != status.st_dev || file.inode != status.st_ino) continue;
        throw Failure(
            WARPAES_ERROR_SAME_FILE,
            fmt::format("output: {} is the file {}, which is needed to decrypt the result; write to another file",
                        path.empty() ? "standard output" : "'" + path + "'", file.name));
    }
}

}  // namespace cli
