// [H]'s generic data model for many messages, on the side of the client and of the CPU: a payload is described by
// offsets into streams of data and of keys, and made ready for a kernel that finds every thread's message by itself.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "lab/mode.hpp"

namespace lab {

/// `count` pieces of `size` bytes in a stream, `stride` bytes from one to the next (0: they follow each other), the
/// first at `offset`. Offsets, not pointers: they mean the same wherever the stream lies.
struct Elements {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint64_t count = 0;
    std::uint64_t stride = 0;
};

/// Messages of one mode and one size, whole blocks, to be encrypted.
struct MessageDescriptor {
    Mode mode = Mode::ctr;
    Elements messages;    ///< in the data stream; the output is where the input was, in the stream of output
    Elements ivs;         ///< in the data stream, 16 bytes each; of ECB none; a single one serves all
    Elements associated;  ///< for authenticated modes, which [H] left to others: must be empty
    Elements tags;        ///< likewise
    std::uint64_t first_key = 0, keys = 1;  ///< places in the key stream: message i takes first_key + i % keys
};

struct PayloadDescriptor {
    std::uint64_t id = 0;
    std::vector<MessageDescriptor> messages;
};

/// Key schedules, expanded on the CPU and kept in a hash table: the same key has the same place. AES-128, as published.
class KeySchedules {
public:
    static constexpr std::size_t key_bytes = 16, words = 44;
    using Key = std::array<std::uint8_t, key_bytes>;

    /// Where the schedule of `key` is; expands it if it is new.
    std::uint32_t place(const Key& key);
    /// `words` words for every place.
    [[nodiscard]] std::span<const std::uint32_t> schedules() const { return schedules_; }
    [[nodiscard]] std::size_t size() const { return places_.size(); }

private:
    struct Hash {
        std::size_t operator()(const Key& key) const noexcept;
    };
    std::unordered_map<Key, std::uint32_t, Hash> places_;
    std::vector<std::uint32_t> schedules_;
};

/// What a kernel knows of a message.
struct LogicalMessage {
    std::uint64_t text, iv;  ///< offsets
    std::uint32_t blocks;
    std::uint32_t schedule;  ///< place
    Mode mode;
    std::uint32_t reserved = 0;
};

/// Ready for a kernel. A message in a serial mode has one logical thread, one in a parallel mode one for each block;
/// only the first of each is kept.
struct PreparedPayload {
    std::vector<LogicalMessage> messages;
    std::vector<std::uint32_t> first;  ///< ascending, one for each message
    std::uint32_t threads = 0;         ///< logical ones
};

/// Throws std::invalid_argument for elements that reach beyond the streams, are no whole blocks, or of an authenticated
/// mode, for more than 2^31 - 1 threads, and for a key that is not there. `key_stream`: keys one after the other.
PreparedPayload prepare(const PayloadDescriptor& payload, std::size_t data_bytes,
                        std::span<const std::uint8_t> key_stream, KeySchedules& schedules);

}  // namespace lab
