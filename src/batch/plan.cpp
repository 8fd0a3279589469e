#include "batch/plan.hpp"

#include "cuda/cuda_backend.hpp"

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
    plan.reason = std::move(crew.reason);
    return plan;
}

}  // namespace warpaes
