// Many messages for [H]'s experiments: as a payload for its data model and as entries for production's batches, with
// libcrypto's output for both.
#pragma once

#include <functional>
#include <string>
#include <vector>
#include <warpaes/warpaes.hpp>

#include "lab/experiments/support.hpp"
#include "lab/gpu/payload.hpp"

namespace lab::experiments {

inline constexpr std::uint64_t block_bytes = 16;

/// A mode and its name in panels.
struct NamedMode {
    Mode mode;
    const char* name;
};

/// AES-128 messages of equal length in one mode.
struct Shape {
    Mode mode = Mode::ctr;
    std::uint64_t count = 1;
    std::uint64_t blocks = 1;         ///< blocks per message
    std::uint64_t stride_blocks = 0;  ///< distance between neighbouring messages; 0: contiguous
    bool own_keys = false;            ///< true: each message has its own key; false: one key for all

    [[nodiscard]] std::uint64_t stride() const { return 16 * (stride_blocks != 0 ? stride_blocks : blocks); }
    [[nodiscard]] std::uint64_t bytes() const { return 16 * blocks * count; }
};

/// Where the messages are stored.
enum class MessageMemory { device, page_locked };

class Messages {
public:
    explicit Messages(const Shape& shape, MessageMemory memory = MessageMemory::device);

    [[nodiscard]] const Shape& shape() const { return shape_; }
    /// The texts, followed by the IVs and the keys.
    [[nodiscard]] const std::uint8_t* input() const {
        return memory_ == MessageMemory::device ? input_.get() : locked_in_.get();
    }
    [[nodiscard]] std::size_t input_bytes() const { return host_.size(); }
    [[nodiscard]] std::uint8_t* output() const {
        return memory_ == MessageMemory::device ? output_.get() : locked_out_.get();
    }
    [[nodiscard]] std::size_t output_bytes() const { return texts_; }
    [[nodiscard]] std::span<const std::uint8_t> keys() const { return keys_; }
    [[nodiscard]] std::span<const std::uint8_t> iv(std::uint64_t message) const;

    /// For the data model: one descriptor for all messages. `whole`: all texts as a single message.
    [[nodiscard]] PreparedPayload prepare(KeySchedules& schedules, bool whole = false) const;
    /// For production: one entry for all messages, or one entry for each message. `key` is used unless messages have
    /// their own keys.
    [[nodiscard]] std::vector<warpaes_batch_entry> entries(const warpaes::Key& key, bool one_each) const;

    void poison();
    /// Throws Mismatch, naming `what`, unless the output equals libcrypto's and the gaps between messages are
    /// untouched. `whole`: checks all texts as a single message.
    void check(const std::string& what, bool whole = false);
    /// Like check() above, for `count` longer messages: message i consists of `runs` of these messages, namely number i
    /// and every `count`th after it.
    void check_runs(const std::string& what, std::uint64_t count, std::uint64_t runs) const;

private:
    const gpu::DeviceMemory& expected(bool whole);
    void require(const gpu::DeviceMemory& expected, const std::string& what) const;

    Shape shape_;
    MessageMemory memory_;
    std::uint64_t texts_;  ///< size of the texts in bytes, gaps included
    std::vector<std::uint8_t> host_, keys_;
    gpu::DeviceMemory input_, output_, expected_, expected_whole_;
    gpu::HostMemory locked_in_, locked_out_;
    gpu::Stream stream_;
};

/// Returns the seconds from submission to completion of one batch, by the host's clock. Throws warpaes::Error if an
/// entry fails.
double time_batch(const warpaes::Engine& engine, std::vector<warpaes_batch_entry>& entries);
/// Returns the average seconds per batch of `calls` such batches, up to four in flight; all read and write the same
/// memory.
double time_batches(const warpaes::Engine& engine, std::vector<warpaes_batch_entry>& entries, unsigned calls);

/// Throughput in GB/s for messages in device memory, with verified outputs: of production's batch, by the host's clock
/// from submission to completion, and of the data model's kernel, by events.
struct MessageRates {
    Summary production, model;
};
MessageRates rates_of_messages(const Context& context, const warpaes::Engine& engine, const Shape& shape);

/// Returns the number of messages of `blocks` blocks that make up `bytes` bytes; at least one, at most `most`.
std::uint64_t messages_for(std::uint64_t bytes, std::uint64_t blocks, std::uint64_t most);

}  // namespace lab::experiments
