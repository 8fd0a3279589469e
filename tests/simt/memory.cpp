// Implements allocations and copies for the simulated CUDA runtime.
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "runtime.hpp"

namespace simt {

namespace {

constexpr std::size_t page = 4096;
/// The alignment of device memory, as on a GPU.
constexpr std::size_t alignment = 256;

/// Returns the first page of a guarded allocation. Except for alignment, the allocation ends at the end of its last
/// page, which an inaccessible page follows.
void* pages_of(std::uintptr_t address) {
    return reinterpret_cast<void*>(address / page * page);
}
void protect(std::uintptr_t address, const Allocation& allocation, int how) {
    if (allocation.guarded == 0) return;
    if (::mprotect(pages_of(address), allocation.guarded, how) != 0) std::abort();
}

#if defined(WARPAES_SIMT_QUICK) && defined(__x86_64__)

/// Copies can access device memory while it is closed, because opening and closing all of the memory takes longer than
/// a short copy.
bool reaches_closed(const Runtime& r) {
    return !r.machine.guarded;
}

// AddressSanitizer does not check these accesses.
void move_unseen(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}
void fill_unseen(std::uint8_t* to, int value, std::size_t bytes) {
    asm volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(value) : "memory");
}

/// Ends the process if the host accesses device memory.
void look_at(const Runtime& r, const std::uint8_t* pointer, std::size_t bytes) {
    const auto* const found = r.find(pointer);
    if (found != nullptr && found->second.on_device()) return;
    void* const wrong = __asan_region_is_poisoned(const_cast<std::uint8_t*>(pointer), bytes);
    if (wrong != nullptr) static_cast<void>(*static_cast<volatile std::uint8_t*>(wrong));
}

#else

bool reaches_closed(const Runtime&) {
    return false;
}
void move_unseen(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
    std::memmove(to, from, bytes);
}
void fill_unseen(std::uint8_t* to, int value, std::size_t bytes) {
    std::memset(to, value, bytes);
}
void look_at(const Runtime&, const std::uint8_t*, std::size_t) {}

#endif

}  // namespace

DeviceAccess::DeviceAccess(Runtime& runtime, int device) : runtime_(runtime), device_(device) {
    if (++runtime_.accesses[device_] > 1) return;
    for (const auto& [address, allocation] : runtime_.allocations) {
        if (!allocation.on_device() || allocation.device != device_) continue;
        protect(address, allocation, PROT_READ | PROT_WRITE);
        ASAN_UNPOISON_MEMORY_REGION(reinterpret_cast<void*>(address), allocation.bytes);
    }
}

DeviceAccess::~DeviceAccess() {
    if (--runtime_.accesses[device_] > 0) return;
    for (const auto& [address, allocation] : runtime_.allocations) {
        if (!allocation.on_device() || allocation.device != device_) continue;
        protect(address, allocation, PROT_NONE);
        ASAN_POISON_MEMORY_REGION(reinterpret_cast<void*>(address), allocation.bytes);
    }
}

bool find_allocation(const void* pointer, std::uintptr_t& first, std::uintptr_t& bytes) {
    const Runtime& r = runtime();
    const std::lock_guard lock(runtime().mutex);
    const auto* const found = r.find(pointer);
    if (found == nullptr) return false;
    first = found->first;
    bytes = found->second.bytes;
    return true;
}

void look_at_memory(const std::function<void(cudaMemoryType, std::span<const std::uint8_t>)>& look) {
    finish_all();
    Runtime& r = runtime();
    const std::lock_guard lock(r.mutex);
    for (const auto& [address, allocation] : r.allocations) {
        const DeviceAccess access(r, allocation.device);
        look(allocation.type(), {reinterpret_cast<const std::uint8_t*>(address), allocation.bytes});
    }
}

