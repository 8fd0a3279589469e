// Messages of modes that are made of others. Their blocks run on the CPU; data in device memory is copied to host
// memory and back. GCM-SIV is the exception: its text stays in device memory and runs on the GPU.
#pragma once

#include <cstdint>
#include <span>

#include "engine/engine.hpp"
#include "message/message.hpp"
#include "warpaes/warpaes.h"

namespace warpaes {

/// The fields of warpaes_message in the C ABI, which documents them.
struct ComposedRequest {
    ComposedMode mode;
    Direction direction;
    const ExpandedKey* key;
    const ExpandedKey* mac_key;        ///< SIV
    std::span<const std::uint8_t> iv;  ///< null data: no IV
    const std::uint8_t* input;
    std::uint64_t input_length;
    std::uint8_t* output;
    std::uint64_t output_capacity;
    // Of modes with tags:
    std::span<const warpaes_part> aad;  ///< components; at most one, except for SIV
    std::uint8_t* tag;
    std::uint64_t tag_length;
};

/// Processes the message. Sets `result.output_length` before it throws Error{BUFFER_TOO_SMALL}. Leaves no secrets on
/// the stack. Thread-safe.
void crypt_composed(Engine& engine, const ComposedRequest& request, MessageResult& result);

}  // namespace warpaes
