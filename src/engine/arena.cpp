#include "engine/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "engine/memory.hpp"

namespace warpaes {

namespace {

constexpr std::uint64_t page_bytes = 4096;

/// `fd` is -1 for private memory.
std::uint8_t* map_memory(std::uint64_t bytes, int fd) {
    const int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (memory == MAP_FAILED) {
        throw Error(WARPAES_ERROR_OUT_OF_MEMORY,
                    "bytes: cannot allocate " + std::to_string(bytes) + " bytes of host memory");
    }
    if (fd < 0) (void)::madvise(memory, bytes, MADV_HUGEPAGE);
    return static_cast<std::uint8_t*>(memory);
}

}  // namespace

Arena::Arena(const Engine& engine, Memory memory, bool shared, int device, std::uint64_t bytes)
    : kind_(memory), bytes_(bytes) {
    constexpr std::uint64_t most = std::uint64_t{1} << 60;
    if (bytes == 0 || bytes > most) {
        throw Error(WARPAES_ERROR_ARGUMENT, "bytes: must be 1 to 2^60, got " + std::to_string(bytes));
    }
    GpuMemory& gpus = gpu_memory();
    const Allocation allocation = traits_of(memory).allocation;
    if (allocation == Allocation::by_driver) {
        data_ = static_cast<std::uint8_t*>(gpus.allocate(memory, device, bytes));
        device_ = device;
        try {
            gpus.clear(data_, bytes, device, nullptr);
        } catch (...) {
            close();
            throw;
        }
        return;
    }
    const bool may_use_gpu = allocation == Allocation::locked_pages && engine.may_use_gpu() && engine.gpu().usable();
    map(shared);  // shared memory must consist of whole pages, which cudaHostAlloc does not guarantee
    if (!may_use_gpu) return;
    try {
        lock_pages(shared);
    } catch (...) {
        close();
        throw;
    }
}

void Arena::lock_pages(bool shared) {
    registered_ = gpu_memory().host_register(data_, bytes_);
    if (registered_ || shared) return;
    of_driver_ = gpu_memory().allocate(Memory::page_locked, -1, bytes_ + page_bytes);
    if (of_driver_ == nullptr) return;
    (void)::munmap(data_, bytes_);
    mapped_ = false;
    const auto begin = reinterpret_cast<std::uintptr_t>(of_driver_);
    data_ = static_cast<std::uint8_t*>(of_driver_) + (page_bytes - begin % page_bytes) % page_bytes;
    std::memset(data_, 0, bytes_);
}

void Arena::map(bool shared) {
    if (!shared) {
        data_ = map_memory(bytes_, -1);
        mapped_ = true;
        return;
    }
    descriptor_ = ::memfd_create("warpaes arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    // A process that has the descriptor may write to the file. The seals prevent it from truncating the file, which
    // would make accesses raise SIGBUS.
    if (descriptor_ < 0 || ::ftruncate(descriptor_, static_cast<off_t>(bytes_)) != 0 ||
        ::fcntl(descriptor_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        const std::string why = std::strerror(errno);
        close();
        throw Error(WARPAES_ERROR_OUT_OF_MEMORY, "bytes: cannot allocate shared memory: " + why);
    }
    try {
        data_ = map_memory(bytes_, descriptor_);
    } catch (...) {
        close();
        throw;
    }
    mapped_ = true;
}

void Arena::close() noexcept {
    const bool here = home_.is_here();
    if (device_ >= 0) {
        if (here) gpu_memory().release(kind_, data_);
    } else if (of_driver_ != nullptr) {
        // In a child, the driver's memory belongs to the parent or does not exist.
        if (here) {
            wipe({data_, bytes_});
            gpu_memory().release(Memory::page_locked, of_driver_);
        }
    } else if (mapped_) {
        if (registered_ && here) gpu_memory().host_unregister(data_);
        if (descriptor_ < 0 || here) wipe({data_, bytes_});
        (void)::munmap(data_, bytes_);
    }
    if (descriptor_ >= 0) (void)::close(descriptor_);
}

Arena::~Arena() {
    close();
}

}  // namespace warpaes
