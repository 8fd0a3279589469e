// Signals that would end the process first stop the running job, so that no incomplete file remains.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace cli {

/// Catches all signals that end the process by default, except those that report a broken program (SIGSEGV and
/// similar). Signals that are ignored, as under nohup, stay ignored. SIGPIPE and SIGXFSZ are ignored, so that a failed
/// write is an error with a message. The process ends if the job has not stopped after five seconds, or if another
/// signal arrives at least a second after the first.
void catch_signals();
/// Returns the first signal that was received, or 0.
int caught_signal() noexcept;
/// read() and waitpid() for calls that may wait for a long time. A signal ends the wait with -1 and EINTR, even if it
/// arrives just before the call.
ssize_t read_or_interrupted(int fd, void* buffer, std::size_t bytes) noexcept;
pid_t wait_or_interrupted(pid_t process, int* status) noexcept;
/// Ends the process with the default action of `signal`.
[[noreturn]] void end_by(int signal) noexcept;

}  // namespace cli
