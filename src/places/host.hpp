// The interface through which the code for places uses its host: the command line, which handles signals and prints
// warnings, or the library, which passes warnings to its caller.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

namespace warpaes::places {

/// A thread-safe strerror().
std::string error_text(int error);

class Host {
public:
    Host() = default;
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;
    virtual ~Host() = default;

    /// These functions call read() and waitpid(). They return EINTR only if the program should end; otherwise they
    /// repeat interrupted calls.
    virtual ssize_t read(int fd, void* buffer, std::size_t bytes);
    virtual pid_t wait(pid_t process, int* status);
    /// Whether to stop after a signal, instead of waiting again.
    virtual bool is_interrupted() noexcept;
    /// Reports a warning that contains no secrets.
    virtual void warn(const std::string& sentence);
    /// Called with an open key or passphrase file before the file is read. Warns if other users can open it.
    virtual void note_file(const std::string& name, int fd);
    /// Variables that contain keys, in addition to the variables in WARPAES_KEYSET; programs do not receive them.
    virtual std::vector<std::string> secret_variables();
    /// Throws because the key file cannot be opened; `error` is the errno value. No message of this class repeats the
    /// name of a file that does not exist, because the name may be the secret itself.
    [[noreturn]] virtual void refuse_file(const std::string& option, const std::string& path, int error);
};

/// Returns the warning for a regular file that other users can open, or an empty text for any other file.
std::string open_to_others(const std::string& name, int fd);

}  // namespace warpaes::places
