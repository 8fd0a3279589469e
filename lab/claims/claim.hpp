// The claims: everything that the papers published, one row each: a line of a table, a curve, a sentence. A claim names
// the experiment that measures it, or says why none does; a sentence is also judged on a record. Every verdict is
// computed here, from the figures of a record alone, so that an old record is judged by the current rules.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lab/claims/figures.hpp"
#include "lab/experiment.hpp"
#include "lab/record.hpp"

namespace lab {

struct Claim {
    enum class Kind {
        conclusion,  ///< a sentence that is judged
        figures,     ///< figures that an experiment shows beside its own
        unmeasured   ///< no experiment measures it
    };
    std::string id;  ///< "N.four-tables"; stable; one for each conclusion, however often it is measured
    Paper paper = Paper::ours;
    Kind kind = Kind::conclusion;
    std::string says;        ///< the published statement, paraphrased, with its figures, series and range
    std::string experiment;  ///< key of the experiment that measures it; empty if none does
    std::string rule;  ///< conclusion: when it holds; otherwise where the figures are shown, or why there are none
    /// Throws Missing if the record lacks a figure that the rule needs.
    Verdict (*judge)(const Figures& figures) = nullptr;
};

/// All claims, in the order of the papers.
std::span<const Claim> all_claims();
/// The claim `id`. Throws std::out_of_range.
const Claim& claim_of(const std::string& id);

/// The verdict on one conclusion. It is `open`, with the reason, if the record lacks the figures, or was made on a
/// machine under load.
Verdict judge(const Claim& claim, const Record& record);
/// Replaces the verdicts in the results of all experiments by those of the current rules.
void judge(Record& record);

/// Number of conclusions by verdict, each conclusion counted once.
struct Tally {
    unsigned yes = 0, partly = 0, no = 0, open = 0;
    [[nodiscard]] unsigned all() const { return yes + partly + no + open; }
    void add(Verdict::Holds holds);
};
Tally tally(const Record& record, Paper paper);

/// Every claim with its fields and, for conclusions, its verdict on the record. The page and the documents use it.
nlohmann::json claims_of(const Record& record);

/// claims_of() plus the beginning of the page: when the GPU is worth it, the findings, and the tally of each paper.
nlohmann::json summary_of(const Record& record);

/// Prepares a record for publication: updates citations, titles and questions, removes figures that older builds
/// wrongly showed as published, and judges the record. Measured figures are unchanged.
void refresh(Record& record);

namespace claims {
/// Rank correlation of [N]'s thirteen kernels, published and here: of all, and without the two that are last in both.
std::pair<Ratio, Ratio> correlation_of_thirteen(const Figures& figures);
std::vector<Claim> of_gibadullin();
std::vector<Claim> of_gu();
std::vector<Claim> of_paracrypt();
std::vector<Claim> of_damjanovic();
std::vector<Claim> of_harrison();
std::vector<Claim> of_ours();
}  // namespace claims

}  // namespace lab
