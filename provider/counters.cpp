#include "provider/counters.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>

namespace warpaes::provider {

namespace {

Counters own{};
std::atomic<Counters*> shared{nullptr};

/// Which file that is: a host that loads the provider again and again maps it once.
struct Mapped {
    std::mutex mutex;
    dev_t device = 0;
    ino_t inode = 0;
};
Mapped& mapped() {
    static auto* const one = new Mapped;
    return *one;
}

}  // namespace

Counters& process_counters() noexcept {
    return own;
}

bool share_counters(const std::string& path, std::string& why) {
    const auto failed = [&](const char* what) {
        why = "counters: cannot " + std::string(what) + " '" + path + "': " + std::strerror(errno);
        return false;
    };
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) return failed("open");
    struct Close {
        int file;
        ~Close() { ::close(file); }
    } const close{file};
    struct stat about {};
    if (::fstat(file, &about) != 0) return failed("look at");
    Mapped& last = mapped();
    const std::lock_guard lock(last.mutex);
    if (about.st_size == sizeof(Counters) && shared.load() != nullptr && last.device == about.st_dev &&
        last.inode == about.st_ino) {
        return true;
    }
    if (!S_ISREG(about.st_mode) || (about.st_size != 0 && about.st_size != sizeof(Counters))) {
        why = "counters: '" + path + "' is not a file of this version's counters; name another, or delete it";
        return false;
    }
    if (about.st_size == 0 && ::ftruncate(file, sizeof(Counters)) != 0) return failed("write");
    void* const memory = ::mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) return failed("map");
    auto* const counters = static_cast<Counters*>(memory);
    constexpr char magic[8] = {'w', 'a', 'r', 'p', 'a', 'e', 's', '1'};
    if (about.st_size != 0 && counters->magic[0] != 0 && std::memcmp(counters->magic, magic, sizeof magic) != 0) {
        ::munmap(memory, sizeof(Counters));
        why = "counters: '" + path + "' is not a file of this version's counters; name another, or delete it";
        return false;
    }
    std::memcpy(counters->magic, magic, sizeof magic);
    // What was there stays mapped: another thread may be counting. There is one file in a process, as a rule.
    shared.store(counters, std::memory_order_release);
    last.device = about.st_dev;
    last.inode = about.st_ino;
    return true;
}

void count(Kind kind, Where where, std::uint64_t calls, std::uint64_t bytes) noexcept {
    own.add(kind, where, calls, bytes);
    if (Counters* const all = shared.load(std::memory_order_acquire)) all->add(kind, where, calls, bytes);
}

void count_load() noexcept {
    own.loads.fetch_add(1, std::memory_order_relaxed);
    if (Counters* const all = shared.load(std::memory_order_acquire)) {
        all->loads.fetch_add(1, std::memory_order_relaxed);
    }
}

}  // namespace warpaes::provider
