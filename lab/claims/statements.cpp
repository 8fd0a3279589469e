// Reads lab/claims/statements, which the build embeds, and joins each conclusion with its rule.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "lab/claims/claim.hpp"
#include "lab/statement_files.hpp"

namespace lab {

namespace {

using nlohmann::json;

struct Files {
    Paper paper;
    const char* text;
    std::vector<claims::Rule> (*rules)();
};
constexpr Files files[] = {
    {Paper::gibadullin, statements::gibadullin, claims::rules_of_gibadullin},
    {Paper::gu, statements::gu, claims::rules_of_gu},
    {Paper::paracrypt, statements::paracrypt, claims::rules_of_paracrypt},
    {Paper::damjanovic, statements::damjanovic, claims::rules_of_damjanovic},
    {Paper::harrison, statements::harrison, claims::rules_of_harrison},
    {Paper::jiang, statements::jiang, claims::rules_of_jiang},
    {Paper::tezcan, statements::tezcan, claims::rules_of_tezcan},
    {Paper::hajihassani, statements::hajihassani, claims::rules_of_hajihassani},
    {Paper::lam, statements::lam, claims::rules_of_lam},
    {Paper::ours, statements::ours, claims::rules_of_ours},
};

Claim claim_from(const json& row, Paper paper, const std::vector<claims::Rule>& rules) {
    const auto text = [&](const char* name) { return row.value(name, std::string()); };
    Claim claim;
    claim.id = row.at("id");
    claim.paper = paper;
    claim.says = row.at("says");
    claim.experiment = text("experiment");
    claim.place = text("place"), claim.original = text("original"), claim.translation = text("translation");
    claim.series = text("series"), claim.sizes = text("sizes");
    claim.condition = text("condition"), claim.baseline = text("baseline");
    if (row.contains("rule")) {
        claim.rule = row["rule"];
        claim.limit = text("limit");
        claim.whole_run = row.value("whole_run", false);
        const auto rule =
            std::find_if(rules.begin(), rules.end(), [&](const claims::Rule& r) { return r.id == claim.id; });
        if (rule == rules.end()) throw std::logic_error(fmt::format("'{}' has no rule", claim.id));
        claim.judge = rule->judge;
    } else if (row.contains("shown")) {
        claim.kind = Claim::Kind::figures, claim.rule = row["shown"];
    } else {
        claim.kind = Claim::Kind::unmeasured, claim.rule = row.at("why");
    }
    return claim;
}

struct Statements {
    Statements() {
        for (const Files& file : files) {
            const json in = json::parse(file.text);
            sources.push_back({file.paper, in.at("reference"), in.at("language"), in.value("link", std::string()),
                               in.value("link_is", std::string())});
            const std::vector<claims::Rule> rules = file.rules();
            const std::size_t before = claims.size();
            for (const json& row : in.at("statements")) claims.push_back(claim_from(row, file.paper, rules));
            const auto judged = static_cast<std::size_t>(
                std::count_if(claims.begin() + static_cast<std::ptrdiff_t>(before), claims.end(),
                              [](const Claim& c) { return c.judge != nullptr; }));
            if (judged != rules.size())
                throw std::logic_error("a rule has no row in " + in["paper"].get<std::string>());
        }
    }
    std::vector<Claim> claims;
    std::vector<Source> sources;
};

const Statements& statements_of_all() {
    static const Statements all;
    return all;
}

}  // namespace

std::span<const Claim> all_claims() {
    return statements_of_all().claims;
}

std::span<const Source> all_sources() {
    return statements_of_all().sources;
}

const Claim& claim_of(const std::string& id) {
    const auto all = all_claims();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Claim& c) { return c.id == id; });
    if (found == all.end()) throw std::out_of_range(fmt::format("there is no claim '{}'", id));
    return *found;
}

}  // namespace lab
