#pragma once

namespace cli {

/// For `warpaes --version`.
void print_version();

}  // namespace cli
