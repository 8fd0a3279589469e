#include "faulty_os.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/os.hpp"

namespace faults {

namespace {

struct State {
    std::mutex mutex;
    std::map<std::string, unsigned> counts;
    std::vector<Injection> injections;
    bool happened = false;
    std::set<int> open_to_others;
    bool exposed = false;
    std::set<std::string> earlier_names;
};

constexpr std::array effect_names{"fail", "one_byte", "half", "end", "slow", "raise"};

Injection from_text(const char* text) {
    std::array<char, 32> call{};
    std::array<char, 32> name{};
    Injection injection;
    if (std::sscanf(text, "%31[^:]:%u:%31[^:]:%d", call.data(), &injection.nth, name.data(), &injection.error) < 3) {
        throw std::runtime_error("WARPAES_FAULT: not call:nth:effect:error");
    }
    injection.call = call.data();
    const auto* found = std::find(effect_names.begin(), effect_names.end(), std::string(name.data()));
    if (found == effect_names.end()) throw std::runtime_error("WARPAES_FAULT: no such effect");
    injection.effect = static_cast<Effect>(found - effect_names.begin());
    return injection;
}

State& state() {
    static State& instance = *[] {
        auto* made = new State;
        if (const char* text = std::getenv("WARPAES_FAULT")) made->injections.push_back(from_text(text));
        return made;
    }();
    return instance;
}

/// Counts a call and returns the fault to inject.
std::optional<Injection> next(const char* call) {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    const unsigned of_call = ++s.counts[call];
    const unsigned of_all = ++s.counts["*"];
    for (const Injection& injection : s.injections) {
        const bool any = injection.call == "*";
        if (!any && injection.call != call) continue;
        const unsigned n = any ? of_all : of_call;
        if (n < injection.nth || n - injection.nth >= injection.times) continue;
        s.happened = true;
        return injection;
    }
    return std::nullopt;
}

/// `run(bytes)` makes the real call, and `bytes` is the requested length.
template <typename Run>
auto call(const char* name, std::size_t bytes, Run run) -> decltype(run(bytes)) {
    const auto injection = next(name);
    if (!injection) return run(bytes);
    switch (injection->effect) {
    case Effect::fail:
        errno = injection->error;
        return -1;
    case Effect::one_byte:
        return run(std::min<std::size_t>(bytes, 1));
    case Effect::half:
        return run((bytes + 1) / 2);
    case Effect::end:
        return 0;
    case Effect::slow:
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
        break;
    case Effect::raise:
        ::kill(::getpid(), injection->error);
        break;
    }
    return run(bytes);
}

template <typename Run>
auto call(const char* name, Run run) {
    return call(name, 0, [&](std::size_t) { return run(); });
}

}  // namespace

void reset() {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    s.counts.clear();
    s.injections.clear();
    s.happened = false;
    s.exposed = false;
    s.earlier_names.clear();
}

void inject(const Injection& injection) {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    Injection from_now = injection;
    from_now.nth += s.counts[injection.call];
    s.injections.push_back(from_now);
}

std::map<std::string, unsigned> counts() {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    return s.counts;
}

bool happened() {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    return s.happened;
}

bool exposed() {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    return s.exposed;
}

std::set<std::string> earlier_names() {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    return s.earlier_names;
}

namespace {

void note_opened(int fd, int flags, mode_t mode) {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    if (fd >= 0 && (flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) != 0 && (mode & 077) != 0) {
        s.open_to_others.insert(fd);
    }
}

void note_closed(int fd) {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    s.open_to_others.erase(fd);
}

void note_renamed(const std::string& from) {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    s.earlier_names.insert(from.substr(from.rfind('/') + 1));
}

void note_written(int fd) {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    s.exposed = s.exposed || s.open_to_others.contains(fd);
}

}  // namespace

}  // namespace faults

