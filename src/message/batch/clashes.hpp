// Finds overlapping outputs of different entries.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "message/batch/strip.hpp"

namespace warpaes {

/// Collects the writes of all entries and finds the entries that write the same bytes. As long as the addresses of all
/// writes (or of outputs and of tags separately) ascend, it stores only the entry numbers.
class Clashes {
public:
    /// Returns the writes of an entry that was added earlier; called if the addresses no longer ascend.
    using Again = std::function<std::array<Strip, 2>(std::uint32_t entry)>;

    /// Entries must be added in ascending order.
    void add(std::uint32_t entry, const std::array<Strip, 2>& writes) {
        const auto extent = [](const Strip& s) { return s.empty() ? Extent{} : Extent{s.begin, s.end()}; };
        add(entry, extent(writes[0]), extent(writes[1]), [&] { return writes; });
    }
    /// The memory from the first byte of a write to its last: [begin, end); both 0 if nothing is written.
    struct Extent {
        std::uintptr_t begin = 0, end = 0;
    };
    /// As above; `writes()` is called only if the writes do not ascend.
    template <class Writes>
    void add(std::uint32_t entry, Extent output, Extent tag, const Writes& writes) {
        if (output.end == 0 && tag.end == 0) return;
        if (all_.holds || (outputs_.holds && tags_.holds)) {
            if (output.end != 0) outputs_.add(output.begin, output.end);
            if (tag.end != 0) tags_.add(tag.begin, tag.end);
            all_.add(output.end == 0 ? tag.begin
                     : tag.end == 0  ? output.begin
                                     : std::min(output.begin, tag.begin),
                     std::max(output.end, tag.end));
            if (all_.holds || (outputs_.holds && tags_.holds)) return entries_.push_back(entry);
        }
        keep(entry, writes());
    }
    /// Appends the contents of `next`, whose entries all follow the entries of this object.
    void append(const Clashes& next);
    using Clash = std::function<void(std::uint32_t entry)>;
    /// Calls `clash` for each entry that overlaps another entry, possibly more than once. All overlaps between entries
    /// that have the same stride or no gaps are found. (If more than 64 strides interleave, entries without gaps are
    /// compared with only 64 of these strides.) Takes n log n steps for n entries and each stride. Returns the entries
    /// that write, ordered by their first write; empty if outputs and tags ascend. `stop()` is called at intervals; if
    /// it returns true, the search ends.
    std::vector<std::uint32_t> find(
        const Again& again, const Clash& clash, const std::function<bool()>& stop = [] { return false; });

private:
    struct Write {
        Strip strip;
        std::uint32_t entry;
    };
    /// Tracks whether the addresses of all writes so far have ascended.
    struct Ascent {
        std::uintptr_t first = UINTPTR_MAX, last = 0;  ///< begin of the first write and end of the last
        bool holds = true;

        void add(std::uintptr_t begin, std::uintptr_t end) noexcept {
            holds = holds && begin >= last;
            first = std::min(first, begin);
            last = end;
        }
        void append(const Ascent& next) noexcept;
    };
    /// Whether the order of the writes shows that no two entries overlap.
    [[nodiscard]] bool ascend() const noexcept;
    void keep(std::uint32_t entry, const std::array<Strip, 2>& writes);
    [[nodiscard]] std::vector<std::uint32_t> by_address() const;
    static void compare(std::span<const Write* const> writes, const Clash& clash, const std::function<bool()>& stop);
    static void compare_solids(std::span<const Write* const> writes, const Clash& clash);
    static void compare_at_stride(std::span<const Write* const> writes, std::span<const Write* const> solids,
                                  const Clash& clash);

    static constexpr std::size_t most_strides = 64;

    std::vector<std::uint32_t> entries_;  ///< entries that were added while the writes ascended
    std::vector<Write> writes_;           ///< writes of the entries added after that
    Ascent all_, outputs_, tags_;
};

}  // namespace warpaes
