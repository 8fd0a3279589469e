// The provider's section in openssl.cnf.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cpu/update.hpp"

namespace warpaes::provider {

class Bulk;

/// The parameters of a section, under their names in openssl.cnf, and the state that results from them. Equal sections
/// share one object, which is never freed.
struct Settings {
    std::string backend;          ///< auto, or the name of a backend
    int device = -1;              ///< CUDA device number; -1: the engine's choice
    unsigned threads = 1;         ///< 0: the engine's choice
    std::uint64_t threshold = 0;  ///< for updates of this many bytes or more, the engine makes a plan
    bool cbc = false;
    bool device_memory = false;  ///< whether applications may pass pointers to device memory
    std::string counters;

    const cpu::UpdateKernels* kernels = nullptr;  ///< null if the provider offers no algorithms
    std::string reason;                           ///< why `kernels` is null
    std::string uncounted;                        ///< why counters are not written to the file
    Bulk* bulk = nullptr;
};

/// Reads a section. `get(name)` returns a parameter's text or null. If a value is invalid, the provider stays active,
/// offers no algorithms and reports the reason. OpenSSL 3.0 would drop the messages of a provider that cannot be
/// activated. The program continues with OpenSSL's own algorithms.
const Settings& settings_of(const std::function<const char*(const char*)>& get);

/// Minimum threshold for the engine, regardless of the section. For less data, planning would cost more than the work.
inline constexpr std::uint64_t least_threshold = 65536;
inline constexpr std::uint64_t usual_threshold = std::uint64_t{1} << 20;

}  // namespace warpaes::provider
