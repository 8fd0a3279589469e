// A short message: one that costs less than deciding who should do it, and is done there and then.
#pragma once

#include <cstdint>

#include "aes/types.hpp"

namespace warpaes {

class ExpandedKey;

/// One whole message, checked, all of it in host memory. What Run says of modes and lengths goes for it; of the modes
/// with tags there is GCM with an IV of 12 bytes.
struct ShortMessage {
    Mode mode;
    Direction direction;
    const ExpandedKey* key;
    const std::uint8_t* round_keys;  ///< of the cipher
    const std::uint8_t* iv;          ///< 16 bytes, GCM 12, ECB none
    const std::uint8_t* input;
    std::uint8_t* output;  ///< equal to the input or disjoint
    std::uint64_t length;  ///< bytes; CFB1: bits
    // GCM:
    const std::uint8_t* aad = nullptr;
    std::uint64_t aad_length = 0;
    std::uint8_t* tag = nullptr;  ///< written, or on decryption expected
    std::uint64_t tag_length = 0;
    // XTS:
    const ExpandedKey* tweak_key = nullptr;
    DataUnits data_units{};
};

/// False: the tag is not the message's, and the output is to be wiped.
using ShortFunction = bool (*)(const ShortMessage&);

}  // namespace warpaes
