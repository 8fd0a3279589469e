// The kernel of [H]'s data model. Each physical thread maps to a logical thread, finds its message by binary search,
// and encrypts one block of the message or, in a serial mode, the complete message.
#pragma once

#include <cstdint>
#include <optional>

#include "lab/gpu/device.hpp"
#include "lab/gpu/variants.hpp"
#include "lab/payload.hpp"

namespace lab::gpu {

/// The logical thread of a physical thread.
enum class ThreadMapping : std::uint32_t {
    natural,  ///< the same number
    striped   ///< neighbouring groups of 32 logical threads go to different thread blocks
};

/// Placement of the blocks of every message, to measure the cost of the distance between blocks. Block j begins
/// (j / blocks) * distance + (j % blocks) * 16 bytes after the beginning of the message. `blocks` is a power of two, or
/// 0 for contiguous blocks.
struct Runs {
    std::uint32_t blocks = 0;
    std::uint64_t distance = 0;
};

/// A payload on the device that use() selected, without its data.
class PayloadOnDevice {
public:
    static constexpr unsigned threads_per_block = 256;  ///< as published

    PayloadOnDevice();
    /// Copies the output of prepare() to the device; returns when the copy is complete.
    void load(const PreparedPayload& payload, const KeySchedules& schedules);
    /// Enqueues the kernel. `input` is the data stream, and `output` has the same length. Both are accessible to the
    /// device and aligned to 16 bytes; in place is allowed.
    void run(const std::uint8_t* input, std::uint8_t* output, ThreadMapping mapping, const Runs& runs,
             const Stream& stream) const;

    /// Enqueues a kernel that is compiled for one mode, or for all modes, without a register limit. Throws
    /// std::invalid_argument if the payload contains a mode that the kernel does not support.
    void run_freely(std::optional<Mode> alone, const std::uint8_t* input, std::uint8_t* output,
                    const Stream& stream) const;
    /// Returns the resources of the kernel that run_freely() enqueues.
    [[nodiscard]] static Resources resources(std::optional<Mode> alone);

private:
    void enqueue(const void* kernel, const std::uint8_t* input, std::uint8_t* output, ThreadMapping mapping,
                 const Runs& runs, const Stream& stream) const;

    DeviceMemory tables_, messages_, first_, schedules_;
    std::uint32_t count_ = 0, threads_ = 0;
    std::optional<Mode> mode_;  ///< the mode of the messages, if all have the same mode
};

}  // namespace lab::gpu
