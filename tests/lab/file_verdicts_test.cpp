// Verdicts about files come out either way, and say the figures.
#include "lab/experiments/file_verdicts.hpp"

#include <gtest/gtest.h>

#include "lab/experiments/panels.hpp"

namespace {

using namespace lab;
using namespace lab::experiments;
using Holds = Verdict::Holds;

bool says(const Verdict& verdict, const std::string& words) {
    return verdict.sentence.find(words) != std::string::npos;
}

/// warpaes and openssl over files of 16 KiB, 64 MiB and 256 MiB.
Panel against_openssl(const std::vector<double>& ours, const std::vector<double>& theirs) {
    const std::vector<std::size_t> files{16 << 10, 64 << 20, 256 << 20};
    Panel panel = lines("On a disk", sizes("file", files), throughput(), "");
    panel.series = {measured("warpaes enc"), baseline("openssl enc")};
    panel.series[0].values = {ours.begin(), ours.end()};
    panel.series[1].values = {theirs.begin(), theirs.end()};
    return panel;
}

TEST(FileVerdicts, LargeFiles) {
    const std::string openssl = "openssl enc";
    const Panel ahead = against_openssl({1, 3, 2}, {1, 2, 1});
    EXPECT_DOUBLE_EQ(gain_on_large_files(ahead, openssl, 63'000'000), 0.75);  // of 50 % and 100 %
    EXPECT_DOUBLE_EQ(gain_on_large_files(ahead, openssl, 125'000'000), 1);
    EXPECT_DOUBLE_EQ(gain_on_large_files(ahead, openssl, 1'000'000'000), 1);  // the largest there is
    const Verdict yes = judge_large_files(ahead, openssl, 63'000'000, 0.55);
    EXPECT_EQ(yes.holds, Holds::yes);
    EXPECT_TRUE(says(yes, "from 63 MB on, warpaes is 75 % faster than openssl enc (published: 55 %")) << yes.sentence;
    EXPECT_TRUE(says(judge_large_files(ahead, openssl, 1'000'000'000, 0.5), "at 268 MB, the largest file here"));
    EXPECT_EQ(judge_large_files(against_openssl({1, 1.1, 1.1}, {1, 1, 1}), openssl, 63'000'000, 0.55).holds,
              Holds::partly);
    const Verdict no = judge_large_files(against_openssl({1, 1, 1}, {1, 2, 2}), openssl, 63'000'000, 0.55);
    EXPECT_EQ(no.holds, Holds::no);
    EXPECT_TRUE(says(no, "50 % slower")) << no.sentence;
}

TEST(FileVerdicts, SmallFiles) {
    const Verdict lose = judge_small_files(against_openssl({1, 9, 9}, {2, 1, 1}), "openssl enc");
    EXPECT_EQ(lose.holds, Holds::yes);
    EXPECT_TRUE(says(lose, "with a file of 16 KiB warpaes is 50 % slower than openssl enc: small files lose."))
        << lose.sentence;
    EXPECT_EQ(judge_small_files(against_openssl({0.9, 9, 9}, {1, 1, 1}), "openssl enc").holds, Holds::partly);
    const Verdict wins = judge_small_files(against_openssl({2, 1, 1}, {1, 9, 9}), "openssl enc");
    EXPECT_EQ(wins.holds, Holds::no);
    EXPECT_TRUE(says(wins, "100 % faster than openssl enc: small files do not lose.")) << wins.sentence;
    const Verdict even = judge_small_files(against_openssl({1.03, 9, 9}, {1, 1, 1}), "openssl enc");
    EXPECT_EQ(even.holds, Holds::no);
    EXPECT_TRUE(says(even, "takes warpaes as long as openssl enc, within 5 %: small files do not lose."))
        << even.sentence;
}

TEST(FileVerdicts, Staging) {
    const std::vector<std::size_t> chunks{64 << 10, 1 << 20, 8 << 20, 64 << 20};
    const Panel panel = lines("A file", sizes("chunk", chunks), throughput(), "");
    const auto judge = [&](std::vector<std::optional<double>> rates) {
        Series series = measured("cuda");
        series.values = std::move(rates);
        return judge_staging(panel, series);
    };
    const Verdict yes = judge({1, 3, 4, 2});
    EXPECT_EQ(yes.holds, Holds::yes);
    EXPECT_TRUE(says(yes,
                     "chunks of 8 MiB are best, 4.0 GB/s, as published; with the smallest, 64 KiB, it "
                     "is 75 % less, with the largest, 64 MiB, 50 %."))
        << yes.sentence;
    const Verdict partly = judge({1, 4, 2, 1});
    EXPECT_EQ(partly.holds, Holds::partly);
    EXPECT_TRUE(says(partly, "chunks of 1 MiB are best")) << partly.sentence;
    EXPECT_TRUE(says(partly, "with 8 MiB, the published best, it is 50 % less, with the smallest")) << partly.sentence;
    EXPECT_EQ(judge({1, 2, 4, 4}).holds, Holds::no);  // large ones do not lose
}

TEST(FileVerdicts, ThreadsForReadingAndWriting) {
    const Panel panel = bars("A file", categories("who", {"one", "three", "production"}), throughput(), "");
    const auto series = [](double one, double three, double production) {
        Series s = measured("vaes");
        s.values = {one, three, production};
        return s;
    };
    EXPECT_EQ(judge_reader_and_writer(panel, series(1, 1.5, 1)).holds, Holds::yes);
    EXPECT_TRUE(says(judge_reader_and_writer(panel, series(1, 1.5, 1)), "50 % faster"));
    EXPECT_EQ(judge_reader_and_writer(panel, series(1, 1.05, 1)).holds, Holds::partly);
    EXPECT_EQ(judge_reader_and_writer(panel, series(1, 0.5, 1)).holds, Holds::no);
    EXPECT_TRUE(says(judge_reader_and_writer(panel, series(1, 0.5, 1)), "50 % slower"));
    EXPECT_EQ(judge_workers(panel, series(1, 1, 2)).holds, Holds::no);
    EXPECT_EQ(judge_workers(panel, series(1, 1, 1)).holds, Holds::partly);
    EXPECT_TRUE(
        says(judge_workers(panel, series(1, 1, 1)), "are as fast as reader, worker and writer: neither way is"));
    EXPECT_EQ(judge_workers(panel, series(1, 1, 0.5)).holds, Holds::yes);
    EXPECT_TRUE(says(judge_workers(panel, series(1, 1, 0.5)), "the published division of work is ahead"));
}

TEST(FileVerdicts, Ranges) {
    const std::vector<std::size_t> ranges{16, 1 << 20};
    Panel panel = lines("Time by range", sizes("range", ranges), numbers("time", "µs", Axis::Scale::log, {}), "");
    panel.series = {measured("job"), measured("reader")};
    panel.series[1].values = {20, 1000};
    panel.series[0].values = {10, 1000};
    const Verdict yes = judge_range(panel);
    EXPECT_EQ(yes.holds, Holds::yes);
    EXPECT_TRUE(says(yes, "16 bytes of 1 MiB take 10 µs, 1 % of")) << yes.sentence;
    EXPECT_TRUE(says(yes, "20 µs through an open reader")) << yes.sentence;
    panel.series[0].values = {300, 1000};
    EXPECT_EQ(judge_range(panel).holds, Holds::partly);
    panel.series[0].values = {900, 1000};
    EXPECT_EQ(judge_range(panel).holds, Holds::no);
}

/// One file and buffer short, one long; milliseconds of each.
struct Corner {
    double cpp, ni, gpu;
};
Surfaces with(const Corner& small, const Corner& large) {
    Surfaces surfaces;
    surfaces.files = {1 << 10, 64 << 20};
    surfaces.buffers = {1 << 20};
    const auto add = [&](const char* name, double at_small, double at_large) {
        surfaces.implementations.emplace_back(name);
        surfaces.list.push_back({name, 128, Direction::encrypt, {{at_small, 0, 0, 1}, {at_large, 0, 0, 1}}});
    };
    add(in_plain_cpp.name, small.cpp, large.cpp);
    if (small.ni + large.ni > 0) add(with_aes_ni.name, small.ni, large.ni);
    add(on_cuda.name, small.gpu, large.gpu);
    return surfaces;
}

TEST(FileVerdicts, WhenToUseTheGpu) {
    const Verdict loses = judge_small_data(with({2, 1, 10}, {}));
    EXPECT_EQ(loses.holds, Holds::yes);
    EXPECT_TRUE(says(loses, "1 KiB takes the GPU 5.0 times")) << loses.sentence;
    EXPECT_EQ(judge_small_data(with({2, 1, 1.5}, {})).holds, Holds::partly);
    EXPECT_TRUE(says(judge_small_data(with({2, 1, 1.5}, {})), "small data loses against AES-NI alone"));
    EXPECT_EQ(judge_small_data(with({2, 1, 0.5}, {})).holds, Holds::no);
    const Verdict without = judge_small_data(with({2, 0, 10}, {}));
    EXPECT_EQ(without.holds, Holds::yes);
    EXPECT_TRUE(says(without, "5.0 times as long as plain C++: small data loses")) << without.sentence;

    const Verdict close = judge_large_data(with({}, {10, 1, 1.25}));
    EXPECT_EQ(close.holds, Holds::yes);
    EXPECT_TRUE(says(close, "8.0 times as fast as plain C++ and 0.80 times as fast as AES-NI, both")) << close.sentence;
    EXPECT_EQ(judge_large_data(with({}, {10, 1, 0.5})).holds, Holds::partly);
    EXPECT_EQ(judge_large_data(with({}, {10, 1, 5})).holds, Holds::partly);
    EXPECT_TRUE(says(judge_large_data(with({}, {10, 1, 0.5})), "ahead of both"));
    EXPECT_TRUE(says(judge_large_data(with({}, {10, 1, 5})), "far from the other"));
    EXPECT_EQ(judge_large_data(with({}, {10, 1, 20})).holds, Holds::no);
    EXPECT_EQ(judge_large_data(with({}, {10, 0, 1})).holds, Holds::partly);
    EXPECT_TRUE(says(judge_large_data(with({}, {10, 0, 1})), "plain C++ on one thread; there is no AES-NI here."));

    EXPECT_EQ(judge_aes_ni(with({}, {10, 1, 1})).holds, Holds::yes);
    EXPECT_EQ(judge_aes_ni(with({}, {1, 10, 1})).holds, Holds::no);
}

TEST(FileVerdicts, TheModel) {
    const auto judge = [](double error) {
        const Fit fits[] = {{"AES-NI", error, 0.98, 0.04, 1.2}, {"CUDA", error / 2, 0.99, 0.02, 1.1}};
        return judge_fit(fits);
    };
    EXPECT_EQ(judge(0.1).holds, Holds::yes);
    EXPECT_TRUE(says(judge(0.1), "at most 10.0 % (AES-NI, R² 0.9800; 4.0 %")) << judge(0.1).sentence;
    EXPECT_EQ(judge(0.3).holds, Holds::partly);
    EXPECT_EQ(judge(0.7).holds, Holds::no);
    EXPECT_EQ(judge_use(1 << 20, "AES-NI", 64 << 20).holds, Holds::yes);
    EXPECT_TRUE(says(judge_use(1 << 20, "AES-NI", 64 << 20), "from 1 MiB on"));
    EXPECT_EQ(judge_use({}, "AES-NI", 64 << 20).holds, Holds::no);
    EXPECT_TRUE(says(judge_use({}, "AES-NI", 64 << 20), "up to files of 64 MiB"));
}

}  // namespace
