#include "base/pool.hpp"

#include <openssl/crypto.h>
#include <sched.h>

#include <algorithm>
#include <system_error>

namespace warpaes {

Pool::State& Pool::state() {
    State* known = state_.load(std::memory_order_acquire);
    if (known != nullptr && known->home.is_here()) return *known;
    // The parent's state is abandoned: its threads may have held locks at the fork, so even destroying the state could
    // hang.
    auto fresh = std::make_unique<State>();
    if (state_.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
    return *known;
}

Pool::~Pool() {
    const std::unique_ptr<State> last(state_.load() != nullptr ? &state() : nullptr);
    if (last == nullptr) return;
    {
        const std::lock_guard lock(last->mutex);
        last->stopping = true;
    }
    last->offered.notify_all();
    for (std::thread& thread : last->threads) thread.join();
}

void Pool::share(unsigned n, const std::function<void(unsigned)>& work) {
    if (n < 2) return work(0);
    const Offered rest(*this, work, 1, n);
    work(0);
}

Pool::Offered::Offered(Pool& pool, const std::function<void(unsigned)>& work, unsigned first, unsigned end)
    : state_(pool.state()), offer_{.work = work, .next = first, .end = end} {
    if (first < end) state_.make(offer_);
}

Pool::Offered::~Offered() {
    if (state_.home.is_here()) state_.withdraw(offer_);
}

void Pool::State::make(Offer& offer) {
    const std::lock_guard lock(mutex);
    const std::size_t wanted = offer.end - offer.next;
    try {
        offers.push_back(&offer);
        open = true;
        for (std::size_t i = idle; i < wanted && threads.size() < wanted; ++i) {
            threads.emplace_back([this] { serve(); });
        }
    } catch (const std::bad_alloc&) {
        // The caller's thread does the work that no other thread starts.
    } catch (const std::system_error&) {
        // No more threads can be created: the running threads do all the work.
    }
    for (std::size_t i = std::min(wanted, idle); i != 0; --i) offered.notify_one();
}

void Pool::State::withdraw(Offer& offer) noexcept {
    std::unique_lock lock(mutex);
    std::erase(offers, &offer);
    open = !offers.empty();
    ended.wait(lock, [&] { return offer.running == 0; });
}

void Pool::State::serve() noexcept {
    std::unique_lock lock(mutex);
    while (!stopping) {
        if (offers.empty()) {
            lock.unlock();
            const auto settled = [&] { return open || held == 0; };
            if (held != 0 && poll(std::chrono::microseconds(100), settled, false) && open) {
                lock.lock();
                continue;
            }
            OPENSSL_thread_stop();  // a sleeping thread would do this too late, at process exit
            lock.lock();
            if (!offers.empty() || stopping) continue;
            ++idle;
            offered.wait(lock, [&] { return !offers.empty() || stopping; });
            --idle;
            continue;
        }
        Offer& offer = *offers.front();
        const unsigned number = offer.next++;
        if (offer.next == offer.end) offers.pop_front();
        open = !offers.empty();
        ++offer.running;
        lock.unlock();
        offer.work(number);
        lock.lock();
        if (--offer.running == 0) ended.notify_all();
    }
}

unsigned usable_processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
}

}  // namespace warpaes
