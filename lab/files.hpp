// Files and folders for experiments: writes, reads and compares files, evicts them from the page cache, and finds
// folders on a disk and in memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace lab {

/// Throws std::system_error for `error`, a value of errno.
[[noreturn]] void throw_system_error(int error, const std::string& what);

/// An open file. All functions throw std::system_error.
class File {
public:
    static File read_only(const std::filesystem::path& path);
    /// Creates the file if it does not exist; keeps existing contents.
    static File read_write(const std::filesystem::path& path);
    File(File&& other) noexcept;
    File& operator=(File&& other) noexcept;
    ~File();

    /// Fills all of `bytes`; throws if the file contains fewer bytes.
    void read(std::uint64_t offset, std::span<std::uint8_t> bytes) const;
    void write(std::uint64_t offset, std::span<const std::uint8_t> bytes) const;
    [[nodiscard]] std::uint64_t size() const;
    void resize(std::uint64_t bytes) const;
    /// Waits until the data is on the disk.
    void sync() const;
    /// Writes dirty pages to the disk and drops the file from the page cache, so that the next read comes from the
    /// disk.
    void evict() const;
    [[nodiscard]] int descriptor() const { return descriptor_; }

private:
    explicit File(int descriptor) : descriptor_(descriptor) {}
    int descriptor_;
};

void write_file(const std::filesystem::path& path, std::span<const std::uint8_t> bytes);
std::vector<std::uint8_t> read_file(const std::filesystem::path& path);

/// Returns the free space of the folder's file system, in bytes.
std::uint64_t free_bytes(const std::filesystem::path& folder);

/// A new folder, removed with its contents on destruction. If the parent's path is empty, no folder is created, and
/// path() is empty. The folder of a killed process remains until another process creates a folder in the same parent.
/// Folders of running processes are recognized by the lock on a file inside.
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
/// Returns /dev/shm if it is writable and on a tmpfs; otherwise an empty path.
std::filesystem::path find_memory();

}  // namespace lab
