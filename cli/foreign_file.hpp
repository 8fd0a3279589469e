// Recognizes files of other programs by their first bytes.
#pragma once

#include <string>

namespace cli {

/// Whether the path is a regular file. Opening a FIFO that was already read would wait for another writer.
bool can_be_read_again(const std::string& path);

/// Whether the file begins like a file in Tink's streaming AEAD format.
bool looks_like_ours(const std::string& path);

/// The probable format of a named file.
struct Look {
    bool encrypted = true;  ///< also true if the file cannot be read
    std::string hint;       ///< the format and the program that opens it, as the end of a sentence; empty if unknown
};
Look look_at(const std::string& path);

}  // namespace cli
