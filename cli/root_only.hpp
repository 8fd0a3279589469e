// Checks that only root can change a file.
#pragma once

#include <optional>
#include <string>

namespace cli {

/// Returns the reason why a user other than root may be able to change or replace the file, or nothing if only root
/// can. The reason is the owner or the permissions of the file or of a parent folder (including a sticky folder such as
/// /tmp), or a symbolic link in `path`, which must be absolute.
std::optional<std::string> objection_to_root_only(const std::string& path);

}  // namespace cli
