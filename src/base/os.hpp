// The system calls for files and streams, under their usual names and with the usual errno. The library reads and
// writes only through these functions. Tests link a different implementation, whose calls fail on demand
// (tests/faults).
#pragma once

#include <poll.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/types.h>

#include <cstddef>

namespace warpaes::os {

int open(const char* path, int flags, mode_t mode = 0);
/// openat()
int open_in(int directory, const char* name, int flags, mode_t mode = 0);
int close(int fd);
ssize_t read(int fd, void* buffer, std::size_t bytes);
ssize_t pread(int fd, void* buffer, std::size_t bytes, off_t offset);
ssize_t write(int fd, const void* buffer, std::size_t bytes);
ssize_t pwrite(int fd, const void* buffer, std::size_t bytes, off_t offset);
/// Copies whole pages to the file through mmap(), after MADV_POPULATE_WRITE (Linux 5.14) has allocated the pages, so
/// that a full file system causes an error (EFAULT) and not a signal. The file must be long enough.
int copy_to_pages(int fd, const void* buffer, std::size_t bytes, off_t offset);
off_t lseek(int fd, off_t offset, int whence);
int poll(pollfd* fds, nfds_t count, int milliseconds);
int stat(const char* path, struct stat* status);
int lstat(const char* path, struct stat* status);
/// fstatat(), without following links
int stat_in(int directory, const char* name, struct stat* status);
int fstat(int fd, struct stat* status);
int fstatfs(int fd, struct statfs* status);
/// F_GETFL
int status_flags(int fd);
int fchmod(int fd, mode_t mode);
int futimens(int fd, const timespec* times);
int fchown(int fd, uid_t owner, gid_t group);
ssize_t getxattr(const char* path, const char* name, void* value, std::size_t bytes);
int fsetxattr(int fd, const char* name, const void* value, std::size_t bytes);
int fremovexattr(int fd, const char* name);
int fsync(int fd);
/// sync_file_range(): starts writing these bytes to disk without waiting
int begin_writing(int fd, off_t offset, off_t bytes);
/// renameat2() between names in a directory
int rename(int directory, const char* from, const char* to, unsigned flags);
/// linkat() within a directory; follows `from`, so a link from /proc/self/fd/N refers to an open file
int link(int directory, const char* from, const char* to);
/// unlinkat()
int unlink(int directory, const char* name);

}  // namespace warpaes::os
