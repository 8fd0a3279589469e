// Batches on a caller's stream: no thread waits for them.
#pragma once

#include "message/batch/entries.hpp"

namespace warpaes {

/// Implements warpaes_batch_enqueue and warpaes_batch_enqueue_table. In a table, invalid messages get their statuses.
/// Ignores `request.results`, `finished` and `check_nonces`. If an entry is invalid, throws an Error that names the
/// first such entry, and enqueues nothing.
void enqueue_batch(Engine& engine, const BatchRequest& request, void* stream);

/// Enqueues a table in one pass, if its rows allow that (table.hpp). Returns false if nothing was enqueued.
bool enqueue_in_order(Engine& engine, const KeyHandles& handles, const warpaes_batch_table& table, void* stream);

}  // namespace warpaes
