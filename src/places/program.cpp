#include "places/program.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "places/key_text.hpp"
#include "places/place.hpp"

namespace warpaes::places {

namespace {

/// The shell's exit statuses for a file that is not executable, and for a command that does not exist.
constexpr int not_executable = 126, not_found = 127;

constexpr std::string_view blanks = " \t\r", ends = "\n;|&";

bool is_in(char c, std::string_view characters) {
    return characters.find(c) != std::string_view::npos;
}

bool is_name_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

void skip(std::string_view& text, std::string_view characters) {
    text.remove_prefix(std::min(text.find_first_not_of(characters), text.size()));
}

/// Removes the value of an assignment from `text`. Returns false if the shell might parse the value differently: the
/// apparent next word could then be part of a secret.
bool skip_value(std::string_view& text) {
    while (!text.empty() && !is_in(text[0], blanks) && !is_in(text[0], ends)) {
        const char c = text[0];
        if (is_in(c, "\\`()<>") || (c == '$' && (text.size() == 1 || !is_name_character(text[1])))) return false;
        text.remove_prefix(1);
        if (c != '\'' && c != '"') continue;
        const std::size_t end = text.find(c);
        if (end == std::string_view::npos) return false;
        if (c == '"' && text.substr(0, end).find_first_of("\\`$") != std::string_view::npos) return false;
        text.remove_prefix(end + 1);
    }
    return true;
}

/// Returns the first word after variables set for the program, and a mark if more words follow; only the mark if the
/// first word cannot be determined. Arguments and variables may be secret.
std::string shown(std::string_view text) {
    for (;;) {
        skip(text, blanks);
        const auto name = std::find_if_not(text.begin(), text.end(), is_name_character);
        if (name == text.end() || name == text.begin() || *name != '=') break;
        text.remove_prefix(static_cast<std::size_t>(name - text.begin()) + 1);
        if (!skip_value(text)) return "…";
        skip(text, " \t\r\n;|&");
    }
    const auto end =
        std::find_if_not(text.begin(), text.end(), [](char c) { return is_name_character(c) || is_in(c, "./+-@%,:"); });
    std::string word(text.begin(), end);
    if (word.empty() || looks_like_key(word)) return "…";
    if (end == text.end()) return word;
    return is_in(*end, blanks) || is_in(*end, ends) ? word + " …" : "…";
}

bool has_a_key(std::string_view command) {
    while (!command.empty()) {
        const std::size_t end = std::min(command.find_first_of(" \t\r\n;|&'\""), command.size());
        const std::string_view word = command.substr(0, end);
        if ((word.size() == 32 || word.size() == 64) && is_hex(word)) return true;
        command.remove_prefix(std::min(end + 1, command.size()));
    }
    return false;
}

/// Returns the environment without variables that contain keys.
std::vector<char*> environment_of_program(Host& host) {
    constexpr std::string_view ours = "WARPAES_KEYSET";
    std::vector<std::string> secret = host.secret_variables();
    if (const char* keyset = std::getenv(ours.data())) {
        for (std::string& name : variables_named_by(keyset)) secret.push_back(std::move(name));
    }
    std::vector<char*> list;
    for (char** at = environ; *at != nullptr; ++at) {
        const std::string_view name(*at, std::strcspn(*at, "="));
        const bool is_secret = name.starts_with(ours) || std::find(secret.begin(), secret.end(), name) != secret.end();
        if (!is_secret) list.push_back(*at);
    }
    list.push_back(nullptr);
    return list;
}

struct Actions {
    posix_spawn_file_actions_t value{};
    Actions() { ::posix_spawn_file_actions_init(&value); }
    Actions(const Actions&) = delete;
    Actions& operator=(const Actions&) = delete;
    ~Actions() { ::posix_spawn_file_actions_destroy(&value); }
};

struct Attributes {
    posix_spawnattr_t value{};
    Attributes() { ::posix_spawnattr_init(&value); }
    Attributes(const Attributes&) = delete;
    Attributes& operator=(const Attributes&) = delete;
    ~Attributes() { ::posix_spawnattr_destroy(&value); }
};

/// Closes all descriptors above standard error in the new process.
int add_closing(posix_spawn_file_actions_t* actions) {
#if defined(__GLIBC__)
    return ::posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
#else
    // musl has no such action. If another thread opens a descriptor in the meantime, exec closes it, provided that it
    // has O_CLOEXEC, as all of this library's descriptors do.
    DIR* const open = ::opendir("/proc/self/fd");
    if (open == nullptr) return errno;
    int error = 0;
    while (const dirent* const entry = ::readdir(open)) {
        const int fd = std::atoi(entry->d_name);
        if (fd > STDERR_FILENO && error == 0) error = ::posix_spawn_file_actions_addclose(actions, fd);
    }
    ::closedir(open);
    return error;
#endif
}

}  // namespace

KeyProgram::KeyProgram(const std::string& option, const std::string& command, Host& host)
    : host_(host), name_(option + " exec: '" + shown(command) + "'") {
    if (trimmed(command).empty()) {
        throw Error(WARPAES_ERROR_ARGUMENT, option + ": exec: must be followed by a command that prints a key");
    }
    if (has_a_key(command)) {
        host.warn(name_ + ": a word of the command looks like a key, and other processes can read command lines");
    }
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        throw Error(WARPAES_ERROR_READ, name_ + ": cannot create a pipe to it: " + error_text(errno));
    }
    output_ = ends[0];

