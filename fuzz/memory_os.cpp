#include "memory_os.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/os.hpp"

namespace fuzz::memory_os {

namespace {

struct Opened {
    std::shared_ptr<File> file;
    std::size_t position = 0;
};

struct State {
    std::map<std::string, std::shared_ptr<File>> files;
    std::map<int, Opened> open;
    int next_fd = 1000;
    unsigned calls = 0;
    unsigned failing = 0;
    int error = 0;
    std::size_t step = 0;
    bool disturbed = false;
};

State& state() {
    static auto& instance = *new State;
    return instance;
}

}  // namespace

std::map<std::string, std::shared_ptr<File>>& files() {
    return state().files;
}

void reset() {
    state() = State{};
}

int descriptor(std::shared_ptr<File> file) {
    State& s = state();
    s.open[s.next_fd] = {std::move(file), 0};
    return s.next_fd++;
}

void disturb(unsigned nth, int error, std::size_t step) {
    State& s = state();
    s.failing = nth == 0 ? 0 : s.calls + nth;
    s.error = error;
    s.step = step;
}

bool disturbed() {
    return state().disturbed;
}

std::size_t open_descriptors() {
    return state().open.size();
}

}  // namespace fuzz::memory_os

namespace warpaes::os {

namespace {

using fuzz::memory_os::File;
using fuzz::memory_os::Opened;
using fuzz::memory_os::state;

int failed(int error) {
    errno = error;
    return -1;
}

bool fails() {
    auto& s = state();
    if (++s.calls != s.failing) return false;
    s.disturbed = true;
    errno = s.error;
    return true;
}

Opened* find(int fd) {
    const auto it = state().open.find(fd);
    if (it == state().open.end()) {
        errno = EBADF;
        return nullptr;
    }
    return &it->second;
}

std::size_t portion(std::size_t bytes) {
    return state().step == 0 ? bytes : std::min(bytes, state().step);
}

ssize_t take(const File& file, std::size_t position, void* buffer, std::size_t bytes) {
    const std::size_t at = std::min(position, file.bytes.size());
    const std::size_t n = std::min(portion(bytes), file.bytes.size() - at);
    std::copy_n(file.bytes.begin() + static_cast<std::ptrdiff_t>(at), n, static_cast<std::uint8_t*>(buffer));
    return static_cast<ssize_t>(n);
}

ssize_t put(File& file, std::size_t position, const void* buffer, std::size_t bytes) {
    const std::size_t n = portion(bytes);
    if (file.bytes.size() < position + n) file.bytes.resize(position + n);
    std::copy_n(static_cast<const std::uint8_t*>(buffer), n,
                file.bytes.begin() + static_cast<std::ptrdiff_t>(position));
    return static_cast<ssize_t>(n);
}

/// Returns the path of a name in the only directory.
std::string in_root(const char* name) {
    return *name == '/' ? name : "/" + std::string(name);
}

int describe(const File& file, struct stat* status) {
    *status = {};
    status->st_mode = (file.is_pipe ? S_IFIFO : S_IFREG) | 0600u;
    status->st_size = file.is_pipe ? 0 : static_cast<off_t>(file.bytes.size());
    status->st_ino = reinterpret_cast<std::uintptr_t>(&file);
    return 0;
}

}  // namespace

int open(const char* path, int flags, mode_t) {
    if (fails()) return -1;
    if ((flags & O_DIRECTORY) != 0) return fuzz::memory_os::descriptor(std::make_shared<File>());
    auto& all = state().files;
    const auto it = all.find(path);
    if (it == all.end()) {
        if ((flags & O_CREAT) == 0) return failed(ENOENT);
        return fuzz::memory_os::descriptor(all[path] = std::make_shared<File>());
    }
    if ((flags & O_EXCL) != 0) return failed(EEXIST);
    return fuzz::memory_os::descriptor(it->second);
}

int open_in(int directory, const char* name, int flags, mode_t mode) {
    if (find(directory) == nullptr) return -1;
    if ((flags & O_TMPFILE) == O_TMPFILE) return fails() ? -1 : failed(EOPNOTSUPP);
    return os::open(in_root(name).c_str(), flags, mode);
}

int close(int fd) {
    state().open.erase(fd);
    return fails() ? -1 : 0;
}

ssize_t read(int fd, void* buffer, std::size_t bytes) {
    Opened* const opened = find(fd);
    if (opened == nullptr || fails()) return -1;
    const ssize_t n = take(*opened->file, opened->position, buffer, bytes);
    opened->position += static_cast<std::size_t>(n);
    return n;
}

ssize_t pread(int fd, void* buffer, std::size_t bytes, off_t offset) {
    Opened* const opened = find(fd);
    if (opened == nullptr || fails()) return -1;
    if (opened->file->is_pipe) return failed(ESPIPE);
    return take(*opened->file, static_cast<std::size_t>(offset), buffer, bytes);
}

ssize_t write(int fd, const void* buffer, std::size_t bytes) {
    Opened* const opened = find(fd);
    if (opened == nullptr || fails()) return -1;
    const ssize_t n = put(*opened->file, opened->position, buffer, bytes);
    opened->position += static_cast<std::size_t>(n);
    return n;
}

ssize_t pwrite(int fd, const void* buffer, std::size_t bytes, off_t offset) {
    Opened* const opened = find(fd);
    if (opened == nullptr || fails()) return -1;
    if (opened->file->is_pipe) return failed(ESPIPE);
    return put(*opened->file, static_cast<std::size_t>(offset), buffer, bytes);
}

off_t lseek(int fd, off_t offset, int whence) {
    Opened* const opened = find(fd);
    if (opened == nullptr || fails()) return -1;
    if (opened->file->is_pipe) return failed(ESPIPE);
    if (whence == SEEK_SET) opened->position = static_cast<std::size_t>(offset);
    if (whence == SEEK_END) opened->position = opened->file->bytes.size() + static_cast<std::size_t>(offset);
    return static_cast<off_t>(opened->position);
}

int poll(pollfd* fds, nfds_t count, int) {
    if (fails()) return -1;
    for (nfds_t i = 0; i < count; ++i) fds[i].revents = fds[i].events;
    return static_cast<int>(count);
}

int stat(const char* path, struct stat* status) {
    if (fails()) return -1;
    const auto it = state().files.find(path);
    return it == state().files.end() ? failed(ENOENT) : describe(*it->second, status);
}

int lstat(const char* path, struct stat* status) {
    return os::stat(path, status);
}

int stat_in(int directory, const char* name, struct stat* status) {
    return find(directory) == nullptr ? -1 : os::stat(in_root(name).c_str(), status);
}

int fstat(int fd, struct stat* status) {
    const Opened* const opened = find(fd);
    return opened == nullptr || fails() ? -1 : describe(*opened->file, status);
}

int status_flags(int fd) {
    return find(fd) == nullptr || fails() ? -1 : O_RDWR;
}

int fchmod(int fd, mode_t) {
    return find(fd) == nullptr || fails() ? -1 : 0;
}

int futimens(int fd, const timespec*) {
    return find(fd) == nullptr || fails() ? -1 : 0;
}

int fchown(int fd, uid_t, gid_t) {
    return find(fd) == nullptr || fails() ? -1 : 0;
}

ssize_t getxattr(const char*, const char*, void*, std::size_t) {
    return fails() ? -1 : failed(EOPNOTSUPP);
}

int fsetxattr(int, const char*, const void*, std::size_t) {
    return fails() ? -1 : failed(EOPNOTSUPP);
}

int fremovexattr(int, const char*) {
    return fails() ? -1 : failed(EOPNOTSUPP);
}

int fstatfs(int, struct statfs*) {
    return failed(ENOSYS);
}

int copy_to_pages(int, const void*, std::size_t, off_t) {
    return failed(ENOSYS);
}

int begin_writing(int fd, off_t, off_t) {
    return find(fd) == nullptr || fails() ? -1 : 0;
}

int fsync(int fd) {
    return find(fd) == nullptr || fails() ? -1 : 0;
}

int rename(int directory, const char* from, const char* to, unsigned flags) {
    if (find(directory) == nullptr || fails()) return -1;
    auto& all = state().files;
    if ((flags & RENAME_NOREPLACE) != 0 && all.contains(in_root(to))) return failed(EEXIST);
    auto node = all.extract(in_root(from));
    if (node.empty()) return failed(ENOENT);
    all[in_root(to)] = node.mapped();
    return 0;
}

int link(int directory, const char* from, const char* to) {
    if (find(directory) == nullptr || fails()) return -1;
    auto& all = state().files;
    if (all.contains(in_root(to))) return failed(EEXIST);
    const auto it = all.find(in_root(from));
    if (it == all.end()) return failed(ENOENT);
    all[in_root(to)] = it->second;
    return 0;
}

int unlink(int directory, const char* name) {
    if (find(directory) == nullptr || fails()) return -1;
    return state().files.erase(in_root(name)) == 1 ? 0 : failed(ENOENT);
}

}  // namespace warpaes::os
