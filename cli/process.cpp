#include "process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace cli {

namespace {

void occupy_standard_descriptors() {
    constexpr int flags[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
        if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
        // open() returns the lowest free number, which is this one. Without /dev it opens the root directory, which can
        // be neither read nor written.
        const int opened = ::open("/dev/null", flags[fd]);
        if (opened != fd && ::open("/", O_RDONLY | O_DIRECTORY) != fd) std::_Exit(EXIT_FAILURE);
    }
}

}  // namespace

void secure_process() {
    occupy_standard_descriptors();
    // The limit applies to core files; a core_pattern that pipes dumps to a program obeys PR_SET_DUMPABLE.
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    ::prctl(PR_SET_DUMPABLE, 0);
}

}  // namespace cli
