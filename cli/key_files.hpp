// The files that a command reads keys and passphrases from, and associated data: who else can read them, and that its
// output is none of them, which would destroy what is needed to read it.
#pragma once

#include <string>

namespace cli {

/// Warns if the open file is one that other users of the machine can read. `name` is for the sentence.
void warn_if_others_can_read(const std::string& name, int fd);

/// Remembers the open file as one that the command needs, if it is a regular file.
void note_needed_file(const std::string& name, int fd);

/// Both, for a file of keys or a passphrase.
void note_key_file(const std::string& name, int fd);

/// Throws Failure{SAME_FILE} if an output is one of the files that were noted, under whatever name. `path`: empty for
/// standard output. For when all of them have been read, and before anything is written.
void refuse_needed_file(const std::string& path);

}  // namespace cli
