#include "program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

#include "arguments.hpp"
#include "command.hpp"
#include "interrupt.hpp"

namespace cli {

namespace {

void occupy_standard_descriptors() {
    constexpr int flags[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
        if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
        // open() returns the lowest free number, which is `fd`. Without /dev, the root directory is opened instead,
        // which can be neither read nor written as a file.
        const int opened = ::open("/dev/null", flags[fd]);
        if (opened != fd && ::open("/", O_RDONLY | O_DIRECTORY) != fd) std::_Exit(EXIT_FAILURE);
    }
}

/// Opens closed standard descriptors, so that no other file gets their numbers. Using standard input or output is still
/// an error, and text for standard error is discarded. Also prevents core dumps, and stops other processes of the same
/// user from reading this process's memory, which holds keys.
void secure_process() {
    occupy_standard_descriptors();
    // The limit applies to core files; a core_pattern that pipes dumps to a program obeys PR_SET_DUMPABLE.
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    ::prctl(PR_SET_DUMPABLE, 0);
}

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
    // Also reports a write error that occurred earlier, after its data had left the buffer.
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
