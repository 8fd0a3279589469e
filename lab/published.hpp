// The papers' figures, in the papers' units. Gbit/s and Mbit/s are 10^9 and 10^6 bits of plaintext per second.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lab::published {

constexpr double gb_per_s_of_gbit(double gbit_per_s) {
    return gbit_per_s / 8;
}
constexpr double gb_per_s_of_mbit(double mbit_per_s) {
    return mbit_per_s / 8000;
}

/// [N] Gibadullin, Yakovlev, Novikov, Perukhin, after Iwai, Nishikawa, Kurokawa 2010. GeForce GTX 285, CUDA 2.3;
/// AES-128-ECB of 256 MB of random plaintext, round keys expanded on the CPU, transfers excluded.
namespace gibadullin {

enum class TBoxes { constant, shared };
enum class RoundKeys { constant, shared };
enum class State { registers, arrays_of_structures, structures_of_arrays };  ///< the structures are in shared memory

struct Implementation {
    int number;            ///< number in the paper
    int bytes_per_thread;  ///< 16, 8, 4 or 1
    TBoxes t_boxes;
    int t_box_count;  ///< 4, or 1 with rotations
    RoundKeys round_keys;
    State state;
    double gbit_per_s;
};

inline constexpr std::array<Implementation, 13> implementations{{
    {1, 16, TBoxes::constant, 4, RoundKeys::constant, State::registers, 5.0},
    {2, 16, TBoxes::shared, 4, RoundKeys::constant, State::registers, 34.4},
    {3, 16, TBoxes::shared, 4, RoundKeys::shared, State::registers, 35.2},
    {4, 16, TBoxes::shared, 1, RoundKeys::shared, State::registers, 21.54},
    {5, 16, TBoxes::shared, 4, RoundKeys::shared, State::structures_of_arrays, 29.9},
    {6, 16, TBoxes::shared, 4, RoundKeys::shared, State::arrays_of_structures, 21.7},
    {7, 8, TBoxes::shared, 4, RoundKeys::constant, State::arrays_of_structures, 26.9},
    {8, 8, TBoxes::shared, 4, RoundKeys::shared, State::arrays_of_structures, 23.9},
    {9, 8, TBoxes::shared, 4, RoundKeys::constant, State::structures_of_arrays, 23.4},
    {10, 4, TBoxes::shared, 4, RoundKeys::constant, State::arrays_of_structures, 25.3},
    {11, 4, TBoxes::shared, 4, RoundKeys::shared, State::arrays_of_structures, 25.0},
    {12, 4, TBoxes::shared, 4, RoundKeys::constant, State::structures_of_arrays, 17.1},
    {13, 1, TBoxes::shared, 4, RoundKeys::shared, State::arrays_of_structures, 2.9},
}};

/// Throughput, including transfers, with and without overlap between the copies and kernels of different chunks.
struct Overlap {
    int chunks;
    double gbit_per_s_without, gbit_per_s_with;
    double hidden_share;  ///< share of the transfer time that overlaps with computation
};
inline constexpr Overlap overlap{4, 13.4, 22.5, 0.65};

/// The paper's conclusions.
inline constexpr double best_granularity_gain = 0.30;  ///< gain of 16 bytes per thread over the next best choice
inline constexpr double constant_t_box_loss = 7;       ///< time with constant memory / time with shared memory
inline constexpr double constant_round_key_loss = 0.02;
inline constexpr double four_tables_gain = 0.63;  ///< gain over one table, which is 40 % slower
/// The range of the gain of a state in registers over a state in shared memory.
inline constexpr double registers_gain_least = 0.15, registers_gain_most = 0.35;

}  // namespace gibadullin

