// Initialization of the process.
#pragma once

namespace cli {

/// Opens closed standard descriptors, so that no other file gets their numbers: input and output such that their use is
/// still an error, standard error such that its text is discarded.
///
/// Prevents core dumps, and stops other processes of the same user from reading this process's memory, which holds
/// keys.
void secure_process();

}  // namespace cli
