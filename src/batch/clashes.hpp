// Outputs of different entries that overlap.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "batch/strip.hpp"

namespace warpaes {

/// Told of what every entry writes, it finds the entries that write the same bytes. As long as everything lies in
/// ascending order it remembers next to nothing.
class Clashes {
public:
    /// `again(entry)`: gives what an entry wrote that was added before; for when the order breaks.
    using Again = std::function<std::array<Strip, 2>(std::uint32_t entry)>;

    /// Entries in ascending order.
    void add(std::uint32_t entry, const std::array<Strip, 2>& writes);
    /// What was added to `next`, whose entries all come after these.
    void append(const Clashes& next);
    /// Calls `clash` for each entry that overlaps another, maybe more than once. Returns the entries that write by
    /// where they do first; none if that is the order in which they were added.
    std::vector<std::uint32_t> find(const Again& again, const std::function<void(std::uint32_t entry)>& clash);

private:
    struct Write {
        Strip strip;
        std::uint32_t entry;
    };
    void keep(std::uint32_t entry, const std::array<Strip, 2>& writes);
    [[nodiscard]] std::vector<std::uint32_t> by_address() const;

    std::vector<std::uint32_t> entries_;   ///< added as long as all ascended
    std::vector<Write> writes_;            ///< of those after
    std::uintptr_t first_ = 0, last_ = 0;  ///< beginning and end of what ascends
    bool ascending_ = true;
};

}  // namespace warpaes
