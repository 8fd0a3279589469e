#include "memory.hpp"

#include <sys/mman.h>

#include <new>

namespace warpaes::test {

namespace {

constexpr std::size_t page = 4096;

std::size_t whole_pages(std::size_t bytes) {
    return (bytes + page - 1) / page * page;
}

class GuardedMemory final : public BatchMemory {
public:
    std::uint8_t* allocate(std::size_t bytes) override {
        const std::size_t body = whole_pages(bytes);
        void* const base = mmap(nullptr, body + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (base == MAP_FAILED) throw std::bad_alloc();
        auto* const first = static_cast<std::uint8_t*>(base) + page;
        if (mprotect(first, body, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
        return first + (body - bytes);
    }
    void release(std::uint8_t* memory, std::size_t bytes) noexcept override {
        const std::size_t body = whole_pages(bytes);
        munmap(memory - (body - bytes) - page, body + 2 * page);
    }
};

}  // namespace

BatchMemory& guarded_memory() {
    static GuardedMemory memory;
    return memory;
}

}  // namespace warpaes::test
