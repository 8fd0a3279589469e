// Batches on a caller's stream, for which no thread waits.
#pragma once

#include "message/batch/entries.hpp"

namespace warpaes {

/// Implements warpaes_batch_enqueue and warpaes_batch_enqueue_table. In a table, the fault of an invalid message is
/// written to its status. Ignores `request.results`, `finished` and `check_nonces`. If an entry is invalid, throws an
/// Error that names the first such entry, and enqueues nothing.
void enqueue_batch(Engine& engine, const BatchRequest& request, void* stream);

/// Enqueues a table in one pass if its rows allow it (table.hpp). Returns false if nothing was enqueued.
bool enqueue_in_order(Engine& engine, const KeyHandles& handles, const warpaes_batch_table& table, void* stream);

}  // namespace warpaes
