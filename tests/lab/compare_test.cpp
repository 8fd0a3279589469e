// Tests the comparison of two records.
#include "lab/compare.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "lab/matrix.hpp"

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
    EXPECT_FALSE(c.figures[0].differs);  // the spread of the figures is unknown
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
    EXPECT_EQ(differs(10, {9.9, 10.1}, 10.1, {10, 10.2}), false);  // the ranges overlap
    EXPECT_EQ(differs(10, {8, 10.1}, 11, {10.9, 11.1}), false);    // one range is wider than the difference
    EXPECT_EQ(differs(10, {10, 10}, 10, {10, 10}), false);
}

TEST(Compare, OtherUnitsAreOtherFigures) {
    Record a = with({1}, {}), b = with({1}, {});
    b.experiments[0].result.panels[0].y.unit = "s";
    const Comparison c = compare(a, b);
    EXPECT_EQ(c.figures.size(), 1u);  // the only figure is the fact
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

/// Returns a record of [D]'s surfaces. At every file and buffer size, the GPU reaches `gpu` GB/s and the CPU reaches 1
/// GB/s.
Record of_surfaces(const std::string& machine, double gpu) {
    Record record;
    record.machine.cpu = machine;
    Entry entry;
    entry.key = "D.surfaces";
    entry.status = Status::measured;
    Panel panel{"AES-128 encryption",
                Panel::Kind::surface,
                {"file", "B", Axis::Scale::log, {1024, 4096}, {}},
                {"buffer", "B", Axis::Scale::log, {1024, 4096}, {}},
                {},
                {},
                ""};
    for (const auto& [name, speed] : {std::pair{"C++ with T-tables", 1.0}, {"AES-NI", 1.0}, {"CUDA", gpu}}) {
        panel.series.push_back({name, Series::Role::measured, {speed, speed, speed, speed}, {}});
    }
    entry.result.panels.push_back(panel);
    record.experiments.push_back(entry);
    return record;
}

const Matrix::Row& row_of(const Matrix& matrix, const std::string& id) {
    return *std::find_if(matrix.rows.begin(), matrix.rows.end(), [&](const auto& row) { return row.claim->id == id; });
}

TEST(Matrix, AColumnForEachRecord) {
    const std::vector<Record> records{of_surfaces("a", 0.1), of_surfaces("b", 3), Record{}};
    const Matrix matrix = matrix_of(records);
    ASSERT_EQ(matrix.columns.size(), 3u);
    EXPECT_EQ(matrix.columns[1].machine, "b");
    const Matrix::Row& row = row_of(matrix, "D.small-data");
    EXPECT_EQ(row.verdicts[0].holds, Verdict::Holds::yes);
    EXPECT_EQ(row.verdicts[1].holds, Verdict::Holds::no);
    EXPECT_EQ(row.verdicts[2].holds, Verdict::Holds::open);
    EXPECT_EQ(row.agrees(), false);
    for (const Matrix::Row& one : matrix.rows) {
        EXPECT_EQ(one.verdicts.size(), 3u) << one.claim->id;
        EXPECT_EQ(one.claim->kind, Claim::Kind::conclusion);
    }
    EXPECT_EQ(row_of(matrix, "N.ten-times").agrees(), std::nullopt) << "no record decides it";
    EXPECT_EQ(to_json(matrix)["conclusions"].size(), matrix.rows.size());
}

TEST(Matrix, TheSamePictureOnSeveralMachines) {
    const auto verdict = [](const std::vector<Record>& records) {
        return row_of(matrix_of(records), "D.both-platforms").verdicts.front().holds;
    };
    using Holds = Verdict::Holds;
    EXPECT_EQ(verdict({of_surfaces("a", 0.1), of_surfaces("b", 0.11)}), Holds::yes);
    EXPECT_NE(verdict({of_surfaces("a", 0.1), of_surfaces("b", 3)}), Holds::yes);
    EXPECT_EQ(verdict({of_surfaces("a", 0.1)}), Holds::open);
    EXPECT_EQ(verdict({of_surfaces("a", 0.1), of_surfaces("a", 0.1)}), Holds::open) << "one machine twice";
    EXPECT_EQ(verdict({of_surfaces("a", 0.1), Record{}}), Holds::open) << "the other record has no surfaces";
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
