// AES-GCM in memory, of any size: what a lane does with a GcmRun, spread over all of the plan's lanes.
#pragma once

#include "backend/backend.hpp"
#include "engine/engine.hpp"
#include "pipeline/message.hpp"

namespace warpaes {

/// As Lane::run_gcm, for a single message or a stretch of one. `memory`: where the slower of the two buffers lies; with
/// Memory::device, on `device`, at least one does. Thread-safe. Returns when output and results are complete; after an
/// exception both are undefined.
Outcome run_gcm(Engine& engine, const GcmRun& run, Memory memory = Memory::pageable, int device = -1);

/// The tag of a run that is a whole message, from the digest of its ciphertext.
FieldElement gcm_tag(const GcmRun& run, FieldElement digest);

}  // namespace warpaes
