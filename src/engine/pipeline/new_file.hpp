// A file that is being written and appears under its name only when it is complete. The class uses the strongest method
// that the file system supports, and determines it before anything is written.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>
#include <utility>

#include "base/descriptor.hpp"
#include "base/process.hpp"

namespace warpaes {

/// A name in a directory that is removed on destruction, in the process that created it, unless it is kept.
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

/// The directory is opened only once, so a user who changes the path's target cannot redirect the file to another
/// directory.
class NewFile {
public:
    /// Opens the directory of `path`. `name` is the path shown in messages. Throws Error{WRITE}.
    void open_directory(const std::string& path, const std::string& name);
    [[nodiscard]] bool is_open() const noexcept { return !target_.empty(); }
    [[nodiscard]] int directory() const noexcept { return directory_.get(); }
    [[nodiscard]] const char* target() const noexcept { return target_.c_str(); }

    /// Determines how files in the directory can be created and written, using an empty file that is then removed.
    /// Returns the permissions that new files get from the umask and the directory's access list. (The umask can only
    /// be read by setting it, for all threads.) Throws Error{WRITE}.
    mode_t examine_directory();
    /// Creates the file, which only its owner can open; must be called after examine_directory(). `replaces` is whether
    /// the file may replace an existing file in the end. Throws Error{WRITE} on failure or if the file system cannot
    /// replace files.
    Descriptor create(bool replaces);
    /// Gives `fd` its final name. On failure, returns -1 and sets errno; EEXIST means that a file of this name exists
    /// and must not be replaced. `check` is called immediately before a file is replaced, and may throw.
    int take_place(int fd, const std::function<void()>& check);

    /// Whether the file has a temporary name, so that take_place() does not need its descriptor.
    [[nodiscard]] bool has_name() const noexcept { return !temporary_.empty(); }
    /// Whether the file has no name, or only a temporary name, until take_place().
    [[nodiscard]] bool is_hidden() const noexcept { return method_ != Method::in_place; }
    /// Whether the file must be written from front to back, by write() and not by pwrite().
    [[nodiscard]] bool is_sequential() const noexcept { return sequential_; }

private:
    enum class Method {
        unnamed,      ///< O_TMPFILE, then link()
        exclusive,    ///< renameat2(RENAME_NOREPLACE)
        link,         ///< link() and unlink()
        rename,       ///< rename(), which replaces existing files
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
    bool unnamed_ = false;  ///< whether files can be created without a name and linked later
    bool replaces_ = false;
    bool sequential_ = false;
};

/// Throws Error{WRITE} with the message "output: `what` `name`: …" and an explanation of `error`, an errno value.
[[noreturn]] void fail_output(const std::string& what, const std::string& name, int error);

}  // namespace warpaes
