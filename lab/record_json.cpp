#include <cmath>
#include <limits>
#include <set>

#include "lab/names.hpp"
#include "lab/record.hpp"

namespace lab {

namespace {

using nlohmann::json;

/// JSON has no NaN and no infinity, so they become null.
json number(double value) {
    return std::isfinite(value) ? json(value) : json(nullptr);
}

double to_number(const json& value) {
    return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

json figure(const std::optional<double>& value) {
    return value ? number(*value) : json(nullptr);
}

std::optional<double> to_figure(const json& value) {
    if (value.is_null()) return std::nullopt;
    return value.get<double>();
}

json of(const Axis& axis) {
    json out{{"name", axis.name}, {"unit", axis.unit}, {"scale", scales(axis.scale)}};
    if (axis.scale == Axis::Scale::category) {
        out["labels"] = axis.labels;
    } else {
        out["values"] = axis.values;
    }
    return out;
}

Axis to_axis(const json& in) {
    Axis axis{in.at("name"), in.at("unit"), scales.parse(in.at("scale").get<std::string>()), {}, {}};
    if (axis.scale == Axis::Scale::category) {
        in.at("labels").get_to(axis.labels);
    } else {
        in.at("values").get_to(axis.values);
    }
    return axis;
}

json of(const Series& series) {
    json values = json::array(), spread = json::array();
    for (const auto& value : series.values) values.push_back(figure(value));
    for (const auto& s : series.spread) {
        spread.push_back(s ? json::array({number(s->low), number(s->high)}) : json(nullptr));
    }
    return {{"name", series.name}, {"role", roles(series.role)}, {"values", values}, {"spread", spread}};
}

Series to_series(const json& in) {
    Series series{in.at("name"), roles.parse(in.at("role").get<std::string>()), {}, {}};
    for (const json& value : in.at("values")) series.values.push_back(to_figure(value));
    for (const json& s : in.at("spread")) {
        series.spread.emplace_back();
        if (!s.is_null()) series.spread.back() = Series::Spread{to_number(s.at(0)), to_number(s.at(1))};
    }
    return series;
}

json of(const Panel& panel) {
    json series = json::array();
    for (const Series& s : panel.series) series.push_back(of(s));
    json out{{"title", panel.title}, {"kind", kinds(panel.kind)}, {"x", of(panel.x)},
             {"y", of(panel.y)},     {"series", series},          {"note", panel.note}};
    if (panel.kind == Panel::Kind::surface) out["z"] = of(panel.z);
    return out;
}

Panel to_panel(const json& in) {
    Panel panel{
        in.at("title"), kinds.parse(in.at("kind").get<std::string>()), to_axis(in.at("x")), to_axis(in.at("y")), {}, {},
        in.at("note")};
    if (panel.kind == Panel::Kind::surface) panel.z = to_axis(in.at("z"));
    for (const json& series : in.at("series")) panel.series.push_back(to_series(series));
    return panel;
}

void check(const Panel& panel) {
    const bool surface = panel.kind == Panel::Kind::surface;
    const std::size_t places = panel.x.size() * (surface ? panel.y.size() : 1);
    if (panel.kind == Panel::Kind::bars && panel.x.scale != Axis::Scale::category) {
        throw RecordError(fmt::format("'{}': bars stand on categories", panel.title));
    }
    if (panel.kind == Panel::Kind::lines && panel.x.scale == Axis::Scale::category) {
        throw RecordError(fmt::format("'{}': lines run over numbers", panel.title));
    }
    std::set<std::string> names;
    for (const Series& series : panel.series) {
        const std::string name = fmt::format("'{}' of '{}'", series.name, panel.title);
        if (!names.insert(series.name).second) throw RecordError(name + ": there are two");
        if (series.values.size() != places || (!series.spread.empty() && series.spread.size() != places)) {
            throw RecordError(fmt::format("{}: {} figures and {} spreads for {} places", name, series.values.size(),
                                          series.spread.size(), places));
        }
        for (const auto& spread : series.spread) {
            if (spread && spread->low > spread->high) throw RecordError(name + ": quartiles in the wrong order");
        }
    }
}

}  // namespace

void check(const Result& result) {
    std::set<std::string> titles;
    for (const Panel& panel : result.panels) {
        if (!titles.insert(panel.title).second) throw RecordError(fmt::format("'{}': there are two", panel.title));
        check(panel);
    }
}

json to_json(const Result& result) {
    json panels = json::array(), facts = json::array(), verdicts = json::array();
    for (const Panel& panel : result.panels) panels.push_back(of(panel));
    for (const Fact& fact : result.facts) {
        facts.push_back({{"name", fact.name},
                         {"value", number(fact.value)},
                         {"unit", fact.unit},
                         {"published", figure(fact.published)}});
    }
    for (const Verdict& verdict : result.verdicts) {
        verdicts.push_back(
            {{"claim", verdict.claim}, {"holds", holds_names(verdict.holds)}, {"sentence", verdict.sentence}});
    }
    return {{"panels", panels}, {"facts", facts}, {"verdicts", verdicts}, {"notes", result.notes}};
}

Result result_from_json(const json& in) {
    Result result;
    for (const json& panel : in.at("panels")) result.panels.push_back(to_panel(panel));
    for (const json& fact : in.at("facts")) {
        result.facts.push_back(
            {fact.at("name"), to_number(fact.at("value")), fact.at("unit"), to_figure(fact.at("published"))});
    }
    for (const json& verdict : in.at("verdicts")) {
        result.verdicts.push_back({holds_names.parse(verdict.at("holds").get<std::string>()), verdict.at("sentence"),
                                   verdict.value("claim", "")});
    }
    in.at("notes").get_to(result.notes);
    check(result);
    return result;
}

}  // namespace lab
