// How a batch is shared out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.hpp"

namespace warpaes {

/// The messages of one mode, direction and key length that lie in host memory, all together.
struct BatchPart {
    Mode mode = Mode::ecb;
    Direction direction = Direction::encrypt;
    int rounds = 10;
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;           ///< of data and associated data
    std::uint64_t longest = 0;         ///< bytes of the longest message
    std::uint64_t own_keys = 0;        ///< messages that bring their key as bytes
    Memory memory = Memory::pageable;  ///< where the first of them lie
};

/// Workers of a GPU at most.
inline constexpr unsigned most_gpu_lanes = 16;

/// What works on the messages in host memory; those in device memory are their device's in any case.
struct BatchPlan {
    Backend* cpu = nullptr;                                   ///< null: the CPU takes no part
    std::span<const int> gpus;                                ///< CUDA device numbers; the engine's
    unsigned gpu_lanes = 4;                                   ///< workers of each
    std::uint64_t cpu_task_bytes = std::uint64_t{256} << 10;  ///< what is taken at a time
    std::uint64_t gpu_task_bytes = std::uint64_t{16} << 20;
    std::string reason;
};

/// Thread-safe.
BatchPlan plan_batch(Engine& engine, std::span<const BatchPart> parts);

}  // namespace warpaes