    // The pipe is duplicated first, because its descriptor may have the number of a standard descriptor that is closed
    // in this process.
    Actions actions;
    int error = ::posix_spawn_file_actions_adddup2(&actions.value, ends[1], STDOUT_FILENO);
    // The program must not read this process's standard input, which may be the data to encrypt or decrypt.
    if (error == 0) error = ::posix_spawn_file_actions_addopen(&actions.value, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    // Other descriptors must not be inherited: fd:N may be a key.
    if (error == 0) error = add_closing(&actions.value);
    Attributes attributes;
    sigset_t defaults, none;
    sigemptyset(&defaults);
    for (const int signal : {SIGPIPE, SIGXFSZ, SIGTERM})
        sigaddset(&defaults, signal);  // this signal may be ignored in this process
    sigemptyset(&none);                // the calling thread may block signals that should end the program
    ::posix_spawnattr_setsigdefault(&attributes.value, &defaults);
    ::posix_spawnattr_setsigmask(&attributes.value, &none);
    ::posix_spawnattr_setflags(&attributes.value, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);

    std::string shell = "sh", flag = "-c", text = command;
    char* const arguments[] = {shell.data(), flag.data(), text.data(), nullptr};
    const std::vector<char*> environment = environment_of_program(host);
    if (error == 0) {
        error = ::posix_spawn(&process_, "/bin/sh", &actions.value, &attributes.value, arguments, environment.data());
    }
    ::close(ends[1]);
    if (error != 0) {
        process_ = -1;
        close_output();
        throw Error(WARPAES_ERROR_READ, name_ + ": cannot be started: " + error_text(error));
    }
}

KeyProgram::~KeyProgram() {
    close_output();
    if (process_ < 0) return;
    ::kill(process_, SIGTERM);
    // Without a time limit, a program that ignores the signal would keep the caller waiting.
    for (int i = 0; i < 100; ++i) {
        const pid_t ended = ::waitpid(process_, nullptr, WNOHANG);
        if (ended == process_ || (ended < 0 && errno != EINTR)) return;
        constexpr timespec ten_milliseconds{0, 10'000'000};
        ::nanosleep(&ten_milliseconds, nullptr);
    }
    ::kill(process_, SIGKILL);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void KeyProgram::close_output() noexcept {
    if (output_ >= 0) ::close(output_);
    output_ = -1;
}

void KeyProgram::finish() {
    int status = 0;
    if (host_.wait(process_, &status) < 0) {
        if (errno == EINTR) throw Error(WARPAES_ERROR_CANCELLED, name_ + ": interrupted");
        const int error = errno;
        process_ = -1;
        throw Error(WARPAES_ERROR_READ,
                    name_ + ": waiting for it failed: " + error_text(error) +
                        (error == ECHILD ? " (this process ignores SIGCHLD, or waits for all of its children)" : ""));
    }
    process_ = -1;
    if (WIFSIGNALED(status)) {
        throw Error(WARPAES_ERROR_READ,
                    name_ + ": was ended by signal " + std::to_string(WTERMSIG(status)) + "; its output was not used");
    }
    const int code = WEXITSTATUS(status);
    if (code == not_found || code == not_executable) {
        throw Error(WARPAES_ERROR_READ, name_ + ": exit status " + std::to_string(code) + ": a program in it " +
                                            (code == not_found ? "was not found" : "may not be executed") +
                                            "; /bin/sh runs the command");
    }
    if (code != 0) {
        throw Error(WARPAES_ERROR_READ,
                    name_ + ": failed with exit status " + std::to_string(code) + "; its output was not used");
    }
}

}  // namespace warpaes::places
