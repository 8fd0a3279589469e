// Page-locked memory for tests. As in an arena, it consists of whole pages.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>

#include "backend/cuda_backend.hpp"

namespace warpaes::test {

inline std::uint8_t* allocate_page_locked(std::size_t bytes) {
    void* const memory = std::aligned_alloc(4096, (bytes / 4096 + 1) * 4096);
    if (memory == nullptr) throw std::bad_alloc();
    if (!cuda_backend().host_register(memory, bytes)) throw std::bad_alloc();
    return static_cast<std::uint8_t*>(memory);
}
inline void free_page_locked(std::uint8_t* memory) noexcept {
    cuda_backend().host_unregister(memory);
    std::free(memory);
}

}  // namespace warpaes::test
