// Runs a group on lanes: makes a plan, cuts a long message and distributes it over the plan's lanes, repeats work on
// which a GPU failed, and computes or compares the tag.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>

#include "backend/mac.hpp"
#include "backend/tag.hpp"
#include "engine/engine.hpp"

namespace warpaes {

/// Runs a single message, or a stretch of a message, under an expanded key. `memory` is the slower kind of memory of
/// input and output; with Memory::device, at least one of them is on `device`. A GCM message must contain the digest of
/// its associated data, and its J0 if its IV is not 12 bytes. Tags, IVs and associated data are in host memory.
/// Thread-safe. All work is complete on return; after an exception the output is undefined.
Outcome run_group(Engine& engine, MessageGroup group, Memory memory = Memory::pageable, int device = -1);

/// Calls `work(lane, i)` once for each i below `parts`, on lanes of the plan, in parallel if that is faster.
template <typename Work>
void for_each_part(Engine& engine, const Plan& plan, std::uint64_t parts, const Work& work) {
    std::atomic<std::uint64_t> next{0};
    const auto take = [&](std::size_t worker) {
        std::uint64_t i = next++;
        if (i >= parts) return;
        const LaneLease lane = engine.lease(plan, static_cast<unsigned>(worker), 0);
        for (; i < parts; i = next++) work(*lane, i);
    };
    const auto lanes = static_cast<std::size_t>(std::min<std::uint64_t>(plan.lanes, parts));
    if (lanes <= 1) return take(0);
    engine.pool().for_each(lanes, take);
}

/// Returns the digest (MessageGroup::digest) of `bytes` bytes in `place`, read after the work that is already on the
/// device's default stream. `ran` receives the outcome. It is not set if the data is short enough to be hashed on
/// the calling thread.
Block gcm_digest(Engine& engine, const ExpandedKey& key, const std::uint8_t* data, std::uint64_t bytes,
                 const MemoryPlace& place, Outcome* ran = nullptr);

/// Returns the pre-counter block J0 for any GCM `iv` in host memory.
Block first_counter(Engine& engine, const ExpandedKey& key, std::span<const std::uint8_t> iv);

}  // namespace warpaes
