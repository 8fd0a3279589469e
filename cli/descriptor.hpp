// A file that the command itself opens.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace cli {

class Descriptor {
public:
    /// If the file cannot be opened, `get()` is negative and errno says why.
    Descriptor(const char* path, int flags, unsigned mode = 0)
        : fd_(::open(path, flags | O_CLOEXEC | O_NOCTTY, mode)) {}
    explicit Descriptor(int fd = -1) noexcept : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Descriptor() { close(); }
    /// Returns whether the file system reports that all written data is stored; otherwise sets errno.
    bool close() noexcept {
        const int fd = std::exchange(fd_, -1);
        return fd < 0 || ::close(fd) == 0 ||
               errno == EINTR;  // Linux also closes the descriptor of an interrupted close()
    }
    [[nodiscard]] int get() const noexcept { return fd_; }

private:
    int fd_;
};

}  // namespace cli
