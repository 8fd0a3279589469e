// Implements tests/batch/memory.hpp for fuzzers: memory between protected pages. Released memory is kept for the next
// message of the same length. Until this memory is used again, AddressSanitizer poisons it and the bytes before it.
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <map>
#include <new>
#include <vector>

#include "memory.hpp"

namespace warpaes::test {

namespace {

constexpr std::size_t page = 4096;

std::size_t whole_pages(std::size_t bytes) {
    return (bytes + page - 1) / page * page;
}

class GuardedPool final : public BatchMemory {
public:
    std::uint8_t* allocate(std::size_t bytes) override {
        const std::size_t body = whole_pages(bytes);
        std::vector<std::uint8_t*>& free = free_[body];
        if (free.empty()) free.push_back(map(body));
        std::uint8_t* const first = free.back() + (body - bytes);
        free.pop_back();
        ASAN_UNPOISON_MEMORY_REGION(first, bytes);
        return first;
    }
    void release(std::uint8_t* memory, std::size_t bytes) noexcept override {
        const std::size_t body = whole_pages(bytes);
        std::uint8_t* const first = memory - (body - bytes);
        ASAN_POISON_MEMORY_REGION(first, body);
        free_[body].push_back(first);
    }

private:
    static std::uint8_t* map(std::size_t body) {
        void* const base = mmap(nullptr, body + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (base == MAP_FAILED) throw std::bad_alloc();
        auto* const first = static_cast<std::uint8_t*>(base) + page;
        if (mprotect(first, body, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
        ASAN_POISON_MEMORY_REGION(first, body);
        return first;
    }

    std::map<std::size_t, std::vector<std::uint8_t*>> free_;  ///< by size in bytes
};

}  // namespace

BatchMemory& guarded_memory() {
    static GuardedPool memory;
    return memory;
}

}  // namespace warpaes::test
