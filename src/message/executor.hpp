// Runs stretches of a message wherever its buffers lie, so that the code above need not know.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/engine.hpp"
#include "message/message.hpp"

namespace warpaes {

/// A piece of `length` bytes behind `used` bytes of a block: `partial(n)` for what fills that block, `whole(n)` for
/// whole blocks and `partial(n)` for the rest, where there is any of them.
template <typename Partial, typename Whole>
void by_blocks(std::size_t used, std::uint64_t length, const Partial& partial, const Whole& whole) {
    const std::uint64_t first = used == 0 ? 0 : std::min<std::uint64_t>(block_bytes - used, length);
    const std::uint64_t rest = (length - first) % block_bytes, blocks = length - first - rest;
    if (first != 0) partial(static_cast<std::size_t>(first));
    if (blocks != 0) whole(blocks);
    if (rest != 0) partial(static_cast<std::size_t>(rest));
}

class Executor {
public:
    /// Looks at where the buffers lie; `input_device` as in MessageRequest. Throws Error{ARGUMENT, BACKEND} if no
    /// backend can reach both.
    Executor(Engine& engine, const std::uint8_t* input, const std::uint8_t* output, std::optional<CallerStream> stream,
             int input_device = -1);

    /// Runs a message or a stretch of one whose buffers lie where this one's do: see run_group(). On a caller's stream
    /// a tag goes to memory that the device can write.
    void run(const MessageGroup& message);
    /// The same of a stretch, and gives the chaining value after it.
    Block run_and_chain(const MessageGroup& stretch);
    /// A stretch of one block in the caller's own local memory, on the backend and device of the rest.
    void run_local(MessageGroup stretch, const Block& in, Block& out);
    /// The same for one block through the cipher itself.
    void encrypt_block(const ExpandedKey& key, const Block& in, Block& out);

    /// Copies between the message's memory and local memory.
    void read(void* to, const std::uint8_t* from, std::size_t bytes);
    void write(std::uint8_t* to, const void* from, std::size_t bytes);

    /// A lane's stream waits for no other, so what the default stream does to the buffers must be done before.
    void wait_for_buffers() const;

    [[nodiscard]] bool on_device() const noexcept { return device_ >= 0; }
    /// What kind of memory decides: device memory, if one of the buffers lies there; page-locked, if both do.
    [[nodiscard]] Memory memory() const noexcept { return memory_; }
    /// Where at least one of the buffers lies; -1: both lie in host memory.
    [[nodiscard]] int data_device() const noexcept { return device_; }
    /// Where the output lies; -1: in host memory.
    [[nodiscard]] int output_device() const noexcept { return output_device_; }
    /// What ran last, with all notes.
    [[nodiscard]] const Outcome& ran() const noexcept { return ran_; }

private:
    void run_here(const MessageGroup& group);

    Engine& engine_;
    Memory memory_ = Memory::pageable;
    int device_ = -1;  ///< where the data lies, if at least one end is in device memory
    int output_device_ = -1;
    bool device_only_ = false;  ///< both ends are
    std::optional<CallerStream> stream_;
    Outcome ran_;
};

}  // namespace warpaes
