// The interface through which the code of places uses the program: the command has signals, warnings and files that it
// must not overwrite; the library has a caller.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

namespace warpaes::places {

/// strerror(), for several threads.
std::string error_text(int error);

class Host {
public:
    Host() = default;
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;
    virtual ~Host() = default;

    /// read() and waitpid(). They end with EINTR only if the program is to end; these are called again.
    virtual ssize_t read(int fd, void* buffer, std::size_t bytes);
    virtual pid_t wait(pid_t process, int* status);
    /// Whether to give up, instead of waiting again, after a signal.
    virtual bool is_interrupted() noexcept;
    /// A sentence without secrets.
    virtual void warn(const std::string& sentence);
    /// An open file of keys or of a passphrase, before it is read. Warns if other users can open it.
    virtual void note_file(const std::string& name, int fd);
    /// Variables with keys, which no program receives, in addition to those of WARPAES_KEYSET.
    virtual std::vector<std::string> secret_variables();
    /// Throws because the file of a key cannot be opened, for the reason `error`. No sentence of this class repeats the
    /// name of a file that does not exist: it may be the secret itself.
    [[noreturn]] virtual void refuse_file(const std::string& option, const std::string& path, int error);
};

/// The sentence of a file that other users can open; empty if they cannot, or if it is not a regular file.
std::string open_to_others(const std::string& name, int fd);

}  // namespace warpaes::places
