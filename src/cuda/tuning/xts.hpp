// XTS.
#pragma once

#include <cstdint>

#include "aes/types.hpp"
#include "cuda/tuning/blocks.hpp"

namespace warpaes::cuda {

inline constexpr int xts_threads = 1024;

/// A short message: whole blocks, in pieces of data units. The host computes a tweak for each piece.
struct ShortXts : ShortMessage {
    static constexpr std::uint32_t piece_blocks = 256, most_pieces = 32;  // longer parameters delay the launch
};

/// How XTS cuts data units into pieces, which are distributed among the warps (see xts.cuh).
struct PieceShape {
    int tables;  ///< 4, 2 or 1; for decryption, there is one table of the cipher in addition
    std::uint32_t blocks;
    std::uint32_t per_unit;
    std::size_t shared_bytes;

    /// The number of pieces per multiprocessor, for pieces of at least `long_piece` groups and for shorter pieces.
    static constexpr std::uint64_t for_equal_shares = 128, for_most_warps = 24;
    static constexpr std::uint32_t long_piece = 4;
};

/// `unit_blocks` is at least one. A piece is a whole unit, or a part of a unit if multiprocessors would otherwise have
/// unequal shares. Every piece requires a tweak, so pieces are shorter than four groups of 32 blocks only if most warps
/// would otherwise have no work.
constexpr PieceShape piece_shape(const DeviceLimits& device, Direction direction, std::uint64_t units,
                                 std::uint32_t unit_blocks) {
    constexpr std::size_t table = table_bytes_each;
    const std::size_t beside = direction == Direction::decrypt ? table : 0;
    auto tables = static_cast<int>(device.table.tables);
    while (tables > 1 && tables * table + beside > static_cast<std::size_t>(device.shared_bytes_per_block)) tables /= 2;
    PieceShape shape{tables, unit_blocks, 1, tables * table + beside};
    const std::uint32_t groups = (unit_blocks + 31) / 32;
    const auto multiprocessors = static_cast<std::uint64_t>(device.multiprocessors);
    std::uint32_t each = 1;
    while (each < groups &&
           2 * each * multiprocessors *
                   (each < PieceShape::long_piece ? PieceShape::for_most_warps : PieceShape::for_equal_shares) <=
               groups * units) {
        each *= 2;
    }
    if (each < groups) {
        shape.blocks = 32 * each;
        shape.per_unit = (groups + each - 1) / each;
    }
    return shape;
}

}  // namespace warpaes::cuda
