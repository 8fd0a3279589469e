#include "record.hpp"

#include <fmt/format.h>

#include "command.hpp"

namespace cli {

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

void put_name(json& record, const std::string& field, const std::string& name) {
    record[field] = name;
    if (is_utf8(name)) return;
    std::string digits;
    for (const char c : name) digits += fmt::format("{:02x}", static_cast<unsigned char>(c));
    record[field + "_hex"] = digits;
}

}  // namespace cli
