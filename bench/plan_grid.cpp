// The program warpaes-plan-grid, which `warpaes plan --grid` runs. It measures the quality of the library's choices.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "command.hpp"
#include "grid_subject.hpp"
#include "interrupt.hpp"
#include "numbers.hpp"
#include "predictions.hpp"
#include "progress.hpp"
#include "record.hpp"

namespace cli {

namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr const char* help = R"(Usage: warpaes plan --grid [options]

Measures every backend over a grid of modes, sizes, numbers of messages and places, and says how much
the library's choice costs beside the best. Takes minutes.

  --most N           largest point, all messages together (default: by memory, at most 1G)
  --modes LIST       of ecb, ctr, cbc, gcm, xts, only these
  --places LIST      of host, page-locked, device, only these
  --key-bits LIST    128 (default), 192, 256
  --threads N        host threads that may be used (default: all processors)
  --json             print the record
  -o, --output FILE  store the record; -f, --force: over an existing file
)";

struct GridOptions {
    /// Total bytes of the messages at one grid point; 0: as much as fits in memory, up to 1 GiB.
    std::uint64_t most_bytes = 0;
    std::vector<unsigned> key_bits{128};
    std::vector<std::string> modes;   ///< empty: all five
    std::vector<std::string> places;  ///< empty: all kinds that this machine has
    unsigned threads = 0;
    bool as_json = false, force = false;
    std::string output;  ///< file for the JSON; an existing file is replaced only with `force`
};

constexpr double sample_seconds = 2e-3;  ///< approximate duration of a sample, which is at least one call

constexpr std::uint64_t kib = 1024, mib = kib * kib, gib = kib * mib;
constexpr const char* all_modes[] = {"ecb", "ctr", "cbc", "gcm", "xts"};
constexpr const char* all_places[] = {"host", "page-locked", "device"};
constexpr std::uint64_t alone[] = {64,  256,     kib,      4 * kib,  16 * kib,  64 * kib, 256 * kib,
                                   mib, 4 * mib, 16 * mib, 64 * mib, 256 * mib, gib};

/// Batches: numbers of messages, and their sizes.
constexpr std::uint64_t numbers[] = {16, 256, 4096, 65536};
constexpr std::uint64_t sizes[] = {64, kib, 16 * kib, 256 * kib, 4 * mib};

/// A choice counts as good if it takes at most this many times as long as the best choice.
constexpr double good_ratio = 1.1;
constexpr int samples = 7;
/// A backend that is this many times slower than the best and takes this long is not measured at larger sizes.
constexpr double hopeless_ratio = 4, hopeless_seconds = 0.02;
/// Longest single message in device memory for CBC encryption, which is a serial chain and has no other backend there.
constexpr std::uint64_t longest_chain_on_device = 4 * mib;

std::uint64_t affordable_bytes() {
    const long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0) return 16 * mib;
    const std::uint64_t share = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) / 8;
    std::uint64_t bytes = gib;
    while (bytes > share && bytes > mib) bytes /= 4;
    return bytes;
}

