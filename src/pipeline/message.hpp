// One message in host memory, of any length: straight through one lane if it fits a chunk, else cut and spread over all
// of the plan's lanes.
#pragma once

#include <cstdint>
#include <string_view>

#include "aes/types.hpp"
#include "backend/backend.hpp"
#include "engine/engine.hpp"

namespace warpaes {

/// A whole message without padding; `input` and `output` are host memory, equal or disjoint. ECB and CBC: whole blocks.
struct HostMessage {
    Mode mode;
    Direction direction;
    const ExpandedKey* key;
    Block iv;
    const std::uint8_t* input;
    std::uint8_t* output;
    std::uint64_t length;  ///< bytes; for CFB1 bits
    /// Where the slower of the two buffers lies; with Memory::device, on `device`, at least one does.
    Memory memory = Memory::pageable;
    int device = -1;
    const ExpandedKey* tweak_key = nullptr;  ///< XTS, as in Run
    std::uint64_t data_unit = 0;
};

/// What ran it.
struct Outcome {
    std::string_view backend;
    int device = -1;          ///< CUDA device number (the first, if there were several), or -1
    std::uint32_t notes = 0;  ///< WARPAES_NOTE_DEVICE_FAILED
};

/// Thread-safe. Returns when the output is complete; after an exception the output is undefined.
Outcome run_message(Engine& engine, const HostMessage& message);

}  // namespace warpaes
