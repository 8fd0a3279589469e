#include "lab/report.hpp"

#include <initializer_list>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

#include "lab/claims/claim.hpp"
#include "lab/report_parts.hpp"

namespace lab {

namespace {

/// JSON that may stand in a script element: no `</script>` and no `<!--` in it, and, since JSON is older than the
/// JavaScript that allows them in strings, no line separators. All of these stand in strings if the JSON is valid.
std::string for_script(std::string_view json) {
    constexpr std::pair<std::string_view, std::string_view> escapes[] = {
        {"<", "\\u003c"}, {">", "\\u003e"}, {"&", "\\u0026"}, {"\u2028", "\\u2028"}, {"\u2029", "\\u2029"}};
    std::string out;
    out.reserve(json.size() + json.size() / 16);
    while (!json.empty()) {
        std::string_view from = json.substr(0, 1), to = from;
        for (const auto& [character, escape] : escapes) {
            if (json.substr(0, character.size()) == character) std::tie(from, to) = std::tie(character, escape);
        }
        out += to;
        json.remove_prefix(from.size());
    }
    return out;
}

std::string for_html(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
        case '<':
            out += "&lt;";
            break;
        case '>':
            out += "&gt;";
            break;
        case '&':
            out += "&amp;";
            break;
        default:
            out += c;
        }
    }
    return out;
}

std::string title_of(const Record& record) {
    const std::string& where = record.machine.gpu ? record.machine.gpu->name : record.machine.cpu;
    return "warpaes lab: " + where + ", " + record.date.substr(0, 10);
}

/// `page` with each "{{name}}" replaced, once; what is put in is not looked at again.
std::string filled(std::string_view page, std::initializer_list<std::pair<std::string_view, std::string>> parts) {
    std::string out;
    for (const auto& [name, content] : parts) {
        const std::size_t at = page.find(name);
        if (at == page.npos) throw std::logic_error(std::string("the page has no place for ").append(name));
        out.append(page.substr(0, at)).append(content);
        page.remove_prefix(at + name.size());
    }
    return out.append(page);
}

}  // namespace

std::string report_page(const Record& as_it_is) {
    Record record = as_it_is;
    refresh(record);
    return filled(report::page, {{"{{title}}", for_html(title_of(record))},
                                 {"{{style}}", report::style},
                                 {"{{record}}", for_script(to_json(record).dump())},
                                 {"{{claims}}", for_script(claims_of(record).dump())},
                                 {"{{script}}", report::script}});
}

}  // namespace lab
