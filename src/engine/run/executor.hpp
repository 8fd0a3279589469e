// Runs messages, or stretches of a message, wherever their buffers are: on the device that contains them, or on lanes
// (group.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/engine.hpp"
#include "engine/pipeline/memory.hpp"
#include "engine/run/group.hpp"

namespace warpaes {

/// Splits a piece of `length` bytes that begins `used` bytes into a block: calls `partial(n)` for the bytes that
/// complete the first block, `whole(n)` for the whole blocks and `partial(n)` for the rest. Empty parts are skipped.
template <typename Partial, typename Whole>
void by_blocks(std::size_t used, std::uint64_t length, const Partial& partial, const Whole& whole) {
    const std::uint64_t first = used == 0 ? 0 : std::min<std::uint64_t>(block_bytes - used, length);
    const std::uint64_t rest = (length - first) % block_bytes, blocks = length - first - rest;
    if (first != 0) partial(static_cast<std::size_t>(first));
    if (blocks != 0) whole(blocks);
    if (rest != 0) partial(static_cast<std::size_t>(rest));
}

/// Encrypts one block on a CPU, without a plan or a lane.
void encrypt_block(const Engine& engine, const ExpandedKey& key, const Block& in, Block& out);

/// A part of a message without a tag. It consists of whole blocks or data units, which are processed in place, or, if
/// it is `local`, of bytes of one block, which is copied to host memory.
struct MessagePart {
    enum class Padding : std::uint8_t { none, add, remove };

    std::uint64_t offset = 0, length = 0;  ///< offset in the input
    std::uint64_t to = 0;                  ///< offset of the part's result in the output
    bool local = false;
    Padding padding = Padding::none;             ///< PKCS#7; only for a local part
    std::uint64_t skip = 0, keep = block_bytes;  ///< of a local part's result: bytes to drop at the beginning, and
                                                 ///< number of the following bytes to keep
};

/// Runs the stretches of one message on a device or lanes that can access the message's buffers.
class Executor {
public:
    /// Creates an executor for buffers in host memory, which is not verified with CUDA.
    explicit Executor(Engine& engine) : engine_(engine) {}
    /// Creates an executor for buffers in the given kinds of memory. Throws Error{ARGUMENT} or Error{BACKEND} if no
    /// backend can access both input and output.
    Executor(Engine& engine, const Places& places, std::optional<CallerStream> stream = std::nullopt);
    /// Determines where the buffers are.
    Executor(Engine& engine, const std::uint8_t* input, const std::uint8_t* output)
        : Executor(engine, Places(input, output)) {}

    /// Runs a message, or a stretch of a message, whose buffers are in the same memory as the constructor's buffers;
    /// see run_group(). On a caller's stream, the tag must be in memory that the device can write to.
    void run(const MessageGroup& message);
    /// Runs the parts of a message in order; `iv` is the message's IV. Returns the number of bytes written to the
    /// output, or std::nullopt if the padding is wrong and the output has been wiped.
    std::optional<std::uint64_t> run_parts(const MessageGroup& message, const Block& iv,
                                           std::span<const MessagePart> parts);
    /// Runs a stretch and returns the chaining value after it.
    Block run_and_chain(const MessageGroup& stretch);
    /// Runs a stretch of one block in host memory, on the same backend and device as the message.
    void run_local(MessageGroup stretch, const Block& in, Block& out);

    /// Copies between the message's memory and host memory.
    void copy(void* to, const void* from, std::size_t bytes);

    /// Wipes output that must not be returned.
    void clear(std::uint8_t* output, std::uint64_t bytes) noexcept;

    /// Waits until the device's default stream no longer uses the buffers, because a lane's stream does not wait for
    /// the default stream.
    void wait_for_buffers() const;

    [[nodiscard]] bool on_device() const noexcept { return device_ >= 0; }
    /// The kind of memory that determines the backend: device memory if either buffer is in device memory; page-locked
    /// memory if both buffers are page-locked.
    [[nodiscard]] Memory memory() const noexcept { return memory_; }
    /// The device that contains at least one buffer; -1: both buffers are in host memory.
    [[nodiscard]] int data_device() const noexcept { return device_; }
    /// The outcome of the last run, with the notes of all runs.
    [[nodiscard]] const Outcome& ran() const noexcept { return ran_; }

private:
    void run_on_device(MessageGroup group);
    std::optional<std::uint64_t> run_part(const MessageGroup& message, const Block& iv, const MessagePart& part);
    /// `group` contains the part's input, output and chaining value. Returns std::nullopt if the padding is wrong.
    std::optional<std::uint64_t> run_local_part(const MessageGroup& group, const MessagePart& part);

    Engine& engine_;
    Memory memory_ = Memory::pageable;
    int device_ = -1;  ///< the device that contains at least one buffer, or -1
    int output_device_ = -1;
    bool device_only_ = false;  ///< both buffers are in device memory
    std::optional<CallerStream> stream_;
    Outcome ran_;
};

/// The outcome of a message with a tag: GCM (SP 800-38D), CCM (SP 800-38C), CMAC (SP 800-38B).
struct TaggedOutcome : Outcome {
    bool authentic = true;  ///< false: the tag of a decrypted message is wrong, and the output has been wiped
};

/// Runs a checked message with a tag; its buffers may be in memory of any kind. If `stream` is set, enqueues the
/// message and returns without waiting.
TaggedOutcome run_tagged(Engine& engine, const MessageGroup& message, const Places& places,
                         std::optional<CallerStream> stream);

}  // namespace warpaes
