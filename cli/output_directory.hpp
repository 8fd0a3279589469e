// Creates the directories of --output-dir, sets their permissions and times, and checks the space for the results.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/descriptor.hpp"

namespace cli {

using warpaes::Descriptor;

/// Opens the directory `below` the directory `root`. Does not follow links below `root`, because another user may have
/// created them. If `mode` is given, creates missing directories with this mode. On failure, `get()` is negative and
/// errno is set.
Descriptor open_below(const std::filesystem::path& root, const std::filesystem::path& below,
                      std::optional<mode_t> mode = {});

/// A directory of results.
struct MadeDirectory {
    std::string path;  ///< path, with a link at its end resolved
    dev_t device;
    ino_t inode;
};
MadeDirectory made_directory(const std::string& path);

/// Creates a directory below the root of a tree with encrypted names, and its parents. Throws Failure{WRITE} if a file
/// of another kind exists there, such as a link.
Descriptor make_stored_directory(const std::filesystem::path& root, const std::filesystem::path& below);
MadeDirectory made_directory(const Descriptor& directory);

/// Throws Failure{WRITE} if `name` in the directory exists and is not a regular file. `path` is the file's name in
/// messages.
void refuse_planted(const Descriptor& directory, const std::string& name, const std::string& path);

/// Creates a directory and its parents, with permissions according to the umask. Throws Failure{WRITE}.
void make_directory(const std::filesystem::path& folder);

/// Returns `path`, or the nearest existing directory above it.
std::filesystem::path nearest_directory(const std::filesystem::path& path);

/// Throws Failure{WRITE} if `bytes` bytes of results do not fit on the file system of `directory`. The directory need
/// not exist yet. File systems that compress data or report no size are not checked.
void require_space(const std::string& directory, std::uint64_t bytes);

/// Gives the owner full access to a directory, because an earlier run may have copied the permissions of a directory
/// that its owner cannot write to. keep_attributes() restores the permissions at the end.
void open_to_owner(const std::string& directory);

/// Gives `output` the permissions and times of `input` as far as possible, and warns if something fails. A directory
/// that has replaced `output` is not changed.
void keep_attributes(const std::string& input, const MadeDirectory& output);

}  // namespace cli
