// Folders for experiment files.
#pragma once

#include <filesystem>

namespace lab {

/// A new folder, removed with its contents on destruction. With an empty parent no folder is created, and path() is
/// empty. The folder of a killed process remains until the next process that creates a folder in the same parent
/// removes it. A running process holds a lock inside its folder.
class ScratchFolder {
public:
    /// Throws std::system_error.
    explicit ScratchFolder(const std::filesystem::path& parent);
    ~ScratchFolder();
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
    int lock_ = -1;
};

/// Returns whether files in the folder are kept in memory (tmpfs).
bool is_in_memory(const std::filesystem::path& folder);

/// Returns the first of these folders that is writable and on a disk: /var/tmp, the temporary folder, `fallback`. Empty
/// if there is none.
std::filesystem::path find_disk(const std::filesystem::path& fallback);
/// Returns a writable folder on a tmpfs: /dev/shm, or empty.
std::filesystem::path find_memory();

}  // namespace lab
