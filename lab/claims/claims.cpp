#include <fmt/format.h>

#include <algorithm>

#include "lab/claims/claim.hpp"
#include "lab/names.hpp"

namespace lab {

namespace {

bool was_measured(const Record& record, const std::string& experiment) {
    return std::any_of(record.experiments.begin(), record.experiments.end(),
                       [&](const Entry& e) { return e.key == experiment && e.status == Status::measured; });
}

}  // namespace

Verdict judge(const Claim& claim, const Record& record) {
    Verdict verdict;
    if (claim.whole_run && record.options.quick && was_measured(record, claim.experiment)) {
        verdict.sentence =
            fmt::format("Not judged at these sizes: the rule is about {}, and --quick measures other sizes.",
                        claim.sizes.empty() ? "those of a run without --quick" : claim.sizes);
    } else {
        try {
            verdict = claim.judge(Figures(record));
            if (verdict.holds == Verdict::Holds::open) verdict.sentence += " The spread of the figures leaves it open.";
        } catch (const Missing& why) {
            verdict = {Verdict::Holds::open, fmt::format("Not measured in this record: {}.", why.what()), {}};
        }
    }
    verdict.claim = claim.id;
    return verdict;
}

void judge(Record& record) {
    for (Entry& entry : record.experiments) {
        entry.result.verdicts.clear();
        if (entry.status != Status::measured) continue;
        for (const Claim& claim : all_claims()) {
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
    for (const Claim& claim : all_claims()) {
        if (claim.kind == Claim::Kind::conclusion && claim.paper == paper) tally.add(judge(claim, record).holds);
    }
    return tally;
}

nlohmann::json claims_of(const Record& record) {
    constexpr const char* kinds[] = {"conclusion", "figures", "unmeasured"};
    nlohmann::json out = nlohmann::json::array();
    for (const Claim& claim : all_claims()) {
        nlohmann::json one{{"id", claim.id},
                           {"paper", letter_of(claim.paper)},
                           {"kind", kinds[static_cast<std::size_t>(claim.kind)]},
                           {"says", claim.says},
                           {"experiment", claim.experiment},
                           {"rule", claim.rule}};
        const auto add = [&](const char* name, const std::string& text) {
            if (!text.empty()) one[name] = text;
        };
        add("place", claim.place), add("original", claim.original), add("translation", claim.translation);
        add("series", claim.series), add("sizes", claim.sizes);
        add("condition", claim.condition), add("baseline", claim.baseline);
        add("limit", claim.limit);
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
        for (const Source& source : all_sources()) {
            if (entry.paper == letter_of(source.paper)) entry.citation = citation_of(source.paper);
        }
        for (Panel& panel : entry.result.panels) {
            if (entry.key == "N.tables") {
                // The published figure for round keys in constant memory, which the lab's kernels also use.
                for (Series& s : panel.series) {
                    if (s.name == "4 tables, published" && s.values.size() > 1) s.values[1] = 34.4 / 8;
                }
                const std::string then = "Published: GeForce GTX 285.";
                if (const auto at = panel.note.find(then); at != std::string::npos) {
                    panel.note.replace(at, then.size(),
                                       "Published: GeForce GTX 285; of one table, with round keys in shared memory.");
                }
            }
            // Older builds marked these series as published. However, one of them is a maximum, not a curve, and the
            // other is a share of a measured figure, not a figure of the paper.
            std::erase_if(panel.series, [](const Series& s) {
                return s.role == Series::Role::published &&
                       (s.name == "published, at most" || s.name == "published: at most 7 % more with four");
            });
        }
        for (Fact& fact : entry.result.facts) {
            if (fact.name == "fastest size of a thread block" || fact.name.ends_with(", large files")) {
                fact.published.reset();
            }
            // The subject is the backend that warpaes chooses, not the paper's GPU.
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
