// A file of authenticated segments under another key, in its own place.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "command.hpp"

namespace cli {

struct Reencryption {
    warpaes_engine* engine;
    const warpaes_keyset* from;  ///< what opens it
    const warpaes_keyset* to;    ///< whose primary encrypts it
    const std::string& aad;
    bool durable = true;
    /// Told how far it is; false: stop.
    std::function<bool(std::uint64_t done, std::uint64_t total)> progress;
};

/// Throws Failure if the file cannot be replaced: before it is opened, which waits for a FIFO's other end.
void refuse_irregular(const std::string& path);

/// Whether `keyset` opens the file.
bool opens(warpaes_engine* engine, const warpaes_keyset* keyset, const std::string& path, const std::string& aad);

/// Bytes of plaintext. The file is replaced when all of it was authentic and its successor is complete; after a
/// failure, which throws Failure, it is as it was, and so it is if somebody has changed it meanwhile.
std::uint64_t reencrypt_file(const Reencryption& how, const std::string& path);

}  // namespace cli
