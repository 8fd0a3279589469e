// Commands that are written in Python.
#pragma once

namespace cli {

/// Replaces this process by Python, which runs the command `argv[0]` of the package `warpaes` with the arguments after
/// it. WARPAES_PYTHON names the interpreter, `python3` by default. Throws Failure if there is none; if it has no such
/// package, a sentence says how to get it, and the exit status is the same.
[[noreturn]] int run_in_package(int argc, char** argv);

}  // namespace cli
