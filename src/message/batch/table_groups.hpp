// The groups of a table whose rows are in order, which is the usual case of pages, packets and blocks of a cache.
#pragma once

#include <optional>
#include <vector>

#include "message/batch/entries.hpp"

namespace warpaes {

/// A table's messages for a caller's stream: rows at equal distances are one group.
struct TableGroups {
    std::vector<MessageGroup> groups;
    int device = -1;
};

/// One pass over the rows, without a copy of them. Nothing if that does not suffice: a row has a fault, writes before
/// an earlier row, or reads memory that is written (other than in place), or the rows are on a device. Throws as
/// checked_extents() for a fault of the table itself.
std::optional<TableGroups> groups_in_order(const Engine& engine, const KeyHandles& handles,
                                           const warpaes_batch_table& table);

}  // namespace warpaes
