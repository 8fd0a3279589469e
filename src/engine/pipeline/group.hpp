// Runs a group of messages in memory. It goes through one lane if it fits in a chunk; a longer single message is cut
// and spread over all of the plan's lanes.
#pragma once

#include <cstdint>

#include "backend/tag.hpp"
#include "engine/engine.hpp"

namespace warpaes {

/// Runs a single message, or a stretch of one, under an expanded key. `memory`: the slower place of input and output;
/// with Memory::device at least one of them lies on `device`. A GCM message must have the digest of its associated
/// data, and its J0 if its IV is not 12 bytes. Tags, IVs and associated data lie in host memory. Thread-safe.
/// Everything is complete on return; after an exception the output is undefined.
Outcome run_group(Engine& engine, MessageGroup group, Memory memory = Memory::pageable, int device = -1);

}  // namespace warpaes
