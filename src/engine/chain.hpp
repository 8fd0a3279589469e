// Chaining values: the state that a mode passes from one stretch of a message to the next (SP 800-38A, section 6).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "aes/counter.hpp"
#include "aes/types.hpp"
#include "aes/xts.hpp"
#include "backend/group.hpp"

namespace warpaes {

/// Returns the last 16 bytes of `first` followed by `second`.
Block last_block(const Block& first, std::span<const std::uint8_t> second);

/// Returns the chaining value for the part of a message that starts at byte `offset`, for a mode and direction that can
/// start anywhere (`is_parallel`), and for the last block of a CBC encryption. For ECB, CBC, CFB128 and CTR, `offset`
/// is a multiple of 16. For XTS, whose chaining value is the number of a data unit, `offset` is the beginning of one of
/// `units`. `read(to)` fetches the ciphertext just before `offset`, for modes that chain on it.
template <typename Read>
Block chain_at(Mode mode, const Block& iv, std::uint64_t offset, const DataUnits& units, const Read& read) {
    if (mode == Mode::ecb || offset == 0) return iv;
    if (mode == Mode::ctr) return add(iv, offset / block_bytes);
    if (mode == Mode::xts) return store_tweak(add_units(load_tweak(iv), offset / units.bytes, units.step));
    Block before{};
    const std::span<std::uint8_t> needed = std::span(before).first(std::min<std::uint64_t>(offset, block_bytes));
    read(needed);
    return last_block(iv, needed);
}

/// Keeps the part of a stretch's input that the next stretch needs, so that the stretch may run in place.
class ChainAfter {
public:
    /// Must be called before the stretch runs. Unless the stretch ends its message, it consists of whole blocks, or for
    /// CFB8 and CFB1 of whole bytes.
    explicit ChainAfter(const MessageGroup& stretch);
    /// Returns the chaining value of the next stretch. Must be called after the stretch has run.
    [[nodiscard]] Block value(const MessageGroup& stretch) const;

private:
    Block input_tail_{};
};

}  // namespace warpaes
