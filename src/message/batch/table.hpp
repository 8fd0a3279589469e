// Messages listed in a table; they are scattered over a few extents of memory and have different lengths.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "message/batch/entries.hpp"

namespace warpaes {

[[nodiscard]] bool overlap(const Extent& a, const Extent& b);

/// Returns the table's extents, without entries. Throws Error{ARGUMENT}, Error{RANGE} or Error{OVERLAP} for a fault of
/// the table itself. The table has fewer than 2^32 rows.
TableEntries checked_extents(const warpaes_batch_table& table);

/// Returns the common properties of all messages of the table, as an entry of one message.
warpaes_batch_entry entry_of(const warpaes_batch_table& table);

/// Copies the table, which may be on a device, and converts each message to an entry. Finds faults that only the
/// complete table shows: messages that write memory that other messages write or read, and IVs that two encryptions
/// share. Takes at most n log n steps for n messages. For a table on a device, waits for the work on `stream`, a
/// cudaStream_t. Throws like checked_extents(), and throws Error{STATE} if the stream is in capture and the table is on
/// a device.
std::shared_ptr<const TableEntries> entries_of(const warpaes_batch_table& table, void* stream);

/// A table's messages for a caller's stream: rows at equal distances form one group. Pages, packets and cache blocks
/// usually have such an order.
struct TableGroups {
    std::vector<MessageGroup> groups;
    int device = -1;
};

/// Creates the groups in one pass over the rows, without copying them. Returns nothing if one pass is not enough: a row
/// has a fault, writes to addresses below those of an earlier row, or reads memory that any row writes (other than in
/// place), or the table is on a device. Throws like checked_extents() for a fault of the table itself.
std::optional<TableGroups> groups_in_order(const Engine& engine, const KeyHandles& handles,
                                           const warpaes_batch_table& table);

}  // namespace warpaes
