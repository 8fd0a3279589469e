// Engines whose workers sleep: who waits for a batch does all of it.
#pragma once

#include "warpaes/warpaes.h"

namespace fuzz {

/// Starts the engine's workers, one a CPU thread, and lets each fall asleep for good the first time that it has nothing
/// to do. Waking one for every batch takes longer than the batch, and who does what of it would differ from run to run.
/// For a new engine without a GPU, whose work needs the workers.
void put_workers_to_sleep(warpaes_engine* engine, unsigned workers);

/// They wake up and find that there is nothing to do: engines can be destroyed.
void wake_workers();

}  // namespace fuzz
