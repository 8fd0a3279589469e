// Values of the C enums, checked before they become the library's own.
#pragma once

#include <string>

#include "aes/types.hpp"
#include "base/error.hpp"

namespace warpaes::capi {

inline Mode checked_mode(warpaes_mode mode) {
    if (mode < WARPAES_ECB || mode > WARPAES_CMAC) {
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

}  // namespace warpaes::capi
