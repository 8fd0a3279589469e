// Signals that would end the process ask a running job to stop, which then leaves nothing half-written behind.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace cli {

/// Catches all whose default is to end the process, but for those that say that it is broken (SIGSEGV and the like).
/// What is ignored, as under nohup, stays so. SIGPIPE and SIGXFSZ are ignored: what cannot be written is an error, with
/// a sentence. A job that has not stopped after five seconds is ended, as by a second signal that comes a second after
/// the first.
void catch_signals();
/// The signal that came, or 0.
int caught_signal() noexcept;
/// read() and waitpid() of what may be long in coming. A signal ends the waiting, also one that came just before: -1
/// and EINTR.
ssize_t read_or_interrupted(int fd, void* buffer, std::size_t bytes) noexcept;
pid_t wait_or_interrupted(pid_t process, int* status) noexcept;
/// Ends the process as `signal` does by default.
[[noreturn]] void end_by(int signal) noexcept;

}  // namespace cli
