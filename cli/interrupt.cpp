#include "interrupt.hpp"

#include <csignal>
#include <initializer_list>

namespace cli {

namespace {

volatile std::sig_atomic_t caught = 0;

extern "C" void remember(int signal) {
    caught = signal;
}

}  // namespace

void catch_signals() {
    struct sigaction action {};
    action.sa_handler = remember;
    // Not SA_RESTART: a call that waits for ever returns and the job notices.
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction before {};
        sigaction(signal, nullptr, &before);
        if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);  // nohup stays in force
    }
}

int caught_signal() noexcept {
    return caught;
}

}  // namespace cli
