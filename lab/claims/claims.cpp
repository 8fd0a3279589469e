#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "lab/claims/claim.hpp"
#include "lab/names.hpp"

namespace lab {

namespace {

const std::vector<Claim>& claim_list() {
    static const std::vector<Claim> all = [] {
        std::vector<Claim> claims;
        for (const auto& of : {claims::of_gibadullin, claims::of_gu, claims::of_paracrypt, claims::of_damjanovic,
                               claims::of_harrison, claims::of_ours}) {
            for (Claim& claim : of()) claims.push_back(std::move(claim));
        }
        return claims;
    }();
    return all;
}

}  // namespace

std::span<const Claim> all_claims() {
    return claim_list();
}

const Claim& claim_of(const std::string& id) {
    const auto found =
        std::find_if(claim_list().begin(), claim_list().end(), [&](const Claim& c) { return c.id == id; });
    if (found == claim_list().end()) throw std::out_of_range(fmt::format("there is no claim '{}'", id));
    return *found;
}

Verdict judge(const Claim& claim, const Record& record) {
    Verdict verdict;
    try {
        verdict = claim.judge(Figures(record));
        if (verdict.holds == Verdict::Holds::open) verdict.sentence += " The spread of the figures leaves it open.";
    } catch (const Missing& why) {
        verdict = {Verdict::Holds::open, fmt::format("Not judged: {}.", why.what()), {}};
    }
    verdict.claim = claim.id;
    return verdict;
}

void judge(Record& record) {
    for (Entry& entry : record.experiments) {
        entry.result.verdicts.clear();
        if (entry.status != Status::measured) continue;
        for (const Claim& claim : claim_list()) {
            if (claim.kind == Claim::Kind::conclusion && claim.experiment == entry.key) {
                entry.result.verdicts.push_back(judge(claim, record));
            }
        }
    }
}

void Tally::add(Verdict::Holds holds) {
    switch (holds) {
    case Verdict::Holds::yes:
        ++yes;
        break;
    case Verdict::Holds::partly:
        ++partly;
        break;
    case Verdict::Holds::no:
        ++no;
        break;
    case Verdict::Holds::open:
        ++open;
        break;
    }
}

Tally tally(const Record& record, Paper paper) {
    Tally tally;
    for (const Claim& claim : claim_list()) {
        if (claim.kind == Claim::Kind::conclusion && claim.paper == paper) tally.add(judge(claim, record).holds);
    }
    return tally;
}

nlohmann::json claims_of(const Record& record) {
    constexpr const char* kinds[] = {"conclusion", "figures", "unmeasured"};
    nlohmann::json out = nlohmann::json::array();
    for (const Claim& claim : claim_list()) {
        nlohmann::json one{{"id", claim.id},
                           {"paper", letter_of(claim.paper)},
                           {"kind", kinds[static_cast<std::size_t>(claim.kind)]},
                           {"says", claim.says},
                           {"experiment", claim.experiment},
                           {"rule", claim.rule}};
        if (claim.kind == Claim::Kind::conclusion) {
            const Verdict verdict = judge(claim, record);
            one["holds"] = holds_names(verdict.holds);
            one["sentence"] = verdict.sentence;
        }
        out.push_back(std::move(one));
    }
    return out;
}

void refresh(Record& record) {
    for (Entry& entry : record.experiments) {
        const auto all = all_experiments();
        const auto known =
            std::find_if(all.begin(), all.end(), [&](const Experiment& e) { return e.key == entry.key; });
        if (known != all.end()) {
            const Entry today = make_entry(*known);
            entry.citation = today.citation, entry.title = today.title, entry.question = today.question;
        }
        for (Panel& panel : entry.result.panels) {
            if (entry.key == "N.tables") {
                // The published figure with round keys in constant memory, as in the lab's kernels.
                for (Series& s : panel.series) {
                    if (s.name == "4 tables, published" && s.values.size() > 1) s.values[1] = 34.4 / 8;
                }
                const std::string then = "Published: GeForce GTX 285.";
                if (const auto at = panel.note.find(then); at != std::string::npos) {
                    panel.note.replace(at, then.size(),
                                       "Published: GeForce GTX 285; of one table, with round keys in shared memory.");
                }
            }
            // Older builds drew these as published, but a maximum is not a curve, and a share of a measured figure is
            // not the paper's.
            std::erase_if(panel.series, [](const Series& s) {
                return s.role == Series::Role::published &&
                       (s.name == "published, at most" || s.name == "published: at most 7 % more with four");
            });
        }
        for (Fact& fact : entry.result.facts) {
            if (fact.name == "fastest size of a thread block" || fact.name.ends_with(", large files")) {
                fact.published.reset();
            }
            // The subject is the backend that warpaes chooses, not the GPU that the paper is about.
            const std::string ahead = ": ahead of ";
            if (const auto at = fact.name.find(ahead);
                at != std::string::npos && fact.name.ends_with(", large files")) {
                fact.name.replace(at, ahead.size(), ": warpaes as it chooses ahead of ");
            }
        }
    }
    judge(record);
}

}  // namespace lab
