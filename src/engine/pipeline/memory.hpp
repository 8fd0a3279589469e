// A caller's buffer, wherever it lies, as an end of a pipeline.
#pragma once

#include "engine/engine.hpp"
#include "engine/pipeline/stream.hpp"

namespace warpaes {

// Memory may lie on a device, and whoever asks where must ask before a device fails: afterwards it no longer says. So a
// place is looked up once and remembered, as the number of the device, or -1 for host memory.

/// `bytes` bytes from one memory to another, of which at least one lies on `device` if that is not -1; after what
/// `stream` holds, complete on return.
void copy_memory(void* to, const void* from, std::size_t bytes, int device, void* stream = nullptr);
/// The same, looking up where they lie.
void copy_anywhere(void* to, const void* from, std::size_t bytes);
/// Overwrites `memory`, which lies on `device` or in host memory, with zeros; nothing may be running on it.
void clear_memory(void* memory, std::size_t bytes, int device);
/// The same when work has failed, which may have taken the device and its memory with it.
void clear_after_failure(void* memory, std::size_t bytes, int device) noexcept;

/// A caller's memory, and where it lies.
struct Located {
    std::uint8_t* data;
    MemoryPlace place;

    /// What is only read, too.
    explicit Located(const void* memory)
        : data(const_cast<std::uint8_t*>(static_cast<const std::uint8_t*>(memory))),
          place(cuda_backend().place(memory)) {}
    [[nodiscard]] int device() const noexcept { return device_of(place); }
    [[nodiscard]] Located behind(std::uint64_t bytes) const {
        Located rest = *this;
        rest.data += bytes;
        return rest;
    }
};

/// Whether the two have a byte in common.
inline bool overlap(const void* a, std::uint64_t a_bytes, const void* b, std::uint64_t b_bytes) {
    const auto first = reinterpret_cast<std::uintptr_t>(a), second = reinterpret_cast<std::uintptr_t>(b);
    return a_bytes != 0 && b_bytes != 0 && first < second + b_bytes && second < first + a_bytes;
}

/// A CPU works on host memory as it lies, and so does a GPU on page-locked memory and on its own; pageable memory is
/// copied to page-locked staging and back by the workers.
struct MemoryBuffer {
    std::uint8_t* data;
    std::uint64_t bytes;
    bool direct;  ///< a lane of the plan may work on it as it lies
    int device;   ///< where it lies in device memory, or -1
};

/// `parallel`: nobody but the lane looks into it, as with a mode that is not serial.
MemoryBuffer locate(const Plan& plan, const std::uint8_t* data, std::uint64_t bytes, bool parallel = true);

/// What is to be done between two buffers, and how each of them takes part.
struct Ends {
    Plan plan;
    MemoryBuffer in;
    MemoryBuffer out;
};

/// `work`: without its bytes, which are the input's; `work.memory`: where the slower of the two lies; with
/// Memory::device, on `device`, at least one does. `device` must outlive the plan. Where the CPU is to redo what a GPU
/// failed to do, a GPU does not write over its input.
Ends plan_ends(Engine& engine, Work work, std::span<const std::uint8_t> input, std::span<std::uint8_t> output,
               const int& device);

class MemorySource final : public Source {
public:
    explicit MemorySource(const MemoryBuffer& buffer) : buffer_(buffer) {}
    std::uint64_t size() const noexcept override { return buffer_.bytes; }
    bool is_sequential() const noexcept override { return false; }
    std::size_t read(std::uint64_t offset, std::span<std::uint8_t> to) override;
    const std::uint8_t* data() const noexcept override { return buffer_.direct ? buffer_.data : nullptr; }
    bool can_be_read_ahead() const noexcept override { return buffer_.device < 0; }

private:
    MemoryBuffer buffer_;
};

class MemorySink final : public Sink {
public:
    explicit MemorySink(const MemoryBuffer& buffer) : buffer_(buffer) {}
    bool is_sequential() const noexcept override { return false; }
    void write(std::uint64_t offset, std::span<const std::uint8_t> bytes) override;
    std::uint8_t* data() noexcept override { return buffer_.direct ? buffer_.data : nullptr; }

private:
    MemoryBuffer buffer_;
};

}  // namespace warpaes