namespace {

/// Returns the device whose memory contains `pointer`. For pageable memory, which any device may access, returns the
/// current device.
int device_at(const Runtime& r, const void* pointer) {
    const auto* found = r.find(pointer);
    return found == nullptr ? current_device : found->second.device;
}

cudaError_t allocate(Runtime& r, void** pointer, std::size_t bytes, Origin origin, bool pooled = false) {
    if (pointer == nullptr) return cudaErrorInvalidValue;
    *pointer = nullptr;
    if (bytes == 0) return cudaSuccess;
    const bool on_device = origin == Origin::device || origin == Origin::managed;
    if (on_device && !pooled && bytes > r.machine.memory - std::min(r.machine.memory, r.used(current_device))) {
        return cudaErrorMemoryAllocation;
    }
    std::size_t guarded = 0;
    if (r.machine.guarded && origin == Origin::device) {
        guarded = (bytes + page - 1) / page * page;
        void* const pages = ::mmap(nullptr, guarded + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED) return cudaErrorMemoryAllocation;
        if (::mprotect(pages, guarded, PROT_READ | PROT_WRITE) != 0) std::abort();
        *pointer = static_cast<std::uint8_t*>(pages) + (guarded - bytes) / alignment * alignment;
    } else if (posix_memalign(pointer, on_device ? alignment : page, bytes) != 0) {
        // Allocate exactly `bytes` bytes, so that AddressSanitizer detects accesses past the end.
        return cudaErrorMemoryAllocation;
    }
    std::memset(*pointer, 0xa5, bytes);
    const Allocation made{
        .bytes = bytes, .origin = origin, .device = current_device, .pooled = pooled, .guarded = guarded};
    if (reaches_closed(r)) {
        r.allocations[reinterpret_cast<std::uintptr_t>(*pointer)] = made;
        if (origin == Origin::device && r.accesses[current_device] == 0) ASAN_POISON_MEMORY_REGION(*pointer, bytes);
        return cudaSuccess;
    }
    const DeviceAccess access(r, current_device);  // its destructor also closes the new allocation
    r.allocations[reinterpret_cast<std::uintptr_t>(*pointer)] = made;
    return cudaSuccess;
}

std::size_t whole_blocks(std::size_t bytes) {
    return (bytes + Pool::block - 1) / Pool::block * Pool::block;
}

/// Frees the allocation that begins at `pointer` if it has one of the two origins.
cudaError_t release(Runtime& r, void* pointer, Origin a, Origin b, cudaError_t unknown) {
    if (pointer == nullptr) return cudaSuccess;
    const auto found = r.allocations.find(reinterpret_cast<std::uintptr_t>(pointer));
    if (found == r.allocations.end()) return unknown;
    const Allocation allocation = found->second;
    if (allocation.origin != a && allocation.origin != b) return unknown;
    check_unused(r, pointer, allocation.bytes);
    std::optional<DeviceAccess> access;
    if (reaches_closed(r)) {
        ASAN_UNPOISON_MEMORY_REGION(pointer, allocation.bytes);
    } else {
        access.emplace(r, allocation.device);
    }
    if (r.observer) r.observer(allocation.type(), {static_cast<const std::uint8_t*>(pointer), allocation.bytes});
    r.allocations.erase(found);
    if (allocation.pooled) {
        Pool& pool = r.pools[allocation.device];
        pool.used -= allocation.bytes;
        // CUDA returns blocks to the system when it next waits for something.
        pool.reserved = std::min(pool.reserved, std::max(pool.threshold, whole_blocks(pool.used)));
    }
    if (allocation.guarded != 0) {
        (void)::munmap(pages_of(reinterpret_cast<std::uintptr_t>(pointer)), allocation.guarded + page);
    } else if (allocation.origin != Origin::registered) {
        std::free(pointer);
    }
    return cudaSuccess;
}

/// Allocates memory for a stream. In capture, the memory belongs to the graph and is undefined at the start of every
/// run.
cudaError_t allocate_in_order(Runtime& r, void** pointer, std::size_t bytes, cudaStream_t stream) {
    const bool pooled = capture_of(stream) == nullptr;
    if (pooled) {
        Pool& pool = r.pools[current_device];
        const std::size_t more =
            whole_blocks(pool.used + bytes) - std::min(pool.reserved, whole_blocks(pool.used + bytes));
        if (more > r.machine.memory - std::min(r.machine.memory, r.used(current_device))) {
            return cudaErrorMemoryAllocation;
        }
        pool.reserved += more;
        pool.used += bytes;
    }
    const cudaError_t error = allocate(r, pointer, bytes, Origin::device, pooled);
    if (error != cudaSuccess || !capture_memory(stream, *pointer)) return error;
    r.allocations.at(reinterpret_cast<std::uintptr_t>(*pointer)).of_graph = true;
    capture_work(stream, [memory = *pointer, bytes] {
        const std::lock_guard lock(runtime().mutex);
        const DeviceAccess access(runtime(), device_at(runtime(), memory));
        std::memset(memory, 0xa5, bytes);
    });
    return cudaSuccess;
}

/// Returns whether `bytes` bytes at `pointer` can be one side of a copy. `device_side` states whether the kind of copy
/// declares this side as device memory. Page-locked memory is mapped, so it may be declared as host or device memory.
bool copyable(const Runtime& r, const void* pointer, std::size_t bytes, cudaMemcpyKind kind, bool device_side) {
    const auto* found = r.find(pointer);
    if (found == nullptr) return kind == cudaMemcpyDefault || !device_side;
    const auto& [begin, allocation] = *found;
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    if (bytes > begin + allocation.bytes - address) {
        // A copy may continue from registered memory into pageable memory, but not into an adjacent allocation.
        const auto next = r.allocations.upper_bound(begin);
        return allocation.origin == Origin::registered &&
               (next == r.allocations.end() || next->first - address >= bytes);
    }
    if (kind == cudaMemcpyDefault) return true;
    return allocation.origin == Origin::device ? device_side : true;
}

bool goes_to_device(cudaMemcpyKind kind) {
    return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
}
bool comes_from_device(cudaMemcpyKind kind) {
    return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
}

/// A copy of one or more rows.
struct Rows {
    std::uint8_t* to;
    const std::uint8_t* from;
    std::size_t bytes, to_pitch = 0, from_pitch = 0, count = 1;

