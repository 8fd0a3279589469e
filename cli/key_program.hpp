// A program that prints a keyset, a key or a passphrase: `exec:COMMAND`.
#pragma once

#include <string>

#include "descriptor.hpp"

namespace cli {

/// A command for the shell that runs, whose standard output can be read. Its standard input is empty, its errors go
/// where ours do, and its environment has no WARPAES_KEYSET, which could start it again.
class KeyProgram {
public:
    /// `option`: what gave the command, for messages, none of which repeats the command's arguments. Throws Failure.
    KeyProgram(const std::string& option, const std::string& command);
    KeyProgram(const KeyProgram&) = delete;
    KeyProgram& operator=(const KeyProgram&) = delete;
    /// Ends a command that nobody waits for any more.
    ~KeyProgram();

    [[nodiscard]] int output() const noexcept { return output_.get(); }
    /// By what it is called in messages: the option, and the first word of the command.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// Waits for its end. Throws Failure unless it succeeded: what it printed may be half of a key.
    void finish();

private:
    std::string name_;
    Descriptor output_;
    int process_ = -1;
};

}  // namespace cli
