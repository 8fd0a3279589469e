// Chaining values: what a mode carries from one stretch of a message to the next (SP 800-38A, section 6).
#pragma once

#include <cstdint>
#include <span>

#include "aes/types.hpp"
#include "backend/group.hpp"

namespace warpaes {

/// The last 16 bytes of `first` followed by `second`.
Block last_block(const Block& first, std::span<const std::uint8_t> second);

/// The chaining value for the part of a message that starts at byte `offset`, in a direction that can start anywhere
/// (`is_parallel`). `before`: the ciphertext just before `offset`, min(offset, 16) bytes of it; ECB and CTR ignore it.
/// For ECB, CBC, CFB128 and CTR `offset` is a multiple of 16.
Block chain_at(Mode mode, const Block& iv, std::uint64_t offset, std::span<const std::uint8_t> before);

/// The same for XTS, whose chaining value is the number of a data unit; `offset` is where one begins.
Block xts_chain_at(const Block& iv, std::uint64_t offset, const DataUnits& units);

/// Remembers what of a stretch's input its successor needs, so that it may be in place.
class ChainAfter {
public:
    /// Before it ran. One that is not the last of its message: whole blocks, or whole bytes for CFB8 and CFB1.
    explicit ChainAfter(const MessageGroup& stretch);
    /// After it ran: the chaining value of the next one.
    [[nodiscard]] Block value(const MessageGroup& stretch) const;

private:
    Block input_tail_{};
};

}  // namespace warpaes