    [[nodiscard]] std::size_t reach_to() const { return (count - 1) * to_pitch + bytes; }
    [[nodiscard]] std::size_t reach_from() const { return (count - 1) * from_pitch + bytes; }
    /// CUDA does not promise to ignore the gap after the last row, so this size includes the gap.
    [[nodiscard]] std::size_t claim_to() const { return count > 1 ? count * to_pitch : bytes; }
    [[nodiscard]] std::size_t claim_from() const { return count > 1 ? count * from_pitch : bytes; }
    void move(Runtime& r) const {
        if (reaches_closed(r)) return move_closed(r);
        const DeviceAccess to_access(r, device_at(r, to));
        const DeviceAccess from_access(r, device_at(r, from));
        for (std::size_t row = 0; row < count; ++row) std::memmove(to + row * to_pitch, from + row * from_pitch, bytes);
    }

private:
    void move_closed(const Runtime& r) const {
        for (std::size_t row = 0; row < count; ++row) {
            look_at(r, to + row * to_pitch, bytes);
            look_at(r, from + row * from_pitch, bytes);
            move_unseen(to + row * to_pitch, from + row * from_pitch, bytes);
        }
    }
};

cudaError_t check(const Runtime& r, const Rows& rows, cudaMemcpyKind kind) {
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    if (rows.bytes == 0 || rows.count == 0) return cudaSuccess;
    const bool can = rows.to != nullptr && rows.from != nullptr &&
                     copyable(r, rows.to, rows.claim_to(), kind, goes_to_device(kind)) &&
                     copyable(r, rows.from, rows.claim_from(), kind, comes_from_device(kind));
    return can ? cudaSuccess : cudaErrorInvalidValue;
}

/// A copy of the pageable source, created during the call.
class Taken {
public:
    explicit Taken(const Rows& rows) : bytes_(rows.reach_from()) {
        std::memcpy(bytes_.data(), rows.from, bytes_.size());
    }
    ~Taken() { explicit_bzero(bytes_.data(), bytes_.size()); }
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;
    [[nodiscard]] const std::uint8_t* data() const { return bytes_.data(); }

private:
    std::vector<std::uint8_t> bytes_;
};

/// Implements copies. The call itself reads pageable sources, and it waits until pageable targets are written.
cudaError_t copy(const char* name, Rows rows, cudaMemcpyKind kind, cudaStream_t stream, bool waits = false) {
    Mark mark;
    const cudaError_t error = on_stream(name, stream, [&](Runtime& r) {
        const cudaError_t refusal = check(r, rows, kind);
        if (refusal != cudaSuccess || rows.bytes == 0 || rows.count == 0) return refusal;
        // A node reads its source when the graph runs, whether the source is pageable or not.
        const auto move = [rows] {
            const std::lock_guard lock(runtime().mutex);
            rows.move(runtime());
        };
        if (capture_work(stream, move)) return cudaSuccess;
        if (r.machine.late == 0) {
            rows.move(r);
            return cudaSuccess;
        }
        const bool from_pageable = r.find(rows.from) == nullptr, to_pageable = r.find(rows.to) == nullptr;
        std::shared_ptr<Taken> taken;
        Work work{.run = {}, .after = {}, .uses = {{rows.to, rows.reach_to()}}};
        if (from_pageable) {
            taken = std::make_shared<Taken>(rows);
            rows.from = taken->data();
        } else {
            work.uses.push_back({rows.from, rows.reach_from()});
        }
        work.run = [rows, taken] {
            const std::lock_guard lock(runtime().mutex);
            rows.move(runtime());
        };
        put(r, stream, std::move(work));
        if (waits || to_pageable) mark = mark_of(r, stream);
        return cudaSuccess;
    });
    finish(mark);
    return error;
}

cudaError_t fill(const char* name, void* pointer, int value, std::size_t bytes, cudaStream_t stream) {
    const auto check_fill = [=](const Runtime& r) {
        const auto* found = r.find(pointer);
        if (bytes == 0) return cudaSuccess;
        return found == nullptr ||
                       bytes > found->first + found->second.bytes - reinterpret_cast<std::uintptr_t>(pointer)
                   ? cudaErrorInvalidValue
                   : cudaSuccess;
    };
    return enqueue(name, stream, {{pointer, bytes}}, check_fill, [=](Runtime& r) {
        if (bytes == 0) return;
        if (reaches_closed(r)) return fill_unseen(static_cast<std::uint8_t*>(pointer), value, bytes);
        const DeviceAccess access(r, device_at(r, pointer));
        std::memset(pointer, value, bytes);
    });
}

Rows one_row(void* to, const void* from, std::size_t bytes) {
    return {static_cast<std::uint8_t*>(to), static_cast<const std::uint8_t*>(from), bytes};
}

}  // namespace

