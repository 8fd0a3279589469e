#include "base/os.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace warpaes::os {

int open(const char* path, int flags, mode_t mode) {
    return ::open(path, flags, mode);
}
int open_in(int directory, const char* name, int flags, mode_t mode) {
    return ::openat(directory, name, flags, mode);
}
int close(int fd) {
    return ::close(fd);
}
ssize_t read(int fd, void* buffer, std::size_t bytes) {
    return ::read(fd, buffer, bytes);
}
ssize_t pread(int fd, void* buffer, std::size_t bytes, off_t offset) {
    return ::pread(fd, buffer, bytes, offset);
}
ssize_t write(int fd, const void* buffer, std::size_t bytes) {
    return ::write(fd, buffer, bytes);
}
ssize_t pwrite(int fd, const void* buffer, std::size_t bytes, off_t offset) {
    return ::pwrite(fd, buffer, bytes, offset);
}
int copy_to_pages(int fd, const void* buffer, std::size_t bytes, off_t offset) {
    constexpr int populate_write = 23;  // MADV_POPULATE_WRITE, which older C libraries do not define
    void* const pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
    if (pages == MAP_FAILED) return -1;
    const int result = ::madvise(pages, bytes, populate_write);
    const int error = errno;
    if (result == 0) std::memcpy(pages, buffer, bytes);
    ::munmap(pages, bytes);
    errno = error;
    return result;
}
off_t lseek(int fd, off_t offset, int whence) {
    return ::lseek(fd, offset, whence);
}
int poll(pollfd* fds, nfds_t count, int milliseconds) {
    return ::poll(fds, count, milliseconds);
}
int stat(const char* path, struct stat* status) {
    return ::stat(path, status);
}
int lstat(const char* path, struct stat* status) {
    return ::lstat(path, status);
}
int stat_in(int directory, const char* name, struct stat* status) {
    return ::fstatat(directory, name, status, AT_SYMLINK_NOFOLLOW);
}
int fstat(int fd, struct stat* status) {
    return ::fstat(fd, status);
}
int fstatfs(int fd, struct statfs* status) {
    return ::fstatfs(fd, status);
}
int status_flags(int fd) {
    return ::fcntl(fd, F_GETFL);
}
int fchmod(int fd, mode_t mode) {
    return ::fchmod(fd, mode);
}
int futimens(int fd, const timespec* times) {
    return ::futimens(fd, times);
}
int fchown(int fd, uid_t owner, gid_t group) {
    return ::fchown(fd, owner, group);
}
ssize_t getxattr(const char* path, const char* name, void* value, std::size_t bytes) {
    return ::getxattr(path, name, value, bytes);
}
int fsetxattr(int fd, const char* name, const void* value, std::size_t bytes) {
    return ::fsetxattr(fd, name, value, bytes, 0);
}
int fremovexattr(int fd, const char* name) {
    return ::fremovexattr(fd, name);
}
int begin_writing(int fd, off_t offset, off_t bytes) {
    return ::sync_file_range(fd, offset, bytes, SYNC_FILE_RANGE_WRITE);
}
int fsync(int fd) {
    return ::fsync(fd);
}
int rename(int directory, const char* from, const char* to, unsigned flags) {
    return ::renameat2(directory, from, directory, to, flags);
}
int link(int directory, const char* from, const char* to) {
    return ::linkat(directory, from, directory, to, AT_SYMLINK_FOLLOW);
}
int unlink(int directory, const char* name) {
    return ::unlinkat(directory, name, 0);
}

}  // namespace warpaes::os
