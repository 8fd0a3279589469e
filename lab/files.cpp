#include "lab/files.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <string>
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

namespace {

bool is_writable(const std::filesystem::path& folder) {
    return std::filesystem::is_directory(folder) && access(folder.c_str(), W_OK | X_OK) == 0;
}

constexpr const char *prefix = "warpaes-lab-", *lock_name = ".lock";

/// Removes this user's folders whose lock is not held by any process.
void remove_what_was_left(const std::filesystem::path& parent) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(parent, ignored)) {
        if (!entry.path().filename().string().starts_with(prefix) || entry.is_symlink(ignored)) continue;
        struct stat info {};
        if (lstat(entry.path().c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid()) continue;
        const int lock = open((entry.path() / lock_name).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (lock < 0) continue;
        if (flock(lock, LOCK_EX | LOCK_NB) == 0) std::filesystem::remove_all(entry.path(), ignored);
        close(lock);
    }
}

}  // namespace

ScratchFolder::ScratchFolder(const std::filesystem::path& parent) {
    if (parent.empty()) return;
    remove_what_was_left(parent);
    std::string name = parent / (std::string(prefix) + "XXXXXX");
    if (mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), parent.string());
    path_ = name;
    // Takes the lock before renaming the lock file to its final name, so that no other process can see it unlocked.
    const std::filesystem::path unnamed = path_ / ".lock.new";
    lock_ = open(unnamed.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock_ < 0 || flock(lock_, LOCK_EX | LOCK_NB) != 0 ||
        rename(unnamed.c_str(), (path_ / lock_name).c_str()) != 0) {
        const int error = errno;
        if (lock_ >= 0) close(lock_);
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
        throw std::system_error(error, std::generic_category(), path_.string());
    }
}

ScratchFolder::~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
    if (lock_ >= 0) close(lock_);
}

bool is_in_memory(const std::filesystem::path& folder) {
    struct statfs info {};
    return statfs(folder.c_str(), &info) == 0 && (info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC);
}

std::filesystem::path find_disk(const std::filesystem::path& fallback) {
    std::error_code none;
    for (const auto& folder :
         {std::filesystem::path("/var/tmp"), std::filesystem::temp_directory_path(none), fallback}) {
        if (is_writable(folder) && !is_in_memory(folder)) return folder;
    }
    return {};
}

std::filesystem::path find_memory() {
    const std::filesystem::path folder = "/dev/shm";
    return is_writable(folder) && is_in_memory(folder) ? folder : std::filesystem::path();
}

}  // namespace lab
