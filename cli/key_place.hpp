// Reads the location of a key or a passphrase (src/places) for the command: signals end the read, warnings go to
// standard error, and the files are recorded as files that the command needs.
#pragma once

#include <string>

#include "places/location.hpp"
#include "places/secret_text.hpp"
#include "secret_bytes.hpp"

namespace cli {

using warpaes::places::PlacedKey;
using warpaes::places::SecretText;

/// Reads everything from `fd`. Throws Failure.
void read_text(SecretText& text, const std::string& what, int fd);

/// Reads `place`, which `option` gave. Records a file as one that the command needs, and warns if other users can read
/// it. Throws Failure.
PlacedKey read_key_place(const std::string& option, const std::string& place);

/// The same for a passphrase. No message repeats the place, which may be the passphrase itself.
SecretBytes read_passphrase_place(const std::string& option, const std::string& place);

/// Throws Failure{NOT_FOUND} if there is no file `place` and the text may be a passphrase; the sentence does not repeat
/// it.
void refuse_passphrase(const std::string& option, const std::string& place);

/// Throws UsageError for a key given instead of its location, because shell histories and process lists show it.
void refuse_key(const std::string& option, const char* place);

}  // namespace cli
