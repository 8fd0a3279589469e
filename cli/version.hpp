#pragma once

namespace cli {

/// The text of `warpaes --version`.
void print_version();

}  // namespace cli
