// Warnings about complete outputs that the file system stores with weaker guarantees than requested.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

namespace cli {

/// Collects the warnings for all outputs of a run, so that many files produce only one line.
class OutputNotes {
public:
    /// Adds the `notes` of a warpaes_file_result. An empty `path` means standard output. Thread-safe.
    void add(std::uint32_t notes, const std::string& path);
    /// Prints the collected warnings.
    void tell() const;

private:
    struct Kind {
        std::size_t files = 0;
        std::string first;
    };
    static void count(Kind& kind, const std::string& path);

    std::mutex mutex_;
    Kind attributes_, early_;
};

/// Warns if other users can open a new file that holds secrets, because its file system ignores permissions.
void warn_if_open_to_others(const std::string& path);

}  // namespace cli