void free_device_memory(Runtime& r, void* pointer) {
    (void)release(r, pointer, Origin::device, Origin::device, cudaErrorInvalidValue);
}

cudaError_t copy_to_symbol(void* symbol, std::size_t symbol_bytes, const void* from, std::size_t bytes,
                           std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
    {
        const std::lock_guard lock(runtime().mutex);
        if (offset > symbol_bytes || bytes > symbol_bytes - offset || !copyable(runtime(), from, bytes, kind, false)) {
            return record(cudaErrorInvalidValue);
        }
    }
    // A symbol is not an allocation, so the call waits, as for pageable memory.
    return copy("cudaMemcpyToSymbol", one_row(static_cast<std::uint8_t*>(symbol) + offset, from, bytes),
                cudaMemcpyDefault, stream);
}

}  // namespace simt

using namespace simt;

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
    return call("cudaMalloc", [&](Runtime& r) { return allocate(r, pointer, bytes, Origin::device); });
}

cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t stream) {
    return on_stream("cudaMallocAsync", stream,
                     [&](Runtime& r) { return allocate_in_order(r, pointer, bytes, stream); });
}

// A pool's handle is its device's number plus one, because a device has only one pool, which is also its default pool.
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
    return call("cudaMemPoolCreate", [&](Runtime& r) {
        const cudaMemLocation& location = properties->location;
        if (properties->allocType != cudaMemAllocationTypePinned || location.type != cudaMemLocationTypeDevice ||
            location.id < 0 || location.id >= r.machine.devices) {
            return cudaErrorInvalidValue;
        }
        *pool = reinterpret_cast<cudaMemPool_t>(static_cast<std::uintptr_t>(location.id) + 1);
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    return call("cudaMemPoolSetAttribute", [&](Runtime& r) {
        const bool known = attribute == cudaMemPoolAttrReleaseThreshold;
        if (pool == nullptr || value == nullptr || !known) return cudaErrorInvalidValue;
        r.pools[static_cast<int>(reinterpret_cast<std::uintptr_t>(pool)) - 1].threshold =
            static_cast<std::size_t>(*static_cast<std::uint64_t*>(value));
        return cudaSuccess;
    });
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    return on_stream("cudaMallocFromPoolAsync", stream, [&](Runtime& r) {
        if (pool != reinterpret_cast<cudaMemPool_t>(static_cast<std::uintptr_t>(current_device) + 1)) {
            return cudaErrorInvalidValue;
        }
        return allocate_in_order(r, pointer, bytes, stream);
    });
}

cudaError_t cudaMallocManaged(void** pointer, std::size_t bytes, unsigned int flags) {
    return call("cudaMallocManaged", [&](Runtime& r) {
        if (flags != cudaMemAttachGlobal || bytes == 0) return cudaErrorInvalidValue;
        return allocate(r, pointer, bytes, Origin::managed);
    });
}

cudaError_t cudaFree(void* pointer) {
    if (is_late()) finish_all();  // cudaFree waits for the device
    return call("cudaFree", [&](Runtime& r) {
        return release(r, pointer, Origin::device, Origin::managed, cudaErrorInvalidValue);
    });
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
    const auto check_pointer = [=](const Runtime& r) {
        const auto found = r.allocations.find(reinterpret_cast<std::uintptr_t>(pointer));
        const bool known = found != r.allocations.end() && found->second.origin == Origin::device;
        return pointer == nullptr || known ? cudaSuccess : cudaErrorInvalidValue;
    };
    return enqueue("cudaFreeAsync", stream, {}, check_pointer, [=](Runtime& r) {
        const auto found = r.allocations.find(reinterpret_cast<std::uintptr_t>(pointer));
        if (found != r.allocations.end() && found->second.of_graph) return;
        (void)release(r, pointer, Origin::device, Origin::device, cudaErrorInvalidValue);
    });
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned int flags) {
    return call("cudaHostAlloc", [&](Runtime& r) {
        constexpr unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
        return (flags & ~known) != 0 ? cudaErrorInvalidValue : allocate(r, pointer, bytes, Origin::host);
    });
}

cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
    return call("cudaMallocHost", [&](Runtime& r) { return allocate(r, pointer, bytes, Origin::host); });
}

