// What a tuning has left in this machine's calibration for a GPU.
#pragma once

#include "backend/cuda_backend.hpp"
#include "engine/cost_model.hpp"

namespace warpaes {

/// Of a calibration that says so itself, of another GPU, or such as this one cannot be launched with: not used, and the
/// note says why and what to do.
StoredLaunches launches_of(const CostModel& model, const GpuShape& gpu);

/// The same of what is stored on this machine. Never fails.
StoredLaunches stored_launches(const GpuShape& gpu);

/// Puts what `launches` uses beside all else that is stored at `path`. Throws Error{WRITE}.
void store_launches(const GpuLaunches& launches, const std::string& path);

}  // namespace warpaes
