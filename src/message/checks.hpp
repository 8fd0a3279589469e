// What a message may be: the values of the C enums, and the lengths that a mode allows. The same for single messages,
// contexts and batches; `name` is what the caller knows the length as.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "aes/types.hpp"
#include "base/error.hpp"

namespace warpaes {

/// Throw Error{ARGUMENT} if there is none such.
inline Mode checked_mode(warpaes_mode mode) {
    if (std::find(modes.begin(), modes.end(), static_cast<Mode>(mode)) == modes.end()) {
        throw Error(WARPAES_ERROR_ARGUMENT, "mode: there is no mode " + std::to_string(static_cast<int>(mode)));
    }
    return static_cast<Mode>(mode);
}

inline Direction checked_direction(warpaes_direction direction) {
    if (direction != WARPAES_ENCRYPT && direction != WARPAES_DECRYPT) {
        throw Error(WARPAES_ERROR_ARGUMENT, "direction: must be WARPAES_ENCRYPT or WARPAES_DECRYPT, got " +
                                                std::to_string(static_cast<int>(direction)));
    }
    return static_cast<Direction>(direction);
}

/// Throws Error{IV_LENGTH}.
void check_iv_length(Mode mode, std::uint64_t bytes, const char* name);
/// Of a mode that has tags. Throws Error{ARGUMENT}.
void check_tag_length(Mode mode, std::uint64_t bytes);
/// Of a mode that has tags. Throws Error{ARGUMENT} for CMAC, which has no associated data, and Error{DATA_LENGTH}.
void check_aad_length(Mode mode, std::uint64_t bytes);
/// Memory that a caller can have. Throws Error{RANGE} where it would reach beyond the end of all addresses.
void check_memory(const void* begin, std::uint64_t bytes, const char* name);
/// How long a message may be; `iv_bytes` matters to CCM. Throws Error{DATA_LENGTH}.
void check_longest(Mode mode, std::uint64_t bytes, std::uint64_t iv_bytes, const char* name);

}  // namespace warpaes
