#include "plan_grid.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <optional>

#include "grid_subject.hpp"
#include "interrupt.hpp"
#include "plan.hpp"
#include "progress.hpp"

namespace cli {

namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kib = 1024, mib = kib * kib, gib = kib * mib;
constexpr const char* all_modes[] = {"ecb", "ctr", "cbc", "gcm", "xts"};
constexpr const char* all_places[] = {"host", "page-locked", "device"};
constexpr std::uint64_t alone[] = {64,  256,     kib,      4 * kib,  16 * kib,  64 * kib, 256 * kib,
                                   mib, 4 * mib, 16 * mib, 64 * mib, 256 * mib, gib};

/// Batches: numbers of messages, and sizes of them.
constexpr std::uint64_t numbers[] = {16, 256, 4096, 65536};
constexpr std::uint64_t sizes[] = {64, kib, 16 * kib, 256 * kib, 4 * mib};

/// A choice that costs up to so much more than the best one is a good one.
constexpr double good_ratio = 1.1;
/// A backend that was so much slower than the best at a size is not measured at larger ones, if it took so long.
constexpr double hopeless_ratio = 4, hopeless_seconds = 0.02;
/// Chains of blocks of a single message in device memory, for which there is no other backend, end here.
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

class Grid {
public:
    explicit Grid(const GridOptions& options) : options_(options), engine_(create_engine("auto", -1, options.threads)) {
        most_ = options.most_bytes != 0 ? options.most_bytes : affordable_bytes();
        for (const warpaes_backend_info& info : list_backends()) {
            if (info.usable == 0) continue;
            const std::string name = info.name;
            if (engines_.contains(name)) continue;  // one GPU stands for all
            engines_[name] = create_engine(name, info.device, options.threads);
            if (name == "cuda") device_ = info.device;
        }
    }

    json run() {
        for (const char* place : all_places) {
            if (device_ < 0 && std::string(place) != "host") continue;
            if (!wanted(options_.places, place)) continue;
            const GridBuffers buffers(engine_.get(), place_named(place), device_, static_cast<std::size_t>(most_));
            for (const char* mode : all_modes) {
                if (!wanted(options_.modes, mode)) continue;
                for (const unsigned key_bits : options_.key_bits) measure_row(buffers, mode, key_bits, place);
            }
        }
        return summary();
    }

private:
    /// Growing sizes of one mode: single messages, then batches.
    void measure_row(const GridBuffers& buffers, const char* mode, unsigned key_bits, const char* place) {
        warpaes_work work = WARPAES_WORK_INIT;
        work.mode = mode_named(mode);
        work.key_bits = key_bits;
        work.place = place_named(place);
        hopeless_.clear();
        for (const std::uint64_t bytes : alone) {
            work.message_len = bytes;
            if (bytes > most_) continue;
            if (work.mode == WARPAES_CBC && work.place == WARPAES_PLACE_DEVICE && bytes > longest_chain_on_device)
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
        const json predictions = predictions_of(engine_.get(), work);
        double best = 0;
        for (const auto& [name, engine] : engines_) {
            for (const json& p : predictions) {
                if (p["backend"] == name && p["possible"].get<bool>() && !predicted.contains(name)) {
                    predicted[name] = p["seconds"];
                }
            }
            if (!predicted.contains(name)) continue;
            if (hopeless_.contains(name)) {
                measured[name] = nullptr;
                continue;
            }
            const double seconds = time(engine.get(), buffers, work);
            measured[name] = seconds;
            best = best == 0 ? seconds : std::min(best, seconds);
        }
        for (const auto& [name, seconds] : measured.items()) {
            if (!seconds.is_null() && seconds.get<double>() > std::max(hopeless_seconds, hopeless_ratio * best)) {
                hopeless_[name] = true;
            }
        }
        const json plan = plan_of(engine_.get(), work);
        std::string choice = plan["backend"];
        if (!plan["beside"].get<std::string>().empty()) {  // both work on it, which no backend does by itself
            choice += "+" + plan["beside"].get<std::string>();
            measured[choice] = time(engine_.get(), buffers, work);
            predicted[choice] = plan["seconds"];
            best = std::min(best, measured[choice].get<double>());
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

    /// The second shortest of five samples, or the shortest of three: whatever disturbs a sample makes it longer.
    double time(warpaes_engine* engine, const GridBuffers& buffers, const warpaes_work& work) const {
        GridSubject subject(engine, buffers, work, device_);
        const auto once = [&](unsigned calls) {
            const auto start = Clock::now();
            for (unsigned i = 0; i < calls; ++i) subject.run();
            return std::chrono::duration<double>(Clock::now() - start).count() / calls;
        };
        const double first = once(1);
        if (first > 0.25) return first;
        const double second = std::max(once(1), 1e-8);
        const auto calls = static_cast<unsigned>(std::clamp(options_.seconds / second, 1.0, 1e5));
        std::vector<double> times;
        const int samples = second > 20 * options_.seconds ? 3 : 5;
        for (int i = 0; i < samples; ++i) times.push_back(once(calls));
        std::sort(times.begin(), times.end());
        return times[times.size() / 4];
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
    Engine engine_;  ///< whose choices are looked at
    std::map<std::string, Engine> engines_;
    int device_ = -1;
    std::uint64_t most_ = 0;
    std::map<std::string, bool> hopeless_;
    json points_ = json::array();
};

}  // namespace

int run_grid(const GridOptions& options) {
    const json record = Grid(options).run();
    if (options.as_json) {
        fmt::print("{}\n", record.dump(1));
    } else {
        fmt::print("{} of {} choices cost at most {} times the best, {:.1f} %\n", record["good"].get<std::size_t>(),
                   record["points"].size(), good_ratio, 100 * record["share"].get<double>());
    }
    if (!options.output.empty()) {
        std::ofstream file(options.output);
        file << record.dump(1) << '\n';
        if (!file) throw Failure(WARPAES_ERROR_WRITE, "cannot write '" + options.output + "'");
    }
    return 0;
}

}  // namespace cli
