// Files and streams as sources and sinks of a pipeline. An output file appears only when it is complete.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "engine/pipeline/new_file.hpp"
#include "engine/pipeline/stream.hpp"

namespace warpaes {

/// A file identified by its path or, if the path is empty, by a descriptor.
struct FilePlace {
    std::string path;
    int fd = -1;
};

/// Regular files are read at any position by many threads (pread); other files are read from front to back.
class FileSource final : public Source {
public:
    /// Throws Error{NOT_FOUND} or Error{READ}. `hook` is as for on_wait(); it is also called while waiting for the
    /// other end of a pipe to be opened.
    explicit FileSource(const std::string& path, WaitHook hook = {});
    /// Reads an open descriptor from its current position and does not close it. `name` is for error messages.
    FileSource(int fd, std::string name, WaitHook hook = {});
    static FileSource at(const FilePlace& place, WaitHook hook);

    std::uint64_t size() const noexcept override { return size_; }
    bool is_sequential() const noexcept override { return sequential_; }
    std::size_t read(std::uint64_t offset, std::span<std::uint8_t> buffer) override {
        return read(offset, buffer, true);
    }
    std::size_t read_some(std::uint64_t offset, std::span<std::uint8_t> buffer) override {
        return read(offset, buffer, false);
    }
    bool can_be_read_ahead() const noexcept override { return !sequential_; }
    /// Has no effect on regular files, because reading them never waits for another process.
    void on_wait(WaitHook hook) override {
        if (sequential_) hook_ = std::move(hook);
    }

    [[nodiscard]] const struct stat& status() const noexcept { return status_; }
    /// Whether the file has grown beyond size(), where reading stops.
    [[nodiscard]] bool has_grown() const;
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

private:
    void inspect();
    std::size_t read(std::uint64_t offset, std::span<std::uint8_t> buffer, bool all);

    Descriptor fd_;
    std::string name_;
    struct stat status_ {};
    bool sequential_ = true;
    std::uint64_t base_ = 0;  ///< initial position of a regular file's descriptor
    std::uint64_t size_ = Engine::unknown_length;
    WaitHook hook_;
};

/// The output is written to a new file, readable only by the file's owner, in the same directory; commit() moves the
/// new file to the path. If the file system supports it, the new file has no name before commit(), so nothing remains
/// of it no matter how the process ends. Otherwise the new file has a temporary name, which is removed if commit() is
/// not reached (NewFile). Devices, pipes and descriptors are written directly.
class FileSink final : public Sink {
public:
    /// Throws Error{EXISTS} if the path exists and `overwrite` is not set, Error{SAME_FILE} if the path is `input`, or
    /// Error{WRITE} if the file cannot be written. `hook` is as for FileSource.
    FileSink(const std::string& path, bool overwrite, const FileSource& input, WaitHook hook = {})
        : FileSink(path, overwrite, &input.status(), std::move(hook)) {}
    /// `input` describes a file that must not also be the output; it may be null.
    FileSink(const std::string& path, bool overwrite, const struct stat* input, WaitHook hook = {});
    /// Writes to an open descriptor from its current position and does not close it. `name` is for error messages.
    FileSink(int fd, std::string name, const FileSource& input, WaitHook hook = {});
    static std::unique_ptr<FileSink> at(const FilePlace& place, bool overwrite, const FileSource& input, WaitHook hook);
    /// Replaces the file `read`, at `path`. Throws Error{READ}, here or in commit(), if the path now names a different
    /// file or if the file has changed.
    static std::unique_ptr<FileSink> replacing(const std::string& path, const struct stat& read);

    bool is_sequential() const noexcept override { return sequential_; }
    std::uint64_t prepare_for(unsigned writers) override;
    /// A failed write does not raise a signal (SIGPIPE, SIGXFSZ) but throws an error like any other failure.
    void write(std::uint64_t offset, std::span<const std::uint8_t> bytes) override;
    void on_wait(WaitHook hook) override { hook_ = std::move(hook); }

    /// Completes the file: sets its permissions, waits for the disk unless set_durable(false) was called, and gives the
    /// file its name. A new file gets the permissions that the umask and the directory determine for new files. The
    /// permissions and the access list of a replaced file are preserved, and also its owner and group, as far as the
    /// system allows. No user gets more access than before, and set-user-id, set-group-id and sticky bits are not
    /// preserved.
    void commit();
    /// Must be called before the first write. With false, commit() does not wait for the disk, and a power failure may
    /// lose the file.
    void set_durable(bool durable) noexcept { durable_ = durable; }
    /// Sets the permissions and times of a new or replaced file to those of `input` before the file gets its name.
    void keep_attributes(const struct stat& input) { kept_ = input; }
    /// Throws Error{WRITE} if this many bytes do not fit on the file system. Must be called before the first write.
    void require_space(std::uint64_t bytes) const;
    /// Whether written data becomes visible only in commit().
    [[nodiscard]] bool is_provisional() const noexcept { return new_.is_open() && new_.is_hidden(); }
    /// After commit(): WARPAES_NOTE_ATTRIBUTES and WARPAES_NOTE_NAME_EARLY, if they apply.
    [[nodiscard]] std::uint32_t notes() const noexcept { return notes_; }
    /// The offset after the last byte written.
    [[nodiscard]] std::uint64_t bytes_written() const noexcept { return end_; }

private:
    struct Replaces {
        const struct stat& read;
    };
    FileSink(const std::string& path, Replaces file);
    void open_place(const std::string& path, const struct stat* input);
    void open_existing(const std::string& path, const struct stat& status);
    void open_replaced(const struct stat& status, const struct stat* input);
    void refuse_other_file(const struct stat& status) const;
    void refuse_other_file_now() const;
    void create_temporary();
    void write_here(std::uint64_t offset, std::span<const std::uint8_t> bytes);
    void write_pages(std::uint64_t offset, std::span<const std::uint8_t> bytes);
    void write_without_blocking();
    void inspect(const struct stat* input);
    void set_owner_and_permissions();
    void set_mode_and_times();
    [[nodiscard]] bool has_access_list() const;
    bool set_access_list(bool keep);
    void sync();
    void publish();
    [[noreturn]] void fail(const std::string& what, int error) const;

    Descriptor fd_;
    std::string name_;
    bool sequential_ = true;
    bool overwrite_ = false;
    bool durable_ = true;
    bool paged_ = false;  ///< a file in memory, written by many threads: long pieces with write_pages(), short pieces
                          ///< one at a time
    std::mutex turn_;
    std::uint64_t base_ = 0;
    std::atomic<std::uint64_t> end_{0};
    NewFile new_;  ///< not open if the destination is written directly
    mode_t mode_ = 0;
    std::uint32_t notes_ = 0;
    Descriptor old_;  ///< the file that will be replaced, opened with O_PATH
    std::optional<struct stat> replaced_;
    std::optional<struct stat> kept_;  ///< the file whose permissions and times are copied
    std::optional<struct stat> read_;  ///< the only file that may be replaced
    WaitHook hook_;
};

/// Returns the descriptor number if `path` is /dev/stdin, /dev/stdout, /dev/stderr, /dev/fd/N or /proc/self/fd/N, which
/// name a descriptor rather than a file.
std::optional<int> descriptor_named_by(const std::string& path);

}  // namespace warpaes
