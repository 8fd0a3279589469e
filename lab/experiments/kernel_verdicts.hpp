// Whether what was published about kernels still holds: sentences made of figures, in GB/s unless said otherwise.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "lab/leak_test.hpp"
#include "lab/result.hpp"

namespace lab::experiments {

/// [N]'s figure for implementation `number`.
double published_speed(int number);
/// Spearman's coefficient of two rows of figures: 1 if both are in the same order, -1 if one is the other's reverse.
double rank_correlation(std::span<const double> a, std::span<const double> b);

/// [N]. Of the thirteen: their order, and what the paper concluded of them.
std::vector<Verdict> judge_thirteen(std::span<const double> here);
/// [N]. The best with 1, 2, 4 and 16 threads a block.
Verdict judge_granularity(const std::array<double, 4>& best);
/// [G]. Four threads a block that wait for the thread block, that wait for the warp, that share registers.
Verdict judge_waiting(double barrier, double warp, double shuffled);
/// [N]. Four tables in constant and in shared memory; in shared memory one, and the S-box; with a copy for each bank
/// four, and one.
struct TablePlaces {
    double constant, shared, one, s_box, copies, one_copies;
};
std::vector<Verdict> judge_tables(const TablePlaces& t);
/// [N]. A state in registers, as a structure of arrays, as an array of structures; the latter two with two threads a
/// block and with four.
struct Layouts {
    double registers, soa, aos, soa_of_two, aos_of_two, soa_of_four, aos_of_four;
};
std::vector<Verdict> judge_layouts(const Layouts& l);
/// [N]. Threads that stay, at each number of thread blocks a multiprocessor; a thread for each block of text.
Verdict judge_staying(std::span<const unsigned> blocks, const Series& stays, double once);

/// [G]. Its three schemes with tables in constant and in shared memory, for a text of `bytes`.
Verdict judge_schemes(std::size_t bytes, const std::array<double, 3>& constant, const std::array<double, 3>& shared);
/// [G]. At lengths `x`: constant and texture memory; at the last of them shared memory, one copy and one for each bank.
std::vector<Verdict> judge_texture(const std::vector<double>& x, const Series& constant, const Series& texture,
                                   double shared, double copies);

/// [P]. With 1, 2, 4 and 16 threads a block.
Verdict judge_teams(const Series& encryption, const Series& decryption);
/// [P]. The best and the worst of something.
struct Range {
    double most, least;
};
/// Of figures everywhere.
Range range_of(const Series& series);
Verdict judge_block_sizes(const Range& speeds);
Verdict judge_memories(const Range& tables, const Range& keys, double slowest);
/// Words over bytes, the state in registers and in shared memory.
Verdict judge_words(double registers, double shared);
Verdict judge_launch_orders(const Range& speeds);

/// [D]. Published sizes that the calculator finds full; sizes of `sizes` for which it contradicts the runtime.
Verdict judge_calculator(unsigned full, unsigned wrong, std::size_t sizes);
/// [D]. At thread-block sizes `x`: warps that a multiprocessor holds, and speeds.
Verdict judge_occupancy(std::span<const unsigned> x, const std::vector<std::optional<double>>& warps,
                        const Series& speeds);

/// [H]. In texture, constant and shared memory and with a copy for each bank.
std::vector<Verdict> judge_table_study(const Series& single, const Series& quad);

/// Best speeds of the published way, with a copy for each bank, bitsliced, of production, and of a bare copy.
Verdict judge_contenders(const std::string& mode, const std::array<double, 5>& best);

/// |t| above which times differ beyond chance, and beyond doubt.
inline constexpr double leaks_from = 4.5, leaks_clearly = 10;
struct Leakage {
    struct Kernel {
        std::string name;
        bool meets;       ///< lanes may want the same bank, line or port
        bool production;  ///< its functions, or its launches
        double t;         ///< the largest |t| of its tests
        std::size_t times;
    };
    std::vector<Kernel> kernels;
};
/// |t| as it is written.
std::string in_words(double t);
std::vector<Verdict> judge_leakage(const Leakage& leakage);

}  // namespace lab::experiments
