// Files and streams as the ends of a pipeline, and the rule that an output file appears only when it is complete.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "pipeline/stream.hpp"

namespace warpaes {

/// A file descriptor, closed on destruction if it is owned.
class Descriptor {
public:
    Descriptor() = default;
    Descriptor(int fd, bool owned) noexcept : fd_(fd), owned_(owned) {}
    Descriptor(Descriptor&& other) noexcept
        : fd_(std::exchange(other.fd_, -1)), owned_(std::exchange(other.owned_, false)) {}
    Descriptor& operator=(Descriptor&& other) noexcept;
    ~Descriptor() { close(); }
    void close() noexcept;
    [[nodiscard]] int get() const noexcept { return fd_; }

private:
    int fd_ = -1;
    bool owned_ = false;
};

/// A name that is removed again unless it is kept.
class TemporaryName {
public:
    TemporaryName() = default;
    TemporaryName(const TemporaryName&) = delete;
    TemporaryName& operator=(const TemporaryName&) = delete;
    ~TemporaryName();
    void set(std::string path) { path_ = std::move(path); }
    void keep() { path_.clear(); }
    [[nodiscard]] const char* path() const noexcept { return path_.c_str(); }

private:
    std::string path_;
};

/// Regular files are read from any position by many threads (pread), everything else front to back.
class FileSource final : public Source {
public:
    /// Throws Error{NOT_FOUND, READ}.
    explicit FileSource(const std::string& path);
    /// An open descriptor, from where it stands; not closed. `name` is for messages.
    FileSource(int fd, std::string name);

    std::uint64_t size() const noexcept override { return size_; }
    bool is_sequential() const noexcept override { return sequential_; }
    std::size_t read(std::uint64_t offset, std::span<std::uint8_t> buffer) override;
    void on_wait(WaitHook hook) override { hook_ = std::move(hook); }

    [[nodiscard]] const struct stat& status() const noexcept { return status_; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

private:
    void inspect();

    Descriptor fd_;
    std::string name_;
    struct stat status_ {};
    bool sequential_ = true;
    std::uint64_t base_ = 0;  ///< position of a regular file's descriptor when it was handed over
    std::uint64_t size_ = Engine::unknown_length;
    WaitHook hook_;
};

/// A path is written as a temporary file beside it, which takes the path's place in commit() and is removed if that is
/// never reached. Devices, pipes and descriptors are written directly.
class FileSink final : public Sink {
public:
    /// Throws Error{EXISTS} if the path exists and `overwrite` is not set, Error{SAME_FILE} if it is `input`,
    /// Error{WRITE}.
    FileSink(const std::string& path, bool overwrite, const FileSource& input)
        : FileSink(path, overwrite, &input.status()) {}
    /// `input`: what the output must not be; may be null.
    FileSink(const std::string& path, bool overwrite, const struct stat* input);
    /// An open descriptor, from where it stands; not closed. `name` is for messages.
    FileSink(int fd, std::string name, const FileSource& input);

    bool is_sequential() const noexcept override { return sequential_; }
    void write(std::uint64_t offset, std::span<const std::uint8_t> bytes) override;
    void on_wait(WaitHook hook) override { hook_ = std::move(hook); }

    /// Makes what was written durable and gives it its name.
    void commit();
    /// What is written shows only in commit(): there is a temporary file.
    [[nodiscard]] bool is_provisional() const noexcept { return !target_.empty(); }
    /// Up to the last byte written.
    [[nodiscard]] std::uint64_t bytes_written() const noexcept { return end_; }

private:
    void create_temporary();
    void write_without_blocking();
    void inspect(const struct stat* input);
    void sync();
    void rename_into_place();
    [[noreturn]] void fail(const std::string& what, int error) const;

    Descriptor fd_;
    std::string name_;
    bool sequential_ = true;
    bool overwrite_ = false;
    std::uint64_t base_ = 0;
    std::atomic<std::uint64_t> end_{0};
    std::string target_;  ///< where the temporary file goes in the end; empty if there is none
    std::string directory_;
    TemporaryName temporary_;
    mode_t mode_ = 0;
    WaitHook hook_;
};

/// N if `path` is /dev/stdin, /dev/stdout, /dev/stderr or /dev/fd/N, which name a descriptor rather than a file.
std::optional<int> descriptor_named_by(const std::string& path);

}  // namespace warpaes
