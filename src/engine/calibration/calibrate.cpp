#include "engine/calibration/calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "engine/calibration/fit.hpp"
#include "engine/planner.hpp"

namespace warpaes {

namespace {

/// One cost to measure.
struct Cell {
    BackendInfo info;
    WorkClass work_class;
    Way way;
    unsigned key_bits;
};

/// A size to measure: `messages` messages of `bytes` bytes each.
struct Shape {
    std::uint64_t messages;
    std::uint64_t bytes;
    bool own_keys = false;
};

bool is_batch(Way way) {
    return way == Way::batch || way >= Way::pageable_batch;
}

Memory memory_of(Way way) {
    for (const Memory memory : {Memory::page_locked, Memory::device}) {
        if (way == gpu_way(memory, is_batch(way))) return memory;
    }
    return Memory::pageable;
}

/// Returns the mode and direction that represent a class in measurements: the first mode and direction in the class.
std::pair<Mode, Direction> example_of(WorkClass work_class) {
    for (const Mode mode : modes) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            if (class_of(mode, direction) == work_class) return {mode, direction};
        }
    }
    return {Mode::ctr, Direction::encrypt};
}

std::vector<Shape> shapes_of(const Cell& cell, bool quick) {
    const bool chained = is_chained(cell.work_class), gpu = cell.info.gpu;
    if (is_batch(cell.way)) {
        if (quick) return {{1, 64 * kib}, {64, 64}, {4096, 64}, {1024, 1504}, {512, 16 * kib}};
        std::vector<Shape> shapes{{1, 64},          {1, 64 * kib},    {16, 64},    {16, 16 * kib},  {256, 64},
                                  {4096, 64},       {65536, 64},      {256, 1504}, {16, 256 * kib}, {16384, 1504},
                                  {1024, 16 * kib}, {4096, 64, true}, {64, mib},   {64, 4 * mib},   {16384, 16 * kib}};
        if (cell.work_class == WorkClass::xts) std::erase_if(shapes, [](const Shape& s) { return s.own_keys; });
        return shapes;
    }
    std::vector<std::uint64_t> sizes;
    if (chained) {
        sizes = {64, 4 * kib, 64 * kib, gpu ? 256 * kib : mib};
    } else if (cell.way == Way::all_lanes) {
        sizes = {2 * mib, 8 * mib, 64 * mib, 256 * mib};
    } else if (cell.way == Way::one_lane) {
        sizes = {64, kib, 4 * kib, 16 * kib, 64 * kib, 512 * kib, 2 * mib, 8 * mib, 64 * mib};
    } else {
        sizes = {64, 4 * kib, 64 * kib, 256 * kib, 512 * kib, mib, 2 * mib, 8 * mib, 32 * mib, 64 * mib, 256 * mib};
    }
    if (quick) {
        const std::set<std::uint64_t> few{64, 4 * kib, 64 * kib, mib, 2 * mib, 8 * mib, 64 * mib};
        std::erase_if(sizes, [&](std::uint64_t size) { return !few.contains(size); });
    }
    std::vector<Shape> shapes;
    for (const std::uint64_t size : sizes) shapes.push_back({1, size});
    return shapes;
}

/// Scales a cost that was measured with AES-128 by the usual ratio of AES-256 to AES-128.
Cost scaled(const Cost& cost, const Cost& usual_128, const Cost& usual_256) {
    Cost out = cost;
    const auto scale = [](double& value, double from, double to) {
        if (from > 0) value *= to / from;
    };
    scale(out.serial_byte, usual_128.serial_byte, usual_256.serial_byte);
    for (std::size_t i = 0; i < Cost::spans; ++i) scale(out.byte[i], usual_128.byte[i], usual_256.byte[i]);
    return out;
}

class Calibration {
public:
    Calibration(std::span<const BackendInfo> backends, const CalibrationOptions& options, const Measure& measure)
        : options_(options), measure_(measure) {
        std::set<std::string> seen;
        for (const BackendInfo& info : backends) {
            if (info.usable() && seen.insert(CostModel::table_name(info)).second) infos_.push_back(info);
        }
    }

    CalibrationReport run() {
        const std::vector<Cell> cells = make_cells();
        for (const Cell& cell : cells) total_ += shapes(cell).size();
        report_.model.threads = options_.threads;
        measure_thread();
        for (const Cell& cell : cells) measure_cell(cell);
        if (options_.quick) derive_longer_keys();
        if (!errors_.empty()) {
            std::sort(errors_.begin(), errors_.end());
            report_.median_error = errors_[errors_.size() / 2];
        }
        return std::move(report_);
    }

private:
    [[nodiscard]] std::vector<Cell> make_cells() const {
        std::vector<Cell> cells;
        for (const BackendInfo& info : infos_) {
            const bool gpu = info.gpu;
            for (std::size_t w = 0; w < ways; ++w) {
                const auto way = static_cast<Way>(w);
                if (gpu != (way >= Way::pageable) || (is_batch(way) && !options_.batches)) continue;
                if (way == Way::all_lanes && options_.threads < 2) continue;
                for (std::size_t c = 0; c < work_classes; ++c) {
                    const auto work_class = static_cast<WorkClass>(c);
                    const bool batch_only = work_class == WorkClass::cmac || work_class == WorkClass::ccm;
                    if (batch_only && !is_batch(way)) continue;
                    if (is_chained(work_class) && way == Way::all_lanes) continue;
                    for (const unsigned key_bits : {128U, 256U}) {
                        if (options_.quick && key_bits == 256) continue;
                        cells.push_back({info, work_class, way, key_bits});
                    }
                }
            }
        }
        return cells;
    }

