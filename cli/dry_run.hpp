// --dry-run of `warpaes encrypt` and `decrypt`.
#pragma once

#include "crypt_options.hpp"

namespace cli {

/// Prints the files that the command would make, and writes nothing. Throws Failure as the command would: for keys that
/// cannot be loaded, for files that are missing or too many, and for results that exist.
void dry_run(const CryptOptions& options);

}  // namespace cli
