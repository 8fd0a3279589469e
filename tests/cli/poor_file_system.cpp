// This library is preloaded into a program and simulates a file system that lacks features. $POOR_FILE_SYSTEM lists the
// missing features, with a space before each word: "tmpfile", "noreplace", "link", "rename", "chmod", "quiet_chmod"
// (chmod is ignored without an error), "times", "chown", "fsync", "order" (out-of-order writes), "stolen" (rename
// fails, and another user replaces the file), "open" (renaming open files), "prompt" (an empty file is stored some time
// after close(), even if a different file then has its name), and "close" (close() reports that the disk is full).
// Mounts of object storage, FAT and network file systems lack several of these features. $POOR_CALLS names a file to
// which a line is appended for each refused call.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

namespace {

template <typename Call>
Call* real(const char* name) {
    return reinterpret_cast<Call*>(::dlsym(RTLD_NEXT, name));
}

bool lacks(const char* what) {
    const char* const list = std::getenv("POOR_FILE_SYSTEM");
    if (list == nullptr) return false;
    return (" " + std::string(list) + " ").find(" " + std::string(what) + " ") != std::string::npos;
}

int refuse(const char* what, int error) {
    if (const char* const path = std::getenv("POOR_CALLS")) {
        const int fd = real<int(const char*, int, ...)>("open")(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        const std::string line = std::string(what) + "\n";
        if (fd < 0 || ::write(fd, line.data(), line.size()) < 0) std::abort();
        real<int(int)>("close")(fd);
    }
    errno = error;
    return -1;
}

bool is_regular(int fd) {
    struct stat status {};
    return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

std::string path_of(int fd) {
    char path[PATH_MAX];
    const ssize_t n = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof path);
    return n < 0 ? "" : std::string(path, static_cast<std::size_t>(n));
}

bool is_open(const std::string& path) {
    for (int fd = 0; fd < 64; ++fd) {
        if (path_of(fd) == path) return true;
    }
    return false;
}

/// Empty files that have been closed but not yet stored.
std::set<std::string>& unstored() {
    static std::set<std::string> paths;
    return paths;
}

mode_t mode_of(int flags, va_list rest) {
    return (flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) != 0 ? static_cast<mode_t>(va_arg(rest, int)) : 0;
}

ssize_t write_at(int fd, const void* bytes, std::size_t length, off_t at) {
    struct stat status {};
    if (lacks("order") && is_regular(fd) && ::fstat(fd, &status) == 0 && at != status.st_size) {
        return refuse("order", ESPIPE);
    }
    return real<ssize_t(int, const void*, std::size_t, off_t)>("pwrite")(fd, bytes, length, at);
}

}  // namespace

extern "C" {

int openat(int folder, const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = mode_of(flags, rest);
    va_end(rest);
    if ((flags & O_TMPFILE) == O_TMPFILE && lacks("tmpfile")) return refuse("tmpfile", EOPNOTSUPP);
    return real<int(int, const char*, int, ...)>("openat")(folder, path, flags, mode);
}
int openat64(int folder, const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return openat(folder, path, flags, mode);
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
    if (lacks("link")) return refuse("link", EPERM);
    return real<int(int, const char*, int, const char*, int)>("linkat")(from_folder, from, to_folder, to, flags);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
    if (flags != 0 && lacks("noreplace")) return refuse("noreplace", EINVAL);
    if (flags == 0 && lacks("stolen")) {
        ::unlinkat(to_folder, to, 0);
        const int fd = openat(to_folder, to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0 || ::write(fd, "theirs", 6) != 6) std::abort();
        ::close(fd);
    }
    const std::string target = path_of(to_folder) + "/" + to;
    if (lacks("open") && is_open(path_of(from_folder) + "/" + from)) return refuse("open", EBUSY);
    if (flags == 0 && (lacks("rename") || lacks("stolen"))) return refuse("rename", ENOSYS);
    const int result =
        real<int(int, const char*, int, const char*, unsigned)>("renameat2")(from_folder, from, to_folder, to, flags);
    if (result == 0 && unstored().erase(target) != 0 && ::truncate(target.c_str(), 0) != 0) std::abort();
    return result;
}
int close(int fd) {
    struct stat status {};
    const bool written = ::fcntl(fd, F_GETFL) >= 0 && (::fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY &&
                         is_regular(fd) && ::fstat(fd, &status) == 0 && status.st_nlink != 0;
    if (written && status.st_size == 0 && lacks("prompt")) unstored().insert(path_of(fd));
    const int result = real<int(int)>("close")(fd);
    return written && status.st_size > 1 && lacks("close") ? refuse("close", ENOSPC) : result;
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
    return renameat2(from_folder, from, to_folder, to, 0);
}
int fchmod(int fd, mode_t mode) noexcept {
    if (lacks("chmod")) return refuse("chmod", EPERM);
    if (lacks("quiet_chmod")) return 0;
    return real<int(int, mode_t)>("fchmod")(fd, mode);
}
int futimens(int fd, const timespec* times) noexcept {
    if (lacks("times")) return refuse("times", EPERM);
    return real<int(int, const timespec*)>("futimens")(fd, times);
}
int fchown(int fd, uid_t owner, gid_t group) noexcept {
    if (lacks("chown")) return refuse("chown", EPERM);
    return real<int(int, uid_t, gid_t)>("fchown")(fd, owner, group);
}
int fsync(int fd) {
    if (lacks("fsync")) return refuse("fsync", EINVAL);
    return real<int(int)>("fsync")(fd);
}
ssize_t pwrite(int fd, const void* bytes, std::size_t length, off_t at) {
    return write_at(fd, bytes, length, at);
}
ssize_t pwrite64(int fd, const void* bytes, std::size_t length, off_t at) {
    return write_at(fd, bytes, length, at);
}

}  // extern "C"
