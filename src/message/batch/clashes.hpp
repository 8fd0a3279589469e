// Outputs of different entries that overlap.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "message/batch/strip.hpp"

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
    using Clash = std::function<void(std::uint32_t entry)>;
    /// Calls `clash` for each entry that overlaps another, maybe more than once: for all such where they lie at the
    /// same stride or without gaps. (Where more than 64 strides lie between each other, those without gaps are compared
    /// with 64 of them.) Takes n log n steps for n entries, for each of these strides. Returns the entries that write
    /// by where they do first; none if that is the order in which they were added.
    /// `stop()`, asked now and then: whether nobody wants to know any more.
    std::vector<std::uint32_t> find(
        const Again& again, const Clash& clash, const std::function<bool()>& stop = [] { return false; });

private:
    struct Write {
        Strip strip;
        std::uint32_t entry;
    };
    void keep(std::uint32_t entry, const std::array<Strip, 2>& writes);
    [[nodiscard]] std::vector<std::uint32_t> by_address() const;
    static void compare(std::span<const Write* const> writes, const Clash& clash, const std::function<bool()>& stop);
    static void compare_solids(std::span<const Write* const> writes, const Clash& clash);
    static void compare_at_stride(std::span<const Write* const> writes, std::span<const Write* const> solids,
                                  const Clash& clash);

    static constexpr std::size_t most_strides = 64;

    std::vector<std::uint32_t> entries_;   ///< added as long as all ascended
    std::vector<Write> writes_;            ///< of those after
    std::uintptr_t first_ = 0, last_ = 0;  ///< beginning and end of what ascends
    bool ascending_ = true;
};

}  // namespace warpaes
