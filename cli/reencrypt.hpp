// Re-encrypts a file of authenticated segments under another key, in place.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "command.hpp"

namespace cli {

struct Reencryption {
    warpaes_engine* engine;
    const warpaes_keyset* from;  ///< opens the file
    const warpaes_keyset* to;    ///< its primary key encrypts the file
    const std::string& aad;
    bool durable = true;
    /// Called with the progress; false: stop.
    std::function<bool(std::uint64_t done, std::uint64_t total)> progress;
};

/// Throws Failure if the file cannot be replaced. Call it before opening the file, which waits for a FIFO's other end.
void refuse_irregular(const std::string& path);

/// Whether `keyset` opens the file.
bool opens(warpaes_engine* engine, const warpaes_keyset* keyset, const std::string& path, const std::string& aad);

/// Returns the bytes of plaintext. Replaces the file if it was completely authentic and the new file is complete. After
/// a failure, which throws Failure, and if another process has changed the file, the file is unchanged. `opened`: a
/// path of the file itself, such as that of a descriptor; `path`: where it is replaced, if that still leads to it.
std::uint64_t reencrypt_file(const Reencryption& how, const std::string& opened, const std::string& path);

}  // namespace cli
