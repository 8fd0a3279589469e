// A group of messages in memory: straight through one lane if it fits a chunk, else, if it is a single message, cut and
// spread over all of the plan's lanes.
#pragma once

#include <cstdint>

#include "backend/group.hpp"
#include "engine/engine.hpp"

namespace warpaes {

/// Runs a single message, or a stretch of one, under a key with a handle. `memory`: where the slower of input and
/// output lies; with Memory::device, on `device`, at least one does. A message of GCM comes with the digest of its
/// associated data, and with its J0 if its IV has not 12 bytes. Tags, IVs and associated data lie in host memory.
/// Thread-safe. Returns when all is complete; after an exception the output is undefined.
Outcome run_group(Engine& engine, MessageGroup group, Memory memory = Memory::pageable, int device = -1);

}  // namespace warpaes