cudaError_t cudaFreeHost(void* pointer) {
    return call("cudaFreeHost",
                [&](Runtime& r) { return release(r, pointer, Origin::host, Origin::host, cudaErrorInvalidValue); });
}

cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned int) {
    return call("cudaHostRegister", [&](Runtime& r) {
        if (r.machine.confidential) return cudaErrorNotSupported;
        if (pointer == nullptr || bytes == 0) return cudaErrorInvalidValue;
        const auto begin = reinterpret_cast<std::uintptr_t>(pointer);
        const auto next = r.allocations.lower_bound(begin);
        if (r.find(pointer) != nullptr || (next != r.allocations.end() && next->first - begin < bytes)) {
            return cudaErrorHostMemoryAlreadyRegistered;
        }
        r.allocations[begin] = {.bytes = bytes, .origin = Origin::registered, .device = current_device};
        return cudaSuccess;
    });
}

cudaError_t cudaHostUnregister(void* pointer) {
    return call("cudaHostUnregister", [&](Runtime& r) {
        if (pointer == nullptr) return cudaErrorInvalidValue;
        return release(r, pointer, Origin::registered, Origin::registered, cudaErrorHostMemoryNotRegistered);
    });
}

cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* host_pointer, unsigned int) {
    return call("cudaHostGetDevicePointer", [&](Runtime& r) {
        const auto* found = r.find(host_pointer);
        if (found == nullptr || found->second.type() != cudaMemoryTypeHost) return cudaErrorInvalidValue;
        *device_pointer = host_pointer;
        return cudaSuccess;
    });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
    return call("cudaPointerGetAttributes", [&](Runtime& r) {
        if (attributes == nullptr) return cudaErrorInvalidValue;
        void* address = const_cast<void*>(pointer);
        if (const auto* found = r.find(pointer)) {
            const Allocation& allocation = found->second;
            const bool on_host = allocation.origin != Origin::device;
            *attributes = {allocation.type(), allocation.device, address, on_host ? address : nullptr};
        } else {
            *attributes = {cudaMemoryTypeUnregistered, cudaInvalidDeviceId, nullptr, address};
        }
        return cudaSuccess;
    });
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    return copy("cudaMemcpy", one_row(to, from, bytes), kind, nullptr, true);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    return copy("cudaMemcpyAsync", one_row(to, from, bytes), kind, stream);
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    constexpr std::size_t largest_pitch = 0x7fffffff;
    if (std::min(to_pitch, from_pitch) < width || std::max(to_pitch, from_pitch) > largest_pitch) {
        return on_stream("cudaMemcpy2DAsync", stream, [](Runtime&) { return cudaErrorInvalidPitchValue; });
    }
    Rows rows = one_row(to, from, width);
    rows.to_pitch = to_pitch;
    rows.from_pitch = from_pitch;
    rows.count = height;
    return copy("cudaMemcpy2DAsync", rows, kind, stream);
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                cudaStream_t stream) {
    {
        const std::lock_guard lock(runtime().mutex);
        const Runtime& r = runtime();
        if (!is_device(r, to_device) || !is_device(r, from_device)) return record(cudaErrorInvalidDevice);
    }
    return copy("cudaMemcpyPeerAsync", one_row(to, from, bytes), cudaMemcpyDeviceToDevice, stream);
}

cudaError_t cudaMemset(void* pointer, int value, std::size_t bytes) {
    return fill("cudaMemset", pointer, value, bytes, nullptr);
}

cudaError_t cudaMemsetAsync(void* pointer, int value, std::size_t bytes, cudaStream_t stream) {
    return fill("cudaMemsetAsync", pointer, value, bytes, stream);
}
