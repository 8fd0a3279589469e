// The lab's names of modes of operation. The header is separate from other headers, because a file may include it
// together with <warpaes/warpaes.hpp>, which has its own names.
#pragma once

#include <cstdint>

namespace lab {

/// Modes of SP 800-38A.
enum class Mode : std::uint32_t { ecb, ctr, cbc, cfb128, ofb };
enum class Direction { encrypt, decrypt };

/// Returns whether encrypting a block needs the ciphertext (or keystream) of the block before it.
constexpr bool is_serial(Mode mode) {
    return mode >= Mode::cbc;
}

}  // namespace lab
