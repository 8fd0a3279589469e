#include "output_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/limits.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "command.hpp"
#include "progress.hpp"

namespace cli {

namespace fs = std::filesystem;

Descriptor open_below(const fs::path& root, const fs::path& below, std::optional<mode_t> mode) {
    constexpr int how = O_PATH | O_DIRECTORY;
    Descriptor at(root.c_str(), how);
    for (const fs::path& step : below) {
        if (at.get() < 0 || step.empty()) continue;
        if (mode) (void)::mkdirat(at.get(), step.c_str(), *mode);  // if this fails, openat() below reports the error
        at = Descriptor(::openat(at.get(), step.c_str(), how | O_NOFOLLOW | O_CLOEXEC));
    }
    return at;
}

Descriptor make_stored_directory(const fs::path& root, const fs::path& below) {
    constexpr mode_t everybody = 0777;
    make_directory(root);
    Descriptor made = open_below(root, below, everybody);
    if (made.get() >= 0) return made;
    const int error = errno;
    throw Failure(
        WARPAES_ERROR_WRITE,
        fmt::format("output: cannot create the directory '{}': {}{}", (root / below).string(), std::strerror(error),
                    error == ENOTDIR ? "; links in this directory are not followed" : ""));
}

MadeDirectory made_directory(const Descriptor& directory) {
    MadeDirectory made = made_directory(warpaes::path_of(directory.get()));
    struct stat status {};
    if (::fstat(directory.get(), &status) == 0) {
        made.device = status.st_dev;
        made.inode = status.st_ino;
    }
    return made;
}

void refuse_planted(const Descriptor& directory, const std::string& name, const std::string& path) {
    struct stat status {};
    if (::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || S_ISREG(status.st_mode)) return;
    throw Failure(WARPAES_ERROR_WRITE, fmt::format("output: '{}' is {} that warpaes did not create; move it away", path,
                                                   S_ISLNK(status.st_mode) ? "a symbolic link" : "not a regular file"));
}

void make_directory(const fs::path& folder) {
    std::error_code error;
    if (!folder.empty()) fs::create_directories(folder, error);
    if (error) {
        throw Failure(WARPAES_ERROR_WRITE,
                      fmt::format("output: cannot create the directory '{}': {}", folder.string(), error.message()));
    }
}

fs::path nearest_directory(const fs::path& path) {
    std::string at = path.string();
    const auto cut = [&](std::size_t slash) {
        at.erase(slash == std::string::npos ? 0 : std::max<std::size_t>(slash, 1));
    };
    if (at.size() >= PATH_MAX) cut(at.rfind('/', PATH_MAX - 1));  // the path cannot name a file
    struct stat status {};
    while (!at.empty() && at != "/" && (::stat(at.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)))
        cut(at.rfind('/'));
    return at.empty() ? "." : at;
}

void require_space(const std::string& directory, std::uint64_t bytes) {
    struct statfs status {};
    const fs::path place = nearest_directory(directory);
    if (::statfs(place.c_str(), &status) != 0 || status.f_blocks == 0 || status.f_bsize <= 0) return;
    constexpr long btrfs = 0x9123683e, zfs = 0x2fc12fc1;
    const auto type = static_cast<long>(status.f_type);
    if (type == btrfs || type == zfs) return;
    const auto unit = static_cast<std::uint64_t>(status.f_frsize > 0 ? status.f_frsize : status.f_bsize);
    if (bytes / unit <= status.f_bfree) return;
    throw Failure(WARPAES_ERROR_WRITE,
                  fmt::format("--output-dir: the results need {}, but the file system of '{}' has only {} free. "
                              "Nothing was done; free some space or give another directory",
                              human_bytes(static_cast<double>(bytes)), place.string(),
                              human_bytes(static_cast<double>(status.f_bfree * unit))));
}

MadeDirectory made_directory(const std::string& path) {
    std::error_code error;
    const fs::path place = fs::canonical(path, error);
    MadeDirectory made{error ? path : place.string(), 0, 0};
    struct stat status {};
    if (::lstat(made.path.c_str(), &status) == 0) {
        made.device = status.st_dev;
        made.inode = status.st_ino;
    }
    return made;
}

void open_to_owner(const std::string& directory) {
    struct stat status {};
    const Descriptor file(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0 || (status.st_mode & 0700) == 0700) return;
    (void)::fchmod(file.get(), (status.st_mode & 0777) |
                                   0700);  // if this fails, creating a file in the directory reports the error
}

void keep_attributes(const std::string& input, const MadeDirectory& output) {
    struct stat from {
    }, to{};
    if (::stat(input.c_str(), &from) != 0) return;
    const Descriptor file(output.path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    const bool open = file.get() >= 0 && ::fstat(file.get(), &to) == 0;
    // Another user with write access to a parent directory could have replaced this directory with a link to a third
    // user's directory.
    if (open && (to.st_dev != output.device || to.st_ino != output.inode)) {
        warn(fmt::format("'{}': replaced by another directory during the run; permissions and times were not set",
                         output.path));
        return;
    }
    const timespec times[] = {from.st_atim, from.st_mtim};
    if (!open || ::fchmod(file.get(), from.st_mode & 0777) != 0 || ::futimens(file.get(), times) != 0) {
        warn(fmt::format("'{}': cannot set the permissions and times: {}", output.path, std::strerror(errno)));
    }
}

}  // namespace cli
