// A caller's buffer, in any kind of memory, as a source or sink of a pipeline.
#pragma once

#include <optional>

#include "base/pool.hpp"
#include "engine/engine.hpp"
#include "engine/pipeline/stream.hpp"

namespace warpaes {

/// Like clear_memory(), but with all threads of the engine: a single thread would wipe more slowly than all threads
/// decrypt.
void clear_memory(Engine& engine, void* memory, std::size_t bytes, int device);
/// From this length onwards, several threads share the wiping.
inline constexpr std::size_t least_shared_bytes = std::size_t{1} << 20;
/// While this object exists, the threads that decrypt a message of this length stay awake, because its tag or padding
/// may turn out to be wrong. With 16 threads of a Xeon (2026-11), GCM of 16 MiB takes 179 us; waking the threads and
/// wiping takes 191 us, of which writing zeros takes 109 us.
class ReadyToClear {
public:
    ReadyToClear(Engine& engine, Direction direction, std::uint64_t bytes) {
        if (direction == Direction::decrypt && bytes >= least_shared_bytes) hold_.emplace(engine.pool());
    }

private:
    std::optional<Pool::Hold> hold_;
};
/// Wipes memory after work has failed. Ignores errors, because the device and its memory may be lost.
void clear_after_failure(Engine& engine, void* memory, std::size_t bytes, int device) noexcept;

/// A caller's memory with its kind and its device.
struct Located {
    std::uint8_t* data;
    MemoryPlace place;

    /// Memory that is only read may also be passed.
    explicit Located(const void* memory)
        : data(const_cast<std::uint8_t*>(static_cast<const std::uint8_t*>(memory))), place(place_of(memory)) {}
    [[nodiscard]] int device() const noexcept { return place.device; }
    [[nodiscard]] Located behind(std::uint64_t bytes) const {
        Located rest = *this;
        rest.data += bytes;
        return rest;
    }
};

/// Whether the two ranges have a byte in common.
inline bool overlap(const void* a, std::uint64_t a_bytes, const void* b, std::uint64_t b_bytes) {
    const auto first = reinterpret_cast<std::uintptr_t>(a), second = reinterpret_cast<std::uintptr_t>(b);
    return a_bytes != 0 && b_bytes != 0 && first < second + b_bytes && second < first + a_bytes;
}

/// A CPU works directly on host memory, and a GPU on page-locked memory and on its own memory. The workers copy
/// pageable memory to and from page-locked staging buffers.
struct MemoryBuffer {
    std::uint8_t* data;
    std::uint64_t bytes;
    bool direct;  ///< a lane of the plan may access it in place
    int device;   ///< the device that contains the buffer, or -1
};

/// `parallel` means that only the lane accesses the data, as in a mode that is not serial.
MemoryBuffer locate(const Plan& plan, const std::uint8_t* data, std::uint64_t bytes, bool parallel = true);

/// The plan for work between two buffers, and how each buffer is accessed.
struct Ends {
    Plan plan;
    MemoryBuffer in;
    MemoryBuffer out;
    bool parallel;  ///< whether the work can start at any position
};

/// `work.bytes` is set from the input. `work.memory` is the slower kind of memory of the two buffers; with
/// Memory::device at least one of them is on `device`. `device` must outlive the plan. If the CPU may have to repeat
/// work on which a GPU failed, the GPU does not overwrite its input.
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
