#include "provider/counters.hpp"

#include <pthread.h>

#include "provider/counter_file.hpp"

namespace warpaes::provider {

namespace {

Counters own{};

/// This object is never destroyed, because contexts may be freed after all static objects.
CounterFile& shared() noexcept {
    static auto* const one = new CounterFile;
    return *one;
}

}  // namespace

Counters& process_counters() noexcept {
    return own;
}

bool share_counters(const std::string& path, std::string& why) {
    // The module is never unloaded, so the handler stays valid.
    static const int registered = ::pthread_atfork(nullptr, nullptr, [] { shared().forked(); });
    (void)registered;
    return shared().open(path, why);
}

void count(Kind kind, Where where, std::uint64_t calls, std::uint64_t bytes) noexcept {
    own.add(kind, where, calls, bytes);
    if (shared().is_open()) shared().add(kind, where, calls, bytes);
}

void count_load() noexcept {
    own.loads.fetch_add(1, std::memory_order_relaxed);
    if (shared().is_open()) shared().add_load();
}

}  // namespace warpaes::provider
