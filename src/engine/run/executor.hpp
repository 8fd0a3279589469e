// Runs messages, or stretches of one, wherever their buffers lie: the way from a message to the lanes. It plans, cuts a
// long message and spreads it over the plan's lanes, repeats what a GPU failed to do, and settles the tag.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "backend/mac.hpp"
#include "backend/tag.hpp"
#include "engine/engine.hpp"
#include "engine/pipeline/memory.hpp"

namespace warpaes {

/// Splits a piece of `length` bytes that begins `used` bytes into a block: calls `partial(n)` for the bytes that fill
/// that block, `whole(n)` for the whole blocks and `partial(n)` for the rest. Empty parts are skipped.
template <typename Partial, typename Whole>
void by_blocks(std::size_t used, std::uint64_t length, const Partial& partial, const Whole& whole) {
    const std::uint64_t first = used == 0 ? 0 : std::min<std::uint64_t>(block_bytes - used, length);
    const std::uint64_t rest = (length - first) % block_bytes, blocks = length - first - rest;
    if (first != 0) partial(static_cast<std::size_t>(first));
    if (blocks != 0) whole(blocks);
    if (rest != 0) partial(static_cast<std::size_t>(rest));
}

/// Runs a single message, or a stretch of one, under an expanded key. `memory`: the slower place of input and output;
/// with Memory::device at least one of them lies on `device`. A GCM message must have the digest of its associated
/// data, and its J0 if its IV is not 12 bytes. Tags, IVs and associated data lie in host memory. Thread-safe.
/// Everything is complete on return; after an exception the output is undefined.
Outcome run_group(Engine& engine, MessageGroup group, Memory memory = Memory::pageable, int device = -1);

/// Calls `work(lane, i)` once for each i below `parts`, on lanes of the plan, in parallel where that pays.
template <typename Work>
void for_each_part(Engine& engine, const Plan& plan, std::uint64_t parts, const Work& work) {
    std::atomic<std::uint64_t> next{0};
    const auto take = [&](std::size_t worker) {
        std::uint64_t i = next++;
        if (i >= parts) return;
        const LaneLease lane = engine.lease(plan, static_cast<unsigned>(worker), 0);
        for (; i < parts; i = next++) work(*lane, i);
    };
    const auto lanes = static_cast<std::size_t>(std::min<std::uint64_t>(plan.lanes, parts));
    if (lanes <= 1) return take(0);
    engine.pool().for_each(lanes, take);
}

/// Encrypts one block on a CPU, without a plan or a lane.
void encrypt_block(const Engine& engine, const ExpandedKey& key, const Block& in, Block& out);

/// The stream of a caller who does not wait.
struct CallerStream {
    void* stream = nullptr;
};

/// A part of a message without a tag: whole blocks or data units, which are processed where they lie; or, `local`,
/// bytes of one block, which is copied to host memory.
struct MessagePart {
    enum class Padding : std::uint8_t { none, add, remove };

    std::uint64_t offset = 0, length = 0;  ///< in the input
    std::uint64_t to = 0;                  ///< of its result, in the output
    bool local = false;
    Padding padding = Padding::none;             ///< PKCS#7; of a local part
    std::uint64_t skip = 0, keep = block_bytes;  ///< bytes of a local part's result
};

/// The memory of one message's buffers, and the backends and device that run its stretches there.
class Executor {
public:
    /// For buffers in host memory; does not call CUDA to find out.
    explicit Executor(Engine& engine) : engine_(engine) {}
    /// Finds out where the buffers lie; `input_device`, `output_device`: the devices where they lie, or -1: not yet
    /// known. Throws Error{ARGUMENT, BACKEND} if no backend can reach both.
    Executor(Engine& engine, const std::uint8_t* input, const std::uint8_t* output,
             std::optional<CallerStream> stream = std::nullopt, int input_device = -1, int output_device = -1);

    /// Runs a message, or a stretch of one, whose buffers lie in the same memory as the constructor's: see run_group().
    /// On a caller's stream the tag must be in memory that the device can write.
    void run(const MessageGroup& message);
    /// Runs the parts of a message in their order; `iv` is the message's. Returns the number of bytes written to the
    /// output; std::nullopt: the padding is wrong, and the output has been wiped.
    std::optional<std::uint64_t> run_parts(const MessageGroup& message, const Block& iv,
                                           std::span<const MessagePart> parts);
    /// Runs a stretch and returns the chaining value after it.
    Block run_and_chain(const MessageGroup& stretch);
    /// Runs a stretch of one block in host memory, on the same backend and device as the message.
    void run_local(MessageGroup stretch, const Block& in, Block& out);

    /// Copy between the message's memory and host memory.
    void read(void* to, const std::uint8_t* from, std::size_t bytes);
    void write(std::uint8_t* to, const void* from, std::size_t bytes);

    /// Wipes output that must not be handed out.
    void clear(std::uint8_t* output, std::uint64_t bytes) noexcept;

    /// Waits until the device's default stream is done with the buffers, because a lane's stream does not wait for it.
    void wait_for_buffers() const;

    [[nodiscard]] bool on_device() const noexcept { return device_ >= 0; }
    /// The kind of memory that decides which backend runs: device memory if either buffer lies there, page-locked
    /// memory if both do.
    [[nodiscard]] Memory memory() const noexcept { return memory_; }
    /// The device where at least one buffer lies; -1: both lie in host memory.
    [[nodiscard]] int data_device() const noexcept { return device_; }
    /// The device where the output lies; -1: host memory.
    [[nodiscard]] int output_device() const noexcept { return output_device_; }
    /// The outcome of the last run, with the notes of all runs.
    [[nodiscard]] const Outcome& ran() const noexcept { return ran_; }

private:
    void run_here(const MessageGroup& group);
    [[nodiscard]] Block chain_before(const MessageGroup& message, const Block& iv, std::uint64_t offset);
    std::optional<std::uint64_t> run_local_part(const MessageGroup& message, const Block& chain,
                                                const MessagePart& part);

    Engine& engine_;
    Memory memory_ = Memory::pageable;
    int device_ = -1;  ///< the device where at least one buffer lies, or -1
    int output_device_ = -1;
    bool device_only_ = false;  ///< both buffers lie in device memory
    std::optional<CallerStream> stream_;
    Outcome ran_;
};

}  // namespace warpaes
