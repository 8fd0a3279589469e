// Shared code of the programs: startup, failures and exit.
#pragma once

namespace cli {

/// The complete main() function. `run` receives its arguments, and returns the exit status or throws.
int run_program(int argc, char** argv, int (*run)(int argc, char** argv));

}  // namespace cli
