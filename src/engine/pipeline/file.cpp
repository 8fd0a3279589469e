#include "engine/pipeline/file.hpp"

#include <fcntl.h>
#include <linux/limits.h>
#include <linux/magic.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "base/error.hpp"

namespace warpaes {

namespace {

constexpr std::uint64_t page_bytes = 4096;

/// pwrite() to a file in memory (tmpfs) runs in one thread at a time, and spends most of its time on allocating pages.
/// Page faults in a mapping allocate pages in parallel. GB/s for new files with 2 / 4 / 16 threads of a Xeon, Linux
/// 6.18: pwrite() 3.6 / 3.4 / 3.1; through a mapping, pieces of 4 MiB 2.9 / 5.0 / 4.4, pieces of 1 MiB 3.4 / 3.2 / 3.2.
/// Threads that wait in the kernel slow down the writing thread, so writers of short pieces wait in this class and not
/// in the kernel.
constexpr std::uint64_t page_piece_bytes = std::uint64_t{4} << 20;
constexpr unsigned least_page_writers = 4;

std::string explain(int error) {
    return std::system_category().message(error);
}

std::string quoted(const std::string& path) {
    return "'" + path + "'";
}

/// Resolves symbolic links, so that writing through a link replaces the file and not the link.
std::string resolved(const std::string& path) {
    char* real = ::realpath(path.c_str(), nullptr);
    std::string result = real != nullptr ? real : path;
    std::free(real);
    return result;
}

/// Whether data that is written to one file can be read from the other. (The two ends of a terminal or a socket are
/// different files.)
bool same_file(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino &&
           (S_ISREG(a.st_mode) || S_ISBLK(a.st_mode) || S_ISFIFO(a.st_mode));
}

/// Opens a file; opening a pipe waits for its other end. With a hook, the function calls the hook ten times a second
/// while it waits, and the hook may throw; without a hook, only a signal ends the wait.
int open_waiting(const std::string& path, int flags, const WaitHook& hook) {
    struct stat status {};
    const bool asks = hook && os::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
    for (;;) {
        const int fd = os::open(path.c_str(), flags | O_CLOEXEC | (asks ? O_NONBLOCK : 0));
        if (fd < 0 && errno == EINTR) throw Error(WARPAES_ERROR_CANCELLED, "interrupted while opening " + quoted(path));
        if (fd >= 0 || !asks || errno != ENXIO) return fd;
        os::poll(nullptr, 0, 100);
        hook();
    }
}

/// Waits until `fd` can be read or written. Calls `hook`, if it is set, ten times a second.
void wait_until_ready(int fd, short events, const WaitHook& hook) {
    for (;;) {
        pollfd ready{fd, events, 0};
        const int n = os::poll(&ready, 1, hook ? 100 : -1);
        if (n > 0 || (n < 0 && errno != EINTR)) return;  // ready, or an error that read() or write() will report
        if (hook) hook();
    }
}

}  // namespace

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

// ------------------------------------------------------------------------------------------------------------ source

FileSource::FileSource(const std::string& path, WaitHook hook) : name_(quoted(path)), hook_(std::move(hook)) {
    if (const auto named = descriptor_named_by(path)) {
        fd_ = Descriptor(*named, false);
    } else {
        fd_ = Descriptor(open_waiting(path, O_RDONLY, hook_));
        if (fd_.get() < 0) {
            throw Error(WARPAES_ERROR_NOT_FOUND, "input: cannot open " + name_ + ": " + explain(errno));
        }
    }
    inspect();
}

FileSource::FileSource(int fd, std::string name, WaitHook hook)
    : fd_(fd, false), name_(std::move(name)), hook_(std::move(hook)) {
    inspect();
}

FileSource FileSource::at(const FilePlace& place, WaitHook hook) {
    if (!place.path.empty()) return FileSource(place.path, std::move(hook));
    return {place.fd, place.fd == STDIN_FILENO ? "standard input" : "the input descriptor", std::move(hook)};
}

void FileSource::inspect() {
    if (os::fstat(fd_.get(), &status_) != 0) {
        throw Error(WARPAES_ERROR_NOT_FOUND, "input: cannot read " + name_ + ": " + explain(errno));
    }
    if (S_ISDIR(status_.st_mode)) {
        throw Error(WARPAES_ERROR_NOT_FOUND, "input: " + name_ + " is a directory; give a file");
    }
    if (const int flags = os::status_flags(fd_.get()); flags >= 0 && (flags & O_ACCMODE) == O_WRONLY) {
        throw Error(WARPAES_ERROR_NOT_FOUND, "input: " + name_ + " is not open for reading");
    }
    // Files in /proc and similar file systems report size 0; their length is only known after reading them.
    if (!S_ISREG(status_.st_mode) || status_.st_size == 0) return;
    const off_t position = os::lseek(fd_.get(), 0, SEEK_CUR);
    if (position < 0) return;
    sequential_ = false;
    base_ = static_cast<std::uint64_t>(position);
    const auto end = static_cast<std::uint64_t>(status_.st_size);
    size_ = end > base_ ? end - base_ : 0;
}

/// Without `all`, one successful read is enough.
std::size_t FileSource::read(std::uint64_t offset, std::span<std::uint8_t> buffer, bool all) {
    std::size_t have = 0;
    while (have < buffer.size() && (all || have == 0)) {
        if (sequential_) wait_until_ready(fd_.get(), POLLIN, hook_);
        const ssize_t n = restarting([&] {
            return sequential_ ? os::read(fd_.get(), buffer.data() + have, buffer.size() - have)
                               : os::pread(fd_.get(), buffer.data() + have, buffer.size() - have,
                                           static_cast<off_t>(base_ + offset + have));
        });
        if (n < 0 && errno == EAGAIN && sequential_) continue;  // another reader consumed the available data
        if (n < 0) throw Error(WARPAES_ERROR_READ, "input: cannot read " + name_ + ": " + explain(errno));
        if (n == 0) break;
        have += static_cast<std::size_t>(n);
    }
    return have;
}

bool FileSource::has_grown() const {
    struct stat now {};
    return !sequential_ && os::fstat(fd_.get(), &now) == 0 && static_cast<std::uint64_t>(now.st_size) > base_ + size_;
}

// -------------------------------------------------------------------------------------------------------------- sink

FileSink::FileSink(const std::string& path, bool overwrite, const struct stat* input, WaitHook hook)
    : name_(quoted(path)), overwrite_(overwrite), hook_(std::move(hook)) {
    if (const auto named = descriptor_named_by(path)) {
        fd_ = Descriptor(*named, false);
        inspect(input);
        return;
    }
    open_place(path, input);
}

FileSink::FileSink(const std::string& path, Replaces file) : name_(quoted(path)), overwrite_(true), read_(file.read) {
    open_place(path, nullptr);
}

std::unique_ptr<FileSink> FileSink::replacing(const std::string& path, const struct stat& read) {
    return std::unique_ptr<FileSink>(new FileSink(path, Replaces{read}));
}

void FileSink::open_place(const std::string& path, const struct stat* input) {
    struct stat old {};
    if (os::stat(path.c_str(), &old) == 0) {
        if (input != nullptr && same_file(old, *input)) {
            throw Error(WARPAES_ERROR_SAME_FILE,
                        "output: " + name_ + " is the input file; write to another file and rename it afterwards");
        }
        refuse_other_file(old);
        open_existing(path, old);
        if (!S_ISREG(old.st_mode)) return;
        new_.open_directory(resolved(path), name_);
        open_replaced(old, input);
    } else {
        refuse_other_file({});
        // If the path cannot be examined, it must not be replaced, because it may be the input.
        if (errno != ENOENT && errno != ENOTDIR) fail("cannot examine", errno);
        if (os::lstat(path.c_str(), &old) == 0 && S_ISLNK(old.st_mode)) {
            throw Error(
                WARPAES_ERROR_WRITE,
                "output: " + name_ +
                    " is a symbolic link to a file that does not exist; remove the link, or name the file itself");
        }
        new_.open_directory(path, name_);
    }
    create_temporary();
    sequential_ = new_.is_sequential();
}

FileSink::FileSink(int fd, std::string name, const FileSource& input, WaitHook hook)
    : fd_(fd, false), name_(std::move(name)), hook_(std::move(hook)) {
    inspect(&input.status());
}

std::unique_ptr<FileSink> FileSink::at(const FilePlace& place, bool overwrite, const FileSource& input, WaitHook hook) {
    if (!place.path.empty()) return std::make_unique<FileSink>(place.path, overwrite, input, std::move(hook));
    const char* const name = place.fd == STDOUT_FILENO ? "standard output" : "the output descriptor";
    return std::make_unique<FileSink>(place.fd, name, input, std::move(hook));
}

/// A regular file will be replaced; any other existing file is opened and written directly.
void FileSink::open_existing(const std::string& path, const struct stat& status) {
    if (S_ISDIR(status.st_mode)) {
        throw Error(WARPAES_ERROR_WRITE, "output: " + name_ + " is a directory; give a file name");
    }
    if (S_ISBLK(status.st_mode) && !overwrite_) {
        throw Error(WARPAES_ERROR_EXISTS,
                    "output: " + name_ +
                        " is a disk or another device, whose content would be lost; allow overwriting to continue");
    }
    if (S_ISREG(status.st_mode) && !overwrite_) {
        throw Error(WARPAES_ERROR_EXISTS, "output: " + name_ + " exists; choose another name or allow overwriting");
    }
    if (S_ISREG(status.st_mode)) return;
    fd_ = Descriptor(open_waiting(path, O_WRONLY, hook_));
    if (fd_.get() < 0) fail("cannot open", errno);
    if (S_ISFIFO(status.st_mode)) write_without_blocking();
}

/// Opens the file that now has this name in the directory. The path may now lead elsewhere, or another writer may have
/// replaced the file that `status` describes. A different regular file is acceptable unless it is the input. While the
/// file is open, no other file gets its inode number.
void FileSink::open_replaced(const struct stat& status, const struct stat* input) {
    old_ = Descriptor(os::open_in(new_.directory(), new_.target(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat now {};
    if (old_.get() < 0 || os::fstat(old_.get(), &now) != 0) fail("cannot examine", errno);
    refuse_other_file(now);
    if (!same_file(now, status) && (!S_ISREG(now.st_mode) || (input != nullptr && same_file(now, *input)))) {
        throw Error(WARPAES_ERROR_WRITE,
                    "output: " + name_ + " was replaced by another file during the run; run it again");
    }
    replaced_ = now;
}

/// If only the file that was read may be replaced, throws unless `status` describes that file and the file is
/// unchanged.
void FileSink::refuse_other_file(const struct stat& status) const {
    if (!read_) return;
    const bool unchanged = status.st_size == read_->st_size && status.st_mtim.tv_sec == read_->st_mtim.tv_sec &&
                           status.st_mtim.tv_nsec == read_->st_mtim.tv_nsec;
    if (same_file(status, *read_) && unchanged) return;
    throw Error(WARPAES_ERROR_READ, "input: " + name_ + " was changed while it was read; it was not replaced");
}

void FileSink::refuse_other_file_now() const {
    if (!read_) return;
    struct stat now {};
    if (os::stat_in(new_.directory(), new_.target(), &now) != 0) now = {};
    refuse_other_file(now);
}

void FileSink::inspect(const struct stat* input) {
    struct stat status {};
    if (os::fstat(fd_.get(), &status) != 0) fail("cannot write to", errno);
    if (input != nullptr && same_file(status, *input)) {
        throw Error(WARPAES_ERROR_SAME_FILE, "output: " + name_ + " is the input file; write to another file");
    }
    const int flags = os::status_flags(fd_.get());
    if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY) {
        throw Error(WARPAES_ERROR_WRITE, "output: " + name_ + " is not open for writing");
    }
    if (S_ISFIFO(status.st_mode)) write_without_blocking();
    if (!S_ISREG(status.st_mode)) return;
    const off_t position = os::lseek(fd_.get(), 0, SEEK_CUR);
    if (flags < 0 || (flags & O_APPEND) != 0 || position < 0) return;  // pwrite() would also append, and out of order
    sequential_ = false;
    base_ = static_cast<std::uint64_t>(position);
}

/// Reopens a pipe with O_NONBLOCK. Otherwise, a write to a full pipe would block until another process reads, and could
/// not be cancelled. Setting O_NONBLOCK on a shared descriptor would affect its other users.
void FileSink::write_without_blocking() {
    const int fd = os::open(path_of(fd_.get()).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) fd_ = Descriptor(fd);
}

void FileSink::create_temporary() {
    mode_ = new_.examine_directory();
    if (replaced_) mode_ = replaced_->st_mode & 0777;
    fd_ = new_.create(overwrite_);
}

void FileSink::fail(const std::string& what, int error) const {
    fail_output(what, name_, error);
}

void FileSink::require_space(std::uint64_t bytes) const {
    struct statfs status {};
    if (!new_.is_open() || os::fstatfs(fd_.get(), &status) != 0) return;
    // Compressing file systems may need less space, and some remote file systems report no size.
    constexpr long btrfs = 0x9123683e, zfs = 0x2fc12fc1;
    const auto type = static_cast<long>(status.f_type);
    if (type == btrfs || type == zfs || status.f_blocks == 0 || status.f_bsize <= 0) return;
    const std::uint64_t unit = static_cast<std::uint64_t>(status.f_frsize > 0 ? status.f_frsize : status.f_bsize);
    if (bytes / unit <= status.f_bfree) return;
    throw Error(WARPAES_ERROR_WRITE, "output: " + name_ + " needs " + std::to_string(bytes) +
                                         " bytes, and its file system has " + std::to_string(status.f_bfree * unit) +
                                         " free; free some space or choose another location");
}

std::uint64_t FileSink::prepare_for(unsigned writers) {
    if (!is_provisional() || writers < least_page_writers) return 0;
    struct statfs status {};
    paged_ = os::fstatfs(fd_.get(), &status) == 0 && status.f_type == TMPFS_MAGIC;
    return paged_ ? page_piece_bytes : 0;
}

void FileSink::write_here(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
        if (sequential_) wait_until_ready(fd_.get(), POLLOUT, hook_);
        const ssize_t n = restarting([&] {
            const NoSignals here;
            return sequential_ ? os::write(fd_.get(), bytes.data() + done, bytes.size() - done)
                               : os::pwrite(fd_.get(), bytes.data() + done, bytes.size() - done,
                                            static_cast<off_t>(base_ + offset + done));
        });
        if (n < 0 && errno == EAGAIN) continue;
        if (n < 0) fail("cannot write to", errno);
        done += static_cast<std::size_t>(n);
    }
}

/// Two pieces may share the page at which one ends and the other begins. These parts are written with pwrite(), the
/// last part first, which makes the file long enough.
void FileSink::write_pages(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
    const auto first = static_cast<std::size_t>((page_bytes - offset % page_bytes) % page_bytes);
    const std::uint64_t end = offset + bytes.size();
    const auto behind = static_cast<std::size_t>((end - 1) / page_bytes * page_bytes - offset);
    write_here(offset + behind, bytes.subspan(behind));
    const auto pages = bytes.subspan(first, behind - first);
    if (os::copy_to_pages(fd_.get(), pages.data(), pages.size(), static_cast<off_t>(offset + first)) != 0) {
        write_here(offset + first, pages);  // this call reports the reason for the failure
    }
    write_here(offset, bytes.first(first));
}

void FileSink::write(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
    if (paged_ && bytes.size() >= page_piece_bytes / 2) {
        write_pages(offset, bytes);
    } else if (paged_) {
        const std::lock_guard turn(turn_);
        write_here(offset, bytes);
    } else {
        write_here(offset, bytes);
    }
    const std::uint64_t end = offset + bytes.size();
    if (durable_ && is_provisional()) {
        // Starts writing to disk early; otherwise the disk would be idle until sync(), which also reports failures.
        // Only whole pages are started, because an adjacent chunk may still write to a shared page.
        const std::uint64_t first = (offset + page_bytes - 1) / page_bytes * page_bytes;
        const std::uint64_t behind = end / page_bytes * page_bytes;
        if (first < behind) {
            os::begin_writing(fd_.get(), static_cast<off_t>(first), static_cast<off_t>(behind - first));
        }
    }
    std::uint64_t seen = end_.load();
    while (seen < end && !end_.compare_exchange_weak(seen, end)) {
    }
}

void FileSink::commit() {
    if (!new_.is_open()) {
        // Other users of the descriptor continue after the written data.
        if (!sequential_ && os::lseek(fd_.get(), static_cast<off_t>(base_ + end_), SEEK_SET) < 0) {
            fail("cannot seek to the end of", errno);
        }
        return;
    }
    refuse_other_file_now();
    set_owner_and_permissions();
    if (durable_) sync();
    publish();
}

void FileSink::set_owner_and_permissions() {
    if (replaced_) {
        struct stat now {};
        if (os::fstat(fd_.get(), &now) != 0) fail("cannot examine", errno);
        const bool same = now.st_uid == replaced_->st_uid && now.st_gid == replaced_->st_gid;
        const bool group_kept = same || os::fchown(fd_.get(), replaced_->st_uid, replaced_->st_gid) == 0 ||
                                now.st_gid == replaced_->st_gid ||
                                os::fchown(fd_.get(), static_cast<uid_t>(-1), replaced_->st_gid) == 0;
        // If the group or the access list could not be kept, members of the old group now count as other users, and
        // other users may be in the new group. Both therefore get only the access that both had before. A lost access
        // list may have denied access to users who now count as other users; in that case, only the owner keeps access.
        const bool listed = has_access_list();
        if (!set_access_list(group_kept) || !group_kept) {
            mode_ = (mode_ & 0700) | (listed ? 0 : (mode_ >> 3 & mode_ & 07) * 011);
        }
    }
    if (kept_) mode_ = kept_->st_mode & 0777;
    set_mode_and_times();
}

/// File systems without permissions or owners refuse or ignore these changes. The finished file must not be lost for
/// this reason. The file keeps the permissions with which it was created, which are as narrow as the file system
/// allows.
void FileSink::set_mode_and_times() {
    const auto is_set = [this](int result, const char* what) {
        const bool refused =
            errno == EPERM || errno == EACCES || errno == ENOSYS || errno == EOPNOTSUPP || errno == EINVAL;
        if (result != 0 && !refused) fail(std::string("cannot set the ") + what + " of", errno);
        return result == 0;
    };
    bool set = is_set(os::fchmod(fd_.get(), mode_), "permissions");
    struct stat now {};
    set = set && os::fstat(fd_.get(), &now) == 0 && (now.st_mode & 0777) == mode_;
    if (kept_) {
        const timespec times[] = {kept_->st_atim, kept_->st_mtim};
        set = is_set(os::futimens(fd_.get(), times), "time") && set;
    }
    if (!set) notes_ |= WARPAES_NOTE_ATTRIBUTES;
}

bool FileSink::has_access_list() const {
    const ssize_t n = os::getxattr(path_of(old_.get()).c_str(), "system.posix_acl_access", nullptr, 0);
    return n > 0 || (n < 0 && errno != ENODATA && errno != EOPNOTSUPP);
}

/// Sets the access list of the new file to the list of the replaced file, or to none, instead of the list inherited
/// from the directory. Returns whether this succeeded.
bool FileSink::set_access_list(bool keep) {
    constexpr const char* name = "system.posix_acl_access";
    std::vector<char> list(keep ? XATTR_SIZE_MAX : 0);
    const ssize_t n = keep ? os::getxattr(path_of(old_.get()).c_str(), name, list.data(), list.size()) : 0;
    if (n > 0) return os::fsetxattr(fd_.get(), name, list.data(), static_cast<std::size_t>(n)) == 0;
    if (n < 0 && errno != ENODATA && errno != EOPNOTSUPP) return false;
    return os::fremovexattr(fd_.get(), name) == 0 || errno == ENODATA || errno == EOPNOTSUPP;
}

void FileSink::sync() {
    if (restarting([&] { return os::fsync(fd_.get()); }) != 0 && errno != EINVAL && errno != EROFS && errno != ENOSYS &&
        errno != EOPNOTSUPP) {
        fail("cannot complete", errno);
    }
}

void FileSink::publish() {
    // An object storage mount stores a file when it is closed, and cannot rename it before it is closed.
    if (new_.has_name() && !fd_.close()) fail("cannot complete", errno);
    const int result = new_.take_place(fd_.get(), [this] { refuse_other_file_now(); });
    if (result != 0 && errno == EEXIST) {
        throw Error(WARPAES_ERROR_EXISTS,
                    "output: " + name_ + " was created by another process during the run; nothing was overwritten");
    }
    if (result != 0) fail("cannot rename the finished file to", errno);
    if (!new_.is_hidden()) notes_ |= WARPAES_NOTE_NAME_EARLY;
    if (!durable_) return;
    const Descriptor directory(os::open_in(new_.directory(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory.get() >= 0) os::fsync(directory.get());
}

}  // namespace warpaes
