#include "engine/pipeline/worker_lane.hpp"

namespace warpaes {

WorkerLane::WorkerLane(Engine& engine, const Plan& plan, unsigned worker, std::size_t staging_bytes)
    : engine_(engine), plan_(plan), worker_(worker), replaceable_(plan.replaceable) {
    try {
        first_.emplace(engine.lease(plan, worker, staging_bytes));
    } catch (const Error& e) {
        if (!replaceable_ || !is_failure_of_device(e)) throw;
        device_failed_ = true;
        replaceable_ = false;
        first_.emplace(engine.lease(Engine::replacement(plan), worker, staging_bytes));
    }
}

void WorkerLane::replace() {
    device_failed_ = true;
    replaceable_ = false;
    first_->discard();
    second_.emplace(engine_.lease(Engine::replacement(plan_), worker_, 0));
}

}  // namespace warpaes
