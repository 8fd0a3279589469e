#include "lab/report.hpp"

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

#include "lab/claims/claim.hpp"
#include "lab/matrix.hpp"
#include "lab/report_parts.hpp"

namespace lab {

namespace {

/// Escapes JSON for a script element, which must not contain `</script>` or `<!--`. U+2028 and U+2029 are also escaped:
/// old JavaScript does not allow them in strings. In valid JSON, all of these sequences occur only inside strings.
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
        case '"':
            out += "&quot;";
            break;
        default:
            out += c;
        }
    }
    return out;
}

/// Returns, for example, "NVIDIA H200, 2026-11-23", followed by ", --quick" for a quick run.
std::string name_of_column(const nlohmann::json& column) {
    return column["machine"].get<std::string>() + ", " + column["date"].get<std::string>() +
           (column["quick"].get<bool>() ? ", --quick" : "");
}

/// Returns the verdicts by machine as a table.
std::string plain_matrix(const nlohmann::json& matrix) {
    std::string out = "<h2>The conclusions by machine</h2>\n<table>\n<tr><th>conclusion</th>";
    for (const auto& column : matrix["records"]) out.append("<th>" + for_html(name_of_column(column)) + "</th>");
    out.append("</tr>\n");
    for (const auto& row : matrix["conclusions"]) {
        out.append("<tr><td>" + for_html(row["id"].get<std::string>()) + "</td>");
        for (const auto& holds : row["holds"]) out.append("<td>" + holds.get<std::string>() + "</td>");
        out.append("</tr>\n");
    }
    return out.append("</table>\n");
}

/// Returns the summary and every verdict as plain HTML, for readers without JavaScript.
std::string plain_part(const nlohmann::json& summary) {
    const auto text = [](const nlohmann::json& value) { return for_html(value.get<std::string>()); };
    std::string out = "<h1>Published experiments with AES on GPUs, measured again</h1>\n";
    const auto list = [&](const char* title, const nlohmann::json& sentences) {
        out.append("<h2>").append(title).append("</h2>\n<ul>\n");
        for (const auto& sentence : sentences) out.append("<li>").append(text(sentence)).append("</li>\n");
        out.append("</ul>\n");
    };
    list("When is the GPU worth it here?", summary["worth"]["sentences"]);
    list("What it found", summary["findings"]);
    out.append("<h2>Do the published conclusions hold?</h2>\n<ul>\n");
    for (const auto& tally : summary["tallies"]) {
        const auto count = [&](const char* how) { return std::to_string(tally[how].get<unsigned>()); };
        const auto& sources = summary["sources"];
        const auto source = std::find_if(sources.begin(), sources.end(),
                                         [&](const auto& one) { return one["paper"] == tally["paper"]; });
        const std::string authors = tally["paper"] == "W" ? "ours" : text((*source)["authors"]);
        out.append("<li>[" + text(tally["paper"]) + "] " + authors + ": " + count("yes") + " hold, " + count("partly") +
                   " in part, " + count("no") + " do not, " + count("open") + " are open</li>\n");
    }
    out.append("</ul>\n<dl>\n");
    for (const auto& claim : summary["claims"]) {
        if (claim["kind"] != "conclusion") continue;
        const std::string holds = claim["holds"];
        const char* word = holds == "yes"      ? "Holds"
                           : holds == "partly" ? "Holds in part"
                           : holds == "no"     ? "Does not hold"
                                               : "Open";
        out.append("<dt>[" + text(claim["id"]) + "] " + text(claim["says"]) + "</dt>\n<dd><strong>" + word +
                   ".</strong> " + text(claim["sentence"]) + " Rule: " + text(claim["rule"]) + "." +
                   (claim.contains("limit") ? " Limit: " + text(claim["limit"]) + "." : "") + "</dd>\n");
        if (claim.contains("original")) {
            out.append("<dd>" + text(claim["place"]) + ": <q>" + text(claim["original"]) + "</q>");
            if (claim.contains("translation")) out.append(" (" + text(claim["translation"]) + ")");
            out.append("</dd>\n");
        }
    }
    out.append("</dl>\n");
    if (summary["matrix"]["records"].size() > 1) out.append(plain_matrix(summary["matrix"]));
    out.append("<h2>The papers</h2>\n<ul>\n");
    for (const auto& source : summary["sources"]) {
        out.append("<li>[" + text(source["paper"]) + "] " + text(source["reference"]));
        if (source["link"] != "") {
            out.append(" <a href=\"" + text(source["link"]) + "\">" + text(source["link"]) + "</a>");
        }
        out.append("</li>\n");
    }
    out.append("</ul>\n<h2>What earlier versions of this page said wrongly</h2>\n<ul>\n");
    for (const auto& one : summary["corrections"]) {
        out.append("<li>" + text(one["of"]) + ": " + text(one["was"]) + "</li>\n");
    }
    return out.append("</ul>\n");
}

std::string title_of(const Record& record) {
    const std::string& where = record.machine.gpu ? record.machine.gpu->name : record.machine.cpu;
    return "warpaes lab: " + where + ", " + record.date.substr(0, 10);
}

/// Replaces each "{{name}}" of `page` once, in order; inserted text is not scanned again.
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

std::string report_page(std::span<const Record> records) {
    Record record = records[0];
    refresh(record);
    nlohmann::json summary = summary_of(record);
    summary["matrix"] = to_json(matrix_of(records));
    return filled(report::page, {{"{{title}}", for_html(title_of(record))},
                                 {"{{style}}", report::style},
                                 {"{{plain}}", plain_part(summary)},
                                 {"{{record}}", for_script(to_json(record).dump())},
                                 {"{{summary}}", for_script(summary.dump())},
                                 {"{{script}}", report::script}});
}

}  // namespace lab
