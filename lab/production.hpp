// Calls warpaes through its ABI on device memory, as applications do. Experiments use it as their baseline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace lab {

class Production {
public:
    /// Creates an engine of the cuda backend on `device`, with a key of 16, 24 or 32 bytes. Throws warpaes's Error.
    Production(int device, std::span<const std::uint8_t> key);
    /// Uses another key on the same engine.
    Production(const Production& other, std::span<const std::uint8_t> key);
    ~Production();
    Production(const Production&) = delete;
    Production& operator=(const Production&) = delete;

    /// Enqueues CTR with a counter block of 16 bytes, or ECB without one, on `stream`, a cudaStream_t. The buffers are
    /// in device memory.
    void enqueue(bool encrypt, std::span<const std::uint8_t> counter, const std::uint8_t* input, std::uint8_t* output,
                 std::size_t bytes, void* stream) const;

private:
    struct State;
    std::unique_ptr<const State> state_;
};

}  // namespace lab
