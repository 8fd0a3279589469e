#include "failing_new.hpp"

#include <atomic>
#include <climits>
#include <cstdlib>
#include <new>

namespace {

constexpr int never = INT_MAX;
std::atomic<int> until_new_fails{never};  ///< allocations before the first failure; negative after the first failure
std::atomic<int> new_failures{0};
std::atomic<std::size_t> failing_size{0};

bool new_fails(std::size_t bytes) {
    const std::size_t size = failing_size;
    if (until_new_fails == never || (size != 0 && size != bytes)) return false;
    const int until = until_new_fails--;
    return until <= 0 && until > -new_failures;
}

}  // namespace

namespace warpaes::test {

void fail_new(int before, int times, std::size_t size) {
    failing_size = size;
    new_failures = times;
    until_new_fails = before;
}

bool end_failing_new() {
    return until_new_fails.exchange(never) < 0;
}

}  // namespace warpaes::test

void* operator new(std::size_t bytes) {
    void* const memory = new_fails(bytes) ? nullptr : std::malloc(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

// Otherwise AddressSanitizer's operator allocates memory that the operators below must not free.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return new_fails(bytes) ? nullptr : std::malloc(bytes);
}

void operator delete(void* memory) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
