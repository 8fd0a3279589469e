// Defines functions that exist only in newer versions of glibc, for programs linked with the libraries from
// old_glibc.py. The compiler's headers, its C++ library and libcrypto call these functions.
#include <dirent.h>
#include <dlfcn.h>
#include <spawn.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <memory>

namespace {

/// Returns the C library's function with this name, or null if this glibc is too old. dlsym does not find the functions
/// in this file, because they are not exported.
template <typename Function>
Function* newer(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

/// Returns `start` + (`to` - `from`).
timespec moved(const timespec& start, const timespec& from, const timespec& to) {
    constexpr std::int64_t second = 1'000'000'000;
    std::int64_t nanoseconds = std::int64_t{start.tv_nsec} + to.tv_nsec - from.tv_nsec;
    timespec result{};
    result.tv_sec = start.tv_sec + to.tv_sec - from.tv_sec;
    for (; nanoseconds < 0; nanoseconds += second) --result.tv_sec;
    for (; nanoseconds >= second; nanoseconds -= second) ++result.tv_sec;
    result.tv_nsec = static_cast<long>(nanoseconds);
    return result;
}

}  // namespace

extern "C" {

#ifdef __x86_64__
constexpr int stat_version = 1;
#else
constexpr int stat_version = 0;
#endif
int __xstat(int, const char*, struct stat*);
int __lxstat(int, const char*, struct stat*);
int __fxstat(int, int, struct stat*);
int __fxstatat(int, int, const char*, struct stat*, int);

// Before 2.33, these were inline functions or were in the statically linked part of the library.
int stat(const char* path, struct stat* result) noexcept {
    return __xstat(stat_version, path, result);
}

int lstat(const char* path, struct stat* result) noexcept {
    return __lxstat(stat_version, path, result);
}

int fstat(int file, struct stat* result) noexcept {
    return __fxstat(stat_version, file, result);
}

int fstatat(int directory, const char* path, struct stat* result, int flags) noexcept {
    return __fxstatat(stat_version, directory, path, result, flags);
}

static_assert(sizeof(struct stat) == sizeof(struct stat64));

int stat64(const char* path, struct stat64* result) noexcept {
    return ::stat(path, reinterpret_cast<struct stat*>(result));
}

int lstat64(const char* path, struct stat64* result) noexcept {
    return ::lstat(path, reinterpret_cast<struct stat*>(result));
}

int fstat64(int file, struct stat64* result) noexcept {
    return ::fstat(file, reinterpret_cast<struct stat*>(result));
}

int fstatat64(int directory, const char* path, struct stat64* result, int flags) noexcept {
    return ::fstatat(directory, path, reinterpret_cast<struct stat*>(result), flags);
}

// Since 2.32. Nonzero while the process has only one thread. This code cannot detect a second thread, so the value is
// always 0 and reference counts are always atomic.
char __libc_single_threaded = 0;

// Since 2.36.
std::uint32_t arc4random() noexcept {
    std::uint32_t value = 0;
    while (::getrandom(&value, sizeof value, 0) != sizeof value) {
        if (errno != EINTR) std::abort();
    }
    return value;
}

// Since 2.30. With an older glibc, changing the wall clock changes how long a thread waits, as in all programs built
// for older versions.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
    static auto* const real = newer<decltype(pthread_cond_clockwait)>("pthread_cond_clockwait");
    if (real != nullptr) return real(condition, mutex, clock, until);
    timespec now{}, wall{};
    if (::clock_gettime(clock, &now) != 0 || ::clock_gettime(CLOCK_REALTIME, &wall) != 0) return errno;
    const timespec deadline = moved(wall, now, *until);
    return ::pthread_cond_timedwait(condition, mutex, &deadline);
}

// Since 2.34. With an older glibc, descriptors that another thread opens between this call and the start of the program
// stay open in the program, unless they are close-on-exec.
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t* actions, int from) noexcept {
    static auto* const real =
        newer<decltype(posix_spawn_file_actions_addclosefrom_np)>("posix_spawn_file_actions_addclosefrom_np");
    if (real != nullptr) return real(actions, from);
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), ::closedir);
    if (!folder) return errno;
    while (const dirent* entry = ::readdir(folder.get())) {
        if (entry->d_name[0] == '.') continue;
        const int file = std::atoi(entry->d_name);
        const int error = file >= from ? ::posix_spawn_file_actions_addclose(actions, file) : 0;
        if (error != 0) return error;
    }
    return 0;
}

// Since 2.38. The C library's functions also parse binary numbers ("0b1") if the base is 0 or 2. The functions in this
// file do not.
long strtol_before(const char*, char**, int) __asm__("strtol");
unsigned long strtoul_before(const char*, char**, int) __asm__("strtoul");
long long strtoll_before(const char*, char**, int) __asm__("strtoll");
unsigned long long strtoull_before(const char*, char**, int) __asm__("strtoull");
int vsscanf_before(const char*, const char*, va_list) __asm__("vsscanf");

long __isoc23_strtol(const char* text, char** end, int base) {
    return strtol_before(text, end, base);
}

unsigned long __isoc23_strtoul(const char* text, char** end, int base) {
    return strtoul_before(text, end, base);
}

long long __isoc23_strtoll(const char* text, char** end, int base) {
    return strtoll_before(text, end, base);
}

unsigned long long __isoc23_strtoull(const char* text, char** end, int base) {
    return strtoull_before(text, end, base);
}

int __isoc23_sscanf(const char* text, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int fields = vsscanf_before(text, format, arguments);
    va_end(arguments);
    return fields;
}

// Since 2.34, __libc_start_main runs a program's constructors. Before 2.34, every program contained a function for this
// purpose. Current startup files omit this function, so the constructors would not run with an old glibc. Programs are
// therefore linked with --wrap=__libc_start_main.
using Main = int(int, char**, char**);
using Initializer = void(int, char**, char**);
extern Initializer* __preinit_array_start[] __attribute__((weak, visibility("hidden")));
extern Initializer* __preinit_array_end[] __attribute__((weak, visibility("hidden")));
extern Initializer* __init_array_start[] __attribute__((weak, visibility("hidden")));
extern Initializer* __init_array_end[] __attribute__((weak, visibility("hidden")));
void _init() __attribute__((weak));
int __real___libc_start_main(Main*, int, char**, Initializer*, void (*)(), void (*)(), void*) __attribute__((weak));

static void run_constructors(int argc, char** argv, char** environment) {
    for (auto* each = __preinit_array_start; each < __preinit_array_end; ++each) (*each)(argc, argv, environment);
    if (_init != nullptr) _init();
    for (auto* each = __init_array_start; each < __init_array_end; ++each) (*each)(argc, argv, environment);
}

int __wrap___libc_start_main(Main* main, int argc, char** argv, Initializer*, void (*)(), void (*end)(), void* stack) {
    return __real___libc_start_main(main, argc, argv, run_constructors, nullptr, end, stack);
}

}  // extern "C"
