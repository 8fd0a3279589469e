// Engines whose workers sleep: the thread that waits for a batch does all its work.
#pragma once

#include "warpaes/warpaes.h"

namespace fuzz {

/// Starts the engine's workers, one per CPU thread, and makes each sleep permanently as soon as it is idle. Waking one
/// for every batch would take longer than the batch, and the distribution of work would differ from run to run. Use it
/// only for a new engine without a GPU, because a GPU's work needs the workers.
void put_workers_to_sleep(warpaes_engine* engine, unsigned workers);

/// Wakes the workers, which find no work, so that engines can be destroyed.
void wake_workers();

}  // namespace fuzz
