// Puts the workers of engines to sleep, so that the thread that waits for a batch does all of its work.
#pragma once

#include "warpaes/warpaes.h"

namespace fuzz {

/// Starts the engine's workers, one per CPU thread, and makes each sleep permanently as soon as it is idle. Waking a
/// worker for every batch would take longer than the batch, and the distribution of work would differ from run to run.
/// Call this function only for a new engine without a GPU, because GPU work needs the workers.
void put_workers_to_sleep(warpaes_engine* engine, unsigned workers);

/// Wakes the workers, which find no work. The engines can then be destroyed.
void wake_workers();

}  // namespace fuzz
