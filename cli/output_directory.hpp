// The directories of --output-dir: their creation, permissions and times, and the space for the results.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "descriptor.hpp"

namespace cli {

/// Opens the directory `below` another one and follows no link below `root`, where another user may have put one.
/// `mode`: makes missing directories with it. If that fails, `get()` is negative and errno says why.
Descriptor open_below(const std::filesystem::path& root, const std::filesystem::path& below,
                      std::optional<mode_t> mode = {});

/// A directory of results.
struct MadeDirectory {
    std::string path;  ///< with a link at its end resolved
    dev_t device;
    ino_t inode;
};
MadeDirectory made_directory(const std::string& path);

/// Makes a directory below the root of a tree with encrypted names, and those between. Throws Failure{WRITE} if there
/// is something else, such as a link.
Descriptor make_stored_directory(const std::filesystem::path& root, const std::filesystem::path& below);
MadeDirectory made_directory(const Descriptor& directory);

/// Throws Failure{WRITE} if `name` in the directory is anything but a regular file. `path`: what messages call it.
void refuse_planted(const Descriptor& directory, const std::string& name, const std::string& path);

/// Makes a directory and those above it, with the permissions that the umask gives. Throws Failure{WRITE}.
void make_directory(const std::filesystem::path& folder);

/// `path`, or the nearest directory above it that exists.
std::filesystem::path nearest_directory(const std::filesystem::path& path);

/// Throws Failure{WRITE} if results of this size do not fit on the file system of `directory`, which need not exist.
/// File systems that compress or that report no size are not checked.
void require_space(const std::string& directory, std::uint64_t bytes);

/// Lets the owner of a directory write in it, if an earlier run made it as a copy of a directory without that
/// permission. keep_attributes() removes the permission at the end.
void open_to_owner(const std::string& directory);

/// Gives `output` the permissions and the time of `input`, as far as possible, and warns otherwise. It does not change
/// another directory that has replaced `output`.
void keep_attributes(const std::string& input, const MadeDirectory& output);

}  // namespace cli
