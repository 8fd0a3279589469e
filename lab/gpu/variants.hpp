// Launches the variants of the catalogue, and reports their resource usage.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "lab/gpu/device.hpp"
#include "lab/gpu/variant.hpp"

namespace lab::gpu {

/// Returns all variants that have a compiled kernel.
std::span<const Entry> variants();

struct Geometry {
    unsigned threads = 256;  ///< per thread block: a multiple of 32, at most 1024
    /// Thread blocks of persistent variants; 0: as many as fit on the device at once, or fewer if there is less work.
    unsigned blocks = 0;
};

/// Resource usage of a kernel.
struct Resources {
    int registers = 0;              ///< registers per thread
    std::size_t local_bytes = 0;    ///< per thread: spilled registers
    std::size_t shared_bytes = 0;   ///< shared memory per thread block
    int blocks_per_multiprocessor;  ///< resident thread blocks, as reported by the runtime
};

/// A key and tables on a device, and the kernels that use them. Constructed for the device that use() selected.
class Variants {
public:
    /// `key` has 16, 24 or 32 bytes.
    explicit Variants(std::span<const std::uint8_t> key);
    Variants(Variants&&) noexcept;
    Variants& operator=(Variants&&) noexcept;
    ~Variants();

    /// Processes `bytes` bytes of text, a multiple of 16. Both pointers are in device memory and aligned to 16 bytes.
    /// `counter` is the first counter block of CTR, or empty for ECB. In place is allowed if text is read by ordinary
    /// loads. Throws std::invalid_argument if the catalogue does not contain the entry, or if the entry is for a
    /// different key length. Text that is read through a texture must stay allocated as long as this object exists.
    void run(const Entry& entry, const Geometry& geometry, const std::uint8_t* input, std::uint8_t* output,
             std::size_t bytes, std::span<const std::uint8_t> counter, const Stream& stream) const;
    [[nodiscard]] static Resources resources(const Entry& entry, unsigned threads);

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Returns the index of the first of `bytes` bytes at which two buffers in device memory differ; `bytes` if they are
/// equal. Waits for the result.
std::size_t first_difference(const std::uint8_t* a, const std::uint8_t* b, std::size_t bytes, const Stream& stream);

}  // namespace lab::gpu
