// Launches the variants that the catalogue names, and says what they cost.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "lab/gpu/device.hpp"
#include "lab/gpu/variant.hpp"

namespace lab::gpu {

/// Every variant that there is a kernel of.
std::span<const Entry> variants();

struct Geometry {
    unsigned threads = 256;  ///< a thread block: a multiple of 32, at most 1024
    /// Thread blocks of persistent threads; 0: as many as fit on the device at once, or as there is work for.
    unsigned blocks = 0;
};

/// What a kernel takes.
struct Resources {
    int registers = 0;              ///< a thread
    std::size_t local_bytes = 0;    ///< a thread: registers that did not suffice
    std::size_t shared_bytes = 0;   ///< a thread block
    int blocks_per_multiprocessor;  ///< thread blocks at once, as the runtime says
};

/// A key and tables on a device, and the kernels that work with them. Made for the device that use() chose.
class Variants {
public:
    /// `key`: 16, 24 or 32 bytes.
    explicit Variants(std::span<const std::uint8_t> key);
    Variants(Variants&&) noexcept;
    Variants& operator=(Variants&&) noexcept;
    ~Variants();

    /// `bytes` of text, whole blocks, both pointers on the device and multiples of 16. `counter`: the first counter
    /// block, 16 bytes; of ECB none. In place is allowed if text is read as global memory. Throws std::invalid_argument
    /// if there is no such kernel, or if the key is of another length. Text that is read through a texture stays where
    /// it is as long as this.
    void run(const Entry& entry, const Geometry& geometry, const std::uint8_t* input, std::uint8_t* output,
             std::size_t bytes, std::span<const std::uint8_t> counter, const Stream& stream) const;
    [[nodiscard]] static Resources resources(const Entry& entry, unsigned threads);

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Where the first `bytes` bytes of two buffers in device memory differ first; `bytes` if nowhere. Waits.
std::size_t first_difference(const std::uint8_t* a, const std::uint8_t* b, std::size_t bytes, const Stream& stream);

}  // namespace lab::gpu
