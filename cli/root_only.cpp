#include "root_only.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace cli {

std::optional<std::string> objection_to_root_only(const std::string& path) {
    std::filesystem::path way;
    for (const auto& step : std::filesystem::path(path)) {
        way /= step;
        struct stat status {};
        if (::lstat(way.c_str(), &status) != 0) {
            return fmt::format("'{}' cannot be examined: {}", way.string(), std::strerror(errno));
        }
        if (S_ISLNK(status.st_mode)) return fmt::format("'{}' is a symbolic link", way.string());
        if (status.st_uid != 0) return fmt::format("'{}' belongs to user {}", way.string(), status.st_uid);
        if ((status.st_mode & 022) != 0) {
            return fmt::format("'{}' is writable by other users (mode {:04o})", way.string(), status.st_mode & 07777);
        }
    }
    return std::nullopt;
}

}  // namespace cli
