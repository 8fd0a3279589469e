// SIGINT, SIGTERM and SIGHUP ask a running job to stop; a second one ends the process at once.
#pragma once

namespace cli {

void catch_signals();
/// The signal that came, or 0.
int caught_signal() noexcept;

}  // namespace cli
