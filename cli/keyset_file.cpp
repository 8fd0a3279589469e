#include "keyset_file.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "interrupt.hpp"

namespace cli {

namespace {

[[noreturn]] void fail(warpaes_status status, const char* what, const std::string& path) {
    throw Failure(status, fmt::format("cannot {} '{}': {}", what, path, std::strerror(errno)));
}

/// A complete file beside `path`, which is removed unless it replaces `path`.
class Draft {
public:
    /// `owner`: attributes of the file that it replaces. Changing another user's keyset does not change its owner.
    Draft(const std::string& path, std::string_view content, const struct stat* owner = nullptr) : path_(path) {
        const auto folder = std::filesystem::path(path).parent_path();
        name_ = (folder.empty() ? "." : folder.string()) + "/.warpaes-XXXXXX";
        const int fd = ::mkostemp(name_.data(), O_CLOEXEC);  // mode 0600
        if (fd < 0) fail(WARPAES_ERROR_WRITE, "create a file beside", path);
        while (!content.empty()) {
            const ssize_t n = ::write(fd, content.data(), content.size());
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) break;
            content.remove_prefix(static_cast<std::size_t>(n));
        }
        const bool owned = owner == nullptr || ::fchown(fd, owner->st_uid, owner->st_gid) == 0 || errno == EPERM;
        const bool complete = content.empty() && owned && ::fsync(fd) == 0;
        ::close(fd);
        if (!complete) {
            ::unlink(name_.c_str());
            fail(WARPAES_ERROR_WRITE, "write", path);
        }
    }
    Draft(const Draft&) = delete;
    Draft& operator=(const Draft&) = delete;
    ~Draft() {
        if (!name_.empty()) ::unlink(name_.c_str());
    }

    void replace() {
        refuse_if_interrupted();
        if (::rename(name_.c_str(), path_.c_str()) != 0) fail(WARPAES_ERROR_WRITE, "replace", path_);
        settle();
    }
    void appear() {
        refuse_if_interrupted();
        int result = ::renameat2(AT_FDCWD, name_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE);
        if (result != 0 && (errno == EINVAL || errno == ENOSYS)) {  // unsupported here; link() does not replace either
            result = ::link(name_.c_str(), path_.c_str());
            if (result == 0) ::unlink(name_.c_str());
        }
        if (result != 0 && errno == EEXIST) {
            throw Failure(WARPAES_ERROR_EXISTS, fmt::format("'{}' exists, and keys are never overwritten", path_));
        }
        if (result != 0) fail(WARPAES_ERROR_WRITE, "create", path_);
        settle();
    }

private:
    /// Deriving a key from a passphrase takes a second, in which the user may interrupt.
    static void refuse_if_interrupted() {
        if (caught_signal() != 0) throw Failure(WARPAES_ERROR_CANCELLED, "interrupted; nothing was changed");
    }
    void settle() {
        const auto folder = std::filesystem::path(name_).parent_path();
        name_.clear();
        const Descriptor directory(folder.c_str(), O_RDONLY | O_DIRECTORY);
        if (directory.get() >= 0) ::fsync(directory.get());
    }

    std::string path_;
    std::string name_;
};

std::string resolved(const std::string& path) {
    std::error_code error;
    const auto real = std::filesystem::canonical(path, error);
    if (error) {
        throw Failure(WARPAES_ERROR_NOT_FOUND, fmt::format("cannot open '{}': {}", path, error.message()));
    }
    return real.string();
}

/// Opens and locks the file; tries again if another process has replaced it meanwhile.
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
        if (locked.st_ino == named.st_ino && locked.st_dev == named.st_dev) return file;
    }
}

}  // namespace

void refuse_existing_key_file(const std::string& path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) == 0) {
        throw Failure(
            WARPAES_ERROR_EXISTS,
            fmt::format("'{}' exists, and keys are never overwritten: choose another name, or put a new key in "
                        "it with `warpaes keys add`",
                        path));
    }
}

void create_key_file(const std::string& path, std::string_view content) {
    refuse_existing_key_file(path);
    Draft(path, content).appear();
}

KeysetFile::KeysetFile(const std::string& place, const KeyOptions& options)
    : path_(resolved(unmarked(place.c_str()))),
      file_(open_locked(path_)),
      keys_(load_keyset_file(place, file_.get(), options)) {
    refuse_unused_locks(options);
}

void KeysetFile::save() {
    // Raises a cost that is too low for new keysets.
    constexpr warpaes_scrypt least = WARPAES_SCRYPT_INIT;
    if (keys_.lock && keys_.lock->has_passphrase() && keys_.lock->cost.n * keys_.lock->cost.r < least.n * least.r)
        keys_.lock->cost = least;
    const SecretText text = keyset_text(keyset(), keys_.lock);
    struct stat old {};
    if (::fstat(file_.get(), &old) != 0) fail(WARPAES_ERROR_WRITE, "replace", path_);
    Draft(path_, text.view(), &old).replace();
}

}  // namespace cli
