// Files that only root can change.
#pragma once

#include <optional>
#include <string>

namespace cli {

/// A sentence on what lets another user than root change the file, or put another in its place: its owner, its
/// permissions, or those of a folder above it, also of a sticky one such as /tmp. Nothing if only root can. `path` is
/// absolute and has no links.
std::optional<std::string> objection_to_root_only(const std::string& path);

}  // namespace cli
