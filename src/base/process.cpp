#include "base/process.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "base/error.hpp"

#if !defined(MADV_WIPEONFORK)
#define MADV_WIPEONFORK 18
#endif

namespace warpaes {

namespace {

using Word = std::atomic<std::uint64_t>;

constinit Word none{0};
/// Points to the process's number, which is 0 until the process gets one: to `none`, or to a page that the kernel
/// clears in a child.
constinit std::atomic<Word*> number{&none};

class Numbers {
public:
    Numbers() noexcept {
        const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        void* const page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page != MAP_FAILED && madvise(page, bytes, MADV_WIPEONFORK) == 0) {
            word_ = new (page) Word(0);
            number.store(word_, std::memory_order_release);
        }
        pthread_atfork(nullptr, nullptr, [] { the().word_->store(0); });
    }
    static Numbers& the() noexcept {
        static Numbers numbers;
        return numbers;
    }

    std::uint64_t get() noexcept {
        if (word_ == &own_ && process_.exchange(getpid()) != getpid()) word_->store(0);
        std::uint64_t known = word_->load();
        if (known != 0) return known;
        const std::uint64_t fresh = ++last_;
        return word_->compare_exchange_strong(known, fresh) ? fresh : known;
    }

private:
    Word own_{0};
    Word* word_ = &own_;
    std::atomic<pid_t> process_{getpid()};
    Word last_{0};  ///< number of this process or, until this process has a number, of its parent
};

}  // namespace

std::uint64_t this_process() noexcept {
    const std::uint64_t known = number.load(std::memory_order_acquire)->load(std::memory_order_relaxed);
    return known != 0 ? known : Numbers::the().get();
}

void Home::refuse(const char* thing, const char* instead) {
    throw Error(WARPAES_ERROR_STATE, std::string(thing) + ": belongs to the process that forked this one; " + instead);
}

/// All locks of this kind in the process. The list is never destroyed, because some locks are destroyed after all
/// static objects.
struct LocksAcrossFork {
    std::mutex mutex;
    LockAcrossFork* first = nullptr;

    LocksAcrossFork() {
        pthread_atfork(
            [] {
                the().mutex.lock();
                the().for_each(&LockAcrossFork::before_fork);
            },
            [] {
                the().for_each(&LockAcrossFork::after_in_parent);
                the().mutex.unlock();
            },
            [] {
                the().for_each(&LockAcrossFork::after_in_child);
                new (&the().mutex) std::mutex;
            });
    }
    void for_each(void (LockAcrossFork::*call)()) {
        for (LockAcrossFork* lock = first; lock != nullptr; lock = lock->next_) (lock->*call)();
    }
    static LocksAcrossFork& the() {
        static auto* all = new LocksAcrossFork;
        return *all;
    }
};

LockAcrossFork::LockAcrossFork() {
    LocksAcrossFork& all = LocksAcrossFork::the();
    const std::lock_guard lock(all.mutex);
    next_ = all.first;
    if (next_ != nullptr) next_->previous_ = this;
    all.first = this;
}

LockAcrossFork::~LockAcrossFork() {
    LocksAcrossFork& all = LocksAcrossFork::the();
    const std::lock_guard lock(all.mutex);
    (previous_ != nullptr ? previous_->next_ : all.first) = next_;
    if (next_ != nullptr) next_->previous_ = previous_;
}

}  // namespace warpaes
