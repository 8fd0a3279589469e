#include "cuda/memory_place.hpp"

#include <cuda_runtime.h>
#include <dlfcn.h>

#include "cuda/launch.hpp"

namespace warpaes::cuda {

namespace {

struct Range {
    std::uintptr_t first = 0, bytes = 0;
};

#if defined(WARPAES_SIMT)
Range range_around(const void* pointer, const MemoryPlace&) {
    Range range;
    if (simt::find_allocation(pointer, range.first, range.bytes)) return range;
    // The simulated GPU's memory is host memory, so nothing is known about the bytes around the pointer.
    return {reinterpret_cast<std::uintptr_t>(pointer), 1};
}

Range region_around(const void* pointer) {
    return range_around(pointer, {});
}
#else
/// The driver's cuPointerGetAttribute. This function is used because the runtime does not report the extent of an
/// allocation. The driver is already loaded.
using GetAttribute = int (*)(void* data, int attribute, unsigned long long pointer);
GetAttribute get_attribute() {
    static const auto function = [] {
        void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
        return reinterpret_cast<GetAttribute>(driver == nullptr ? nullptr : dlsym(driver, "cuPointerGetAttribute"));
    }();
    return function;
}

Range range_around(const void* pointer, const MemoryPlace& place) {
    // CU_POINTER_ATTRIBUTE_RANGE_START_ADDR and CU_POINTER_ATTRIBUTE_RANGE_SIZE of cuda.h.
    constexpr int range_start = 11, range_size = 12;
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    unsigned long long first = 0;
    std::size_t bytes = 0;
    if (place.kind != Memory::pageable && get_attribute() != nullptr &&
        get_attribute()(&first, range_start, address) == 0 && get_attribute()(&bytes, range_size, address) == 0 &&
        address - first < bytes) {
        return {static_cast<std::uintptr_t>(first), bytes};
    }
    // A page contains only one kind of memory.
    constexpr std::uintptr_t page = 4096;
    return {address / page * page, page};
}

/// Returns the region around a pointer. The driver allocates device memory in pages of 64 KiB or more.
Range region_around(const void* pointer) {
    constexpr std::uintptr_t region = 64 * 1024;
    return {reinterpret_cast<std::uintptr_t>(pointer) / region * region, region};
}
#endif

}  // namespace

MemoryPlace place_of(const void* pointer) {
    cudaPointerAttributes attributes{};
    if (pointer == nullptr || !try_to(cudaPointerGetAttributes(&attributes, pointer))) return {};
    switch (attributes.type) {
    case cudaMemoryTypeHost:
        // If kernels cannot access the memory at its host address (on today's servers they can), it is treated as
        // pageable.
        return {attributes.devicePointer == pointer ? Memory::page_locked : Memory::pageable, -1};
    case cudaMemoryTypeDevice:
    case cudaMemoryTypeManaged:
        return {Memory::device, attributes.device};
    default:
        return {};
    }
}

MemoryStretch stretch_of(const void* pointer, bool far) {
    const MemoryPlace place = place_of(pointer);
    const Range range = far && is_on_device(place.kind) ? range_around(pointer, place) : region_around(pointer);
    return {place.device, range.first, range.bytes};
}

void PlaceFinder::look_up(const void* pointer) {
    place_ = place_of(pointer);
    const Range range = range_around(pointer, place_);
    first_ = range.first;
    bytes_ = range.bytes;
}

}  // namespace warpaes::cuda
