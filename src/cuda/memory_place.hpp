// Determines where memory is, according to the CUDA runtime.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/gpu_memory.hpp"

namespace warpaes::cuda {

/// Requires a usable GPU.
MemoryPlace place_of(const void* pointer);
/// See GpuMemory::stretch.
MemoryStretch stretch_of(const void* pointer, bool far);

/// Like place_of(), for very many pointers into few allocations: CUDA is queried only for pointers outside the last
/// allocation.
class PlaceFinder {
public:
    [[nodiscard]] MemoryPlace of(const void* pointer) {
        const auto address = reinterpret_cast<std::uintptr_t>(pointer);
        if (address - first_ >= bytes_) look_up(pointer);
        return place_;
    }
    /// Returns the beginning of the last pointer's allocation, or of the known part of the allocation.
    [[nodiscard]] std::uintptr_t first() const noexcept { return first_; }

private:
    void look_up(const void* pointer);

    std::uintptr_t first_ = 0;
    std::uintptr_t bytes_ = 0;
    MemoryPlace place_;
};

}  // namespace warpaes::cuda
