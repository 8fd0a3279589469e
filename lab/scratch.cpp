#include "lab/scratch.hpp"

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

namespace lab {

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
