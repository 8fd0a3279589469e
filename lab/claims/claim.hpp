// The claims: the published statements of the papers. A claim is a line of a table, a curve, or a sentence.
// lab/claims/statements contains a file for each paper and a row for each claim. The row names the experiment that
// measures the claim, or the reason why no experiment does, and quotes each judged sentence. Every verdict is computed
// only from the figures of a record, so an old record is judged by the current rules.
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
        figures,     ///< figures that an experiment shows next to its own
        unmeasured   ///< no experiment measures it
    };
    std::string id;  ///< "N.four-tables"; stable; one ID for each conclusion, even if it is measured several times
    Paper paper = Paper::ours;
    Kind kind = Kind::conclusion;
    std::string says;        ///< the published statement, paraphrased, with its figures
    std::string experiment;  ///< key of the experiment that measures it; empty if none does
    /// For a conclusion, when it holds; otherwise, where the figures are shown, or why there are none.
    std::string rule;
    /// For a published conclusion: its location, its words, their translation (empty if they are English), and their
    /// subject.
    std::string place, original, translation, series, sizes, condition, baseline;
    /// For a conclusion: the part of the machine that limits the speed of the measured subjects on current GPUs; empty
    /// if there is no single limit. "(counted)" means that the profiler counted it (docs/lab-profile.md).
    std::string limit;
    /// For a conclusion: `--quick` does not measure the sizes that the rule needs, so a quick record is not judged.
    bool whole_run = false;
    /// Throws Missing if the record lacks a figure that the rule needs.
    Verdict (*judge)(const Figures& figures) = nullptr;
};

/// A paper with its reference.
struct Source {
    Paper paper = Paper::ours;
    std::string reference, language;
    std::string link, link_is;  ///< an address, and its target's description unless it is the paper; may be empty
};

/// Returns all claims, in the order of the papers.
std::span<const Claim> all_claims();
/// Returns all papers, in their order.
std::span<const Source> all_sources();
/// Returns the claim `id`. Throws std::out_of_range if it does not exist.
const Claim& claim_of(const std::string& id);

/// Returns the verdict on one conclusion. The verdict is `open`, with the reason, if the record lacks the figures or
/// was made on a machine under load.
Verdict judge(const Claim& claim, const Record& record);
/// Replaces the verdicts in the results of all experiments with the verdicts of the current rules.
void judge(Record& record);

/// Number of conclusions by verdict, each conclusion counted once.
struct Tally {
    unsigned yes = 0, partly = 0, no = 0, open = 0;
    [[nodiscard]] unsigned all() const { return yes + partly + no + open; }
    void add(Verdict::Holds holds);
};
Tally tally(const Record& record, Paper paper);

/// Returns every claim with its fields and, for conclusions, its verdict on the record. The page and the documents use
/// the result.
nlohmann::json claims_of(const Record& record);

/// Returns claims_of() and the beginning of the page: when the GPU is worth using, the findings, and the tally of each
/// paper.
nlohmann::json summary_of(const Record& record);

/// Prepares a record for publication: updates citations, removes figures that older builds wrongly showed as published,
/// and judges the record. Measured figures are unchanged.
void refresh(Record& record);

namespace claims {
/// The rank correlation between the published and the measured speeds of [N]'s thirteen kernels: for all kernels, and
/// without the two kernels that are last in both rankings.
std::pair<Ratio, Ratio> correlation_of_thirteen(const Figures& figures);

/// The rule that judges the conclusion `id`.
struct Rule {
    const char* id;
    Verdict (*judge)(const Figures& figures);
};
std::vector<Rule> rules_of_gibadullin();
std::vector<Rule> rules_of_gu();
std::vector<Rule> rules_of_paracrypt();
std::vector<Rule> rules_of_damjanovic();
std::vector<Rule> rules_of_harrison();
/// The later studies, and our own conclusions about them.
std::vector<Rule> rules_of_jiang();
std::vector<Rule> rules_of_tezcan();
std::vector<Rule> rules_of_hajihassani();
std::vector<Rule> rules_of_lam();
Verdict attack_fails(const Figures& figures);
Verdict cached_round(const Figures& figures);
Verdict bitsliced_ahead(const Figures& figures);
Verdict aes_generator(const Figures& figures);
Verdict most_per_watt(const Figures& figures);
std::vector<Rule> rules_of_ours();
}  // namespace claims

}  // namespace lab
