// A program that prints a keyset, a key or a passphrase: `exec:COMMAND`.
#pragma once

#include <sys/types.h>

#include <string>

#include "places/host.hpp"

namespace warpaes::places {

/// A running shell command whose standard output can be read. Its standard input is empty, and its error output goes to
/// this process's standard error. It inherits no keys: no other descriptor, no variable WARPAES_KEYSET… (which would
/// also allow it to start itself again), and no variable that WARPAES_KEYSET or the host names.
class KeyProgram {
public:
    /// `option` is the argument that contained the command, for messages; no message repeats the command's arguments.
    /// Throws Error{ARGUMENT} or Error{READ}.
    KeyProgram(const std::string& option, const std::string& command, Host& host);
    KeyProgram(const KeyProgram&) = delete;
    KeyProgram& operator=(const KeyProgram&) = delete;
    /// Terminates the command if finish() has not been called.
    ~KeyProgram();

    [[nodiscard]] int output() const noexcept { return output_; }
    /// The name in messages: the option, and the command's first word if that is certainly the name of a program.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// Waits until the command ends. Throws Error unless it succeeded, because its output may be only a part of a key.
    void finish();

private:
    void close_output() noexcept;

    Host& host_;
    std::string name_;
    int output_ = -1;
    pid_t process_ = -1;
};

}  // namespace warpaes::places
