// Files and streams as the ends of a pipeline, and the rule that an output file appears only when it is complete.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "engine/pipeline/stream.hpp"

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
    [[nodiscard]] bool empty() const noexcept { return path_.empty(); }
    [[nodiscard]] const char* path() const noexcept { return path_.c_str(); }

private:
    std::string path_;
};

/// Regular files are read from any position by many threads (pread), everything else front to back.
class FileSource final : public Source {
public:
    /// Throws Error{NOT_FOUND, READ}. `hook`: see on_wait(); it is asked while the other end of a pipe is opened, too.
    explicit FileSource(const std::string& path, WaitHook hook = {});
    /// An open descriptor, from where it stands; not closed. `name` is for messages.
    FileSource(int fd, std::string name, WaitHook hook = {});

    std::uint64_t size() const noexcept override { return size_; }
    bool is_sequential() const noexcept override { return sequential_; }
    std::size_t read(std::uint64_t offset, std::span<std::uint8_t> buffer) override;
    bool can_be_read_ahead() const noexcept override { return !sequential_; }
    /// What is read by many threads is never waited for.
    void on_wait(WaitHook hook) override {
        if (sequential_) hook_ = std::move(hook);
    }

    [[nodiscard]] const struct stat& status() const noexcept { return status_; }
    /// It is longer now than size(), at which reading ends.
    [[nodiscard]] bool has_grown() const;
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

/// A path is written as another file in its directory, for its owner alone, which takes the path's place in commit().
/// Where the file system can do it, that file has no name until then: nothing is left of it however the process ends.
/// Elsewhere it has a temporary one, which is removed if commit() is never reached. Devices, pipes and descriptors are
/// written directly.
class FileSink final : public Sink {
public:
    /// Throws Error{EXISTS} if the path exists and `overwrite` is not set, Error{SAME_FILE} if it is `input`,
    /// Error{WRITE}. `hook`: see FileSource.
    FileSink(const std::string& path, bool overwrite, const FileSource& input, WaitHook hook = {})
        : FileSink(path, overwrite, &input.status(), std::move(hook)) {}
    /// `input`: what the output must not be; may be null.
    FileSink(const std::string& path, bool overwrite, const struct stat* input, WaitHook hook = {});
    /// An open descriptor, from where it stands; not closed. `name` is for messages.
    FileSink(int fd, std::string name, const FileSource& input, WaitHook hook = {});

    bool is_sequential() const noexcept override { return sequential_; }
    /// A signal that a failing write would raise (SIGPIPE, SIGXFSZ) is not raised: it is an error like others.
    void write(std::uint64_t offset, std::span<const std::uint8_t> bytes) override;
    void on_wait(WaitHook hook) override { hook_ = std::move(hook); }

    /// Makes what was written durable and gives it its name, and the permissions that the umask and the directory give
    /// new files. One that is replaced hands on its permissions, with access list, and as far as the system allows it
    /// owner and group; nobody gets more than he had, and set-user-id, set-group-id and sticky bits are not handed on.
    /// Waits until the disk has it, unless set_durable(false).
    void commit();
    /// Before the first write. False: a machine that loses its power may lose the file, and nobody waits for a disk.
    void set_durable(bool durable) noexcept { durable_ = durable; }
    /// What is written shows only in commit().
    [[nodiscard]] bool is_provisional() const noexcept { return !target_.empty(); }
    /// Up to the last byte written.
    [[nodiscard]] std::uint64_t bytes_written() const noexcept { return end_; }

private:
    void open_existing(const std::string& path, const struct stat& status);
    void create_temporary();
    [[nodiscard]] Descriptor create(mode_t mode, TemporaryName& name) const;
    template <typename Take>
    void take_name(TemporaryName& name, const Take& take) const;
    void write_without_blocking();
    void inspect(const struct stat* input);
    void set_owner_and_permissions();
    [[nodiscard]] bool has_access_list() const;
    bool set_access_list(bool keep);
    void sync();
    void publish();
    int take_place();
    [[noreturn]] void fail(const std::string& what, int error) const;

    Descriptor fd_;
    std::string name_;
    bool sequential_ = true;
    bool overwrite_ = false;
    bool durable_ = true;
    std::uint64_t base_ = 0;
    std::atomic<std::uint64_t> end_{0};
    std::string target_;  ///< where the new file goes in the end; empty if there is none
    std::string directory_;
    TemporaryName temporary_;
    mode_t mode_ = 0;
    std::optional<struct stat> replaced_;
    WaitHook hook_;
};

/// N if `path` is /dev/stdin, /dev/stdout, /dev/stderr or /dev/fd/N, which name a descriptor rather than a file.
std::optional<int> descriptor_named_by(const std::string& path);

}  // namespace warpaes
