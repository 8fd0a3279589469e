// A program that prints a keyset, a key or a passphrase: `exec:COMMAND`.
#pragma once

#include <string>

#include "descriptor.hpp"

namespace cli {

/// A running shell command whose standard output can be read. Its standard input is empty, its errors go to this
/// command's standard error. It inherits no keys: no other descriptor, and neither WARPAES_KEYSET, with which it could
/// also start itself again, nor a variable that a place env:NAME of this command line names.
class KeyProgram {
public:
    /// `option`: the option that gave the command, for messages; no message repeats the command's arguments. Throws
    /// Failure.
    KeyProgram(const std::string& option, const std::string& command);
    KeyProgram(const KeyProgram&) = delete;
    KeyProgram& operator=(const KeyProgram&) = delete;
    /// Ends a command that has not been waited for.
    ~KeyProgram();

    [[nodiscard]] int output() const noexcept { return output_.get(); }
    /// The name in messages: the option, and the first word of the command if that is certainly a program's name.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// Waits for its end. Throws Failure unless it succeeded: its output may be half of a key.
    void finish();

private:
    std::string name_;
    Descriptor output_;
    int process_ = -1;
};

}  // namespace cli
