// Folders for the files of experiments.
#pragma once

#include <filesystem>

namespace lab {

/// A new folder, removed in the end with what is in it. Of an empty parent there is none, and its path is empty. A
/// process that was killed leaves its folder, and the next that makes one beside it removes it: whoever lives holds a
/// lock in its own.
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

/// Whether files there are in memory.
bool is_in_memory(const std::filesystem::path& folder);

/// A folder where one may write that is on a disk: /var/tmp, the temporary folder or `fallback`; empty if none is.
std::filesystem::path find_disk(const std::filesystem::path& fallback);
/// The same on a tmpfs: /dev/shm, or empty.
std::filesystem::path find_memory();

}  // namespace lab
