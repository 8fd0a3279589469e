// Messages of modes that are made of others. Their blocks run on CPUs; what lies in device memory is copied to host
// memory and back.
#pragma once

#include <cstdint>
#include <span>

#include "engine/engine.hpp"
#include "message/message.hpp"
#include "warpaes/warpaes.h"

namespace warpaes {

/// See warpaes_message in the C ABI, whose fields these are.
struct ComposedRequest {
    ComposedMode mode;
    Direction direction;
    const ExpandedKey* key;
    const ExpandedKey* mac_key;        ///< SIV
    std::span<const std::uint8_t> iv;  ///< without data: none
    const std::uint8_t* input;
    std::uint64_t input_length;
    std::uint8_t* output;
    std::uint64_t output_capacity;
    // Of modes with tags:
    std::span<const warpaes_part> aad;  ///< components; one or none, but for SIV
    std::uint8_t* tag;
    std::uint64_t tag_length;
};

/// Processes the message. `result.output_length` is set before Error{BUFFER_TOO_SMALL} is thrown. Nothing of it stays
/// on the stack. Thread-safe.
void crypt_composed(Engine& engine, const ComposedRequest& request, MessageResult& result);

}  // namespace warpaes
