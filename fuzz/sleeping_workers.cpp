#include "sleeping_workers.hpp"

#include <condition_variable>
#include <mutex>

#include "input.hpp"

extern "C" void __real_OPENSSL_thread_stop();

namespace {

std::mutex mutex;
std::condition_variable changed;
bool to_sleep = false, awake = false;
unsigned sleeping = 0;

}  // namespace

// The linker replaces our objects' calls to OPENSSL_thread_stop with calls to this function (--wrap). A worker calls it
// before it waits for work.
extern "C" void __wrap_OPENSSL_thread_stop() {
    __real_OPENSSL_thread_stop();
    std::unique_lock lock(mutex);
    if (!to_sleep) return;
    ++sleeping;
    changed.notify_all();
    changed.wait(lock, [] { return awake; });
}

namespace fuzz {

void put_workers_to_sleep(warpaes_engine* engine, unsigned workers) {
    std::unique_lock lock(mutex);
    to_sleep = true;
    sleeping = 0;
    lock.unlock();
    warpaes_batch* batch = nullptr;
    require(warpaes_batch_submit(engine, nullptr, nullptr, 0, &batch) == WARPAES_OK, "a batch of nothing is refused");
    (void)warpaes_batch_wait(batch, WARPAES_UNKNOWN);
    warpaes_batch_destroy(batch);
    lock.lock();
    changed.wait(lock, [&] { return sleeping == workers; });
    to_sleep = false;
}

void wake_workers() {
    const std::lock_guard lock(mutex);
    awake = true;
    changed.notify_all();
}

}  // namespace fuzz
