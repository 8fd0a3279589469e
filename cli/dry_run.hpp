// --dry-run of `warpaes encrypt` and `decrypt`.
#pragma once

#include "crypt_options.hpp"

namespace cli {

/// Prints the files that the command would make, and writes nothing. Throws the same Failure as the command: for keys
/// that cannot be loaded, for missing or too many files, and for results that exist.
void dry_run(const CryptOptions& options);

}  // namespace cli
