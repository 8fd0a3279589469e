// The library as its users have it, for experiments to be held against: through the ABI, on device memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace lab {

class Production {
public:
    /// An engine of the cuda backend on `device`, and a key of 16, 24 or 32 bytes. Throws warpaes's Error.
    Production(int device, std::span<const std::uint8_t> key);
    /// Another key on the same engine.
    Production(const Production& other, std::span<const std::uint8_t> key);
    ~Production();
    Production(const Production&) = delete;
    Production& operator=(const Production&) = delete;

    /// CTR with a counter block of 16 bytes, ECB without one, on buffers of the device, enqueued on a cudaStream_t.
    void enqueue(bool encrypt, std::span<const std::uint8_t> counter, const std::uint8_t* input, std::uint8_t* output,
                 std::size_t bytes, void* stream) const;

private:
    struct State;
    std::unique_ptr<const State> state_;
};

}  // namespace lab
