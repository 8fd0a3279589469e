// What the section of the provider in openssl.cnf says.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cpu/update.hpp"

namespace warpaes::provider {

class Bulk;

/// Parameters of a section, by their names there. Every distinct set of them exists once and is never freed.
struct Settings {
    std::string backend;          ///< auto, aesni, vaes, armv8, cuda, libcrypto
    int device = -1;              ///< CUDA device number; -1: the engine's choice
    unsigned threads = 1;         ///< 0: the engine's choice
    std::uint64_t threshold = 0;  ///< bytes from which on the engine is asked
    bool cbc = false;
    bool device_memory = false;  ///< applications may pass pointers to it
    std::string counters;

    const cpu::UpdateKernels* kernels = nullptr;  ///< null: the provider offers nothing
    std::string reason;                           ///< why
    std::string uncounted;                        ///< why the file of counters is not written
    Bulk* bulk = nullptr;
};

/// Reads a section; `get(name)` gives a parameter's text or null. If one has no meaning, the provider offers nothing
/// and says why: OpenSSL 3.0 drops what it says if it cannot be activated, and a host goes on with OpenSSL's own.
const Settings& settings_of(const std::function<const char*(const char*)>& get);

/// Below this the engine is never asked, whatever a section says: a plan would cost more than the work.
inline constexpr std::uint64_t least_threshold = 65536;
inline constexpr std::uint64_t usual_threshold = std::uint64_t{1} << 20;

}  // namespace warpaes::provider
