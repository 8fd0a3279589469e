#include "memory.hpp"

#include <sys/mman.h>

#include <cstring>
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

void BatchMemory::write(std::uint8_t* to, std::span<const std::uint8_t> from) {
    std::memcpy(to, from.data(), from.size());
}

void BatchMemory::read(std::span<std::uint8_t> to, const std::uint8_t* from) {
    std::memcpy(to.data(), from, to.size());
}

BatchMemory& guarded_memory() {
    static GuardedMemory memory;
    return memory;
}

}  // namespace warpaes::test
