// Initialization of the process.
#pragma once

namespace cli {

/// Opens closed standard descriptors, so that no other file gets their numbers. Using standard input or output is still
/// an error, and text for standard error is discarded.
///
/// Prevents core dumps, and stops other processes of the same user from reading this process's memory, which holds
/// keys.
void secure_process();

}  // namespace cli
