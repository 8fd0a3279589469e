// The files from which a command reads keys, passphrases and associated data: warns if other users can read them, and
// makes sure that no output replaces a file that is needed to decrypt it.
#pragma once

#include <string>

namespace cli {

/// Warns if other users of the machine can read the open file. `name` is its name in the message.
void warn_if_others_can_read(const std::string& name, int fd);

/// Records the open file as one that the command needs, if it is a regular file.
void note_needed_file(const std::string& name, int fd);

/// Does both, for a file that contains keys or a passphrase.
void note_key_file(const std::string& name, int fd);

/// Throws Failure{SAME_FILE} if an output is one of the recorded files, under any name. `path`: empty for standard
/// output. Call it after all of them have been read and before anything is written.
void refuse_needed_file(const std::string& path);

}  // namespace cli
