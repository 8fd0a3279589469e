// Files of other programs, told by how they begin.
#pragma once

#include <string>

namespace cli {

/// What a named file seems to be, and what opens it, as the end of a sentence; empty if that is not known.
std::string foreign_hint(const std::string& path);

}  // namespace cli
