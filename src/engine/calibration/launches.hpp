// The launch table that a tuning stored in this machine's calibration for a GPU.
#pragma once

#include "backend/gpu_tuning.hpp"
#include "engine/cost_model.hpp"

namespace warpaes {

/// The launch table that `model` holds for `gpu`. Without a table, a note may say why and what to do: the calibration
/// is unusable, the table belongs to another GPU, or this GPU cannot use it.
StoredLaunches launches_of(const CostModel& model, const GpuShape& gpu);

/// The same for the calibration stored on this machine. Never fails.
StoredLaunches stored_launches(const GpuShape& gpu);

/// Stores the table that `launches` uses at `path`, and keeps everything else stored there. Throws Error{WRITE}.
void store_launches(const GpuLaunches& launches, const std::string& path);

}  // namespace warpaes
