// Chaining values: the state that a mode passes from one stretch of a message to the next (SP 800-38A, section 6).
#pragma once

#include <cstdint>
#include <span>

#include "aes/types.hpp"
#include "backend/group.hpp"

namespace warpaes {

/// The last 16 bytes of `first` followed by `second`.
Block last_block(const Block& first, std::span<const std::uint8_t> second);

/// The chaining value for the part of a message that starts at byte `offset`, for a mode and direction that can start
/// anywhere (`is_parallel`). `before`: the min(offset, 16) bytes of ciphertext just before `offset`; ECB and CTR ignore
/// it. For ECB, CBC, CFB128 and CTR, `offset` is a multiple of 16.
Block chain_at(Mode mode, const Block& iv, std::uint64_t offset, std::span<const std::uint8_t> before);

/// The same for XTS, whose chaining value is the number of a data unit. A data unit begins at `offset`.
Block xts_chain_at(const Block& iv, std::uint64_t offset, const DataUnits& units);

/// Keeps what the next stretch needs of a stretch's input, so that the stretch may run in place.
class ChainAfter {
public:
    /// To be called before the stretch runs. Unless the stretch ends its message, it is whole blocks, or whole bytes
    /// for CFB8 and CFB1.
    explicit ChainAfter(const MessageGroup& stretch);
    /// The chaining value of the next stretch. To be called after the stretch has run.
    [[nodiscard]] Block value(const MessageGroup& stretch) const;

private:
    Block input_tail_{};
};

}  // namespace warpaes
