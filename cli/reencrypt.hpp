// Re-encrypts a file of authenticated segments in place, under a different key.
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
    /// Called with the number of processed bytes and the total. Must return false to stop the re-encryption.
    std::function<bool(std::uint64_t done, std::uint64_t total)> progress;
};

/// Throws Failure if the file cannot be replaced. Must be called before the file is opened, because opening a FIFO
/// waits for its other end.
void refuse_irregular(const std::string& path);

/// Whether `keyset` opens the file.
bool opens(warpaes_engine* engine, const warpaes_keyset* keyset, const std::string& path, const std::string& aad);

/// Re-encrypts the file and returns the number of plaintext bytes. Replaces the file after all of it is authenticated
/// and the new file is complete. On failure, or if another process has replaced the file, leaves the file unchanged and
/// throws Failure. `opened` is a path of the open file, such as the path of its descriptor. `path` is the path to
/// replace if it still refers to the open file.
std::uint64_t reencrypt_file(const Reencryption& how, const std::string& opened, const std::string& path);

}  // namespace cli