    [[nodiscard]] std::vector<Shape> shapes(const Cell& cell) const {
        std::vector<Shape> all = shapes_of(cell, options_.quick);
        const std::uint64_t most = cell.info.gpu ? options_.most_bytes : std::min(options_.most_bytes, threads_bytes());
        std::erase_if(all, [&](const Shape& s) { return s.messages * s.bytes > most; });
        return all;
    }

    /// Roughly the number of bytes that all workers process in a few hundredths of a second.
    [[nodiscard]] std::uint64_t threads_bytes() const {
        return std::max<std::uint64_t>(2, options_.threads) * 32 * mib;
    }

    static Trial trial_of(const Cell& cell, const Shape& shape) {
        const auto [mode, direction] = example_of(cell.work_class);
        Trial trial{.backend = cell.info.name, .device = cell.info.device, .work = {}};
        trial.work = {.mode = mode,
                      .direction = direction,
                      .key_bits = cell.key_bits,
                      .bytes = shape.messages * shape.bytes,
                      .memory = memory_of(cell.way),
                      .messages = shape.messages,
                      .keys = shape.own_keys ? shape.messages : 1,
                      .batch = is_batch(cell.way)};
        if (cell.way == Way::one_lane) trial.lanes = 1;
        return trial;
    }

    /// Measures the cost of each additional worker, using calls with many short chunks.
    void measure_thread() {
        const auto best = std::find_if(infos_.rbegin(), infos_.rend(), [](const auto& i) { return !i.gpu; });
        if (options_.threads < 2 || best == infos_.rend()) return;
        Trial trial{.backend = best->name, .work = {.bytes = options_.threads * 4 * kib}, .chunk_bytes = 4 * kib};
        trial.lanes = 1;
        const auto one = measure_(trial);
        trial.lanes = options_.threads;
        const auto all = measure_(trial);
        if (!one || !all) return;
        report_.model.thread = std::clamp((*all - *one) / (options_.threads - 1), 1e-6, 1e-3);
    }

    void measure_cell(const Cell& cell) {
        const bool shared = cell.way == Way::all_lanes;
        CostTable& table = report_.model.tables[CostModel::table_name(cell.info)];
        const Cost* one = table.find(cell.work_class, Way::one_lane, cell.key_bits);
        if (shared && one == nullptr) return;
        std::vector<Measured> points;
        for (const Shape& shape : shapes(cell)) {
            Trial trial = trial_of(cell, shape);
            if (shared) trial.lanes = options_.threads;
            const auto seconds = takes_too_long(points, trial.work.bytes) ? std::nullopt : measure_(trial);
            if (options_.progress && !options_.progress(++done_, total_)) {
                throw Error(WARPAES_ERROR_CANCELLED, "cancelled by the caller");
            }
            if (!seconds || !(*seconds > 0)) continue;
            ++report_.trials;
            Measured point{trial.work.bytes, shape.messages, shape.bytes, trial.work.keys, *seconds};
            if (shared) {
                // The time minus the fixed cost of the call and minus the time to start its workers.
                const std::uint64_t chunks = std::max<std::uint64_t>(1, shape.bytes / cpu_chunk_bytes);
                const auto workers = static_cast<double>(std::min<std::uint64_t>(options_.threads, chunks));
                const double rest = *seconds - one->fixed - report_.model.thread * (workers - 1);
                point.seconds = std::max(rest, 0.2 * *seconds);
            }
            points.push_back(point);
        }
        if (points.size() < 2) return;
        const bool batch = is_batch(cell.way);
        const bool from_host = cell.way == Way::pageable_batch || cell.way == Way::page_locked_batch;
        const Cost cost = fit_cost(points, {.fixed = !shared,
                                            .messages = batch,
                                            .keys = batch && !options_.quick && cell.work_class != WorkClass::xts,
                                            .serial = batch,
                                            .in_flight = from_host ? gpu_batch_in_flight : 0});
        errors_.push_back(median_error(cost, points));
        table.set(cell.work_class, cell.way, cell.key_bits, cost);
    }

    /// Whether there are already enough measurements, and measuring `bytes` bytes, which is more than in any of these
    /// measurements, would take too long.
    static bool takes_too_long(const std::vector<Measured>& points, std::uint64_t bytes) {
        constexpr double long_seconds = 0.12;
        if (points.size() < 4) return false;
        double cheapest = 1;  // seconds per byte, over measurements with data
        std::uint64_t most = 0;
        for (const Measured& m : points) {
            if (m.bytes != 0) cheapest = std::min(cheapest, m.seconds / static_cast<double>(m.bytes));
            most = std::max(most, m.bytes);
        }
        return bytes > most && cheapest * static_cast<double>(bytes) > long_seconds;
    }

    void derive_longer_keys() {
        for (const BackendInfo& info : infos_) {
            CostTable& table = report_.model.tables[CostModel::table_name(info)];
            const CostTable usual = default_costs(info, options_.threads), measured = table;
            measured.each([&](WorkClass work_class, Way way, unsigned, const Cost& cost) {
                table.set(work_class, way, 256,
                          scaled(cost, *usual.find(work_class, way, 128), *usual.find(work_class, way, 256)));
            });
        }
    }

    const CalibrationOptions& options_;
    const Measure& measure_;
    std::vector<BackendInfo> infos_;
    CalibrationReport report_;
    std::vector<double> errors_;
    std::uint64_t done_ = 0, total_ = 0;
};

}  // namespace

CalibrationReport calibrate(std::span<const BackendInfo> backends, const CalibrationOptions& options,
                            const Measure& measure) {
    return Calibration(backends, options, measure).run();
}

}  // namespace warpaes