/// [G] Gu, Gao, Bao, Xiang 2011. GeForce GTX 285, CUDA 2.3; ECB and CTR, key schedule on the host.
namespace gu {

inline constexpr std::array<std::uint64_t, 13> input_bytes{2 << 10,  4 << 10,   8 << 10,   16 << 10,  32 << 10,
                                                           64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20,
                                                           2 << 20,  4 << 20,   8 << 20};
using Curve = std::array<double, 13>;  ///< Gbit/s at each of input_bytes

/// Throughput of the kernel by the memory of the lookup table, without transfers.
inline constexpr Curve constant_table{0.502, 0.998, 1.963, 3.893, 5.364, 7.772, 9.174,
                                      9.801, 7.885, 6.848, 6.019, 6.164, 6.001};
inline constexpr Curve texture_table{0.866, 1.731, 3.471, 4.700, 5.677, 7.028, 7.866,
                                     8.224, 8.528, 8.835, 8.448, 9.015, 9.036};
/// Throughput by the kind of host memory, including transfers.
inline constexpr Curve page_locked{0.52, 0.89, 1.37, 1.66, 1.88, 2.05, 2.16, 2.20, 2.20, 2.28, 2.15, 2.29, 2.29};
inline constexpr Curve mapped_write_combined{0.82, 1.48, 2.49, 3.51, 4.44, 5.00, 5.29,
                                             5.56, 5.96, 6.35, 6.21, 6.55, 6.64};

/// [G]'s comparison with Manavski's figures for the G80 (GeForce 8800 GTX).
struct Against {
    std::uint64_t bytes;
    double manavski_gbit_per_s, gu_gbit_per_s;
};
inline constexpr std::array<Against, 5> against_manavski{{{2 << 10, 0.10, 0.50},
                                                          {512 << 10, 6.51, 7.88},
                                                          {1 << 20, 7.51, 6.84},
                                                          {4 << 20, 8.22, 6.16},
                                                          {8 << 20, 8.28, 6.00}}};

/// Gbit/s of the kernel above 1 MB, without transfers.
inline constexpr double headline_kernel = 20;

}  // namespace gu

/// [P] Martín Berlanga, Paracrypt: the script of a talk that states few numbers.
namespace paracrypt {

inline constexpr double stream_gain = 0.07;  ///< maximum gain of four streams over one
inline constexpr int streams = 4;
inline constexpr std::uint64_t best_staging_bytes = 8 << 20;
/// The average gain over `openssl enc`, and the file size from which the talk reports this gain.
inline constexpr double encryption_gain = 0.55, decryption_gain = 0.50;
inline constexpr std::uint64_t encryption_gains_from_bytes = 63'000'000, decryption_gains_from_bytes = 125'000'000;
inline constexpr std::array<int, 4> threads_per_block{1, 2, 4, 16};

}  // namespace paracrypt

/// [D] Damjanović: GeForce GT 525M and GT 740M laptops; three key sizes, ECB in both directions. Its surfaces are plots
/// without figures.
namespace damjanovic {

inline constexpr int thread_blocks = 16, threads = 256, registers_per_thread = 18;
/// Thread-block sizes that reach the full number of active warps on compute capability 2.1.
inline constexpr std::array<int, 5> full_occupancy_threads{192, 256, 384, 512, 768};
inline constexpr int active_warps = 48;

}  // namespace damjanovic

/// [H] Harrison, Waldron 2008: GeForce 8800 GTX.
namespace harrison {

inline constexpr double reads = 5e9;  ///< number of reads in its memory study
inline constexpr int threads = 256;   ///< per thread block
inline constexpr double ctr_kernel_mbit_per_s = 15'423, ctr_with_transfers_mbit_per_s = 6'914;

/// Overhead of the data model, by message size.
struct Overhead {
    std::uint64_t message_blocks;
    double share;
};
inline constexpr std::array<Overhead, 3> overhead{{{16'384, 0.16}, {512, 0.22}, {16, 0.45}}};

/// The throughput of reads drops sharply if neighbouring streams are at least this many blocks apart.
inline constexpr std::uint64_t stride_blocks = 128;

/// The mixed payload: parallel messages of two sizes and serial messages of eight sizes, measured in seven orders.
inline constexpr std::uint64_t mixed_long_messages = 960, mixed_long_blocks = 512;
inline constexpr std::uint64_t mixed_short_messages = 992, mixed_short_blocks = 32;
inline constexpr std::uint64_t mixed_serial_messages = 1'024, mixed_serial_least_blocks = 16,
                               mixed_serial_most_blocks = 2'048;
inline constexpr int mixed_orders = 7;

}  // namespace harrison

}  // namespace lab::published
