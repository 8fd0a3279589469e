// A file that is being written and appears under its name only when it is complete. Uses the strongest method that the
// file system supports, and determines it before anything is written.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>
#include <utility>

#include "base/descriptor.hpp"
#include "base/process.hpp"

namespace warpaes {

/// A name in a directory that is removed on destruction, in the process that made it, unless it is kept.
class TemporaryName {
public:
    /// `directory` must outlive the name.
    explicit TemporaryName(const Descriptor& directory) : directory_(directory) {}
    TemporaryName(const TemporaryName&) = delete;
    TemporaryName& operator=(const TemporaryName&) = delete;
    ~TemporaryName() { remove(); }
    void set(std::string name) {
        name_ = std::move(name);
        home_.take_over();
    }
    void keep() { name_.clear(); }
    void remove() noexcept;
    [[nodiscard]] bool empty() const noexcept { return name_.empty(); }
    [[nodiscard]] const char* get() const noexcept { return name_.c_str(); }

private:
    const Descriptor& directory_;
    std::string name_;
    Home home_;
};

/// The directory is opened once: a user who changes the path's target cannot redirect the file to another directory.
class NewFile {
public:
    /// Opens the directory of `path`. `name` is the path that messages show. Throws Error{WRITE}.
    void open_directory(const std::string& path, const std::string& name);
    [[nodiscard]] bool is_open() const noexcept { return !target_.empty(); }
    [[nodiscard]] int directory() const noexcept { return directory_.get(); }
    [[nodiscard]] const char* target() const noexcept { return target_.c_str(); }

    /// Determines how files in the directory can be created and written, using an empty file that it removes. Returns
    /// the permissions that the umask and the directory's access list give new files: umask() can only be read by
    /// setting it, for all threads. Throws Error{WRITE}.
    mode_t examine_directory();
    /// Creates the file, which only its owner can open, after examine_directory(). `replaces` is whether it may replace
    /// a file in the end. Throws Error{WRITE} if it fails or if the file system cannot replace files.
    Descriptor create(bool replaces);
    /// Gives `fd` its final name. Returns -1 and sets errno if this fails; EEXIST: there is a file of this name, and
    /// none may be replaced. `check` is called immediately before a file is replaced, and may throw.
    int take_place(int fd, const std::function<void()>& check);

    /// Whether take_place() needs no descriptor.
    [[nodiscard]] bool has_name() const noexcept { return !temporary_.empty(); }
    /// Whether the file has no name, or a temporary one, until take_place().
    [[nodiscard]] bool is_hidden() const noexcept { return method_ != Method::in_place; }
    /// Whether the file must be written front to back, by write() and not by pwrite().
    [[nodiscard]] bool is_sequential() const noexcept { return sequential_; }

private:
    enum class Method {
        unnamed,      ///< O_TMPFILE, then link()
        exclusive,    ///< renameat2(RENAME_NOREPLACE)
        link,         ///< link() and unlink()
        rename,       ///< rename(), which replaces
        placeholder,  ///< claim_name(), then rename()
        in_place      ///< the file has its final name from the beginning: rename() is not supported
    };

    [[nodiscard]] Descriptor create_unnamed(mode_t mode) const;
    Descriptor create_named(mode_t mode, TemporaryName& name) const;
    template <typename Take>
    void take_name(TemporaryName& name, const Take& take) const;
    [[nodiscard]] bool can_be_linked(int unnamed) const;
    void examine_named_files();
    Descriptor create_in_place();
    int replace(int fd, const std::function<void()>& check);
    int claim_and_rename();
    [[noreturn]] void fail(int error) const;

    Descriptor directory_;
    std::string directory_name_;
    std::string name_;
    std::string target_;  ///< the final name in the directory
    TemporaryName temporary_{directory_};
    Method method_ = Method::unnamed;
    bool unnamed_ = false;  ///< files can be created without a name and named later
    bool replaces_ = false;
    bool sequential_ = false;
};

/// Throws Error{WRITE}: "output: `what` `name`: …" with an explanation of `error`, an errno.
[[noreturn]] void fail_output(const std::string& what, const std::string& name, int error);

}  // namespace warpaes
