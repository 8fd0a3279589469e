// Tests verdicts on invented figures. Each verdict must use the series, the range and the condition of its sentence.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "lab/claims/claim.hpp"
#include "lab/experiment.hpp"
#include "made_record.hpp"

namespace {

using namespace lab;
using Holds = Verdict::Holds;

const std::vector<std::string> thirteen_labels{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13"};
constexpr const char* thirteen_title = "Thirteen implementations";
const std::vector<double> as_published{5.0, 34.4, 35.2, 21.54, 29.9, 21.7, 26.9, 23.9, 23.4, 25.3, 25.0, 17.1, 2.9};

MadeRecord thirteen(std::vector<double> speeds, double spread = 0) {
    MadeRecord made;
    made.bars("N.implementations", thirteen_title, thirteen_labels, "speed", speeds, spread);
    return made;
}

// ---------------------------------------------------------------------------------------------------------- the list

TEST(Claims, EachHasAnIdentityAndAnExperimentOrAReason) {
    std::set<std::string> ids, keys;
    for (const Experiment& e : all_experiments()) keys.insert(e.key);
    std::size_t published = 0;
    for (const Claim& claim : all_claims()) {
        EXPECT_TRUE(ids.insert(claim.id).second) << claim.id;
        EXPECT_EQ(claim.id.substr(0, 2), std::string(letter_of(claim.paper)) + ".") << claim.id;
        EXPECT_FALSE(claim.says.empty()) << claim.id;
        EXPECT_FALSE(claim.rule.empty()) << claim.id;
        EXPECT_EQ(claim.judge != nullptr, claim.kind == Claim::Kind::conclusion) << claim.id;
        EXPECT_EQ(claim.experiment.empty(), claim.kind == Claim::Kind::unmeasured) << claim.id;
        EXPECT_TRUE(claim.experiment.empty() || keys.contains(claim.experiment)) << claim.id;
        if (claim.kind == Claim::Kind::conclusion && claim.paper != Paper::ours) {
            for (const std::string& part :
                 {claim.place, claim.original, claim.series, claim.sizes, claim.condition, claim.baseline}) {
                EXPECT_FALSE(part.empty()) << claim.id;
            }
        }
        published += claim.paper != Paper::ours ? 1 : 0;
    }
    EXPECT_GE(published, 150u);
}

TEST(Claims, AnEmptyRecordLeavesAllOpen) {
    const Record none;
    for (const Claim& claim : all_claims()) {
        if (claim.kind != Claim::Kind::conclusion) continue;
        const Verdict verdict = judge(claim, none);
        EXPECT_EQ(verdict.holds, Holds::open) << claim.id;
        EXPECT_EQ(verdict.claim, claim.id);
        EXPECT_NE(verdict.sentence.find("in this record"), std::string::npos) << verdict.sentence;
    }
}

TEST(Claims, EachIsCountedOnceWhereverItIsMeasured) {
    MadeRecord made;
    for (const char* place : {"On a disk", "On a tmpfs"}) {
        made.lines("P.encryption", place, {16384, 67108864}, "warpaes enc on the GPU", {0.1, 2});
        made.lines("P.encryption", place, {16384, 67108864}, "warpaes enc", {3, 2});
        for (const char* openssl : {"openssl enc, then fsync", "openssl enc without AES instructions, then fsync"}) {
            made.lines("P.encryption", place, {16384, 67108864}, openssl, {1, 1});
        }
    }
    judge(made.record);
    std::multiset<std::string> ids;
    for (const Verdict& v : made.of("P.encryption").result.verdicts) ids.insert(v.claim);
    EXPECT_EQ(ids.count("P.encryption-large"), 1u);
    EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
    const Tally theirs = tally(made.record, Paper::paracrypt), ours = tally(made.record, Paper::ours);
    EXPECT_EQ(theirs.yes, 1u) << "ahead";
    EXPECT_EQ(theirs.no, 1u) << "AES-NI is half as fast";
    EXPECT_EQ(ours.yes + ours.partly + ours.no, 0u);
    unsigned conclusions = 0;
    for (const Claim& c : all_claims()) {
        conclusions += c.paper == Paper::paracrypt && c.kind == Claim::Kind::conclusion ? 1 : 0;
    }
    EXPECT_EQ(theirs.all(), conclusions);
}

TEST(Claims, AMachineUnderLoadYieldsNoVerdict) {
    MadeRecord made = thirteen(as_published);
    EXPECT_EQ(made.holds("N.four-tables"), Holds::yes);
    made.of("N.implementations").load = 0.5;
    const Verdict verdict = made.judged("N.four-tables");
    EXPECT_EQ(verdict.holds, Holds::open);
    EXPECT_NE(verdict.sentence.find("others used 50 %"), std::string::npos) << verdict.sentence;
    // An experiment that is only needed for a different experiment's verdict does not count either.
    MadeRecord two;
    two.lines("H.ctr", "CTR, kernel alone", {1024}, "four tables in shared memory", {100});
    two.lines("H.ctr", "CTR with transfers", {1024}, "four tables in shared memory, one step after the other", {50});
    two.surface("D.surfaces", "AES-128 encryption", {1024}, {1024}, "C++ with T-tables", {1});
    EXPECT_EQ(two.holds("H.over-cpu"), Holds::yes);
    two.of("D.surfaces").load = 0.5;
    EXPECT_EQ(two.holds("H.over-cpu"), Holds::open);
}

TEST(Claims, WhatWasLeftOutIsOpenAndSaysWhy) {
    MadeRecord made;
    made.of("N.implementations").status = Status::left_out;
    made.of("N.implementations").reason = "it needs a GPU, and there is none";
    const Verdict verdict = made.judged("W.thirteen-order");
    EXPECT_EQ(verdict.holds, Holds::open);
    EXPECT_NE(verdict.sentence.find("there is none"), std::string::npos);
}

// ----------------------------------------------------------------------------------------------------------- spreads

TEST(Claims, AGainThatTheSpreadLeavesOpenIsOpen) {
    EXPECT_EQ(by_gain(over({1.5, 1.45, 1.55}, {1, 0.99, 1.01}), 1.5), Holds::yes);
    EXPECT_EQ(by_gain(over({1.1, 1.09, 1.11}, {1, 0.99, 1.01}), 1.5), Holds::partly);
    EXPECT_EQ(by_gain(over({1.01, 1.01, 1.01}, {1, 1, 1}), 1.5), Holds::no) << "a tie";
    EXPECT_EQ(by_gain(over({1.1, 0.9, 1.3}, {1, 0.9, 1.1}), 1.5), Holds::open);
    EXPECT_EQ(order_of({1.1, 0.9, 1.3}, {1, 0.9, 1.1}), Order::unclear);
    EXPECT_EQ(order_of({1.1, 1.09, 1.11}, {1, 0.99, 1.01}), Order::ahead);
    EXPECT_EQ(order_of({1.01, 1.008, 1.012}, {1, 1, 1}), Order::even);
}

TEST(Claims, ASamenessThatTheSpreadLeavesOpenIsOpen) {
    EXPECT_EQ(by_sameness({1, 0.97, 1.04}), Holds::yes);
    EXPECT_EQ(by_sameness({1.1, 1.06, 1.14}), Holds::partly);
    EXPECT_EQ(by_sameness({0.9, 0.88, 0.94}), Holds::partly);
    EXPECT_EQ(by_sameness({1.3, 1.2, 1.4}), Holds::no);
    EXPECT_EQ(by_sameness({0.7, 0.6, 0.8}), Holds::no);
    EXPECT_EQ(by_sameness({1.1, 1.02, 1.14}), Holds::open);
    EXPECT_EQ(by_sameness({1, 0.9, 1.1}), Holds::open) << "it may be the same, or hold only in part";
    EXPECT_EQ(by_sameness({1, 0.7, 1.3}), Holds::open) << "it may be the same, and much more or less";
}

TEST(Claims, PlacesWithinOnePercentAreTies) {
    EXPECT_EQ(places({100, 99.5, 50}), (std::vector<double>{1.5, 1.5, 3}));
    EXPECT_EQ(places({1, 3, 2}), (std::vector<double>{3, 1, 2}));
}

TEST(Claims, TheRankCorrelationHasAnInterval) {
    const Ratio r =
        rank_correlation({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, {2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 13});
    EXPECT_GT(r.value, 0.9);
    EXPECT_LT(r.low, r.value);
    EXPECT_GT(r.high, r.value);
    const Verdict verdict = thirteen(as_published).judged("W.thirteen-order");
    EXPECT_EQ(verdict.holds, Holds::yes);
    EXPECT_NE(verdict.sentence.find("n = 13"), std::string::npos);
    // The published extremes with a random order between them are not the published order.
    EXPECT_EQ(thirteen({1, 8, 4, 9, 5, 10, 6, 11, 7, 12, 3, 13, 0.5}).holds("W.thirteen-order"), Holds::no);
}

// ---------------------------------------------------------------------------------------------------------------- [N]

TEST(Claims, FourTablesAndOneAreATieEverywhere) {
    std::vector<double> speeds = as_published;
    speeds[2] = 243.3, speeds[3] = 245.7;
    MadeRecord made = thirteen(speeds, 0.001);
    made.bars("H.tables", "A single table or four", {"texture", "constant", "shared", "shared, one copy a bank"},
              "single table, rotations", {79.7, 16.3, 290.7, 480.9}, 0.002);
    made.bars("H.tables", "A single table or four", {"texture", "constant", "shared", "shared, one copy a bank"},
              "quad table", {79.6, 5.0, 291.7, 761.3}, 0.002);
    EXPECT_EQ(made.holds("N.four-tables"), Holds::no);
    EXPECT_EQ(made.holds("H.quad-table"), Holds::no);
    EXPECT_EQ(made.holds("H.shared-fastest"), Holds::yes);
    EXPECT_EQ(made.holds("H.copies"), Holds::no);
    EXPECT_NE(made.judged("H.quad-table").sentence.find("as fast as"), std::string::npos);
}

TEST(Claims, LayoutsHoldInPartIfOneOfTwoIsATie) {
    std::vector<double> speeds = as_published;
    EXPECT_EQ(thirteen(speeds).holds("N.layout-8-4"), Holds::yes);
    EXPECT_EQ(thirteen(speeds).holds("N.layout-16"), Holds::yes);
    speeds[8] = speeds[6];
    EXPECT_EQ(thirteen(speeds).holds("N.layout-8-4"), Holds::partly);
}

TEST(Claims, EightAndFourBytesAreSaidToBeAlike) {
    std::vector<double> speeds = as_published;
    speeds[9] = speeds[6];
    EXPECT_EQ(thirteen(speeds).holds("N.eight-and-four"), Holds::yes) << "no order was published";
    speeds[9] = speeds[10] = speeds[11] = 15;
    EXPECT_EQ(thirteen(speeds).holds("N.eight-and-four"), Holds::no);
}

TEST(Claims, GranularityIsJudgedWithoutShuffles) {
    std::vector<double> speeds = as_published;
    MadeRecord made = thirteen(speeds);
    const char* title = "Bytes a thread, by how threads share a block";
    made.bars("N.granularity", title, {"16", "8", "4", "1"}, "registers, shuffled", {0, 35, 30, 10});
    made.bars("N.granularity", title, {"16", "8", "4", "1"}, "shared memory, thread block waits", {0, 26, 25, 3});
    made.bars("N.granularity", title, {"16", "8", "4", "1"}, "alone", {35, 0, 0, 0});
    EXPECT_EQ(made.holds("N.granularity"), Holds::yes);
    EXPECT_EQ(made.holds("W.shuffles"), Holds::yes) << "we added what its GPU lacked";
}

TEST(Claims, ThreadsThatStayHaveToAvoidACost) {
    const auto made = [](double at_last) {
        MadeRecord m;
        m.lines("N.persistent", "By length of the text", {65536, 268435456}, "threads that stay", {1, at_last});
        m.lines("N.persistent", "By length of the text", {65536, 268435456}, "a thread a block of text", {12.93, 253});
        return m.holds("N.persistent");
    };
    EXPECT_EQ(made(260), Holds::yes) << "the paper does not have short texts";
    EXPECT_EQ(made(254), Holds::no) << "no loss is no gain";
}

// ---------------------------------------------------------------------------------------------------------------- [G]

TEST(Claims, SchemesAreJudgedInThePapersRange) {
    MadeRecord made;
    const std::vector<double> x{2048, 8388608, 134217728};
    for (const char* title : {"Three schemes, ECB", "Three schemes, tables in shared memory"}) {
        made.lines("G.schemes", title, x, "1: a thread a block, text moved together", {1, 1, 9});
        made.lines("G.schemes", title, x, "2: four threads a block, no barrier", {2, 2, 2});
        made.lines("G.schemes", title, x, "3: sixteen threads a block, a lookup each", {1, 1, 1});
    }
    EXPECT_EQ(made.holds("G.schemes"), Holds::yes) << "128 MiB is not one of its sizes";
}

TEST(Claims, SchemesHaveTheirTablesInConstantMemory) {
    MadeRecord made;
    const auto lines = [&](const char* title, double second) {
        made.lines("G.schemes", title, {2048, 8388608}, "1: a thread a block, text moved together", {1, 1});
        made.lines("G.schemes", title, {2048, 8388608}, "2: four threads a block, no barrier", {second, second});
        made.lines("G.schemes", title, {2048, 8388608}, "3: sixteen threads a block, a lookup each", {1, 1});
    };
    lines("Three schemes, tables in shared memory", 2);
    EXPECT_EQ(made.holds("G.schemes"), Holds::open) << "another's way";
    lines("Three schemes, ECB", 0.5);
    EXPECT_EQ(made.holds("G.schemes"), Holds::no);
}

TEST(Claims, FromThirtyTwoKilobytesOnTransfersBeginToBeTheMainPart) {
    const auto made = [](double compute) {
        MadeRecord m;
        const char* title = "Where the time goes: four threads a block, tables in constant memory";
        m.lines("G.breakdown", title, {32768, 131072}, "compute", {70, compute});
        return m.holds("G.transfers-from-32K");
    };
    EXPECT_EQ(made(45), Holds::yes);
    EXPECT_EQ(made(55), Holds::partly);
    EXPECT_EQ(made(75), Holds::no) << "nor is it open";
}

TEST(Claims, MappedMemoryIsJudgedAgainstCopiesWithoutStreams) {
    MadeRecord made;
    const char* title = "From host memory to host memory, by input size";
    const std::vector<double> x{2048, 8388608, 1 << 30};
    made.lines("G.transfers", title, x, "mapped, write-combined", {2, 20, 20});
    made.lines("G.transfers", title, x, "page-locked, one step after the other", {1, 10, 26});
    made.lines("G.transfers", title, x, "page-locked, overlapped", {1, 15, 46});
    EXPECT_EQ(made.holds("G.mapped"), Holds::yes) << "1 GiB is not one of its sizes";
    EXPECT_EQ(made.holds("W.overlapped"), Holds::yes);
}

TEST(Claims, TheCurveOfTextureMemoryHasThreeParts) {
    MadeRecord made;
    made.lines("G.tables", "The lookup tables' memory", {2048, 65536, 8388608}, "constant", {1, 1, 1});
    made.lines("G.tables", "The lookup tables' memory", {2048, 65536, 8388608}, "texture", {2, 2, 2});
    EXPECT_EQ(made.holds("G.texture-shape"), Holds::partly) << "at 64 KB, constant memory was ahead";
}

// ---------------------------------------------------------------------------------------------------------------- [P]

TEST(Claims, FilesAreJudgedAgainstAnOpensslWithoutAesInstructions) {
    MadeRecord made;
    const std::vector<double> x{16384, 67108864, 268435456};
    const char* without = "openssl enc without AES instructions, then fsync";
    for (const char* key : {"P.encryption", "P.decryption"}) {
        made.lines(key, "On a disk", x, "warpaes enc", {9, 9, 9});
        made.lines(key, "On a disk", x, "openssl enc, then fsync", {1, 1, 1});
        EXPECT_EQ(made.holds(std::string(key) + "-large"), Holds::open) << "no GPU";
        made.lines(key, "On a disk", x, "warpaes enc on the GPU", {0.03, 0.4, 0.9});
        EXPECT_EQ(made.holds(std::string(key) + "-large"), Holds::open)
            << "the paper's openssl had no AES instructions";
    }
    EXPECT_EQ(made.holds("P.small-files"), Holds::yes) << "AES instructions hardly matter there";
    EXPECT_EQ(made.holds("P.aes-ni"), Holds::no) << "1.8 times as fast, whatever the speed of warpaes on all threads";
    made.lines("P.encryption", "On a disk", x, without, {0.9, 0.25, 0.25});
    EXPECT_EQ(made.holds("P.encryption-large"), Holds::yes);
    EXPECT_EQ(made.holds("P.decryption-less"), Holds::open);
    made.lines("P.decryption", "On a disk", x, without, {0.9, 2, 0.4});
    EXPECT_EQ(made.holds("P.decryption-large"), Holds::yes) << "64 MiB is not 125 MB";
    EXPECT_EQ(made.holds("P.decryption-less"), Holds::yes);
}

TEST(Claims, KernelsThatDifferLittleAreHeldAgainstEachOtherFromDiskToDisk) {
    MadeRecord made;
    made.bars("P.memory", "Tables by memory, keys by memory", {"constant", "shared", "global"}, "keys", {5, 250, 60});
    EXPECT_EQ(made.holds("P.memories"), Holds::open) << "kernels without transfers differ";
    made.bars("P.memory", "From disk to disk, by kernel",
              {"tables in constant memory", "tables in shared memory", "tables in global memory"}, "speed",
              {1, 1.1, 1.1});
    EXPECT_EQ(made.holds("P.memories"), Holds::yes);
    made.panel("P.memory", "From disk to disk, by kernel").series[0].values[0] = 0.5;
    EXPECT_EQ(made.holds("P.memories"), Holds::no);
}

TEST(Claims, StagingOfEightMebibytesHasToBeMeasured) {
    const char* title = "A file of 256 MiB on a disk";
    MadeRecord without, with;
    without.lines("P.staging", title, {16384, 4194304, 16777216}, "cuda", {1, 2, 1});
    EXPECT_EQ(without.holds("P.staging"), Holds::open);
    EXPECT_EQ(without.holds("P.staging-ends"), Holds::yes);
    with.lines("P.staging", title, {16384, 8388608, 67108864}, "cuda", {1, 2, 1});
    EXPECT_EQ(with.holds("P.staging"), Holds::yes);
}

TEST(Claims, StreamsAreJudgedFromDiskToDisk) {
    MadeRecord made;
    made.lines("P.streams", "Throughput with transfers, by number of streams", {1, 2, 4, 8},
               "one thread a block, tables in shared memory", {23, 43, 46, 45});
    EXPECT_EQ(made.holds("P.streams"), Holds::open);
    made.lines("P.streams", "A file of 256 MiB on a disk, by number of streams", {1, 2, 4, 8}, "cuda",
               {1, 1.05, 1.06, 1});
    EXPECT_EQ(made.holds("P.streams"), Holds::yes);
}

// ---------------------------------------------------------------------------------------------------------------- [D]

TEST(Claims, SurfacesAreComparedThroughTheSameBuffer) {
    MadeRecord made;
    const auto surface = [&](const char* name, std::vector<double> values) {
        made.surface("D.surfaces", "AES-128 encryption", {1024, 67108864}, {1024, 33554432}, name, std::move(values));
    };
    // The GPU is ahead of AES-NI with the largest buffer, and behind AES-NI with a small buffer.
    surface("C++ with T-tables", {0.25, 0.25, 0.25, 0.25});
    surface("AES-NI", {0.65, 2.2, 0.65, 1.7});
    surface("CUDA", {0.05, 0.05, 0.05, 2.1});
    EXPECT_EQ(made.holds("D.large-aes-ni"), Holds::partly) << "not slightly behind, but ahead";
    EXPECT_EQ(made.holds("D.aes-ni-faster"), Holds::partly) << "at three of four";
    EXPECT_EQ(made.holds("D.stronger-gpus"), Holds::yes);
    EXPECT_EQ(made.holds("D.large-cpp"), Holds::yes);
    EXPECT_EQ(made.holds("D.small-data"), Holds::yes);
    EXPECT_EQ(made.holds("D.small-buffers"), Holds::yes);
    EXPECT_EQ(made.holds("D.one-large-transfer"), Holds::yes);
    EXPECT_EQ(made.holds("D.both-platforms"), Holds::open) << "one machine";
    const char* grids = "Sixteen thread blocks, and a grid for this GPU";
    EXPECT_EQ(made.holds("D.kernel-fast"), Holds::open) << "no kernel alone";
    made.bars("D.occupancy", grids, {"16, as published", "as many as this GPU holds"}, "speed", {16, 220});
    EXPECT_EQ(made.holds("D.kernel-fast"), Holds::yes) << "2.1 of 16 GB/s";
    made.panel("D.occupancy", grids).series[0].values[0] = 6;
    EXPECT_EQ(made.holds("D.kernel-fast"), Holds::partly);
    made.panel("D.occupancy", grids).series[0].values[0] = 3;
    EXPECT_EQ(made.holds("D.kernel-fast"), Holds::no);
    EXPECT_EQ(made.holds("D.cheap"), Holds::open) << "no such GPU";
    made.record.machine.gpu.emplace().name = "NVIDIA GeForce GT 740M";
    EXPECT_EQ(made.holds("D.cheap"), Holds::yes);
    const auto largest = [&](double cuda) {
        made.panel("D.surfaces", "AES-128 encryption").series[2].values[3] = cuda;
    };
    largest(1.5);
    EXPECT_EQ(made.holds("D.large-aes-ni"), Holds::yes) << "1.5 of 1.7 GB/s";
    EXPECT_EQ(made.holds("D.cheap"), Holds::yes) << "the paper's own were slightly behind";
    largest(1.2);
    EXPECT_EQ(made.holds("D.large-aes-ni"), Holds::partly) << "more than slightly";
    EXPECT_EQ(made.holds("D.cheap"), Holds::partly);
    largest(0.2);
    EXPECT_EQ(made.holds("D.large-aes-ni"), Holds::no);
    EXPECT_EQ(made.holds("D.cheap"), Holds::no);
}

TEST(Claims, WhatASmallBufferCostsHasToGrowWithTheFile) {
    MadeRecord made;
    const auto cuda = [&](std::vector<double> values) {
        for (const char* name : {"C++ with T-tables", "AES-NI", "CUDA"}) {
            made.surface("D.surfaces", "AES-128 encryption", {1024, 65536, 67108864}, {1024, 1048576}, name, values);
        }
        return made.holds("D.small-buffers");
    };
    EXPECT_EQ(cuda({0.05, 0.05, 0.05, 0.05, 2, 2}), Holds::yes);
    made = {};
    EXPECT_EQ(cuda({0.05, 1, 2, 0.05, 1, 2}), Holds::no) << "it costs nothing";
}

TEST(Claims, OccupancyIsOursAndJudgedByWhatHalfOfItLoses) {
    MadeRecord made;
    made.lines("D.occupancy", "Warps that a multiprocessor holds", {32, 64, 1024}, "the runtime, here", {32, 64, 64});
    made.lines("D.occupancy", "What the size of a thread block is worth", {32, 64, 1024}, "speed", {216, 226, 213});
    EXPECT_EQ(made.holds("W.occupancy"), Holds::no);
    EXPECT_EQ(claim_of("W.occupancy").paper, Paper::ours);
}

// ---------------------------------------------------------------------------------------------------------------- [H]

TEST(Claims, CoherentReadsOfOneMemoryAreComparedWithThoseOfOthers) {
    MadeRecord made;
    const std::vector<std::string> memories{"constant", "shared", "texture"};
    const char* title = "Reads a clock and multiprocessor";
    made.bars("H.reads", title, memories, "coherent: one word", {3, 32, 8});
    made.bars("H.reads", title, memories, "random", {0.1, 9, 2});
    EXPECT_EQ(made.holds("H.coherent-reads"), Holds::no) << "however many more than random ones";
    EXPECT_EQ(made.holds("H.random-reads"), Holds::yes);
    made.panel("H.reads", title).series[0].values[0] = 40;
    EXPECT_EQ(made.holds("H.coherent-reads"), Holds::yes);
}

TEST(Claims, OverheadThatVanishedDoesNotHold) {
    MadeRecord made;
    made.lines("H.overhead", "Overhead of many messages", {16, 512, 16384}, "[H]'s model, with transfers",
               {62.9, 1.0, 0.1});
    EXPECT_EQ(made.holds("H.overhead-long"), Holds::no);
    EXPECT_EQ(made.holds("H.overhead-short"), Holds::yes);
}

TEST(Claims, TheStrideIsAReadTestAndNoCipher) {
    MadeRecord made;
    made.lines("H.serial", "Distance between neighbouring messages", {1, 128, 1024},
               "[H]'s model, messages of 128 blocks", {226, 205, 205});
    made.of("H.reads");
    EXPECT_EQ(made.holds("H.stride"), Holds::open);
    made.lines("H.reads", "Reads by the distance of neighbouring threads", {1, 128}, "16 bytes a thread", {4000, 900});
    EXPECT_EQ(made.holds("H.stride"), Holds::yes);
}

TEST(Claims, OrdersAreJudgedStripedAndWhereNoChainHidesThem) {
    MadeRecord made;
    const std::vector<std::string> orders{"1", "2", "3", "4", "5", "6", "7"};
    made.bars("H.mixing", "Seven orders of the same messages", orders, "[H]'s model, striped threads",
              {7, 4.7, 7.9, 5.5, 6.8, 6.9, 6.6});
    for (const char* id : {"H.mixing-packed", "H.mixing-groups", "H.mixing-spread", "H.mixing-size"}) {
        const Verdict verdict = made.judged(id);
        EXPECT_EQ(verdict.holds, Holds::open) << id;
        EXPECT_NE(verdict.sentence.find("chain"), std::string::npos) << verdict.sentence;
    }
    const char* title = "Seven orders, many times the messages";
    made.bars("H.mixing", title, orders, "[H]'s model, natural threads", {9, 1, 1, 9, 1, 9, 1});
    made.bars("H.mixing", title, orders, "[H]'s model, striped threads", {1, 1, 3, 1, 2, 3, 4}, 0.01);
    for (const char* id : {"H.mixing-packed", "H.mixing-groups", "H.mixing-spread", "H.mixing-size"}) {
        EXPECT_EQ(made.holds(id), Holds::yes) << id;
    }
    made.panel("H.mixing", title).series[1].values[2] = 1.5;
    made.panel("H.mixing", title).series[1].spread[2] = {1.5, 1.5};
    EXPECT_EQ(made.holds("H.mixing-packed"), Holds::partly) << "faster, but not much";
}

TEST(Claims, ParallelModesAreFastWithFewMessages) {
    MadeRecord made;
    const char* title = "Serial beside parallel messages of 2,048 blocks";
    made.lines("H.modes", title, {32, 32768}, "[H]'s model, CTR (parallel)", {90, 200});
    made.lines("H.modes", title, {32, 32768}, "[H]'s model, CBC (serial)", {0.5, 210});
    EXPECT_EQ(made.holds("H.parallel-few"), Holds::yes);
    EXPECT_EQ(made.holds("H.serial-exceeds"), Holds::yes) << "with the most";
    made.panel("H.modes", title).series[1].values[0] = 60;
    EXPECT_EQ(made.holds("H.parallel-few"), Holds::partly);
    made.panel("H.modes", title).series[1].values[0] = 90;
    EXPECT_EQ(made.holds("H.parallel-few"), Holds::no);
}

TEST(Claims, RegistersAreComparedModeByMode) {
    MadeRecord made;
    const std::vector<std::string> modes{"ECB", "CTR", "CBC", "CFB", "OFB"};
    const char *registers = "Registers a thread, by what the kernel knows",
               *speed = "A kernel for one mode, and the one for all";
    made.bars("H.modes", registers, modes, "this mode alone", {30, 32, 40, 38, 38});
    made.bars("H.modes", registers, modes, "all modes", {40, 40, 40, 40, 40});
    EXPECT_EQ(made.holds("H.registers"), Holds::open) << "the cost is not known";
    made.bars("H.modes", speed, modes, "this mode alone", {200, 200, 100, 100, 100});
    made.bars("H.modes", speed, modes, "all modes", {200, 190, 100, 100, 100});
    EXPECT_EQ(made.holds("H.registers"), Holds::partly) << "CBC needs as many registers";
    made.panel("H.modes", registers).series[1].values.assign(5, 42.0);
    EXPECT_EQ(made.holds("H.registers"), Holds::yes);
    made.panel("H.modes", registers).series[1].values.assign(5, 30.0);
    EXPECT_EQ(made.holds("H.registers"), Holds::no);
}

// ---------------------------------------------------------------------------------------------------------------- [W]

TEST(Claims, OfbIsHeldAgainstTheBestProcessorBackendWhereThereAreTheMostMessages) {
    MadeRecord made;
    const char* title = "OFB on processors and GPU";
    made.lines("H.modes", title, {32, 65536}, "libcrypto, all threads", {1, 9});
    made.lines("H.modes", title, {32, 65536}, "vaes, all threads", {4, 30});
    made.lines("H.modes", title, {32, 65536}, "GPU, device memory", {2, 200});
    made.lines("H.modes", title, {32, 65536}, "GPU, page-locked memory", {0.1, 25});
    EXPECT_EQ(made.holds("W.ofb"), Holds::no) << "vaes is ahead";
    made.panel("H.modes", title).series[3].values[1] = 45;
    EXPECT_EQ(made.holds("W.ofb"), Holds::yes);
}

TEST(Claims, SerialModesAreHeldAgainstParallelOnesWhereThereAreTheMostMessages) {
    MadeRecord made;
    const char* title = "Serial beside parallel messages of 2,048 blocks";
    made.lines("H.modes", title, {32, 32768}, "production, CTR (parallel)", {300, 400});
    made.lines("H.modes", title, {32, 32768}, "production, CBC (serial)", {1, 210});
    EXPECT_EQ(made.holds("W.serial-reaches"), Holds::partly);
    made.panel("H.modes", title).series[1].values[1] = 350;
    EXPECT_EQ(made.holds("W.serial-reaches"), Holds::yes);
    made.panel("H.modes", title).series[1].values[1] = 100;
    EXPECT_EQ(made.holds("W.serial-reaches"), Holds::no);
}

TEST(Claims, SilenceOfLaunchesIsWorthWhatTheControlOfItsClassIs) {
    const char *of_texts = "W.launches-texts", *of_keys = "W.launches-keys", *of_equal = "W.launches-equal";
    MadeRecord made;
    made.fact("W.leakage", "measurements of each kernel", 1e6);
    for (const char* name : {"ECB, equal warps", "CTR, equal warps", "ECB, decryption, equal warps",
                             "ECB, AES-256, equal warps", "ECB, equal blocks"}) {
        made.fact("W.leakage", fmt::format("|t|, production's launches, {}, text", name), 2);
    }
    made.fact("W.leakage", "|t|, production's launches, CTR, equal warps, key", 2);
    for (const char* id : {of_texts, of_keys, of_equal}) EXPECT_EQ(made.holds(id), Holds::open) << "no control";
    made.fact("W.leakage", "|t|, T-tables' launches, ECB, equal warps, text", 300);
    EXPECT_NE(made.judged(of_texts).sentence.find("from different places"), std::string::npos) << "an older build";
    made.of("W.leakage").result.facts.back().value = 3;
    made.fact("W.leakage", "|t|, T-tables' launches, ECB, equal blocks, text", 1200);
    EXPECT_EQ(made.holds(of_texts), Holds::open) << "a control of a different class is not evidence";
    EXPECT_EQ(made.holds(of_equal), Holds::yes);
    const auto set = [&](const std::string& name, double value) {
        for (Fact& fact : made.of("W.leakage").result.facts) {
            if (fact.name == "|t|, " + name) fact.value = value;
        }
    };
    set("production's launches, ECB, equal blocks, text", 12);
    EXPECT_EQ(made.holds(of_equal), Holds::no);
    set("T-tables' launches, ECB, equal warps, text", 20);
    EXPECT_EQ(made.holds(of_texts), Holds::yes);
    EXPECT_EQ(made.holds(of_keys), Holds::open) << "a control for texts is not evidence for keys";
    made.fact("W.leakage", "|t|, T-tables' launches, ECB, equal warps, key", 20);
    EXPECT_EQ(made.holds(of_keys), Holds::yes);
    set("production's launches, CTR, equal warps, key", 6);
    EXPECT_EQ(made.holds(of_keys), Holds::no);
    EXPECT_EQ(made.holds(of_texts), Holds::yes) << "the other secret is judged by itself";
}

TEST(Claims, SilenceOfFunctionsNeedsAControlForTextsAndOneForKeys) {
    MadeRecord made;
    made.fact("W.leakage", "measurements of each kernel", 1e6);
    for (const char* secret : {"text", "key"}) {
        made.fact("W.leakage", fmt::format("|t|, production's functions, {}", secret), 1);
    }
    made.fact("W.leakage", "|t|, shared memory, text", 900);
    made.fact("W.leakage", "|t|, shared memory, key", 9);
    EXPECT_EQ(made.holds("W.production-silent"), Holds::open);
    made.of("W.leakage").result.facts.back().value = 11;
    EXPECT_EQ(made.holds("W.production-silent"), Holds::yes);
}

TEST(Claims, AQuickRunIsNotJudgedWhereASentenceIsAboutOtherSizes) {
    MadeRecord made;
    made.bars("P.pipeline", "A file of 64 MiB on a disk", {"one thread", "reader, worker, writer"}, "cuda", {1, 2});
    made.record.options.quick = true;
    const Verdict verdict = made.judged("W.reader-writer");
    EXPECT_EQ(verdict.holds, Holds::open);
    EXPECT_EQ(verdict.sentence.find("Not judged at these sizes"), 0u);
    made.record.options.quick = false;
    EXPECT_EQ(made.holds("W.reader-writer"), Holds::yes);
    made.record.options.quick = true;
    made.of("P.pipeline").status = Status::failed;
    EXPECT_EQ(made.judged("W.reader-writer").sentence.find("Not measured"), 0u);
}

TEST(Claims, WorkersAreComparedOnTheDiskAndInMemory) {
    MadeRecord made;
    const std::vector<std::string> who{"one thread", "reader, worker, writer", "production, 16 workers"};
    made.bars("P.pipeline", "A file of 256 MiB on a disk", who, "vaes", {1, 1.1, 1.2});
    EXPECT_EQ(made.holds("W.workers"), Holds::yes);
    made.bars("P.pipeline", "A file of 256 MiB on a tmpfs", who, "vaes", {2, 3.7, 3.3});
    EXPECT_EQ(made.holds("W.workers"), Holds::no) << "one of two";
}

TEST(Claims, SilenceSaysWhatWouldHaveBeenFound) {
    MadeRecord made;
    made.fact("W.leakage", "|t|, production's functions, text", 1);
    made.fact("W.leakage", "least difference that would be found, production's functions, text", 0.25);
    made.of("W.leakage").result.facts.back().unit = "clocks";
    EXPECT_EQ(made.holds("W.production-silent"), Holds::open) << "no control";
    made.fact("W.leakage", "|t|, shared memory, key", 300);
    made.fact("W.leakage", "|t|, shared memory, text", 3);
    EXPECT_EQ(made.holds("W.production-silent"), Holds::open) << "a control that was not found";
    made.of("W.leakage").result.facts.back().value = 300;
    EXPECT_EQ(made.holds("W.production-silent"), Holds::yes);
    EXPECT_NE(made.judged("W.production-silent").sentence.find("No difference above 0.25 clocks was found"),
              std::string::npos);
}

// ------------------------------------------------------------------------------------------------------------ records

TEST(Claims, WhatOldRecordsSayOfPapersIsBroughtUpToDate) {
    MadeRecord made;
    made.lines("H.ctr", "CTR, kernel alone", {1024, 4096}, "four tables in shared memory", {1, 2});
    made.lines("H.ctr", "CTR, kernel alone", {1024, 4096}, "published, at most", {1.9, 1.9});
    made.panel("H.ctr", "CTR, kernel alone").series[1].role = Series::Role::published;
    made.of("H.ctr").citation = "somebody else";
    made.of("D.occupancy").result.facts = {{"fastest size of a thread block", 128, "threads", 256}};
    made.of("H.ctr").result.verdicts = {{Holds::yes, "of an older rule", ""}};
    refresh(made.record);
    EXPECT_EQ(made.panel("H.ctr", "CTR, kernel alone").series.size(), 1u) << "a maximum is not a curve";
    EXPECT_EQ(made.of("H.ctr").citation, citation_of(Paper::harrison));
    EXPECT_FALSE(made.of("D.occupancy").result.facts[0].published) << "no such size was published";
    for (const Verdict& v : made.of("H.ctr").result.verdicts) EXPECT_FALSE(v.claim.empty());
}

TEST(Summary, SaysFromWhichSizeOnTheGpuIsWorthIt) {
    MadeRecord made;
    const char* title = "Throughput by size and place";
    made.record.options.threads = 16;
    made.lines("W.worth", title, {1024, 1048576, 1073741824}, "aesni, all threads", {1, 1, 1});
    made.lines("W.worth", title, {1024, 1048576, 1073741824}, "vaes, all threads", {1, 20, 20});
    made.lines("W.worth", title, {1024, 1048576, 1073741824}, "vaes, one thread", {1, 4, 4});
    made.lines("W.worth", title, {1024, 1048576, 1073741824}, "GPU, page-locked memory", {0.1, 21, 40});
    made.lines("W.worth", title, {1024, 1048576, 1073741824}, "GPU, pageable memory", {0.1, 5, 10});
    made.lines("W.worth", title, {1024, 1048576, 1073741824}, "GPU, device memory", {0.1, 100, 900});
    const nlohmann::json worth = summary_of(made.record)["worth"];
    EXPECT_EQ(worth["series"].size(), 6u);
    const std::string all = worth["sentences"].dump();
    EXPECT_NE(
        all.find(
            "In page-locked memory: the GPU is faster than all 16 threads of the CPU (20 GB/s at 1 GiB) from 1 MiB"),
        std::string::npos)
        << all;
    EXPECT_NE(all.find("In ordinary memory: all 16 threads of the CPU are faster than the GPU at every measured size "
                       "(20 GB/s at 1 GiB); the GPU is faster than one thread (4 GB/s at 1 GiB) from 1 MiB"),
              std::string::npos)
        << all;
    EXPECT_NE(all.find("900 GB/s (7,200 Gbit/s)"), std::string::npos) << all;
    EXPECT_EQ(all.find("always"), std::string::npos) << "the way to the CPU and back was not measured";
}

TEST(Summary, WithoutAGpuSaysWhatAnotherMachineFound) {
    MadeRecord made;
    EXPECT_EQ(summary_of(made.record)["worth"]["sentences"][0], "This machine has no GPU.") << "with no figures either";
    made.lines("W.worth", "Throughput by size and place", {1024, 1048576}, "aesni, one thread", {1, 4});
    const nlohmann::json sentences = summary_of(made.record)["worth"]["sentences"];
    ASSERT_GE(sentences.size(), 3u);
    EXPECT_EQ(sentences[0], "This machine has no GPU.");
    EXPECT_NE(sentences[1].get<std::string>().find("another machine"), std::string::npos) << sentences[1];
    const nlohmann::json elsewhere = summary_of(made.record)["worth"]["elsewhere"];
    EXPECT_EQ(elsewhere["answers"].size(), elsewhere["sentences"].size());
    for (const char* memory : {"device", "page-locked", "pageable"}) {
        made.lines("W.worth", "Throughput by size and place", {1024, 1048576}, fmt::format("GPU, {} memory", memory),
                   {1, 900});
    }
    EXPECT_TRUE(summary_of(made.record)["worth"]["elsewhere"].is_null()) << "it has its own figures";
}

TEST(Summary, CountsByPaperAndHasEveryClaim) {
    const nlohmann::json summary = summary_of(thirteen(as_published).record);
    EXPECT_EQ(summary["claims"].size(), all_claims().size());
    EXPECT_EQ(summary["tallies"].size(), all_sources().size());
    EXPECT_GT(summary["tallies"][0]["yes"], 5);
    EXPECT_EQ(summary["tallies"].back()["paper"], "W");
}

TEST(Claims, TheAuthorsAreThoseOfThePaper) {
    EXPECT_NE(std::string(citation_of(Paper::gibadullin)).find("R. Gibadullin, A. Yakovlev, A. Novikov, M. Perukhin"),
              std::string::npos);
}

}  // namespace
