#include "provider/counters.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

namespace warpaes::provider {

// A file of counters that several processes share. It is never mapped, because any process that may write to the file
// may also truncate it, and accessing a truncated mapping kills the process.

/// One object per process; each child process has its own. Counts are added to the file immediately, under a file lock.
/// Counts that cannot be added wait for the next call. The object acquires no lock that other threads or processes
/// could hold for a long time, and releases no lock in a child process.
class CounterFile {
public:
    /// Opens the file that add() updates. Returns false, with the reason in `why`, if the file cannot be opened or is
    /// not a counter file.
    bool open(const std::string& path, std::string& why);
    [[nodiscard]] bool is_open() const noexcept { return path_.load(std::memory_order_acquire) != nullptr; }

    void add(Kind kind, Where where, std::uint64_t calls, std::uint64_t bytes) noexcept;
    void add_load() noexcept;

    /// Must be called in a child of fork(). Drops the waiting counts, which the parent writes, and releases `busy_`,
    /// whose holder may be a thread that does not exist in the child.
    void forked() noexcept;

private:
    void write_down() noexcept;
    bool add_to_file() noexcept;
    [[nodiscard]] int file() noexcept;

    std::atomic<const std::string*> path_{nullptr};
    std::atomic_flag busy_;             ///< set while a thread is writing
    std::atomic<bool> waiting_{false};  ///< `counts_` may be nonzero
    std::atomic<bool> patient_{true};   ///< false: the last attempt to lock the file failed
    Counters counts_{};
    int file_ = -1;
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

namespace {

constexpr char magic[8] = {'w', 'a', 'r', 'p', 'a', 'e', 's', '1'};

/// The layout of the file.
struct Numbers {
    static constexpr std::size_t count = sizeof(Counters) / 8 - 1;
    char magic[8];
    std::uint64_t numbers[count];
};
static_assert(sizeof(Numbers) == sizeof(Counters));

/// Maximum number of steps to wait for the file's lock, whose holder finishes within microseconds.
constexpr int steps = 200;
constexpr timespec step{0, 50'000};

int open_file(const char* path) noexcept {
    // O_NONBLOCK is used because opening a pipe or a similar file must not block.
    return ::open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
}

/// Holds the file's lock while this object exists. The lock belongs to the process: all its threads, and all its
/// descriptors of the file, share the lock.
class Lock {
public:
    Lock(int file, bool patient) noexcept : file_(file) {
        for (int i = 0; i < (patient ? steps : 1); ++i) {
            if (i != 0) (void)::nanosleep(&step, nullptr);
            if (set(F_WRLCK)) {
                held_ = true;
                return;
            }
            if (errno != EAGAIN && errno != EACCES && errno != EINTR) return;
        }
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock() {
        if (held_) (void)set(F_UNLCK);
    }
    [[nodiscard]] bool held() const noexcept { return held_; }

private:
    bool set(short type) const noexcept {
        struct flock range {};
        range.l_type = type;
        range.l_whence = SEEK_SET;
        return ::fcntl(file_, F_SETLK, &range) == 0;
    }
    int file_;
    bool held_ = false;
};

/// Reads the file's numbers, which are zeros if the file is new or was truncated. Returns false if the file cannot be
/// read or is not a counter file.
bool read_numbers(int file, Numbers& numbers) noexcept {
    char bytes[sizeof numbers + 1];
    const ssize_t n = ::pread(file, bytes, sizeof bytes, 0);
    if (n < 0 || std::memcmp(bytes, magic, std::min<std::size_t>(static_cast<std::size_t>(n), sizeof magic)) != 0) {
        return false;
    }
    if (n < static_cast<ssize_t>(sizeof numbers)) {
        std::memset(&numbers, 0, sizeof numbers);
        std::memcpy(numbers.magic, magic, sizeof magic);
        return true;
    }
    std::memcpy(&numbers, bytes, sizeof numbers);
    return n == sizeof numbers;  // a longer file belongs to a different version
}

/// Returns whether RLIMIT_FSIZE permits a file of `bytes` bytes. A write beyond the limit would kill the process
/// (SIGXFSZ).
bool may_write(std::size_t bytes) noexcept {
    rlimit limit{};
    return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= bytes;
}

}  // namespace

int CounterFile::file() noexcept {
    struct stat about {};
    // Some programs close descriptors that they did not open, so the descriptor may now belong to a different file.
    const bool ours = file_ >= 0 && ::fstat(file_, &about) == 0 && about.st_dev == device_ && about.st_ino == inode_;
    if (ours && about.st_nlink != 0) return file_;
    if (ours) ::close(file_);
    file_ = open_file(path_.load(std::memory_order_acquire)->c_str());
    if (file_ < 0) return -1;
    if (::fstat(file_, &about) != 0 || !S_ISREG(about.st_mode)) {
        ::close(file_);
        return file_ = -1;
    }
    device_ = about.st_dev;
    inode_ = about.st_ino;
    return file_;
}

bool CounterFile::open(const std::string& path, std::string& why) {
    while (busy_.test_and_set(std::memory_order_seq_cst)) (void)::nanosleep(&step, nullptr);
    struct Free {
        std::atomic_flag& flag;
        ~Free() { flag.clear(std::memory_order_seq_cst); }
    } const free{busy_};
    // Only the thread that holds `busy_` reads the name. The name changes atomically, so a child of fork() inherits
    // either the old or the new name.
    std::unique_ptr<const std::string> before(path_.exchange(new std::string(path), std::memory_order_acq_rel));
    const bool same = before != nullptr && *before == path;
    if (!same) {
        if (file_ >= 0) ::close(file_);
        file_ = -1;
    }
    errno = 0;
    const int opened = file();
    const int error = errno;
    Numbers numbers;
    if (opened < 0 && error != 0) {
        why = "counters: cannot open '" + path + "': " + std::strerror(error);
    } else if (opened < 0 || !read_numbers(opened, numbers)) {
        why = "counters: '" + path + "' is not a counters file of this version; name a different file, or delete it";
    } else {
        return true;
    }
    if (file_ >= 0) ::close(file_);
    file_ = -1;
    delete path_.exchange(same ? nullptr : before.release(), std::memory_order_acq_rel);
    return false;
}

bool CounterFile::add_to_file() noexcept {
    const int to = file();
    if (to < 0) return false;
    const Lock lock(to, patient_.load(std::memory_order_relaxed));
    patient_.store(lock.held(), std::memory_order_relaxed);
    Numbers numbers;
    if (!lock.held() || !may_write(sizeof numbers) || !read_numbers(to, numbers)) return false;
    std::uint64_t added[Numbers::count];
    auto* at = added;
    const auto take = [&](std::atomic<std::uint64_t>& one) { *at++ = one.exchange(0, std::memory_order_relaxed); };
    take(counts_.loads);
    for (auto& kind : counts_.cells) {
        for (Counters::Cell& cell : kind) {
            take(cell.calls);
            take(cell.bytes);
        }
    }
    for (std::size_t i = 0; i < Numbers::count; ++i) numbers.numbers[i] += added[i];
    if (::pwrite(to, &numbers, sizeof numbers, 0) == sizeof numbers) return true;
    at = added;
    const auto give_back = [&](std::atomic<std::uint64_t>& one) { one.fetch_add(*at++, std::memory_order_relaxed); };
    give_back(counts_.loads);
    for (auto& kind : counts_.cells) {
        for (Counters::Cell& cell : kind) {
            give_back(cell.calls);
            give_back(cell.bytes);
        }
    }
    return false;
}

void CounterFile::write_down() noexcept {
    const int error = errno;
    waiting_.store(true, std::memory_order_seq_cst);
    // If another thread is writing, it checks for new counts when it has finished, so this thread can return.
    while (waiting_.load(std::memory_order_seq_cst) && !busy_.test_and_set(std::memory_order_seq_cst)) {
        waiting_.store(false, std::memory_order_seq_cst);
        const bool done = is_open() && add_to_file();
        busy_.clear(std::memory_order_seq_cst);
        if (!done) break;
    }
    errno = error;
}

void CounterFile::add(Kind kind, Where where, std::uint64_t calls, std::uint64_t bytes) noexcept {
    counts_.add(kind, where, calls, bytes);
    write_down();
}

void CounterFile::add_load() noexcept {
    counts_.loads.fetch_add(1, std::memory_order_relaxed);
    write_down();
}

void CounterFile::forked() noexcept {
    busy_.clear();
    waiting_.store(false);
    counts_.loads.store(0);
    for (auto& kind : counts_.cells) {
        for (Counters::Cell& cell : kind) {
            cell.calls.store(0);
            cell.bytes.store(0);
        }
    }
}

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
