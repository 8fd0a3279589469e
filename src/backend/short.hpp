// Short messages. Choosing a backend for a short message would take longer than processing it, so it is processed
// immediately.
#pragma once

#include <cstdint>

#include "aes/types.hpp"

namespace warpaes {

class ExpandedKey;

/// One whole message, already checked, entirely in host memory. Modes and lengths are as in Run. GCM with a 12-byte IV
/// is the only supported mode with tags.
struct ShortMessage {
    Mode mode;
    Direction direction;
    const ExpandedKey* key;
    const std::uint8_t* round_keys;  ///< round keys of the cipher (FIPS 197, 5.1)
    const std::uint8_t* iv;          ///< 16 bytes; 12 bytes for GCM; none for ECB
    const std::uint8_t* input;
    std::uint8_t* output;  ///< equal to the input or disjoint from it
    std::uint64_t length;  ///< bytes
    // GCM:
    const std::uint8_t* aad = nullptr;
    std::uint64_t aad_length = 0;
    std::uint8_t* tag = nullptr;  ///< written on encryption, expected on decryption
    std::uint64_t tag_length = 0;
    // XTS:
    const ExpandedKey* tweak_key = nullptr;
    DataUnits data_units{};
    std::uint32_t unused_bits = 0;  ///< CFB1: see MessageGroup
};

/// Returns false if the tag is wrong; the caller must then wipe the output.
using ShortFunction = bool (*)(const ShortMessage&);

}  // namespace warpaes
