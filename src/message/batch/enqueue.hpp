// Batches on a caller's stream: nobody waits for them but the stream.
#pragma once

#include "message/batch/entries.hpp"

namespace warpaes {

/// See warpaes_batch_enqueue. `request.results`, `finished` and `check_nonces` are not looked at. Throws Error of the
/// first entry that is wrong, naming it, and enqueues nothing then.
void enqueue_batch(Engine& engine, const BatchRequest& request, void* stream);

}  // namespace warpaes
