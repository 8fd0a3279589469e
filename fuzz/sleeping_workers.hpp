// Engines whose workers sleep: the thread that waits for a batch does all its work.
#pragma once

#include "warpaes/warpaes.h"

namespace fuzz {

/// Starts the engine's workers, one per CPU thread, and lets each sleep for good as soon as it is idle. To wake one for
/// every batch takes longer than the batch, and the distribution of work would differ from run to run. For a new engine
/// without a GPU; a GPU's work needs the workers.
void put_workers_to_sleep(warpaes_engine* engine, unsigned workers);

/// The workers wake up and find no work, so engines can be destroyed.
void wake_workers();

}  // namespace fuzz
