// Conditions on the results of every GPU experiment, independent of the figures.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "lab/claims/claim.hpp"
#include "lab/experiment.hpp"
#include "lab/record.hpp"

namespace lab {

/// Checks that every conclusion of the experiment is judged, or is open because another experiment is missing.
inline void expect_verdicts(const Experiment& experiment, const Result& result) {
    Record record;
    record.experiments.push_back(make_entry(experiment));
    record.experiments[0].status = Status::measured;
    record.experiments[0].result = result;
    judge(record);
    for (const Verdict& verdict : record.experiments[0].result.verdicts) {
        EXPECT_FALSE(verdict.claim.empty());
        EXPECT_EQ(verdict.sentence.back(), '.') << verdict.sentence;
        EXPECT_EQ(verdict.sentence.find("nan"), std::string::npos) << verdict.sentence;
        EXPECT_EQ(verdict.sentence.find("inf "), std::string::npos) << verdict.sentence;
        // Checks that the experiment's result contains every figure that the verdict needs.
        const std::string missing = std::string("of ") + experiment.key + " is not in this record";
        EXPECT_EQ(verdict.sentence.find(missing), std::string::npos) << verdict.claim << ": " << verdict.sentence;
    }
}

/// Runs the experiment `key` in `context`, which has a GPU, and checks the result.
inline void expect_whole_result(const std::string& key, Context context) {
    const std::vector<std::string> keys{key};
    const std::vector<Experiment> chosen = select(keys);
    ASSERT_EQ(chosen.size(), 1u);
    double last = 0;
    int steps = 0;
    context.step = [&](double done, const std::string& next) {
        EXPECT_GE(done, last);
        EXPECT_LT(done, 1);
        EXPECT_FALSE(next.empty());
        last = done;
        ++steps;
    };
    const Result result = chosen[0].run(context);
    EXPECT_NO_THROW(check(result));
    EXPECT_GT(steps, 0);
    EXPECT_FALSE(result.panels.empty());
    for (const Panel& panel : result.panels) {
        EXPECT_FALSE(panel.note.empty()) << panel.title;
        EXPECT_GT(panel.x.size(), 0u) << panel.title;
        bool ours = false;
        for (const Series& series : panel.series) {
            if (series.role == Series::Role::measured) ours = true;
            bool any = false;
            for (const auto& value : series.values) {
                any |= value.has_value();
                EXPECT_TRUE(!value || std::isfinite(*value)) << panel.title << ": " << series.name;
            }
            EXPECT_TRUE(any) << panel.title << ": " << series.name;
        }
        EXPECT_TRUE(ours) << panel.title;
    }
    expect_verdicts(chosen[0], result);
    if (chosen[0].needs != Experiment::Needs::gpu) return;
    context.gpu = -1;
    EXPECT_THROW(chosen[0].run(context), LeftOut);
}

}  // namespace lab
