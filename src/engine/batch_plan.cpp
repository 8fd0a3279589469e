#include "engine/batch_plan.hpp"

#include <algorithm>

#include "backend/cuda_backend.hpp"

namespace warpaes {

BatchPlan plan_batch(Engine& engine, std::span<const BatchPart> parts) {
    std::vector<Work> works;
    for (const BatchPart& part : parts) {
        works.push_back({.mode = part.mode,
                         .direction = part.direction,
                         .key_bits = static_cast<unsigned>(32 * (part.rounds - 6)),
                         .bytes = part.bytes,
                         .memory = part.memory,
                         .messages = part.messages,
                         .longest = part.longest,
                         .keys = part.own_keys,
                         .batch = true});
    }
    Crew crew = engine.crew(works);
    BatchPlan plan;
    plan.cpu = crew.cpu;
    plan.gpus = crew.gpus;
    const bool pageable =
        std::any_of(parts.begin(), parts.end(), [](const BatchPart& p) { return p.memory == Memory::pageable; });
    if (pageable) {
        // A worker of a GPU copies pageable memory to page-locked staging and back itself: more of them, with less
        // each.
        plan.gpu_lanes = std::clamp(engine.options().threads, plan.gpu_lanes, most_gpu_lanes);
        std::uint64_t bytes = 0;
        for (const BatchPart& p : parts) bytes += std::min(p.bytes, std::uint64_t{1} << 40);
        plan.gpu_task_bytes = std::clamp(bytes / most_gpu_lanes, std::uint64_t{2} << 20, plan.gpu_task_bytes);
    }
    plan.reason = std::move(crew.reason);
    return plan;
}

}  // namespace warpaes
