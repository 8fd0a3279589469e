// Memory for a test's messages, in host or GPU memory, with a common interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace warpaes::test {

class BatchMemory {
public:
    virtual ~BatchMemory() = default;

    /// Allocates `bytes` bytes, but at least one, at any address. Throws on failure.
    [[nodiscard]] virtual std::uint8_t* allocate(std::size_t bytes) = 0;
    virtual void release(std::uint8_t* memory, std::size_t bytes) noexcept = 0;
    virtual void write(std::uint8_t* to, std::span<const std::uint8_t> from) {
        std::memcpy(to, from.data(), from.size());
    }
    virtual void read(std::span<std::uint8_t> to, const std::uint8_t* from) { std::memcpy(to.data(), from, to.size()); }

protected:
    BatchMemory() = default;
    BatchMemory(const BatchMemory&) = default;
    BatchMemory& operator=(const BatchMemory&) = default;
};

/// Returns host memory between two protected pages. Allocations end at the second protected page.
BatchMemory& guarded_memory();

}  // namespace warpaes::test
