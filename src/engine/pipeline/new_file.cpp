#include "engine/pipeline/new_file.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <random>
#include <system_error>

#include "base/error.hpp"

namespace warpaes {

namespace {

std::string directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

std::string random_name() {
    static constexpr char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    std::random_device random;
    std::string name = ".warpaes-";
    for (int i = 0; i < 10; ++i) name += letters[random() % (sizeof letters - 1)];
    return name;
}

/// Whether the file system accepts only writes in order, like an object storage mount without a cache.
bool must_be_written_in_order(int probe) {
    constexpr off_t later = 4096;
    const ssize_t n = restarting([&] { return os::pwrite(probe, "", 1, later); });
    return n < 0 && (errno == ESPIPE || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS);
}

}  // namespace

void TemporaryName::remove() noexcept {
    if (!name_.empty() && home_.is_here()) os::unlink(directory_.get(), name_.c_str());
    name_.clear();
}

void fail_output(const std::string& what, const std::string& name, int error) {
    std::string sentence = "output: " + what + " " + name + ": " + std::system_category().message(error);
    if (error == ENOSPC || error == EDQUOT) sentence += "; free some space or choose another location";
    if (error == EPIPE) sentence += "; its reader closed it";
    if (error == ENAMETOOLONG) sentence += "; choose a shorter name";
    if (error == EFBIG) sentence += "; the maximum file size was reached";
    throw Error(WARPAES_ERROR_WRITE, sentence);
}

void NewFile::fail(int error) const {
    fail_output("cannot create a file in " + directory_name_ + " for", name_, error);
}

void NewFile::open_directory(const std::string& path, const std::string& name) {
    name_ = name;
    directory_name_ = std::string("'").append(directory_of(path)).append("'");
    directory_ = Descriptor(os::open(directory_of(path).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (directory_.get() < 0) fail(errno);
    target_ = path.substr(path.rfind('/') + 1);
}

/// Calls `take(name)` with random names until a name is free in the directory. If a name is not free, `take` returns -1
/// with EEXIST.
template <typename Take>
void NewFile::take_name(TemporaryName& name, const Take& take) const {
    for (int attempt = 0; attempt < 100; ++attempt) {
        const std::string candidate = random_name();
        if (restarting([&] { return take(candidate.c_str()); }) >= 0) return name.set(candidate);
        if (errno != EEXIST) break;
    }
    fail(errno);
}

Descriptor NewFile::create_unnamed(mode_t mode) const {
    struct stat status {};
    Descriptor file(
        restarting([&] { return os::open_in(directory_.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode); }));
    // Without /proc, the file could not be linked later.
    if (file.get() >= 0 && os::stat(path_of(file.get()).c_str(), &status) != 0) file.close();
    return file;
}

Descriptor NewFile::create_named(mode_t mode, TemporaryName& name) const {
    int fd = -1;
    take_name(name, [&](const char* free) {
        return fd = os::open_in(directory_.get(), free, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    });
    return Descriptor(fd);
}

mode_t NewFile::examine_directory() {
    TemporaryName name(directory_);
    constexpr mode_t everybody = 0666;
    Descriptor probe = create_unnamed(everybody);
    unnamed_ = probe.get() >= 0 && can_be_linked(probe.get());
    if (!unnamed_) probe = create_named(everybody, name);
    struct stat status {};
    if (os::fstat(probe.get(), &status) != 0) fail_output("cannot create", name_, errno);
    return status.st_mode & 0777;
}

/// Whether link() can name an unnamed file, which works once per file. Some file systems support unnamed files but not
/// links, and system-call filters may refuse link(). The link is removed immediately.
bool NewFile::can_be_linked(int unnamed) const {
    TemporaryName name(directory_);
    const std::string from = path_of(unnamed), to = random_name();
    if (restarting([&] { return os::link(directory_.get(), from.c_str(), to.c_str()); }) != 0) return false;
    name.set(to);
    return true;
}

/// Tries the methods on a separate file, so that none of them fails after the output has been written. The output
/// itself is not renamed before the end, because object storage mounts do not handle renaming of open files well.
void NewFile::examine_named_files() {
    TemporaryName name(directory_);
    {
        const Descriptor probe = create_named(0600, name);
        sequential_ = must_be_written_in_order(probe.get());
    }
    const std::string other = random_name();
    const auto moves = [&](unsigned flags) {
        if (restarting([&] { return os::rename(directory_.get(), name.get(), other.c_str(), flags); }) != 0)
            return false;
        name.set(other);
        return true;
    };
    const auto links = [&] {
        if (restarting([&] { return os::link(directory_.get(), name.get(), other.c_str()); }) != 0) return false;
        name.remove();
        name.set(other);
        return true;
    };
    if (!replaces_ && moves(RENAME_NOREPLACE)) {
        method_ = Method::exclusive;
    } else if (!replaces_ && links()) {
        method_ = Method::link;
    } else if (moves(0)) {
        method_ = replaces_ ? Method::rename : Method::placeholder;
    } else if (!replaces_) {
        method_ = Method::in_place;
    } else {
        throw Error(WARPAES_ERROR_WRITE, "output: cannot replace " + name_ + ": its file system cannot rename files (" +
                                             std::system_category().message(errno) +
                                             "); choose an unused name or another location");
    }
}

Descriptor NewFile::create_in_place() {
    const int fd = restarting([&] {
        return os::open_in(directory_.get(), target_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    });
    if (fd < 0) fail(errno);
    temporary_.set(target_);
    return Descriptor(fd);
}

Descriptor NewFile::create(bool replaces) {
    constexpr mode_t for_owner = 0600;
    replaces_ = replaces;
    if (unnamed_) {
        if (Descriptor file = create_unnamed(for_owner); file.get() >= 0) return file;
    }
    examine_named_files();
    return method_ == Method::in_place ? create_in_place() : create_named(for_owner, temporary_);
}

int NewFile::replace(int fd, const std::function<void()>& check) {
    if (temporary_.empty()) {  // only a file with a name can replace another file
        const std::string from = path_of(fd);
        take_name(temporary_, [&](const char* name) { return os::link(directory_.get(), from.c_str(), name); });
    }
    check();
    return os::rename(directory_.get(), temporary_.get(), target_.c_str(), 0);
}

/// Does not replace any other file, unless another process replaces the claimed file in between.
int NewFile::claim_and_rename() {
    const int folder = directory_.get();
    if (claim_name(folder, target_.c_str()) != 0) return -1;
    if (os::rename(folder, temporary_.get(), target_.c_str(), 0) == 0) return 0;
    return give_back_name(folder, target_.c_str());
}

int NewFile::take_place(int fd, const std::function<void()>& check) {
    int result = 0;
    switch (method_) {
    case Method::unnamed:
        result = replaces_ ? replace(fd, check) : os::link(directory_.get(), path_of(fd).c_str(), target_.c_str());
        break;
    case Method::exclusive:
        result = os::rename(directory_.get(), temporary_.get(), target_.c_str(), RENAME_NOREPLACE);
        break;
    case Method::link:
        result = os::link(directory_.get(), temporary_.get(), target_.c_str());
        if (result == 0) os::unlink(directory_.get(), temporary_.get());
        break;
    case Method::rename:
        result = replace(fd, check);
        break;
    case Method::placeholder:
        result = claim_and_rename();
        break;
    case Method::in_place:
        break;
    }
    if (result == 0) temporary_.keep();
    return result;
}

}  // namespace warpaes
