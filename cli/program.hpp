// Shared code of the programs: their beginning, failures and end.
#pragma once

namespace cli {

/// The whole of main(). `run` receives its arguments, and returns the exit status or throws.
int run_program(int argc, char** argv, int (*run)(int argc, char** argv));

}  // namespace cli
