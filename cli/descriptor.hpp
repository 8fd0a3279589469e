// An open file of the command's own.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace cli {

class Descriptor {
public:
    /// `get()` is negative, and errno says why, if it cannot be opened.
    Descriptor(const char* path, int flags, unsigned mode = 0)
        : fd_(::open(path, flags | O_CLOEXEC | O_NOCTTY, mode)) {}
    explicit Descriptor(int fd = -1) noexcept : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    [[nodiscard]] int get() const noexcept { return fd_; }

private:
    int fd_;
};

}  // namespace cli
