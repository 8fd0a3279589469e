// What the process sets up before anything else.
#pragma once

namespace cli {

/// Opens standard descriptors that are closed, so that no file of the command's gets their numbers: input and output so
/// that using them is still an error, standard error so that its text goes nowhere.
///
/// Prevents core dumps, and stops other processes of the same user from reading this process's memory, which holds
/// keys.
void secure_process();

}  // namespace cli
