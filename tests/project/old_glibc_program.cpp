// Uses symbols from newer headers and libraries that glibc 2.28 lacks. test_wheel.py links this program for glibc 2.28
// and runs it on this machine, once as if this machine's glibc also lacked the symbols.
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <random>
#include <string_view>
#include <thread>

extern "C" void* __wrap_dlsym(void*, const char*) {
    return nullptr;
}

// The names that the headers of glibc 2.38 substitute for strtol and similar functions.
extern "C" long __isoc23_strtol(const char*, char**, int);
extern "C" unsigned long long __isoc23_strtoull(const char*, char**, int);
extern "C" int __isoc23_sscanf(const char*, const char*, ...);

namespace {

int constructed = 0;
struct Constructed {
    Constructed() { ++constructed; }
} object;

void require(bool holds, const char* what) {
    if (holds) return;
    std::printf("not so: %s\n", what);
    std::exit(1);
}

void files_have_attributes() {
    struct stat by_path {
    }, by_file{}, of_link{};
    require(::stat("/etc/passwd", &by_path) == 0 && S_ISREG(by_path.st_mode) && by_path.st_size > 0, "stat");
    const int file = ::open("/etc/passwd", O_RDONLY);
    require(::fstat(file, &by_file) == 0 && by_file.st_ino == by_path.st_ino, "fstat");
    require(::lstat("/proc/self", &of_link) == 0 && S_ISLNK(of_link.st_mode), "lstat");
    require(::fstatat(AT_FDCWD, "/etc/passwd", &by_file, 0) == 0 && by_file.st_size == by_path.st_size, "fstatat");
    ::close(file);
}

void waiting_ends() {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_set = false;
    std::unique_lock lock(mutex);
    require(!changed.wait_for(lock, std::chrono::milliseconds(5), [&] { return is_set; }), "a wait that times out");
    std::thread other([&] {
        const std::lock_guard held(mutex);
        is_set = true;
        changed.notify_one();
    });
    require(changed.wait_for(lock, std::chrono::hours(1), [&] { return is_set; }), "a wait that is notified");
    lock.unlock();
    other.join();

    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
    ::pthread_mutex_lock(&held);
    timespec past{};
    ::clock_gettime(CLOCK_MONOTONIC, &past);
    past.tv_sec -= 2;
    require(::pthread_cond_clockwait(&condition, &held, CLOCK_MONOTONIC, &past) == ETIMEDOUT, "a time in the past");
    ::pthread_mutex_unlock(&held);
}

/// A program that is not position-independent contains copies of glibc's variables. glibc must use these copies under
/// all names of the variables.
void variables_are_those_of_the_library() {
    require(environ != nullptr && *environ != nullptr, "environ");
    require(::setenv("OLD_GLIBC_PROGRAM", "set", 1) == 0, "setenv");
    bool is_there = false;
    for (char** each = environ; *each != nullptr; ++each) {
        is_there = is_there || std::string_view(*each) == "OLD_GLIBC_PROGRAM=set";
    }
    require(is_there, "what setenv sets is in environ");
    require(::fileno(stdout) == STDOUT_FILENO && ::fileno(stderr) == STDERR_FILENO, "stdout and stderr");
    tzname[0] = tzname[1] = nullptr;
    ::setenv("TZ", "ABC1DEF", 1);
    ::tzset();
    require(tzname[0] != nullptr && std::string_view(tzname[0]) == "ABC", "tzname");
}

void numbers_are_read() {
    int one = 0, two = 0;
    require(__isoc23_strtol("-17", nullptr, 10) == -17, "strtol");
    require(__isoc23_strtoull("ffffffffffffffff", nullptr, 16) == ~0ULL, "strtoull");
    require(__isoc23_sscanf("3.19", "%d.%d", &one, &two) == 2 && one == 3 && two == 19, "sscanf");
}

void programs_get_no_descriptors() {
    const int file = ::open("/dev/null", O_RDONLY);
    require(::fcntl(file, F_DUPFD, 40) >= 40, "a descriptor that exec does not close");
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    require(::posix_spawn_file_actions_addclosefrom_np(&actions, 3) == 0, "an action");
    char shell[] = "sh", flag[] = "-c", text[] = "for i in 40 41 42; do test ! -e /proc/self/fd/$i || exit 1; done";
    char* const arguments[] = {shell, flag, text, nullptr};
    pid_t process = 0;
    int status = -1;
    require(::posix_spawn(&process, "/bin/sh", &actions, nullptr, arguments, environ) == 0, "a program");
    require(::waitpid(process, &status, 0) == process && status == 0, "its descriptors are closed");
    ::posix_spawn_file_actions_destroy(&actions);
}

void counts_are_right_in_several_threads() {
    const auto shared = std::make_shared<int>(0);
    std::thread other([&shared] {
        for (int i = 0; i < 100'000; ++i) std::shared_ptr<int>(shared);
    });
    for (int i = 0; i < 100'000; ++i) std::shared_ptr<int>(shared);
    other.join();
    require(shared.use_count() == 1, "shared_ptr");
}

}  // namespace

int main() {
    require(constructed == 1, "constructors run once");
    files_have_attributes();
    waiting_ends();
    numbers_are_read();
    variables_are_those_of_the_library();
    programs_get_no_descriptors();
    counts_are_right_in_several_threads();
    std::random_device device;
    require(device() != device() || device() != device(), "random numbers");
    std::puts("all right");
}