namespace warpaes::os {

using faults::call;

int open(const char* path, int flags, mode_t mode) {
    return call("open", [&] {
        const int fd = ::open(path, flags, mode);
        faults::note_opened(fd, flags, mode);
        return fd;
    });
}
int open_in(int directory, const char* name, int flags, mode_t mode) {
    return call("open", [&] {
        const int fd = ::openat(directory, name, flags, mode);
        faults::note_opened(fd, flags, mode);
        return fd;
    });
}
/// A descriptor is closed whatever close() returns.
int close(int fd) {
    faults::note_closed(fd);
    const int result = ::close(fd);
    return call("close", [&] { return result; });
}
ssize_t read(int fd, void* buffer, std::size_t bytes) {
    return call("read", bytes, [&](std::size_t n) { return ::read(fd, buffer, n); });
}
ssize_t pread(int fd, void* buffer, std::size_t bytes, off_t offset) {
    return call("pread", bytes, [&](std::size_t n) { return ::pread(fd, buffer, n, offset); });
}
ssize_t write(int fd, const void* buffer, std::size_t bytes) {
    faults::note_written(fd);
    return call("write", bytes, [&](std::size_t n) { return ::write(fd, buffer, n); });
}
ssize_t pwrite(int fd, const void* buffer, std::size_t bytes, off_t offset) {
    faults::note_written(fd);
    return call("pwrite", bytes, [&](std::size_t n) { return ::pwrite(fd, buffer, n, offset); });
}
int copy_to_pages(int fd, const void* buffer, std::size_t bytes, off_t offset) {
    faults::note_written(fd);
    return call("copy_to_pages", [&] {
        void* const pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
        if (pages == MAP_FAILED) return -1;
        std::memcpy(pages, buffer, bytes);
        return ::munmap(pages, bytes);
    });
}
off_t lseek(int fd, off_t offset, int whence) {
    return call("lseek", [&] { return ::lseek(fd, offset, whence); });
}
int poll(pollfd* fds, nfds_t count, int milliseconds) {
    return call("poll", [&] { return ::poll(fds, count, milliseconds); });
}
int stat(const char* path, struct stat* status) {
    return call("stat", [&] { return ::stat(path, status); });
}
int lstat(const char* path, struct stat* status) {
    return call("lstat", [&] { return ::lstat(path, status); });
}
int stat_in(int directory, const char* name, struct stat* status) {
    return call("lstat", [&] { return ::fstatat(directory, name, status, AT_SYMLINK_NOFOLLOW); });
}
int fstat(int fd, struct stat* status) {
    return call("fstat", [&] { return ::fstat(fd, status); });
}
int fstatfs(int fd, struct statfs* status) {
    return call("fstatfs", [&] { return ::fstatfs(fd, status); });
}
int status_flags(int fd) {
    return call("status_flags", [&] { return ::fcntl(fd, F_GETFL); });
}
int fchmod(int fd, mode_t mode) {
    return call("fchmod", [&] { return ::fchmod(fd, mode); });
}
int futimens(int fd, const timespec* times) {
    return call("futimens", [&] { return ::futimens(fd, times); });
}
int fchown(int fd, uid_t owner, gid_t group) {
    return call("fchown", [&] { return ::fchown(fd, owner, group); });
}
ssize_t getxattr(const char* path, const char* name, void* value, std::size_t bytes) {
    return call("getxattr", [&] { return ::getxattr(path, name, value, bytes); });
}
int fsetxattr(int fd, const char* name, const void* value, std::size_t bytes) {
    return call("fsetxattr", [&] { return ::fsetxattr(fd, name, value, bytes, 0); });
}
int fremovexattr(int fd, const char* name) {
    return call("fremovexattr", [&] { return ::fremovexattr(fd, name); });
}
int begin_writing(int fd, off_t offset, off_t bytes) {
    return call("begin_writing", [&] { return ::sync_file_range(fd, offset, bytes, SYNC_FILE_RANGE_WRITE); });
}
int fsync(int fd) {
    return call("fsync", [&] { return ::fsync(fd); });
}
int rename(int directory, const char* from, const char* to, unsigned flags) {
    faults::note_renamed(from);
    return call("rename", [&] { return ::renameat2(directory, from, directory, to, flags); });
}
int link(int directory, const char* from, const char* to) {
    return call("link", [&] { return ::linkat(directory, from, directory, to, AT_SYMLINK_FOLLOW); });
}
int unlink(int directory, const char* name) {
    return call("unlink", [&] { return ::unlinkat(directory, name, 0); });
}

}  // namespace warpaes::os
