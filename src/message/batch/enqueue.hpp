// Batches on a caller's stream: no thread waits for them.
#pragma once

#include "message/batch/entries.hpp"

namespace warpaes {

/// Implements warpaes_batch_enqueue, and warpaes_batch_enqueue_table, whose messages that are wrong get their statuses.
/// Ignores `request.results`, `finished` and `check_nonces`. If an entry is wrong, throws an Error that names the first
/// such entry, and enqueues nothing.
void enqueue_batch(Engine& engine, const BatchRequest& request, void* stream);

/// Enqueues a table in one pass, if its rows allow that (table.hpp). False: nothing is enqueued.
bool enqueue_in_order(Engine& engine, const KeyHandles& handles, const warpaes_batch_table& table, void* stream);

}  // namespace warpaes
