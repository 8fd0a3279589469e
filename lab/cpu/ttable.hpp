// The textbook AES for a CPU without AES instructions: four T-tables (src/aes/t_tables.hpp), one block at a time, one
// thread. [D]'s C++ implementation uses this method. Because of the cache, its running time depends on the key and the
// text, so use it only for measurements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lab/mode.hpp"

namespace lab {

/// ECB with one key in one direction.
class TTableCipher {
public:
    /// `key`: 16, 24 or 32 bytes; otherwise throws std::invalid_argument.
    TTableCipher(std::span<const std::uint8_t> key, Direction direction);

    /// Processes `blocks` blocks of 16 bytes; in place is allowed. Thread-safe.
    void run(const std::uint8_t* input, std::uint8_t* output, std::size_t blocks) const;

private:
    std::array<std::uint32_t, 4 * 15> keys_{};  ///< columns, little-endian
    int rounds_;
    Direction direction_;
};

/// Returns the number of shared-memory passes that a GPU needs for the table lookups of a warp, excluding the last
/// round. Each of the 32 lanes encrypts one block of `text` (512 bytes) with a single copy of the tables. A lookup
/// takes as many passes as there are different words to read in its busiest bank (of 32). `key`: 16, 24 or 32 bytes;
/// otherwise throws std::invalid_argument.
std::uint64_t shared_memory_passes(std::span<const std::uint8_t> key, std::span<const std::uint8_t, 512> text);

}  // namespace lab
