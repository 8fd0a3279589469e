#include "progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <warpaes/files.h>

#include <array>

#include "command.hpp"

namespace cli {

namespace {

/// Returns the width of the terminal on standard error. Without a terminal, the width is unlimited.
std::size_t columns() {
    winsize size{};
    if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return ~std::size_t{0};
    return size.ws_col;
}

/// Returns the first variant that leaves one column free, because some terminals begin a new line when the last column
/// is written.
std::string fitting(const std::array<std::string, 3>& forms) {
    const std::size_t room = columns() - 1;
    for (const std::string& form : forms) {
        if (form.size() <= room) return form;
    }
    return forms.back().substr(0, room);
}

}  // namespace

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
    const auto between = std::chrono::milliseconds(terminal_ ? 100 : 1000);
    if (now - start_ < std::chrono::milliseconds(300) || now - drawn_ < between) return;
    drawn_ = now;
    visible_ = terminal_;
    const double rate = static_cast<double>(done) / seconds();
    const std::string bytes = human_bytes(static_cast<double>(done)), speed = fmt::format("{:.2f} GB/s", rate / 1e9);
    std::string line;
    if (total != WARPAES_UNKNOWN && total != 0) {
        const long left = rate > 0 ? static_cast<long>(static_cast<double>(total - done) / rate) : 0;
        const std::string share =
            fmt::format("{:3.0f} %", 100 * static_cast<double>(done) / static_cast<double>(total));
        const std::string time = fmt::format("{}:{:02}", left / 60, left % 60);
        const std::string of = human_bytes(static_cast<double>(total));
        line = fitting({fmt::format("{} of {}  {}  {}  {} left", bytes, of, share, speed, time),
                        fmt::format("{}  {}  {} left", share, speed, time), share});
    } else {
        line = fitting({fmt::format("{}  {}", bytes, speed), bytes, bytes});
    }
    say(terminal_ ? "\r\033[K" + line : line + "\n");
}

void ProgressLine::clear() {
    if (!visible_) return;
    visible_ = false;
    say("\r\033[K");
}

}  // namespace cli
