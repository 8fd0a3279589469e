#include "memory.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

extern "C" {
void __libc_free(void* pointer);
void* __libc_realloc(void* pointer, std::size_t bytes);
}

namespace secrets {

namespace {

constexpr std::size_t most_patterns = 8192;
constexpr std::size_t arena_bytes = std::size_t{16} << 20;
constexpr std::size_t register_bytes = 4096;
constexpr std::size_t most_findings = 1000;

struct Pattern {
    std::uint8_t bytes[64];
    std::size_t size;
    char name[64];
    bool freed;  ///< whether it was found in a freed block since the last call to findings()
    void* where[8];
    int depth;
};

struct Arena {
    std::size_t used;
    std::size_t patterns;
    std::uint64_t filter[65536 / 64];  ///< bits indexed by a hash of the first eight bytes of a pattern
    std::uint16_t first[65536];        ///< index + 1 of the first pattern with this hash
    std::uint16_t next[most_patterns];
    Pattern pattern[most_patterns];
    alignas(64) std::uint8_t registers[register_bytes];
    alignas(4096) std::uint8_t memory[arena_bytes];
};

Arena& arena() {
    static auto* const all = static_cast<Arena*>(
        mmap(nullptr, sizeof(Arena), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    return *all;
}

std::uint64_t load(const std::uint8_t* p) {
    std::uint64_t v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

std::size_t hash_of(std::uint64_t v) {
    return (v * 0x9e3779b97f4a7c15u) >> 48;
}

/// Calls `found(pattern, place)` for every pattern in `memory`.
template <typename Found>
void search(const std::uint8_t* memory, std::size_t bytes, const Found& found) {
    Arena& a = arena();
    for (std::size_t i = 0; i + 8 <= bytes; ++i) {
        // Most of the memory is zero.
        if (i % 64 == 0 && i + 72 <= bytes) {
            std::uint64_t any = 0;
            for (std::size_t j = 0; j < 64; j += 8) any |= load(memory + i + j);
            if (any == 0) {
                i += 56 - 1;  // a pattern may begin with the last of these zeros
                continue;
            }
        }
        const std::size_t hash = hash_of(load(memory + i));
        if ((a.filter[hash / 64] >> (hash % 64) & 1) == 0) continue;
        for (unsigned n = a.first[hash]; n != 0; n = a.next[n - 1]) {
            Pattern& p = a.pattern[n - 1];
            if (p.size <= bytes - i && std::memcmp(p.bytes, memory + i, p.size) == 0) found(p, memory + i);
        }
    }
}

std::atomic<bool> watching{false};
std::mutex freeing;
thread_local bool inside = false;

void look_through_freed(const void* pointer, std::size_t bytes) {
    if (pointer == nullptr || !watching || inside) return;
    inside = true;
    {
        const std::lock_guard lock(freeing);
        search(static_cast<const std::uint8_t*>(pointer), bytes, [](Pattern& p, const std::uint8_t*) {
            if (p.freed) return;
            p.freed = true;
            p.depth = backtrace(p.where, 8);
        });
    }
    inside = false;
}

/// A range that is not searched, because it does not represent host memory: the registers of simulated kernels.
struct Left {
    std::uintptr_t begin, end;
};
std::array<Left, 16384> left_out;
std::atomic<std::size_t> left_out_count{0};

void* callers_stack = nullptr;

struct Mapping {
    std::uintptr_t begin, end;
    std::string name;
};

std::vector<Mapping> writable_memory() {
    std::vector<Mapping> all;
    std::FILE* const maps = std::fopen("/proc/self/maps", "re");
    char line[512];
    while (maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr) {
        std::uintptr_t begin = 0, end = 0;
        char access[8] = {}, name[256] = {};
        if (std::sscanf(line, "%lx-%lx %7s %*s %*s %*s %255[^\n]", &begin, &end, access, name) < 3) continue;
        if (access[0] != 'r' || access[1] != 'w') continue;
        if (std::strncmp(name, "/dev/nvidia", 11) == 0) continue;  // a GPU's registers, not all of them readable
        const auto stack = reinterpret_cast<std::uintptr_t>(callers_stack);
        const bool callers = stack >= begin && stack < end;
        all.push_back({begin, end, callers ? "in the caller's stack, or beside it" : name});
    }
    if (maps != nullptr) std::fclose(maps);
    return all;
}

/// Returns the excluded ranges in ascending order, including the arena.
std::vector<Left> all_left_out() {
    std::vector<Left> all(left_out.begin(), left_out.begin() + static_cast<std::ptrdiff_t>(left_out_count.load()));
    const auto own = reinterpret_cast<std::uintptr_t>(&arena());
    all.push_back({own, own + sizeof(Arena)});
    std::sort(all.begin(), all.end(), [](const Left& a, const Left& b) { return a.begin < b.begin; });
    return all;
}

bool is_in(const std::vector<Left>& ranges, std::uintptr_t page) {
    const auto after = std::upper_bound(ranges.begin(), ranges.end(), page,
                                        [](std::uintptr_t p, const Left& left) { return p < left.begin; });
    return after != ranges.begin() && page < std::prev(after)->end;
}

std::string frames(const Pattern& p) {
    std::string text;
    for (int i = 3; i < p.depth; ++i) {
        Dl_info info{};
        if (dladdr(p.where[i], &info) == 0) continue;
        char frame[160];
        std::snprintf(frame, sizeof frame, " %s+0x%lx", std::strrchr(info.dli_fname, '/') + 1,
                      static_cast<unsigned long>(static_cast<char*>(p.where[i]) - static_cast<char*>(info.dli_fbase)));
        text += frame;
    }
    return text;
}

}  // namespace

std::uint8_t* own(std::size_t bytes) {
    Arena& a = arena();
    std::uint8_t* const place = a.memory + a.used;
    a.used += (bytes + 4095) / 4096 * 4096;
    if (a.used > arena_bytes) std::abort();
    return place;
}

void look_for(Bytes bytes, const std::string& name) {
    Arena& a = arena();
    if (a.patterns == most_patterns || bytes.size() < 8 || bytes.size() > 64) std::abort();
    Pattern& p = a.pattern[a.patterns++];
    std::copy(bytes.begin(), bytes.end(), p.bytes);
    p.size = bytes.size();
    std::snprintf(p.name, sizeof p.name, "%s", name.c_str());
    const std::size_t hash = hash_of(load(p.bytes));
    a.filter[hash / 64] |= std::uint64_t{1} << (hash % 64);
    a.next[a.patterns - 1] = a.first[hash];
    a.first[hash] = static_cast<std::uint16_t>(a.patterns);
}

void look_for_nothing() {
    Arena& a = arena();
    a.patterns = 0;
    std::ranges::fill(a.filter, 0);
    std::ranges::fill(a.first, std::uint16_t{0});
}

bool apart(const std::function<void()>& work) {
    (void)arena();
    const pid_t child = fork();
    if (child == 0) {
        work();
        _exit(0);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

void watch_frees(bool on) {
    void* warm[1];
    (void)backtrace(warm, 1);  // the first call loads a library
    watching = on;
}

std::vector<std::string> findings() {
    Arena& a = arena();
    inside = true;
    std::vector<std::string> found;
    for (std::size_t i = 0; i < a.patterns; ++i) {
        Pattern& p = a.pattern[i];
        if (p.freed) found.push_back(std::string(p.name) + " in freed memory:" + frames(p));
        p.freed = false;
    }
    const auto note = [&](const Pattern& p, const std::uint8_t* place, const std::string& where) {
        if (found.size() == most_findings) return;
        char text[192];
        std::snprintf(text, sizeof text, "%s at %p %s", p.name, static_cast<const void*>(place), where.c_str());
        found.emplace_back(text);
    };
    search(a.registers, sizeof a.registers,
           [&](Pattern& p, const std::uint8_t*) { found.push_back(std::string(p.name) + " in a vector register"); });
    const std::vector<Left> left = all_left_out();
    for (const Mapping& m : writable_memory()) {
        // Searches only resident pages, because other pages are empty.
        constexpr std::uintptr_t page = 4096;
        std::vector<unsigned char> there((m.end - m.begin) / page);
        if (mincore(reinterpret_cast<void*>(m.begin), m.end - m.begin, there.data()) != 0) continue;
        for (std::size_t i = 0; i < there.size();) {
            const auto usable = [&](std::size_t n) {
                return n < there.size() && (there[n] & 1) != 0 && !is_in(left, m.begin + n * page);
            };
            std::size_t n = 0;
            while (usable(i + n)) ++n;
            if (n != 0) {
                search(reinterpret_cast<const std::uint8_t*>(m.begin + i * page), n * page,
                       [&](Pattern& p, const std::uint8_t* place) { note(p, place, m.name); });
            }
            i += n + 1;
        }
    }
    inside = false;
    return found;
}

// ------------------------------------------------------------------------------------------------------------ callers

struct Caller::State {
    static constexpr std::size_t stack_bytes = std::size_t{1} << 20;
    pthread_t thread;
    sem_t begin, end;
    const std::function<void()>* work = nullptr;

    static void* serve(void* self) {
        for (auto* s = static_cast<State*>(self);;) {
            while (sem_wait(&s->begin) != 0) {
            }
            if (s->work == nullptr) return nullptr;
            deeper(*s->work);
            sem_post(&s->end);
        }
    }
    /// Calls `work` at a greater depth of the stack than the part that waiting overwrites.
    [[gnu::noinline]] static void deeper(const std::function<void()>& work) {
        [[maybe_unused]] volatile char gap[8192];
        gap[0] = 0;
        gap[8191] = 0;
        work();
        save_registers();
        gap[1] = 0;
    }
    [[gnu::noinline]] static void save_registers() {
#if defined(__x86_64__)
        // The state components of SSE, AVX and AVX-512 are 1, 2, 5, 6 and 7.
        asm volatile("xsave64 %0" : "=m"(arena().registers) : "a"(0xe6), "d"(0));
#elif defined(__aarch64__)
        asm volatile(
            "stp q0, q1, [%0]\n stp q2, q3, [%0, #32]\n stp q4, q5, [%0, #64]\n stp q6, q7, [%0, #96]\n"
            "stp q8, q9, [%0, #128]\n stp q10, q11, [%0, #160]\n stp q12, q13, [%0, #192]\n"
            "stp q14, q15, [%0, #224]\n stp q16, q17, [%0, #256]\n stp q18, q19, [%0, #288]\n"
            "stp q20, q21, [%0, #320]\n stp q22, q23, [%0, #352]\n stp q24, q25, [%0, #384]\n"
            "stp q26, q27, [%0, #416]\n stp q28, q29, [%0, #448]\n stp q30, q31, [%0, #480]" ::"r"(arena().registers)
            : "memory");
#endif
    }
};

Caller::Caller() : state_(new State) {
    std::memset(arena().registers, 0, register_bytes);
    sem_init(&state_->begin, 0, 0);
    sem_init(&state_->end, 0, 0);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    callers_stack = mmap(nullptr, State::stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_setstack(&attributes, callers_stack, State::stack_bytes);
    pthread_create(&state_->thread, &attributes, &State::serve, state_);
    pthread_attr_destroy(&attributes);
}

Caller::~Caller() {
    state_->work = nullptr;
    sem_post(&state_->begin);
    pthread_join(state_->thread, nullptr);
    munmap(callers_stack, State::stack_bytes);
    callers_stack = nullptr;
    delete state_;
}

void Caller::call(const std::function<void()>& work) {
    state_->work = &work;
    sem_post(&state_->begin);
    while (sem_wait(&state_->end) != 0) {
    }
}

}  // namespace secrets

// ------------------------------------------------------------------------------------ functions that the library calls

#pragma GCC visibility push(default)
extern "C" {

void free(void* pointer) {
    secrets::look_through_freed(pointer, pointer == nullptr ? 0 : malloc_usable_size(pointer));
    __libc_free(pointer);
}

void* realloc(void* pointer, std::size_t bytes) {
    secrets::look_through_freed(pointer, pointer == nullptr ? 0 : malloc_usable_size(pointer));  // the block may move
    return __libc_realloc(pointer, bytes);
}

void* mmap(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
    static const auto real = reinterpret_cast<decltype(&mmap)>(dlsym(RTLD_NEXT, "mmap"));
    void* const mapping = real(address, bytes, protection, flags, file, offset);
    // Excludes the registers of the simulated GPU (tests/simt/fiber.cpp).
    constexpr int fiber = MAP_NORESERVE | MAP_STACK;
    if (mapping != MAP_FAILED && (flags & fiber) == fiber) {
        const std::size_t n = secrets::left_out_count++;
        const auto begin = reinterpret_cast<std::uintptr_t>(mapping);
        if (n < secrets::left_out.size()) secrets::left_out[n] = {begin, begin + bytes};
    }
    return mapping;
}

int munmap(void* memory, std::size_t bytes) noexcept {
    static const auto real = reinterpret_cast<decltype(&munmap)>(dlsym(RTLD_NEXT, "munmap"));
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    if (!secrets::is_in(secrets::all_left_out(), begin)) secrets::look_through_freed(memory, bytes);
    return real(memory, bytes);
}

}  // extern "C"
#pragma GCC visibility pop
