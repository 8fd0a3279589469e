// Files of experiments: written, read, compared, and put out of the page cache.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace lab {

/// An open file. Throws std::system_error throughout.
class File {
public:
    static File read_only(const std::filesystem::path& path);
    /// Made if it is not there; what is in it stays.
    static File read_write(const std::filesystem::path& path);
    File(File&& other) noexcept;
    File& operator=(File&& other) noexcept;
    ~File();

    /// All of `bytes`; the file must have them.
    void read(std::uint64_t offset, std::span<std::uint8_t> bytes) const;
    void write(std::uint64_t offset, std::span<const std::uint8_t> bytes) const;
    [[nodiscard]] std::uint64_t size() const;
    void resize(std::uint64_t bytes) const;
    /// Until it is on the disk.
    void sync() const;
    /// So that reading it means the disk: what is on the disk already leaves memory.
    void evict() const;
    [[nodiscard]] int descriptor() const { return descriptor_; }

private:
    explicit File(int descriptor) : descriptor_(descriptor) {}
    int descriptor_;
};

void write_file(const std::filesystem::path& path, std::span<const std::uint8_t> bytes);
std::vector<std::uint8_t> read_file(const std::filesystem::path& path);

/// Bytes that may still be written to the folder.
std::uint64_t free_bytes(const std::filesystem::path& folder);

}  // namespace lab
