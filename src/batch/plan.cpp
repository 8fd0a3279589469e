#include "batch/plan.hpp"

#include "cuda/cuda_backend.hpp"

namespace warpaes {

BatchPlan plan_batch(Engine& engine, std::span<const BatchPart> parts) {
    BatchPlan plan;
    if (engine.forced() != nullptr) {
        plan.reason = "asked for";
        if (engine.forced() == &cuda_backend()) {
            plan.gpus = engine.gpus();
        } else {
            plan.cpu = engine.forced();
        }
        return plan;
    }
    std::uint64_t bytes = 0;
    for (const BatchPart& part : parts) bytes += part.bytes;
    if (bytes >= engine.options().gpu_least_bytes && !engine.gpus().empty()) {
        plan.gpus = engine.gpus();
        plan.reason = "a GPU is here and there is enough to do";
    } else {
        plan.cpu = Engine::replacement({}).backend;
        plan.reason = "best CPU backend";
    }
    return plan;
}

}  // namespace warpaes
