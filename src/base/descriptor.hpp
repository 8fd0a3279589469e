// File descriptors, writes without signals, and a function that claims a file name so that no other process can use it.
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <string>
#include <utility>

#include "base/os.hpp"

namespace warpaes {

/// Repeats a call that a signal interrupted.
template <typename Call>
auto restarting(Call call) {
    decltype(call()) result;
    do {
        result = call();
    } while (result < 0 && errno == EINTR);
    return result;
}

/// A file descriptor, closed on destruction if it is owned.
class Descriptor {
public:
    explicit Descriptor(int fd = -1, bool owned = true) noexcept : fd_(fd), owned_(owned) {}
    /// Opens a file. On failure, `get()` is negative and errno is set.
    Descriptor(const char* path, int flags, mode_t mode = 0) noexcept
        : Descriptor(os::open(path, flags | O_CLOEXEC | O_NOCTTY, mode)) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)), owned_(other.owned_) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        if (this == &other) return *this;
        close();
        fd_ = std::exchange(other.fd_, -1);
        owned_ = other.owned_;
        return *this;
    }
    ~Descriptor() { close(); }
    /// Returns whether the file system reports that all written data is stored; if it does not, sets errno.
    bool close() noexcept {
        const int fd = std::exchange(fd_, -1);
        return !owned_ || fd < 0 || os::close(fd) == 0 || errno == EINTR;  // if interrupted, Linux has still closed it
    }
    [[nodiscard]] int get() const noexcept { return fd_; }

private:
    int fd_;
    bool owned_;
};

/// While this object exists, a failed write on this thread raises no signal: the error is reported, and the caller
/// decides whether to end the process.
class NoSignals {
public:
    NoSignals() {
        sigset_t raised;
        sigemptyset(&raised);
        sigaddset(&raised, SIGPIPE);
        sigaddset(&raised, SIGXFSZ);
        sigpending(&pending_);
        pthread_sigmask(SIG_BLOCK, &raised, &before_);
    }
    NoSignals(const NoSignals&) = delete;
    NoSignals& operator=(const NoSignals&) = delete;
    ~NoSignals() {
        const int error = errno;
        if (error == EPIPE) drop(SIGPIPE);
        if (error == EFBIG) drop(SIGXFSZ);
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        errno = error;
    }

private:
    /// Removes the pending signal, unless it was already pending when this object was created.
    void drop(int signal) const {
        if (sigismember(&pending_, signal) != 0) return;
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, signal);
        const timespec now{};
        (void)restarting([&] { return sigtimedwait(&one, nullptr, &now); });
    }

    sigset_t pending_{}, before_{};
};

/// Returns a path to an open file. The path works even while the file has no name.
inline std::string path_of(int fd) {
    return "/proc/self/fd/" + std::to_string(fd);
}

/// Removes the file `name` in a folder. Returns -1 and preserves errno.
inline int give_back_name(int folder, const char* name) noexcept {
    const int error = errno;
    os::unlink(folder, name);
    errno = error;
    return -1;
}

/// Claims `name` in a folder whose file system does not support links, by creating a file of one byte: rename() may
/// then replace only that file. Returns 0, or -1 with errno; EEXIST means that the name already exists. `made` receives
/// the file's attributes.
///
/// An object storage mount writes a file when it is closed, and then overwrites any file that was created under or
/// renamed to that name in the meantime. close() waits for this write only if something was written. The file is closed
/// because some file systems cannot rename another file over an open file.
inline int claim_name(int folder, const char* name, struct stat* made = nullptr) noexcept {
    constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    Descriptor file(restarting([&] { return os::open_in(folder, name, flags, 0600); }));
    if (file.get() < 0) return -1;
    const bool examined = made == nullptr || os::fstat(file.get(), made) == 0;
    const bool written = examined && restarting([&] { return os::write(file.get(), "", 1); }) == 1;
    return file.close() && written ? 0 : give_back_name(folder, name);
}

}  // namespace warpaes
