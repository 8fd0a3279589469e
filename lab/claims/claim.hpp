// What the papers published, a row each: a table's line, a curve, a sentence; what measures it here, or why nothing
// does; and, of sentences, whether they hold on a record. Every verdict is made here, of a record's figures alone, so
// that an old record is judged by today's rules.
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
        figures,     ///< figures that stand beside ours in an experiment
        unmeasured   ///< nothing measures it
    };
    std::string id;  ///< "N.four-tables"; stable, one for each conclusion however often it is measured
    Paper paper = Paper::ours;
    Kind kind = Kind::conclusion;
    std::string says;        ///< what was published, in our words, with its figures, series and range
    std::string experiment;  ///< the key of that which measures it; empty if none does
    std::string rule;        ///< a conclusion: when it holds; else where the figures stand, or why there are none
    /// Throws Missing if the record has not what it needs.
    Verdict (*judge)(const Figures& figures) = nullptr;
};

/// All, in the order of the papers.
std::span<const Claim> all_claims();
/// Throws std::out_of_range.
const Claim& claim_of(const std::string& id);

/// Of one conclusion; `open`, with why, if the record has not what it needs, or was made on a machine under load.
Verdict judge(const Claim& claim, const Record& record);
/// Writes the verdicts of all conclusions into the results of their experiments, and takes out what stands there.
void judge(Record& record);

/// Conclusions by how they fare, each counted once.
struct Tally {
    unsigned yes = 0, partly = 0, no = 0, open = 0;
    [[nodiscard]] unsigned all() const { return yes + partly + no + open; }
    void add(Verdict::Holds holds);
};
Tally tally(const Record& record, Paper paper);

/// For every claim what it is and, of conclusions, its verdict on the record: what the page and the documents have.
nlohmann::json claims_of(const Record& record);

/// The same, with what the page begins with: when the GPU is worth it, findings, and the tally of each paper.
nlohmann::json summary_of(const Record& record);

/// A record as what is published about it: citations, titles and questions as they are today, and without the figures
/// that older builds drew as the papers' although no paper has them. What was measured stays. Then it is judged.
void refresh(Record& record);

namespace claims {
/// Of [N]'s thirteen, published and here; all, and without the two that are last in both.
std::pair<Ratio, Ratio> correlation_of_thirteen(const Figures& figures);
std::vector<Claim> of_gibadullin();
std::vector<Claim> of_gu();
std::vector<Claim> of_paracrypt();
std::vector<Claim> of_damjanovic();
std::vector<Claim> of_harrison();
std::vector<Claim> of_ours();
}  // namespace claims

}  // namespace lab
