// Two records side by side.
#include "lab/compare.hpp"

#include <gtest/gtest.h>

namespace {

using namespace lab;

Record with(const std::vector<std::optional<double>>& values, const std::vector<std::optional<Series::Spread>>& spread,
            double fact = 1) {
    Panel panel{"P", Panel::Kind::lines, {"input", "B", Axis::Scale::log, {}, {}}, {"t", "GB/s", {}, {}, {}}, {}, {},
                ""};
    for (std::size_t i = 0; i < values.size(); ++i) panel.x.values.push_back(static_cast<double>(1024u << (10 * i)));
    panel.series.push_back({"ours", Series::Role::measured, values, spread});
    panel.series.push_back({"theirs", Series::Role::published, values, {}});
    Record record;
    Entry entry;
    entry.key = "G.x";
    entry.result.panels.push_back(panel);
    entry.result.facts.push_back({"hidden", fact, "%", std::nullopt});
    record.experiments.push_back(entry);
    return record;
}

TEST(Compare, EveryFigureThatBothHave) {
    const Comparison c = compare(with({2, 4, std::nullopt}, {}, 10), with({3, std::nullopt, 5}, {}, 5));
    ASSERT_EQ(c.figures.size(), 2u);
    EXPECT_EQ(c.figures[0].experiment, "G.x");
    EXPECT_EQ(c.figures[0].panel, "P");
    EXPECT_EQ(c.figures[0].series, "ours");
    EXPECT_EQ(c.figures[0].place, "1 KiB");
    EXPECT_EQ(c.figures[0].unit, "GB/s");
    EXPECT_EQ(c.figures[0].ratio, 1.5);
    EXPECT_FALSE(c.figures[0].differs);  // nothing is known of their spread
    EXPECT_EQ(c.figures[1].series, "hidden");
    EXPECT_EQ(c.figures[1].ratio, 0.5);
    EXPECT_EQ(c.only_a, 1u);
    EXPECT_EQ(c.only_b, 1u);
}

TEST(Compare, DiffersBeyondBothSpreads) {
    const auto differs = [](double a, Series::Spread of_a, double b, Series::Spread of_b) {
        return compare(with({a}, {of_a}), with({b}, {of_b})).figures.at(0).differs;
    };
    EXPECT_EQ(differs(10, {9.9, 10.1}, 11, {10.9, 11.1}), true);
    EXPECT_EQ(differs(11, {10.9, 11.1}, 10, {9.9, 10.1}), true);
    EXPECT_EQ(differs(10, {9.9, 10.1}, 10.1, {10, 10.2}), false);  // they meet
    EXPECT_EQ(differs(10, {8, 10.1}, 11, {10.9, 11.1}), false);    // one is wider than what is between them
    EXPECT_EQ(differs(10, {10, 10}, 10, {10, 10}), false);
}

TEST(Compare, OtherUnitsAreOtherFigures) {
    Record a = with({1}, {}), b = with({1}, {});
    b.experiments[0].result.panels[0].y.unit = "s";
    const Comparison c = compare(a, b);
    EXPECT_EQ(c.figures.size(), 1u);  // the fact
    EXPECT_EQ(c.only_a, 1u);
    EXPECT_EQ(c.only_b, 1u);
    b.experiments[0].key = "G.y";
    EXPECT_TRUE(compare(a, b).figures.empty());
}

TEST(Compare, SurfacesHaveTwoPlaces) {
    Record record = with({1, 2}, {});
    Panel& panel = record.experiments[0].result.panels[0];
    panel.kind = Panel::Kind::surface;
    panel.y = {"buffer", "", Axis::Scale::category, {}, {"small", "large"}};
    panel.z = {"time", "s", Axis::Scale::linear, {}, {}};
    panel.series[0].values = {1, 2, 3, 4};
    const Comparison c = compare(record, record);
    ASSERT_EQ(c.figures.size(), 5u);
    EXPECT_EQ(c.figures[2].place, "1 KiB, large");
    EXPECT_EQ(c.figures[2].a, 3);
    EXPECT_EQ(c.figures[2].unit, "s");
}

TEST(Compare, NamesOfPlaces) {
    const Axis bytes{"", "B", Axis::Scale::log, {16, 1536, 65536, 3 << 20}, {}};
    EXPECT_EQ(place_name(bytes, 0), "16 B");
    EXPECT_EQ(place_name(bytes, 1), "1536 B");
    EXPECT_EQ(place_name(bytes, 2), "64 KiB");
    EXPECT_EQ(place_name(bytes, 3), "3 MiB");
    EXPECT_EQ(place_name({"", "threads", Axis::Scale::linear, {192}, {}}, 0), "192 threads");
    EXPECT_EQ(place_name({"", "", Axis::Scale::linear, {0.5}, {}}, 0), "0.5");
}

}  // namespace
