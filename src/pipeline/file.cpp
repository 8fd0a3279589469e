#include "pipeline/file.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <random>
#include <system_error>

#include "base/error.hpp"
#include "pipeline/os.hpp"

namespace warpaes {

namespace {

std::string explain(int error) {
    return std::system_category().message(error);
}

/// Repeats a call that a signal interrupted.
template <typename Call>
auto restarting(Call call) {
    decltype(call()) result;
    do {
        result = call();
    } while (result < 0 && errno == EINTR);
    return result;
}

std::string quoted(const std::string& path) {
    return "'" + path + "'";
}

std::string directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

/// Follows links to the file itself, so that writing through a link replaces the file and not the link.
std::string resolved(const std::string& path) {
    char* real = ::realpath(path.c_str(), nullptr);
    std::string result = real != nullptr ? real : path;
    std::free(real);
    return result;
}

bool same_file(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino && (S_ISREG(a.st_mode) || S_ISBLK(a.st_mode));
}

/// Opening a pipe waits for its other end; a signal is the way out.
int open_waiting(const std::string& path, int flags) {
    const int fd = os::open(path.c_str(), flags | O_CLOEXEC);
    if (fd < 0 && errno == EINTR) throw Error(WARPAES_ERROR_CANCELLED, "interrupted while opening " + quoted(path));
    return fd;
}

/// Until `fd` can be read or written, calling `hook` ten times a second.
void wait_until_ready(int fd, short events, const WaitHook& hook) {
    if (!hook) return;
    for (;;) {
        pollfd ready{fd, events, 0};
        const int n = os::poll(&ready, 1, 100);
        if (n > 0 || (n < 0 && errno != EINTR)) return;  // ready, or an error that read() or write() will report
        hook();
    }
}

std::string random_name() {
    static constexpr char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    std::random_device random;
    std::string name = ".warpaes-";
    for (int i = 0; i < 10; ++i) name += letters[random() % (sizeof letters - 1)];
    return name;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
    if (this != &other) {
        close();
        fd_ = std::exchange(other.fd_, -1);
        owned_ = std::exchange(other.owned_, false);
    }
    return *this;
}

void Descriptor::close() noexcept {
    if (owned_ && fd_ >= 0) os::close(fd_);
    fd_ = -1;
    owned_ = false;
}

std::optional<int> descriptor_named_by(const std::string& path) {
    if (path == "/dev/stdin") return STDIN_FILENO;
    if (path == "/dev/stdout") return STDOUT_FILENO;
    if (path == "/dev/stderr") return STDERR_FILENO;
    for (const std::string prefix : {"/dev/fd/", "/proc/self/fd/"}) {
        if (path.compare(0, prefix.size(), prefix) != 0) continue;
        int fd = -1;
        const char* end = path.data() + path.size();
        const auto [at, error] = std::from_chars(path.data() + prefix.size(), end, fd);
        if (error == std::errc() && at == end && fd >= 0) return fd;
    }
    return std::nullopt;
}

TemporaryName::~TemporaryName() {
    if (!path_.empty()) os::unlink(path_.c_str());
}

// ------------------------------------------------------------------------------------------------------------ source

FileSource::FileSource(const std::string& path) : name_(quoted(path)) {
    if (const auto named = descriptor_named_by(path)) {
        fd_ = Descriptor(*named, false);
    } else {
        fd_ = Descriptor(open_waiting(path, O_RDONLY), true);
        if (fd_.get() < 0) {
            throw Error(WARPAES_ERROR_NOT_FOUND, "input: cannot open " + name_ + ": " + explain(errno));
        }
    }
    inspect();
}

FileSource::FileSource(int fd, std::string name) : fd_(fd, false), name_(std::move(name)) {
    inspect();
}

void FileSource::inspect() {
    if (os::fstat(fd_.get(), &status_) != 0) {
        throw Error(WARPAES_ERROR_NOT_FOUND, "input: cannot read " + name_ + ": " + explain(errno));
    }
    if (S_ISDIR(status_.st_mode)) {
        throw Error(WARPAES_ERROR_NOT_FOUND, "input: " + name_ + " is a directory; give a file");
    }
    // The files of /proc and the like say that they are empty; only reading tells.
    if (!S_ISREG(status_.st_mode) || status_.st_size == 0) return;
    const off_t position = os::lseek(fd_.get(), 0, SEEK_CUR);
    if (position < 0) return;
    sequential_ = false;
    base_ = static_cast<std::uint64_t>(position);
    const auto end = static_cast<std::uint64_t>(status_.st_size);
    size_ = end > base_ ? end - base_ : 0;
}

std::size_t FileSource::read(std::uint64_t offset, std::span<std::uint8_t> buffer) {
    std::size_t have = 0;
    while (have < buffer.size()) {
        if (sequential_) wait_until_ready(fd_.get(), POLLIN, hook_);
        const ssize_t n = restarting([&] {
            return sequential_ ? os::read(fd_.get(), buffer.data() + have, buffer.size() - have)
                               : os::pread(fd_.get(), buffer.data() + have, buffer.size() - have,
                                           static_cast<off_t>(base_ + offset + have));
        });
        if (n < 0 && errno == EAGAIN && sequential_) continue;  // someone else has read what was ready
        if (n < 0) throw Error(WARPAES_ERROR_READ, "input: cannot read " + name_ + ": " + explain(errno));
        if (n == 0) break;
        have += static_cast<std::size_t>(n);
    }
    return have;
}

// -------------------------------------------------------------------------------------------------------------- sink

FileSink::FileSink(const std::string& path, bool overwrite, const struct stat* input)
    : name_(quoted(path)), overwrite_(overwrite) {
    if (const auto named = descriptor_named_by(path)) {
        fd_ = Descriptor(*named, false);
        inspect(input);
        return;
    }
    struct stat old {};
    const bool exists = os::stat(path.c_str(), &old) == 0;
    // Not to be known is no licence to replace it: it may be the input.
    if (!exists && errno != ENOENT && errno != ENOTDIR) fail("cannot look at", errno);
    if (exists && S_ISDIR(old.st_mode)) {
        throw Error(WARPAES_ERROR_WRITE, "output: " + name_ + " is a directory; give a file name");
    }
    if (exists && input != nullptr && same_file(old, *input)) {
        throw Error(WARPAES_ERROR_SAME_FILE,
                    "output: " + name_ + " is the input file; write to another file and rename it afterwards");
    }
    if (exists && !S_ISREG(old.st_mode)) {
        fd_ = Descriptor(open_waiting(path, O_WRONLY), true);
        if (fd_.get() < 0) fail("cannot open", errno);
        if (S_ISFIFO(old.st_mode)) write_without_blocking();
        return;
    }
    if (exists && !overwrite) {
        throw Error(WARPAES_ERROR_EXISTS, "output: " + name_ + " exists; choose another name or allow overwriting it");
    }
    target_ = exists ? resolved(path) : path;
    directory_ = directory_of(target_);
    create_temporary();
    if (exists) mode_ = old.st_mode & 07777;
    sequential_ = false;
}

FileSink::FileSink(int fd, std::string name, const FileSource& input) : fd_(fd, false), name_(std::move(name)) {
    inspect(&input.status());
}

void FileSink::inspect(const struct stat* input) {
    struct stat status {};
    if (os::fstat(fd_.get(), &status) != 0) fail("cannot write to", errno);
    if (input != nullptr && same_file(status, *input)) {
        throw Error(WARPAES_ERROR_SAME_FILE, "output: " + name_ + " is the input file; write to another file");
    }
    if (S_ISFIFO(status.st_mode)) write_without_blocking();
    if (!S_ISREG(status.st_mode)) return;
    const int flags = os::status_flags(fd_.get());
    const off_t position = os::lseek(fd_.get(), 0, SEEK_CUR);
    if (flags < 0 || (flags & O_APPEND) != 0 || position < 0) return;  // pwrite() would append too, out of order
    sequential_ = false;
    base_ = static_cast<std::uint64_t>(position);
}

/// A write to a full pipe would not come back before somebody reads, not even to be cancelled. O_NONBLOCK on a
/// descriptor that others share would surprise them, so the pipe is opened once more.
void FileSink::write_without_blocking() {
    const std::string again = "/proc/self/fd/" + std::to_string(fd_.get());
    const int fd = os::open(again.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) fd_ = Descriptor(fd, true);
}

void FileSink::create_temporary() {
    for (int attempt = 0; attempt < 100; ++attempt) {
        const std::string candidate = directory_ + "/" + random_name();
        // Created with the permissions that the umask and the directory give a new file, then closed to everyone else
        // while it is incomplete.
        const int fd = restarting(
            [&] { return os::open(candidate.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666); });
        if (fd < 0 && errno == EEXIST) continue;
        if (fd < 0) break;
        fd_ = Descriptor(fd, true);
        temporary_.set(candidate);
        struct stat status {};
        if (os::fstat(fd, &status) != 0 || os::fchmod(fd, 0600) != 0) fail("cannot create", errno);
        mode_ = status.st_mode & 07777;
        return;
    }
    fail("cannot create a file in " + quoted(directory_) + " for", errno);
}

void FileSink::fail(const std::string& what, int error) const {
    std::string sentence = "output: " + what + " " + name_ + ": " + explain(error);
    if (error == ENOSPC || error == EDQUOT) sentence += "; free some space or write to another place";
    if (error == EPIPE) sentence += "; its reader went away";
    if (error == EFBIG) sentence += "; a limit on file sizes was reached";
    throw Error(WARPAES_ERROR_WRITE, sentence);
}

void FileSink::write(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
        if (sequential_) wait_until_ready(fd_.get(), POLLOUT, hook_);
        const ssize_t n = restarting([&] {
            return sequential_ ? os::write(fd_.get(), bytes.data() + done, bytes.size() - done)
                               : os::pwrite(fd_.get(), bytes.data() + done, bytes.size() - done,
                                            static_cast<off_t>(base_ + offset + done));
        });
        if (n < 0 && errno == EAGAIN) continue;
        if (n < 0) fail("cannot write to", errno);
        done += static_cast<std::size_t>(n);
    }
    const std::uint64_t end = offset + bytes.size();
    std::uint64_t seen = end_.load();
    while (seen < end && !end_.compare_exchange_weak(seen, end)) {
    }
}

void FileSink::commit() {
    if (target_.empty()) {
        // Whoever shares the descriptor goes on behind what was written.
        if (!sequential_ && os::lseek(fd_.get(), static_cast<off_t>(base_ + end_), SEEK_SET) < 0) {
            fail("cannot go to the end of", errno);
        }
        return;
    }
    if (os::fchmod(fd_.get(), mode_) != 0) fail("cannot set the permissions of", errno);
    sync();
    rename_into_place();
}

void FileSink::sync() {
    if (restarting([&] { return os::fsync(fd_.get()); }) != 0 && errno != EINVAL && errno != EROFS) {
        fail("cannot complete", errno);
    }
}

void FileSink::rename_into_place() {
    const unsigned flags = overwrite_ ? 0u : static_cast<unsigned>(RENAME_NOREPLACE);
    int result = os::rename(temporary_.path(), target_.c_str(), flags);
    if (result != 0 && !overwrite_ && (errno == EINVAL || errno == ENOSYS)) {
        // A file system without RENAME_NOREPLACE: link() does not replace either.
        result = os::link(temporary_.path(), target_.c_str());
        if (result == 0) os::unlink(temporary_.path());
    }
    if (result != 0 && errno == EEXIST) {
        throw Error(WARPAES_ERROR_EXISTS,
                    "output: " + name_ + " was created by someone else meanwhile; nothing was overwritten");
    }
    if (result != 0) fail("cannot rename the finished file to", errno);
    temporary_.keep();
    const Descriptor directory(os::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), true);
    if (directory.get() >= 0) os::fsync(directory.get());
}

}  // namespace warpaes
