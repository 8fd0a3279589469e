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

/// Encrypts or decrypts in ECB with one key.
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
/// round. Each of the 32 lanes encrypts one block of `text` (512 bytes), and all lanes use the same copy of the tables.
/// A lookup takes as many passes as the number of different words that it reads in the busiest of the 32 banks. Throws
/// std::invalid_argument unless `key` has 16, 24 or 32 bytes.
std::uint64_t shared_memory_passes(std::span<const std::uint8_t> key, std::span<const std::uint8_t, 512> text);

}  // namespace lab
