// Finds groups in the messages that a client lists individually: messages of the same shape, at equal distances.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/group.hpp"
#include "cuda/memory_place.hpp"

namespace warpaes::cuda {

/// A batch's groups. Consecutive messages of the same shape become one group if they are in the same memory.
class MergedGroups {
public:
    MergedGroups() = default;
    explicit MergedGroups(std::span<const MessageGroup> groups);

    [[nodiscard]] std::size_t size() const noexcept { return runs_.size(); }
    [[nodiscard]] MessageGroup operator[](std::size_t i) const;
    /// Total number of keys that are passed as bytes.
    [[nodiscard]] std::uint64_t raw_keys() const noexcept { return raw_keys_; }

private:
    struct Run {
        std::size_t first, count;  ///< a range of elements of groups_
    };
    /// Input, output, IV, associated data, tag and keys.
    static constexpr std::size_t kinds = 6;
    using Kinds = Elements MessageGroup::*const[kinds];
    static constexpr Kinds each_kind = {&MessageGroup::input, &MessageGroup::output, &MessageGroup::iv,
                                        &MessageGroup::aad,   &MessageGroup::tag,    &MessageGroup::keys};

    /// Whether `next` is the next message of the run: it has the same shape and is one stride further on.
    [[nodiscard]] bool continues(const Run& run, const MessageGroup& next);
    [[nodiscard]] bool lies_with(std::size_t kind, const std::uint8_t* first, const std::uint8_t* next);

    std::span<const MessageGroup> groups_;
    std::vector<Run> runs_;
    std::uint64_t raw_keys_ = 0;
    PlaceFinder before_[kinds], places_[kinds];
};

}  // namespace warpaes::cuda
