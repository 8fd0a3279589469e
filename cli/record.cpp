#include "record.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/descriptor.hpp"
#include "command.hpp"

namespace cli {

using warpaes::Descriptor;

using nlohmann::json;

namespace {

std::string text_of(const json& record, int indent) {
    return record.dump(indent, ' ', false, json::error_handler_t::replace);
}

bool is_utf8(const std::string& text) {
    try {
        (void)json(text).dump();
        return true;
    } catch (const json::type_error&) {
        return false;
    }
}

}  // namespace

void print_json(const json& record, int indent, std::FILE* to) {
    const std::string text = text_of(record, indent) + "\n";
    if (to == stderr) {
        say(text);
    } else {
        fmt::print(to, "{}", text);
    }
}

RecordFile::RecordFile(std::string path, bool force) : path_(std::move(path)), force_(force) {
    struct stat status {};
    if (force_ || path_.empty() || ::stat(path_.c_str(), &status) != 0) return;
    if (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode)) refuse();
}

void RecordFile::store(const json& record) const {
    if (path_.empty()) return;
    struct stat status {};
    const bool special = ::stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
    const Descriptor file(path_.c_str(), O_WRONLY | O_CREAT | (special ? 0 : force_ ? O_TRUNC : O_EXCL), 0666);
    if (file.get() < 0 && errno == EEXIST) refuse();
    const std::string text = text_of(record, 1) + "\n";
    std::string_view left = file.get() < 0 ? std::string_view() : text;
    while (!left.empty()) {
        const ssize_t n = ::write(file.get(), left.data(), left.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) break;
        left.remove_prefix(static_cast<std::size_t>(n));
    }
    if (file.get() >= 0 && left.empty()) return;
    throw Failure(WARPAES_ERROR_WRITE, fmt::format("--output: cannot write '{}': {}", path_, std::strerror(errno)));
}

void RecordFile::refuse() const {
    throw Failure(WARPAES_ERROR_EXISTS, fmt::format("--output: '{}' exists; overwrite it with -f", path_));
}

void put_name(json& record, const std::string& field, const std::string& name) {
    record[field] = name;
    if (is_utf8(name)) return;
    std::string digits;
    for (const char c : name) digits += fmt::format("{:02x}", static_cast<unsigned char>(c));
    record[field + "_hex"] = digits;
}

}  // namespace cli
