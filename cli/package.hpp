// Commands that are written in Python.
#pragma once

namespace cli {

/// Replaces this process with Python, which runs the command `argv[0]` of the package `warpaes` with the arguments
/// after it. WARPAES_PYTHON names the interpreter, which is `python3` by default. Throws Failure if there is no
/// interpreter. If the interpreter does not have the package, it explains how to install it and exits with the same
/// status.
[[noreturn]] int run_in_package(int argc, char** argv);

}  // namespace cli
