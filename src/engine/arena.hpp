// Memory for many messages: in the host, on a device, or shared with other processes.
#pragma once

#include <cstdint>

#include "base/process.hpp"
#include "engine/engine.hpp"

namespace warpaes {

/// Zeroed memory, aligned to 4096 bytes (on a device to 256), and wiped on destruction. Host memory is page-locked if
/// the engine may use a GPU, unless pageable memory was requested. If the driver can lock only pages that it allocates,
/// private memory is allocated by the driver, and shared memory is pageable. A child of fork() that destroys an arena
/// wipes only its own copy.
class Arena {
public:
    /// Throws Error{ARGUMENT}, Error{BACKEND}, Error{OUT_OF_MEMORY}, Error{DEVICE_MEMORY} or Error{DEVICE}.
    Arena(const Engine& engine, Memory memory, bool shared, int device, std::uint64_t bytes);
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena();

    [[nodiscard]] std::uint8_t* data() const noexcept { return data_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    /// A file descriptor that other processes may map; -1 if the memory is not shared.
    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
    /// CUDA device number, or -1.
    [[nodiscard]] int device() const noexcept { return device_; }
    [[nodiscard]] bool holds(const void* pointer) const noexcept {
        const auto at = reinterpret_cast<std::uintptr_t>(pointer), begin = reinterpret_cast<std::uintptr_t>(data_);
        return at >= begin && at - begin < bytes_;
    }

private:
    void map(bool shared);
    void lock_pages(bool shared);
    void close() noexcept;

    std::uint8_t* data_ = nullptr;
    Memory kind_;
    std::uint64_t bytes_;
    int descriptor_ = -1;
    int device_ = -1;
    bool mapped_ = false;
    void* of_driver_ = nullptr;  ///< the driver's allocation that contains data_
    bool registered_ = false;
    Home home_;
};

}  // namespace warpaes
