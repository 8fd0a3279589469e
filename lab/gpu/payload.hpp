// The kernel of [H]'s data model: a physical thread becomes a logical one, finds its message by binary search, and does
// a block of it, or in a serial mode all of it.
#pragma once

#include <cstdint>
#include <optional>

#include "lab/gpu/device.hpp"
#include "lab/gpu/variants.hpp"
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

    /// The same by a kernel that is compiled for one mode, or for all, and has as many registers as it likes. Throws
    /// std::invalid_argument if the payload has other modes.
    void run_freely(std::optional<Mode> alone, const std::uint8_t* input, std::uint8_t* output,
                    const Stream& stream) const;
    /// Of that kernel.
    [[nodiscard]] static Resources resources(std::optional<Mode> alone);

private:
    void enqueue(const void* kernel, const std::uint8_t* input, std::uint8_t* output, ThreadMapping mapping,
                 const Runs& runs, const Stream& stream) const;

    DeviceMemory tables_, messages_, first_, schedules_;
    std::uint32_t count_ = 0, threads_ = 0;
    std::optional<Mode> mode_;  ///< of all messages, if they have one
};

}  // namespace lab::gpu
