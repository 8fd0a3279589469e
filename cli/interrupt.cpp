#include "interrupt.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace cli {

namespace {

constexpr unsigned patience = 5;  // seconds

std::atomic<int> caught{0};
std::atomic<std::int64_t> caught_at{0};  // milliseconds
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

extern "C" void remember(int signal) {
    const int error = errno;
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    const std::int64_t at = std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
    int none = 0;
    if (caught.compare_exchange_strong(none, signal)) {
        caught_at = at;
        ::alarm(patience);
    } else if (caught_at != 0 && at - caught_at >= 1000) {
        // A program that forwards a signal to its children often delivers it twice at about the same time.
        end_by(caught);
    }
    errno = error;
}

std::vector<int> ending_signals() {
    std::vector<int> list{SIGHUP,  SIGINT,    SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,  SIGALRM,
                          SIGPROF, SIGVTALRM, SIGXCPU, SIGPOLL, SIGPWR,  SIGSTKFLT};
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) list.push_back(signal);
    return list;
}

}  // namespace

void catch_signals() {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    struct sigaction action {};
    action.sa_handler = remember;
    // Without SA_RESTART, a signal interrupts a blocking call, so the job notices the signal.
    sigemptyset(&action.sa_mask);
    for (const int signal : ending_signals()) {
        struct sigaction before {};
        if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) {
            sigaction(signal, &action, nullptr);
        }
    }
}

int caught_signal() noexcept {
    return caught;
}

ssize_t read_or_interrupted(int fd, void* buffer, std::size_t bytes) noexcept {
    // A signal that arrives between the check and the wait stays pending until ppoll() unblocks it.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pollfd one{fd, POLLIN, 0};
    while (caught == 0 && ::ppoll(&one, 1, nullptr, &before) < 0 && errno == EINTR) continue;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (caught == 0) return ::read(fd, buffer, bytes);
    errno = EINTR;
    return -1;
}

pid_t wait_or_interrupted(pid_t process, int* status) noexcept {
    constexpr long longest = 20'000'000;  // nanoseconds
    for (timespec pause{0, 50'000};; pause.tv_nsec = std::min(2 * pause.tv_nsec, longest)) {
        const pid_t ended = ::waitpid(process, status, WNOHANG);
        if (ended != 0) return ended;
        if (caught != 0) break;
        ::nanosleep(&pause, nullptr);
    }
    errno = EINTR;
    return -1;
}

void end_by(int signal) noexcept {
    std::signal(signal, SIG_DFL);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
    std::raise(signal);
    std::_Exit(128 + signal);
}

}  // namespace cli
