// Modes of operation as the lab speaks of them: a file may see this header beside <warpaes/warpaes.hpp>, which has
// names of its own for them.
#pragma once

#include <cstdint>

namespace lab {

/// SP 800-38A.
enum class Mode : std::uint32_t { ecb, ctr, cbc, cfb128, ofb };
enum class Direction { encrypt, decrypt };

/// Whether the encryption of a block waits for the one before it.
constexpr bool is_serial(Mode mode) {
    return mode >= Mode::cbc;
}

}  // namespace lab
