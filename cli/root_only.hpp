// Files that only root can change.
#pragma once

#include <optional>
#include <string>

namespace cli {

/// The reason why a user other than root can change or replace the file: its owner, its permissions, or those of a
/// parent folder, including a sticky folder such as /tmp. Nothing if only root can. `path` is absolute and contains no
/// links.
std::optional<std::string> objection_to_root_only(const std::string& path);

}  // namespace cli
