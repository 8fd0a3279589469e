// The directories of --output-dir: their creation, permissions and times, and the space for the results.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/descriptor.hpp"

namespace cli {

using warpaes::Descriptor;

/// Opens the directory `below` another one without following a link below `root`, because another user may have put one
/// there. `mode`: creates missing directories with it. On failure, `get()` is negative and errno is set.
Descriptor open_below(const std::filesystem::path& root, const std::filesystem::path& below,
                      std::optional<mode_t> mode = {});

/// A directory of results.
struct MadeDirectory {
    std::string path;  ///< path, with a link at its end resolved
    dev_t device;
    ino_t inode;
};
MadeDirectory made_directory(const std::string& path);

/// Creates a directory below the root of a tree with encrypted names, and its parents. Throws Failure{WRITE} if
/// something else exists there, such as a link.
Descriptor make_stored_directory(const std::filesystem::path& root, const std::filesystem::path& below);
MadeDirectory made_directory(const Descriptor& directory);

/// Throws Failure{WRITE} if `name` in the directory is anything but a regular file. `path`: its name in messages.
void refuse_planted(const Descriptor& directory, const std::string& name, const std::string& path);

/// Creates a directory and its parents, with permissions according to the umask. Throws Failure{WRITE}.
void make_directory(const std::filesystem::path& folder);

/// `path`, or the nearest directory above it that exists.
std::filesystem::path nearest_directory(const std::filesystem::path& path);

/// Throws Failure{WRITE} if `bytes` bytes of results do not fit on the file system of `directory`. The directory need
/// not exist yet. File systems that compress or that report no size are not checked.
void require_space(const std::string& directory, std::uint64_t bytes);

/// Gives the owner write permission for a directory that an earlier run created as a copy of a directory without that
/// permission. keep_attributes() removes the permission at the end.
void open_to_owner(const std::string& directory);

/// Gives `output` the permissions and times of `input` as far as possible, and warns if something fails. A directory
/// that has replaced `output` is not changed.
void keep_attributes(const std::string& input, const MadeDirectory& output);

}  // namespace cli
