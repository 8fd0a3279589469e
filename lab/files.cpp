#include "lab/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace lab {

namespace {

int open_file(const std::filesystem::path& path, int flags) {
    const int descriptor = open(path.c_str(), flags | O_CLOEXEC, 0600);
    if (descriptor < 0) throw_system_error(errno, path.c_str());
    return descriptor;
}

}  // namespace

void throw_system_error(int error, const std::string& what) {
    throw std::system_error(error, std::generic_category(), what);
}

File File::read_only(const std::filesystem::path& path) {
    return File(open_file(path, O_RDONLY));
}

File File::read_write(const std::filesystem::path& path) {
    return File(open_file(path, O_RDWR | O_CREAT));
}

File::File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

File& File::operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
}

File::~File() {
    if (descriptor_ >= 0) close(descriptor_);
}

void File::read(std::uint64_t offset, std::span<std::uint8_t> bytes) const {
    while (!bytes.empty()) {
        const ssize_t n = pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) throw_system_error(n < 0 ? errno : EIO, "read");
        bytes = bytes.subspan(static_cast<std::size_t>(n));
        offset += static_cast<std::uint64_t>(n);
    }
}

void File::write(std::uint64_t offset, std::span<const std::uint8_t> bytes) const {
    while (!bytes.empty()) {
        const ssize_t n = pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw_system_error(errno, "write");
        bytes = bytes.subspan(static_cast<std::size_t>(n));
        offset += static_cast<std::uint64_t>(n);
    }
}

std::uint64_t File::size() const {
    struct stat info {};
    if (fstat(descriptor_, &info) != 0) throw_system_error(errno, "fstat");
    return static_cast<std::uint64_t>(info.st_size);
}

void File::resize(std::uint64_t bytes) const {
    if (ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) throw_system_error(errno, "ftruncate");
}

void File::sync() const {
    if (fsync(descriptor_) != 0) throw_system_error(errno, "fsync");
}

void File::evict() const {
    sync();
    if (const int error = posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED); error != 0)
        throw_system_error(error, "fadvise");
}

void write_file(const std::filesystem::path& path, std::span<const std::uint8_t> bytes) {
    const File file = File::read_write(path);
    file.resize(0);
    file.write(0, bytes);
}

std::vector<std::uint8_t> read_file(const std::filesystem::path& path) {
    const File file = File::read_only(path);
    std::vector<std::uint8_t> bytes(file.size());
    file.read(0, bytes);
    return bytes;
}

std::uint64_t free_bytes(const std::filesystem::path& folder) {
    return std::filesystem::space(folder).available;
}

}  // namespace lab
