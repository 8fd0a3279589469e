// The CPU part of [H]'s generic data model for many messages: a payload describes messages by offsets into a data
// stream and a key stream; prepare() converts it so that each thread of a kernel can find its message.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "lab/mode.hpp"

namespace lab {

/// `count` pieces of `size` bytes in a stream, the first at `offset`. Their starts are `stride` bytes apart; a stride
/// of 0 means that they are contiguous. Positions are offsets, not pointers, so they remain valid if the stream is
/// moved.
struct Elements {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint64_t count = 0;
    std::uint64_t stride = 0;
};

/// Messages to encrypt, all in one mode and of the same size, which is a whole number of blocks.
struct MessageDescriptor {
    Mode mode = Mode::ctr;
    Elements messages;    ///< in the data stream; the output has the same offsets in the output stream
    Elements ivs;         ///< in the data stream, 16 bytes each; none for ECB; a single IV serves all messages
    Elements associated;  ///< must be empty: only for authenticated modes, which [H] leaves to later work
    Elements tags;        ///< must be empty for the same reason
    std::uint64_t first_key = 0, keys = 1;  ///< keys in the key stream: message i uses key first_key + i % keys
};

struct PayloadDescriptor {
    std::uint64_t id = 0;
    std::vector<MessageDescriptor> messages;
};

/// Key schedules of AES-128 (as in the paper), expanded on the CPU and cached in a hash table. Equal keys share an
/// entry.
class KeySchedules {
public:
    static constexpr std::size_t key_bytes = 16, words = 44;
    using Key = std::array<std::uint8_t, key_bytes>;

    /// Returns the schedule of a key of `key_bytes` bytes.
    static std::array<std::uint32_t, words> expanded(std::span<const std::uint8_t> key);
    /// Returns the index of the schedule of `key`; expands the key on first use.
    std::uint32_t place(const Key& key);
    /// Returns all schedules, each of which consists of `words` words.
    [[nodiscard]] std::span<const std::uint32_t> schedules() const { return schedules_; }
    [[nodiscard]] std::size_t size() const { return places_.size(); }

private:
    struct Hash {
        std::size_t operator()(const Key& key) const noexcept;
    };
    std::unordered_map<Key, std::uint32_t, Hash> places_;
    std::vector<std::uint32_t> schedules_;
};

/// A message as the kernel reads it.
struct LogicalMessage {
    std::uint64_t text, iv;  ///< offsets in the data stream
    std::uint32_t blocks;
    std::uint32_t schedule;  ///< index in KeySchedules
    Mode mode;
    std::uint32_t reserved = 0;
};

/// A payload in the format that the kernel reads. A message in a serial mode has one logical thread; a message in a
/// parallel mode has a logical thread for each block. Only the first logical thread of each message is stored.
struct PreparedPayload {
    std::vector<LogicalMessage> messages;
    std::vector<std::uint32_t> first;  ///< first logical thread of each message, ascending
    std::uint32_t threads = 0;         ///< number of logical threads
};

/// Converts a payload. `key_stream` contains the keys one after the other. Throws std::invalid_argument if an element
/// is outside its stream, is not a whole number of blocks or is only for authenticated modes, if a key is missing, or
/// if more than 2^31 - 1 logical threads are needed.
PreparedPayload prepare(const PayloadDescriptor& payload, std::size_t data_bytes,
                        std::span<const std::uint8_t> key_stream, KeySchedules& schedules);

}  // namespace lab
