// Commands that are written in Python.
#pragma once

namespace cli {

/// Replaces this process by Python, which runs the command `argv[0]` of the package `warpaes` with the arguments after
/// it. WARPAES_PYTHON names the interpreter, `python3` by default. Throws Failure if there is no interpreter. If it
/// lacks the package, it prints how to install it, and ends with the same exit status.
[[noreturn]] int run_in_package(int argc, char** argv);

}  // namespace cli
