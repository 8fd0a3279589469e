// Messages that a table lists: scattered over a few extents of memory, each of its own length.
#pragma once

#include <memory>

#include "message/batch/entries.hpp"

namespace warpaes {

/// Copies the table, which may lie on a device, and makes an entry of each message. Finds what only the whole table
/// shows: messages that write where others write or read, and IVs of two encryptions. Takes n log n steps, whatever the
/// messages are. `stream`: a cudaStream_t whose work a table on a device waits for. Throws Error{ARGUMENT, OVERLAP,
/// STATE} for what is wrong with the table itself.
std::shared_ptr<const TableEntries> entries_of(const warpaes_batch_table& table, void* stream);

}  // namespace warpaes
