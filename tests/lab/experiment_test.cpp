// Tests the list of experiments.
#include "lab/experiment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace {

using namespace lab;

TEST(Experiments, KeysAreUniqueAndBeginWithTheLetterOfTheirPaper) {
    std::set<std::string> seen;
    int paper = -1;
    for (const Experiment& e : all_experiments()) {
        const std::string key = e.key;
        EXPECT_TRUE(seen.insert(key).second) << key;
        EXPECT_EQ(key.substr(0, key.find('.')), letter_of(e.paper)) << key;
        EXPECT_GE(static_cast<int>(e.paper), paper) << key << " is out of order";
        paper = static_cast<int>(e.paper);
    }
}

TEST(Experiments, SayWhatTheyAskAndHowLongTheyTake) {
    for (const Experiment& e : all_experiments()) {
        const std::string question = e.question;
        EXPECT_FALSE(std::string(e.title).empty()) << e.key;
        EXPECT_EQ(question.back(), '?') << e.key;
        EXPECT_GT(e.quick_seconds, 0) << e.key;
        EXPECT_GE(e.seconds, e.quick_seconds) << e.key;
        EXPECT_NE(e.run, nullptr) << e.key;
    }
}

TEST(Experiments, WhatTheyTakeComesBeforeThem) {
    std::set<std::string> before;
    for (const Experiment& e : all_experiments()) {
        EXPECT_TRUE(std::string(e.after).empty() || before.contains(e.after)) << e.key;
        before.insert(e.key);
    }
}

TEST(Experiments, AllPapersAreCited) {
    for (int paper = 0; paper <= static_cast<int>(Paper::ours); ++paper) {
        EXPECT_NE(std::string(citation_of(static_cast<Paper>(paper))), "");
        EXPECT_EQ(std::string(letter_of(static_cast<Paper>(paper))).size(), 1u);
    }
}

TEST(Experiments, AreSelectedByTheBeginningOfTheirKeys) {
    EXPECT_EQ(select({}).size(), all_experiments().size());
    for (const Experiment& e : all_experiments()) {
        const std::string whole[] = {e.key};
        const auto chosen = select(whole);
        EXPECT_GE(chosen.size(), 1u);
        EXPECT_TRUE(std::any_of(chosen.begin(), chosen.end(), [&](const Experiment& c) { return c.key == whole[0]; }));
    }
    for (const char* unknown : {"X", "", "N.nothing"}) {
        const std::string keys[] = {unknown};
        EXPECT_THROW(select(keys), std::invalid_argument) << unknown;
    }
}

}  // namespace
