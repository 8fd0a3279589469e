// The files that contain the keys, passphrases and associated data of a command. The functions warn if other users can
// read such a file, and prevent an output from replacing a file that is needed to decrypt the output.
#pragma once

#include <string>

namespace cli {

/// Warns if other users of the machine can read the open file. `name` is its name in the message.
void warn_if_others_can_read(const std::string& name, int fd);

/// Records the open file as one that the command needs, if it is a regular file.
void note_needed_file(const std::string& name, int fd);

/// Does both for a file that contains keys or a passphrase: warns and records it.
void note_key_file(const std::string& name, int fd);

/// Throws Failure{SAME_FILE} if an output is one of the recorded files, under any name. An empty `path` means standard
/// output. Must be called after all needed files are recorded and before anything is written.
void refuse_needed_file(const std::string& path);

}  // namespace cli
