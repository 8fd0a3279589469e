#include "base/pool.hpp"

#include <openssl/crypto.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

namespace warpaes {

Pool::~Pool() {
    {
        const std::lock_guard lock(mutex_);
        forget_parent();
        stopping_ = true;
    }
    offered_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void Pool::forget_parent() noexcept {
    const pid_t process = getpid();
    if (process == process_) return;
    for (std::thread& thread : threads_) thread.detach();
    threads_.clear();
    offers_.clear();
    idle_ = 0;
    process_ = process;
}

void Pool::share(unsigned n, const std::function<void(unsigned)>& work) {
    if (n < 2) return work(0);
    struct Shared {
        Shared(Pool& its_pool, Offer& its_offer) : pool(its_pool), offer(its_offer) { pool.offer(offer); }
        ~Shared() { pool.withdraw(offer); }
        Pool& pool;
        Offer& offer;
    };
    Offer offer{.work = work, .next = 1, .end = n};
    const Shared shared(*this, offer);
    work(0);
}

void Pool::offer(Offer& offer) {
    const std::lock_guard lock(mutex_);
    forget_parent();
    const std::size_t wanted = offer.end - offer.next;
    try {
        offers_.push_back(&offer);
        for (std::size_t i = idle_; i < wanted && threads_.size() < wanted; ++i) {
            threads_.emplace_back([this] { serve(); });
        }
    } catch (const std::bad_alloc&) {
        // The caller does what nobody else can.
    } catch (const std::system_error&) {
        // No more threads to be had: those that run do all the work.
    }
    for (std::size_t i = std::min(wanted, idle_); i != 0; --i) offered_.notify_one();
}

void Pool::withdraw(Offer& offer) noexcept {
    std::unique_lock lock(mutex_);
    std::erase(offers_, &offer);
    ended_.wait(lock, [&] { return offer.running == 0; });
}

void Pool::serve() noexcept {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        if (offers_.empty()) {
            lock.unlock();
            OPENSSL_thread_stop();  // at the end of the process a thread that sleeps would come too late
            lock.lock();
            if (!offers_.empty() || stopping_) continue;
            ++idle_;
            offered_.wait(lock, [&] { return !offers_.empty() || stopping_; });
            --idle_;
            continue;
        }
        Offer& offer = *offers_.front();
        const unsigned number = offer.next++;
        if (offer.next == offer.end) offers_.pop_front();
        ++offer.running;
        lock.unlock();
        offer.work(number);
        lock.lock();
        if (--offer.running == 0) ended_.notify_all();
    }
}

}  // namespace warpaes
