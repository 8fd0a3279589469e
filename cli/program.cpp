#include "program.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

#include "arguments.hpp"
#include "command.hpp"
#include "interrupt.hpp"
#include "process.hpp"

namespace cli {

namespace {

void tell(const std::string& sentence) {
    say(fmt::format("{} {}\n", painted(Colour::red, "warpaes:"), sentence));
}

}  // namespace

int run_program(int argc, char** argv, int (*run)(int argc, char** argv)) {
    secure_process();
    remember_arguments(argc, argv);
    catch_signals();
    int code = WARPAES_ERROR_INTERNAL;
    try {
        code = run(argc, argv);
    } catch (const Failure& failure) {
        code = failure.status();
        // The library reports that the caller cancelled; for a signal, "interrupted" is clearer.
        const bool interrupted = code == WARPAES_ERROR_CANCELLED && caught_signal() != 0;
        tell(interrupted ? "interrupted" : failure.what());
    } catch (const std::system_error& error) {
        // A reader such as `head` has read enough: end as if SIGPIPE had not been ignored.
        if (std::ferror(stdout) != 0 && error.code() == std::errc::broken_pipe) end_by(SIGPIPE);
        if (std::ferror(stdout) != 0) {
            code = WARPAES_ERROR_WRITE;
            tell(fmt::format("cannot write to standard output: {}", error.code().message()));
        } else {
            tell(one_line(error.what()));
        }
    } catch (const std::bad_alloc&) {
        code = WARPAES_ERROR_OUT_OF_MEMORY;
        tell("out of memory");
    } catch (const std::exception& error) {
        if (std::ferror(stdout) != 0) code = WARPAES_ERROR_WRITE;
        tell(one_line(error.what()));
    }
    // Also reports a write error that occurred earlier and whose data has left the buffer.
    const int error = flush_output();
    if (code == 0 && error == EPIPE && caught_signal() == 0) end_by(SIGPIPE);
    if (code == 0 && (error != 0 || std::ferror(stdout) != 0)) {
        tell(fmt::format("cannot write to standard output: {}",
                         error == 0 ? "the output is incomplete" : std::strerror(error)));
        code = WARPAES_ERROR_WRITE;
    }
    if (caught_signal() != 0) end_by(caught_signal());
    return code;
}

}  // namespace cli
