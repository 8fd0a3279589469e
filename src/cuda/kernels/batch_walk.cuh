// A thread's walk through the blocks of many messages, which are numbered consecutively: 32 blocks at each step.
#pragma once

#include "cuda/kernels/batch_lookup.cuh"

namespace warpaes::cuda {

class BlockWalk {
public:
    /// `blocks_of(group)` returns the number of blocks in one message of the group, which is at least one for every
    /// group that the walk enters.
    template <typename BlocksOf>
    __device__ __forceinline__ void begin(const BatchParams& p, std::uint64_t unit, const BlocksOf& blocks_of) {
        group_ = find_group<&BatchGroup::first_unit>(p, unit);
        enter(p, unit, blocks_of);
    }

    /// `unit` must be 32 more than in the previous call.
    template <typename BlocksOf>
    __device__ __forceinline__ void advance(const BatchParams& p, std::uint64_t unit, const BlocksOf& blocks_of) {
        if (unit >= end_) {
            group_ = walk_to_group<&BatchGroup::first_unit>(p, group_, unit);
            enter(p, unit, blocks_of);
            return;
        }
        message_ += messages_on_;
        block_ += blocks_on_;
        if (block_ >= blocks_) {
            block_ -= blocks_;
            ++message_;
        }
    }

    [[nodiscard]] __device__ __forceinline__ std::uint32_t group() const { return group_; }
    [[nodiscard]] __device__ __forceinline__ std::uint64_t message() const { return message_; }
    [[nodiscard]] __device__ __forceinline__ std::uint64_t block() const { return block_; }

private:
    template <typename BlocksOf>
    __device__ __forceinline__ void enter(const BatchParams& p, std::uint64_t unit, const BlocksOf& blocks_of) {
        end_ = group_ + 1 < p.group_count ? p.groups[group_ + 1].first_unit : p.units;
        blocks_ = blocks_of(group_);
        block_ = unit - p.groups[group_].first_unit;
        message_ = 0;
        if (block_ >= blocks_) {
            message_ = block_ / blocks_;
            block_ -= message_ * blocks_;
        }
        messages_on_ = blocks_ > warp_lanes ? 0 : warp_lanes / static_cast<std::uint32_t>(blocks_);
        blocks_on_ = blocks_ > warp_lanes ? warp_lanes : warp_lanes % static_cast<std::uint32_t>(blocks_);
    }

    std::uint64_t end_{}, message_{}, block_{}, blocks_{};
    std::uint32_t group_{}, messages_on_{}, blocks_on_{};
};

}  // namespace warpaes::cuda
