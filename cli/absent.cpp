// Replaces the commands that `make demo` leaves out.
#include <fmt/format.h>

#include "command.hpp"

namespace cli {

namespace {

[[noreturn]] int refuse(char** argv) {
    throw Failure(
        WARPAES_ERROR_ARGUMENT,
        fmt::format("'{}': not included in the build of `make demo`; `make install` builds all commands", argv[0]));
}

}  // namespace

int run_bench(int /*argc*/, char** argv) {
    refuse(argv);
}

int run_calibrate(int /*argc*/, char** argv) {
    refuse(argv);
}

int run_lab(int /*argc*/, char** argv) {
    refuse(argv);
}

int run_plan(int /*argc*/, char** argv) {
    refuse(argv);
}

int run_provider(int /*argc*/, char** argv) {
    refuse(argv);
}

int run_selftest(int /*argc*/, char** argv) {
    refuse(argv);
}

int run_tune(int /*argc*/, char** argv) {
    refuse(argv);
}

}  // namespace cli