bool wanted(const std::vector<std::string>& list, const std::string& name) {
    return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

/// One backend at one point of the grid.
class Runner {
public:
    Runner(std::string name, warpaes_engine* engine, const GridBuffers& buffers, const warpaes_work& work, int device)
        : name_(std::move(name)), subject_(std::make_unique<GridSubject>(engine, buffers, work, device)) {
        first_ = once(1);
        if (first_ < slow) first_ = std::max(once(1), 1e-8);
    }
    /// Takes samples for about `seconds`, but makes at least one call. Stops if the first call is slow.
    void sample(double seconds) {
        if (first_ > slow || (first_ > 0.1 * slow && times_.size() >= 2)) return;
        times_.push_back(once(static_cast<unsigned>(std::clamp(seconds / first_, 1.0, 1e5))));
    }
    /// Returns the second shortest sample, or the shortest if there are only a few, because disturbances only lengthen
    /// samples.
    [[nodiscard]] double seconds() const {
        if (times_.empty()) return first_;
        auto times = times_;
        std::sort(times.begin(), times.end());
        return times[times.size() / 4];
    }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

private:
    [[nodiscard]] double once(unsigned calls) const {
        const auto start = Clock::now();
        for (unsigned i = 0; i < calls; ++i) subject_->run();
        return std::chrono::duration<double>(Clock::now() - start).count() / calls;
    }

    static constexpr double slow = 0.25;
    std::string name_;
    std::unique_ptr<GridSubject> subject_;
    double first_ = 0;
    std::vector<double> times_;
};

class Grid {
public:
    explicit Grid(const GridOptions& options) : options_(options) {
        most_ = options.most_bytes != 0 ? options.most_bytes : affordable_bytes();
        for (const warpaes_backend_info& info : list_backends()) {
            if (info.usable == 0) continue;
            const std::string name = info.name;
            if (engines_.contains(name)) continue;  // one GPU represents all of them
            engines_[name] = create_engine(name, info.device, options.threads);
            if (name == "cuda") device_ = info.device;
        }
        // The engine must not choose GPUs that are not measured.
        engine_ = create_engine("auto", device_, options.threads);
    }

    json run() {
        const auto start = Clock::now();  // warms up clocks and caches
        const GridBuffers few(engine_.get(), WARPAES_MEMORY_PAGEABLE, -1, kib);
        warpaes_work work = WARPAES_WORK_INIT;
        work.message_len = kib;
        GridSubject warming(engine_.get(), few, work, device_);
        while (std::chrono::duration<double>(Clock::now() - start).count() < 0.2) warming.run();
        for (const char* place : all_places) {
            if (device_ < 0 && std::string(place) != "host") continue;
            if (!wanted(options_.places, place)) continue;
            const GridBuffers buffers(engine_.get(), memory_named(place), device_, static_cast<std::size_t>(most_));
            for (const char* mode : all_modes) {
                if (!wanted(options_.modes, mode)) continue;
                for (const unsigned key_bits : options_.key_bits) measure_row(buffers, mode, key_bits, place);
            }
        }
        return summary();
    }

private:
    /// Measures one mode at growing sizes: single messages, then batches.
    void measure_row(const GridBuffers& buffers, const char* mode, unsigned key_bits, const char* place) {
        warpaes_work work = WARPAES_WORK_INIT;
        work.mode = mode_named(mode);
        work.key_bits = key_bits;
        work.memory = memory_named(place);
        hopeless_.clear();
        for (const std::uint64_t bytes : alone) {
            work.message_len = bytes;
            if (bytes > most_) continue;
            if (work.mode == WARPAES_CBC && work.memory == WARPAES_MEMORY_DEVICE && bytes > longest_chain_on_device)
                break;
            measure_point(buffers, work, mode, place);
        }
        work.batch = 1;
        for (const std::uint64_t number : numbers) {
            hopeless_.clear();
            for (const std::uint64_t bytes : sizes) {
                work.messages = number;
                work.message_len = bytes;
                if (bytes <= most_ / number) measure_point(buffers, work, mode, place);
            }
        }
    }

    void measure_point(const GridBuffers& buffers, const warpaes_work& work, const char* mode, const char* place) {
        if (caught_signal() != 0) throw Failure(WARPAES_ERROR_CANCELLED, "cancelled");
        json measured = json::object(), predicted = json::object();
        std::vector<Runner> runners;
        for (const json& p : predictions_of(engine_.get(), work)) {
            const std::string name = p["backend"];
            if (!p["possible"].get<bool>() || predicted.contains(name)) continue;
            predicted[name] = p["seconds"];
            measured[name] = nullptr;
            if (!hopeless_.contains(name)) runners.emplace_back(name, engines_.at(name).get(), buffers, work, device_);
        }
        const json plan = plan_of(engine_.get(), work);
        std::string choice = plan["backend"];
        if (!plan["beside"].get<std::string>().empty()) {  // two backends share the work, so the pair is measured
            choice = fmt::format("{}+{}", choice, plan["beside"].get<std::string>());
            predicted[choice] = plan["seconds"];
            runners.emplace_back(choice, engine_.get(), buffers, work, device_);
        }
        // The backends take turns, so that other load on the machine affects all of them equally.
        for (int sample = 0; sample < samples; ++sample) {
            for (Runner& runner : runners) runner.sample(sample_seconds);
        }
        double best = 0;
        for (const Runner& runner : runners) {
            measured[runner.name()] = runner.seconds();
            best = best == 0 ? runner.seconds() : std::min(best, runner.seconds());
        }
        for (const Runner& runner : runners) {
            if (runner.seconds() > std::max(hopeless_seconds, hopeless_ratio * best)) hopeless_[runner.name()] = true;
        }
        json point{{"mode", mode},
                   {"direction", "encrypt"},
                   {"key_bits", work.key_bits},
                   {"bytes", work.message_len},
                   {"messages", work.messages},
                   {"batch", work.batch != 0},
                   {"from", place},
                   {"measured_s", measured},
                   {"predicted_s", predicted},
                   {"choice", choice},
                   {"lanes", plan["lanes"]},
                   {"ratio", nullptr}};
        if (measured.contains(choice) && !measured[choice].is_null()) {
            point["ratio"] = measured[choice].get<double>() / best;
        }
        points_.push_back(point);
        print(point);
    }

    void print(const json& p) const {
        if (options_.as_json) return;
        std::string times;
        for (const auto& [name, seconds] : p["measured_s"].items()) {
            times += fmt::format("  {} {} ({})", name, seconds.is_null() ? "-" : human_seconds(seconds),
                                 human_seconds(p["predicted_s"][name]));
        }
        fmt::print("{:<4} {:>3} {:>9} x {:<6} {:<11} {:<9} {}{}\n", p["mode"].get<std::string>(),
                   p["key_bits"].get<int>(), human_bytes(p["bytes"].get<double>()), p["messages"].get<std::uint64_t>(),
                   p["from"].get<std::string>(), p["choice"].get<std::string>(),
                   p["ratio"].is_null() ? "-" : fmt::format("{:.2f}", p["ratio"].get<double>()), times);
        std::fflush(stdout);
    }

    [[nodiscard]] json summary() const {
        std::size_t good = 0;
        double worst = 0;
        for (const json& p : points_) {
            const double ratio = p["ratio"].is_null() ? 1e9 : p["ratio"].get<double>();
            good += ratio <= good_ratio ? 1U : 0U;
            worst = std::max(worst, ratio);
        }
        return {{"warpaes", warpaes_version()},
                {"points", points_},
                {"good_ratio", good_ratio},
                {"good", good},
                {"share", points_.empty() ? 0.0 : static_cast<double>(good) / static_cast<double>(points_.size())},
                {"worst_ratio", worst}};
    }

    const GridOptions& options_;
    Engine engine_;  ///< the engine whose choices are examined
    std::map<std::string, Engine> engines_;
    int device_ = -1;
    std::uint64_t most_ = 0;
    std::map<std::string, bool> hopeless_;
    json points_ = json::array();
};

int run_grid(int argc, char** argv) {
    CLI::App app{"", "warpaes plan --grid"};
    GridOptions options;
    std::string most;
    app.add_option("--most", most);
    app.add_option("--modes", options.modes)->delimiter(',');
    app.add_option("--places", options.places)->delimiter(',');
    app.add_option("--key-bits", options.key_bits)->delimiter(',');
    app.add_option("--threads", options.threads);
    app.add_flag("--json", options.as_json);
    app.add_option("-o,--output", options.output);
    app.add_flag("-f,--force", options.force);
    if (!parse_options(app, argc, argv, help)) return 0;
    for (const std::string& mode : options.modes) (void)mode_named(mode);
    for (const std::string& place : options.places) (void)memory_named(place);
    if (!most.empty()) options.most_bytes = parse_bytes("--most", most);

    const RecordFile file(options.output, options.force);
    const json record = Grid(options).run();
    if (options.as_json) {
        print_json(record, 1);
    } else {
        fmt::print("{} of {} choices cost at most {} times the best, {:.1f} %\n", record["good"].get<std::size_t>(),
                   record["points"].size(), good_ratio, 100 * record["share"].get<double>());
    }
    file.store(record);
    return 0;
}

}  // namespace

}  // namespace cli

int main(int argc, char** argv) {
    return cli::run_program(argc, argv, cli::run_grid);
}
