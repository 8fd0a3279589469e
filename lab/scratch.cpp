#include "lab/scratch.hpp"

#include <linux/magic.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace lab {

namespace {

bool is_writable(const std::filesystem::path& folder) {
    return std::filesystem::is_directory(folder) && access(folder.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

ScratchFolder::ScratchFolder(const std::filesystem::path& parent) {
    if (parent.empty()) return;
    std::string name = parent / "warpaes-lab-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), parent.string());
    path_ = name;
}

ScratchFolder::~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

bool is_in_memory(const std::filesystem::path& folder) {
    struct statfs info {};
    return statfs(folder.c_str(), &info) == 0 && (info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC);
}

std::filesystem::path find_disk(const std::filesystem::path& fallback) {
    std::error_code none;
    for (const auto& folder :
         {std::filesystem::path("/var/tmp"), std::filesystem::temp_directory_path(none), fallback}) {
        if (is_writable(folder) && !is_in_memory(folder)) return folder;
    }
    return {};
}

std::filesystem::path find_memory() {
    const std::filesystem::path folder = "/dev/shm";
    return is_writable(folder) && is_in_memory(folder) ? folder : std::filesystem::path();
}

}  // namespace lab
