#include "progress.hpp"

#include <fmt/format.h>
#include <warpaes/files.h>

#include "command.hpp"

namespace cli {

std::string human_bytes(double bytes) {
    static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    while (bytes >= 1024 && unit + 1 < std::size(units)) {
        bytes /= 1024;
        ++unit;
    }
    return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.2f} {}", bytes, units[unit]);
}

double ProgressLine::seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
}

void ProgressLine::update(std::uint64_t done, std::uint64_t total) {
    if (!shown_) return;
    const auto now = Clock::now();
    if (now - start_ < std::chrono::milliseconds(300) || now - drawn_ < std::chrono::milliseconds(100)) return;
    drawn_ = now;
    visible_ = true;
    const double rate = static_cast<double>(done) / seconds();
    std::string line = human_bytes(static_cast<double>(done));
    if (total != WARPAES_UNKNOWN && total != 0) {
        const double share = static_cast<double>(done) / static_cast<double>(total);
        const double left = rate > 0 ? static_cast<double>(total - done) / rate : 0;
        line += fmt::format(" of {}  {:3.0f} %  {:.2f} GB/s  {}:{:02} left", human_bytes(static_cast<double>(total)),
                            100 * share, rate / 1e9, static_cast<long>(left) / 60, static_cast<long>(left) % 60);
    } else {
        line += fmt::format("  {:.2f} GB/s", rate / 1e9);
    }
    say("\r\033[K" + line);
}

void ProgressLine::clear() {
    if (!visible_) return;
    visible_ = false;
    say("\r\033[K");
}

}  // namespace cli
