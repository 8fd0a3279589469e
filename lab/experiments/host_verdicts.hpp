// Whether what was published about transfers and many messages still holds: sentences made of figures. Series have
// figures everywhere, unless said otherwise.
#pragma once

#include <span>
#include <vector>

#include "lab/result.hpp"

namespace lab::experiments {

/// [N]. `rates`, `hidden` (per cent): at each number of chunks, of which the first is 1 and one is the paper's.
/// `kernel_share`: of the time in one chunk.
Verdict judge_overlap(std::span<const int> chunks, const Series& rates, const Series& hidden, double kernel_share);
/// [P]. `rates`: with one, two, four and eight streams.
Verdict judge_streams(const Series& rates, std::size_t staging_bytes);

/// [G]. At sizes `x`: copies one after the other, copies that overlap, mapped memory.
Verdict judge_mapped(const std::vector<double>& x, const Series& plain, const Series& overlapped, const Series& mapped);
/// [G]. `compute`: its share of the time in per cent.
Verdict judge_breakdown(const std::vector<double>& x, const Series& compute);

/// [H]. Reads a clock from constant, shared, replicated and texture memory, the first-level cache, and on.
Verdict judge_reads(const Series& coherent, const Series& random);
/// [H]. GB/s: the published kernel alone and with transfers, production on the device and from host to host.
Verdict judge_counter_mode(double alone, double with_transfers, double production, double production_with_transfers);
/// Per cent: the model's with transfers, as published, and of its kernel; production's. Microseconds of production's
/// one message, and by how many a batch takes longer.
struct Overheads {
    const Series &with_transfers, &kernel, &production;
    const std::vector<double>&message_us, &beyond_us;
};
/// [H]. At messages of `x` blocks.
Verdict judge_overhead(const std::vector<double>& x, const Overheads& o);

/// Throughput with one key for all messages and with one for each.
struct Rekeying {
    const Series &one, &each;
};
Verdict judge_rekeying(const std::vector<double>& x, const Rekeying& model, const Rekeying& production);
/// [H]. `rates`: rows of `counts.size()`, of which `row` is looked at; it may have gaps.
Verdict judge_serial_counts(const std::vector<double>& counts, const Series& rates, std::size_t row);
/// [H]. At distances of `x` blocks.
Verdict judge_distance(const std::vector<double>& x, const Series& model, const Series& production);
/// [H]. In each of the seven orders.
Verdict judge_orders(const Series& natural, const Series& striped, const Series& production);

}  // namespace lab::experiments
