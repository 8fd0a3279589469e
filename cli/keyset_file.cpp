#include "keyset_file.hpp"

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "interrupt.hpp"
#include "output_notes.hpp"

namespace cli {

namespace {

[[noreturn]] void fail(warpaes_status status, const char* what, const std::string& path) {
    throw Failure(status, fmt::format("cannot {} '{}': {}", what, path, std::strerror(errno)));
}

/// Errors that fsync() returns on file systems that do not support it.
bool is_unsupported(int error) {
    return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EROFS;
}

bool is_same(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/// A new file next to `path`, which is removed unless it replaces `path`. The folder is opened only once. Another user
/// who changes the path can therefore neither redirect keys nor cause a different file to be replaced.
class Draft {
public:
    /// `owner`: attributes of the file that the draft replaces, whose owner the new file keeps.
    Draft(const std::string& path, std::string_view content, const struct stat* owner = nullptr)
        : path_(path), content_(content), leaf_(std::filesystem::path(path).filename()) {
        const auto folder = std::filesystem::path(path).parent_path();
        folder_ = Descriptor(folder.empty() ? "." : folder.c_str(), O_PATH | O_DIRECTORY);
        if (folder_.get() < 0) fail(WARPAES_ERROR_WRITE, "open the folder of", path);
        Descriptor file(create());
        if (file.get() < 0) fail(WARPAES_ERROR_WRITE, "create a temporary file in the folder of", path);
        if (owner != nullptr && !give_to(*owner, file.get())) give_up("keep the owner of", path);
        // An object storage mount stores a file when it is closed, and cannot rename it earlier.
        if (!write(file.get()) || !file.close()) give_up("write", path);
    }
    Draft(const Draft&) = delete;
    Draft& operator=(const Draft&) = delete;
    ~Draft() { remove(); }

    /// Replaces only the file that has the attributes `old`.
    void replace(const struct stat& old) {
        refuse_if_interrupted();
        struct stat now {};
        if (::fstatat(folder_.get(), leaf_.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0 || !is_same(now, old)) {
            throw Failure(WARPAES_ERROR_READ, fmt::format("another process replaced '{}'; it was not changed", path_));
        }
        if (rename(0) != 0) fail(WARPAES_ERROR_WRITE, "replace", path_);
        settle();
    }
    void appear() {
        refuse_if_interrupted();
        int result = rename(RENAME_NOREPLACE);
        if (result != 0 && errno != EEXIST) result = link();
        if (result != 0 && errno != EEXIST) result = claim();
        if (result != 0 && errno == EEXIST) {
            throw Failure(WARPAES_ERROR_EXISTS,
                          fmt::format("'{}' exists, and keys are never overwritten; choose another name", path_));
        }
        if (result != 0) fail(WARPAES_ERROR_WRITE, "create", path_);
        settle();
    }

private:
    [[noreturn]] void give_up(const char* what, const std::string& path) {
        const int error = errno;
        remove();
        errno = error;
        fail(WARPAES_ERROR_WRITE, what, path);
    }
    /// Gives the new file the owner of the old file. Only the owner can read the new file. A file system without owners
    /// refuses the change, but both files then belong to the same user. The group may differ, because it has no
    /// permission to read the file.
    static bool give_to(const struct stat& owner, int fd) {
        if (::fchown(fd, owner.st_uid, owner.st_gid) == 0) return true;
        const int error = errno;
        struct stat now {};
        if (::fstat(fd, &now) == 0 && now.st_uid == owner.st_uid) return true;
        errno = error;
        return false;
    }
    /// Deriving a key from a passphrase takes a second, and the user may interrupt the command during that time.
    static void refuse_if_interrupted() {
        if (caught_signal() != 0) throw Failure(WARPAES_ERROR_CANCELLED, "interrupted; nothing was changed");
    }
    /// Creates a file with a random name and mode 0600. Returns its descriptor, or a negative number and sets errno.
    int create() {
        for (int attempt = 0; attempt < 100; ++attempt) {
            std::uint64_t number = 0;
            if (::getrandom(&number, sizeof number, 0) != sizeof number) return -1;
            name_ = fmt::format(".warpaes-{:016x}", number);
            const int fd =
                ::openat(folder_.get(), name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
            if (fd >= 0 || errno != EEXIST) return fd;
        }
        return -1;
    }
    /// Used if RENAME_NOREPLACE is not supported: link() does not replace existing files either.
    int link() {
        const int result = ::linkat(folder_.get(), name_.c_str(), folder_.get(), leaf_.c_str(), 0);
        if (result == 0) ::unlinkat(folder_.get(), name_.c_str(), 0);
        return result;
    }
    /// Used if links are not supported: the draft replaces a placeholder file that claims the name. If rename() is not
    /// supported either, the content is written to the placeholder.
    int claim() {
        struct stat made {
        }, now{};
        if (warpaes::claim_name(folder_.get(), leaf_.c_str(), &made) != 0) return -1;
        if (rename(0) == 0) return 0;
        Descriptor file(::openat(folder_.get(), leaf_.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
        const bool is_made = file.get() >= 0 && ::fstat(file.get(), &now) == 0 && is_same(now, made) &&
                             now.st_size == 1 && now.st_uid == made.st_uid;
        if (file.get() >= 0 && !is_made) {
            errno = EEXIST;  // another process created a file there
            return -1;
        }
        if (file.get() < 0 || !write(file.get()) || !file.close()) {
            return warpaes::give_back_name(folder_.get(), leaf_.c_str());
        }
        remove();
        return 0;
    }
    /// Writes the content and waits until it is on disk. Returns false and sets errno on failure.
    [[nodiscard]] bool write(int fd) const {
        for (std::string_view left = content_; !left.empty();) {
            const ssize_t n = ::write(fd, left.data(), left.size());
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return false;
            left.remove_prefix(static_cast<std::size_t>(n));
        }
        return ::fsync(fd) == 0 || is_unsupported(errno);
    }
    int rename(unsigned flags) {
        return ::renameat2(folder_.get(), name_.c_str(), folder_.get(), leaf_.c_str(), flags);
    }
    void remove() {
        if (!name_.empty()) ::unlinkat(folder_.get(), name_.c_str(), 0);
        name_.clear();
    }
    void settle() {
        name_.clear();
        const Descriptor directory(::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (directory.get() >= 0) ::fsync(directory.get());
    }

    std::string path_;
    std::string_view content_;  ///< outlives the object
    std::string leaf_;
    Descriptor folder_;
    std::string name_;
};

std::string resolved(const std::string& path) {
    std::error_code error;
    const auto real = std::filesystem::canonical(path, error);
    if (error) {
        refuse_passphrase("KEYSET", path);
        throw Failure(WARPAES_ERROR_NOT_FOUND, fmt::format("cannot open '{}': {}", path, error.message()));
    }
    return real.string();
}

/// Opens and locks the file. Tries again if another process has replaced the file before it was locked.
Descriptor open_locked(const std::string& path) {
    for (;;) {
        Descriptor file(path.c_str(), O_RDONLY);
        if (file.get() < 0) fail(WARPAES_ERROR_NOT_FOUND, "open", path);
        if (::flock(file.get(), LOCK_EX) != 0 && errno == EINTR) {
            throw Failure(WARPAES_ERROR_CANCELLED, fmt::format("interrupted while waiting for '{}'", path));
        }
        struct stat locked {
        }, named{};
        if (::fstat(file.get(), &locked) != 0 || ::stat(path.c_str(), &named) != 0) {
            fail(WARPAES_ERROR_NOT_FOUND, "open", path);
        }
        if (is_same(locked, named)) return file;
    }
}

}  // namespace

void refuse_existing_key_file(const std::string& path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) == 0) {
        throw Failure(WARPAES_ERROR_EXISTS, fmt::format("'{}' exists, and keys are never overwritten; choose another "
                                                        "name, or add a key to it with `warpaes keys add`",
                                                        path));
    }
}

void create_key_file(const std::string& path, std::string_view content) {
    refuse_existing_key_file(path);
    Draft(path, content).appear();
    warn_if_open_to_others(path);
}

KeysetFile::KeysetFile(const KeysetPlace& place, const KeyOptions& options)
    : path_(resolved(place.path().value_or(""))),
      file_(open_locked(path_)),
      keys_(load_keyset_file(place, file_.get(), options)) {
    refuse_unused_locks(options);
}

void KeysetFile::save() {
    // A cost below the minimum for new keysets is raised to the minimum.
    constexpr warpaes_scrypt least = WARPAES_SCRYPT_INIT;
    if (keys_.lock && keys_.lock->has_passphrase() && keys_.lock->cost.n * keys_.lock->cost.r < least.n * least.r)
        keys_.lock->cost = least;
    const SecretText text = keyset_text(keyset(), keys_.lock);
    struct stat old {};
    if (::fstat(file_.get(), &old) != 0) fail(WARPAES_ERROR_WRITE, "replace", path_);
    Draft(path_, text.view(), &old).replace(old);
}

}  // namespace cli
