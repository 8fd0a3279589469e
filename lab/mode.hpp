// The lab's names of modes of operation. This header includes no other header of the lab, so that a file can include it
// together with <warpaes/warpaes.hpp>, which defines other names for modes.
#pragma once

#include <cstdint>

namespace lab {

/// Modes of SP 800-38A.
enum class Mode : std::uint32_t { ecb, ctr, cbc, cfb128, ofb };
enum class Direction { encrypt, decrypt };

/// Returns whether the encryption of a block requires the ciphertext or the key stream of the preceding block.
constexpr bool is_serial(Mode mode) {
    return mode >= Mode::cbc;
}

}  // namespace lab
