#include "failing_new.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<int> until_new_fails{-1};  ///< allocations until the failure; negative: never
std::atomic<std::size_t> failing_size{0};

bool new_fails(std::size_t bytes) {
    const std::size_t size = failing_size;
    return until_new_fails >= 0 && (size == 0 || size == bytes) && until_new_fails-- == 0;
}

}  // namespace

namespace warpaes::test {

void fail_new(int before, std::size_t size) {
    failing_size = size;
    until_new_fails = before;
}

bool end_failing_new() {
    return until_new_fails.exchange(-1) < 0;
}

}  // namespace warpaes::test

void* operator new(std::size_t bytes) {
    void* const memory = new_fails(bytes) ? nullptr : std::malloc(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

void operator delete(void* memory) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
