// The kernel of [H]'s data model: a physical thread becomes a logical one, finds its message by binary search, and does
// a block of it, or in a serial mode all of it.
#pragma once

#include <cstdint>

#include "lab/gpu/device.hpp"
#include "lab/payload.hpp"

namespace lab::gpu {

/// Which logical thread a physical one is.
enum class ThreadMapping : std::uint32_t {
    natural,  ///< the same
    striped   ///< neighbouring groups of 32 go to different thread blocks
};

/// How the blocks of every message lie, to see what their distance costs: block j is at j / blocks * distance +
/// j % blocks * 16 behind the message's beginning. `blocks` is a power of two; 0: all blocks follow each other.
struct Runs {
    std::uint32_t blocks = 0;
    std::uint64_t distance = 0;
};

/// A payload on the device that use() chose, without its data.
class PayloadOnDevice {
public:
    static constexpr unsigned threads_per_block = 256;  ///< as published

    PayloadOnDevice();
    /// Copies what prepare() made of a payload; returns when it is there.
    void load(const PreparedPayload& payload, const KeySchedules& schedules);
    /// Enqueues the kernel. `input`: the stream of data, `output`: as long; both where the device reaches them,
    /// multiples of 16; the same is allowed.
    void run(const std::uint8_t* input, std::uint8_t* output, ThreadMapping mapping, const Runs& runs,
             const Stream& stream) const;

private:
    DeviceMemory tables_, messages_, first_, schedules_;
    std::uint32_t count_ = 0, threads_ = 0;
};

}  // namespace lab::gpu
