// Signals that would end the process ask a running job to stop, so that no incomplete file is left.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace cli {

/// Catches all signals whose default is to end the process, except those that report a broken program (SIGSEGV and
/// similar). Ignored signals, as under nohup, stay ignored. SIGPIPE and SIGXFSZ are ignored: a write that fails is an
/// error with a sentence. The process ends if the job has not stopped after five seconds, or at a second signal that
/// comes a second after the first.
void catch_signals();
/// The signal received, or 0.
int caught_signal() noexcept;
/// read() and waitpid() for calls that may wait long. A signal, even one just before the call, ends the wait with -1
/// and EINTR.
ssize_t read_or_interrupted(int fd, void* buffer, std::size_t bytes) noexcept;
pid_t wait_or_interrupted(pid_t process, int* status) noexcept;
/// Ends the process as `signal` does by default.
[[noreturn]] void end_by(int signal) noexcept;

}  // namespace cli
