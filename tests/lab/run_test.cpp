// Tests a run: the order of experiments, storage, interruption, failures, and the remaining time.
#include "lab/run.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "folder.hpp"
#include "lab/machine.hpp"

namespace {

using namespace lab;

// The behaviour of the experiments below, and a record of their calls.
std::string calls;
bool c_fails = false;
bool stop = false;

Result result_of(const char* name) {
    Result result;
    result.notes = {name};
    return result;
}
Result run_a(const Context& context) {
    calls += 'a';
    context.step(0.5, "half");
    return result_of("a");
}
Result run_b(const Context&) {
    calls += 'b';
    throw LeftOut("no such thing here");
}
Result run_c(const Context&) {
    calls += 'c';
    if (c_fails) throw std::runtime_error("wrong output");
    return result_of("c");
}
Result run_gpu(const Context&) {
    calls += 'g';
    return result_of("g");
}
Result run_stopped(const Context& context) {
    calls += 's';
    context.step(0.1, "first");
    stop = true;
    context.step(0.2, "second");
    calls += '!';
    return {};
}
Result run_malformed(const Context&) {
    Result result = result_of("m");
    result.panels.push_back({"P", Panel::Kind::lines, {"x", "", Axis::Scale::linear, {1, 2}, {}}, {}, {}, {}, ""});
    result.panels[0].series.push_back({"s", Series::Role::measured, {1}, {}});
    return result;
}

constexpr auto cpu = Experiment::Needs::cpu;
const Experiment a{"N.a", Paper::gibadullin, "A", "a?", cpu, 10, 1, run_a};
const Experiment b{"N.b", Paper::gibadullin, "B", "b?", cpu, 10, 1, run_b};
const Experiment c{"N.c", Paper::gibadullin, "C", "c?", cpu, 10, 1, run_c};
const Experiment on_gpu{"N.g", Paper::gibadullin, "G", "g?", Experiment::Needs::gpu, 10, 1, run_gpu};
const Experiment stopped{"N.s", Paper::gibadullin, "S", "s?", cpu, 10, 1, run_stopped};
const Experiment malformed{"N.m", Paper::gibadullin, "M", "m?", cpu, 10, 1, run_malformed};

class Run : public testing::Test {
protected:
    void SetUp() override {
        calls.clear();
        c_fails = stop = false;
    }
    Conditions conditions_for(const std::vector<Experiment>& experiments) {
        Conditions conditions;
        conditions.experiments = experiments;
        conditions.path = folder_ / "record.json";
        conditions.interrupted = [] { return stop; };
        return conditions;
    }
    oracle::Folder folder_;
};

TEST_F(Run, EveryExperimentHasItsTurnAndItsEntry) {
    c_fails = true;
    const std::vector<Experiment> experiments{a, b, c, on_gpu, malformed};
    Record record = make_record(experiments, {}, {});
    EXPECT_EQ(record.experiments.size(), 5u);
    EXPECT_EQ(record.experiments[0].status, Status::not_run);
    EXPECT_TRUE(run(record, conditions_for(experiments)));
    EXPECT_EQ(calls, "abc");
    const auto& entries = record.experiments;
    EXPECT_EQ(entries[0].status, Status::measured);
    EXPECT_EQ(entries[0].result.notes, std::vector<std::string>{"a"});
    EXPECT_EQ(entries[0].reason, "");
    EXPECT_EQ(entries[1].status, Status::left_out);
    EXPECT_EQ(entries[1].reason, "no such thing here");
    EXPECT_EQ(entries[2].status, Status::failed);
    EXPECT_EQ(entries[2].reason, "wrong output");
    EXPECT_EQ(entries[3].status, Status::left_out);
    EXPECT_EQ(entries[3].reason, "there is no GPU");
    EXPECT_EQ(entries[4].status, Status::failed);
    EXPECT_TRUE(entries[4].result.notes.empty());
    EXPECT_EQ(to_json(load(folder_ / "record.json")), to_json(record));
}

TEST_F(Run, OnAGpuWhatNeedsOneRuns) {
    const std::vector<Experiment> experiments{on_gpu};
    Record record = make_record(experiments, {}, {});
    Conditions conditions = conditions_for(experiments);
    conditions.context.gpu = 0;
    EXPECT_TRUE(run(record, conditions));
    EXPECT_EQ(calls, "g");
}

TEST_F(Run, IsStoredAfterEachExperiment) {
    const std::vector<Experiment> experiments{a, c};
    Record record = make_record(experiments, {}, {});
    Conditions conditions = conditions_for(experiments);
    std::vector<std::string> stored;
    conditions.finished = [&](const Entry& entry) {
        const Record so_far = load(conditions.path);
        stored.push_back(entry.key);
        for (const Entry& e : so_far.experiments) stored.push_back(e.status == Status::measured ? "yes" : "no");
    };
    EXPECT_TRUE(run(record, conditions));
    EXPECT_EQ(stored, (std::vector<std::string>{"N.a", "yes", "no", "N.c", "yes", "yes"}));
}

TEST_F(Run, AnInterruptIsTakenUpWhereItCame) {
    const std::vector<Experiment> experiments{a, stopped, c};
    Record record = make_record(experiments, {}, {});
    EXPECT_FALSE(run(record, conditions_for(experiments)));
    EXPECT_EQ(calls, "as");
    Record resumed = load(folder_ / "record.json");
    EXPECT_EQ(resumed.experiments[0].status, Status::measured);
    EXPECT_EQ(resumed.experiments[1].status, Status::not_run);
    EXPECT_EQ(resumed.experiments[1].reason, "interrupted");
    EXPECT_EQ(resumed.experiments[1].commit, "");
    EXPECT_EQ(resumed.experiments[2].status, Status::not_run);

    stop = false;
    calls.clear();
    std::vector<Experiment> patient = experiments;
    patient[1].run = run_c;
    EXPECT_TRUE(run(resumed, conditions_for(patient)));
    EXPECT_EQ(calls, "cc");
    for (const Entry& entry : resumed.experiments) {
        EXPECT_EQ(entry.status, Status::measured) << entry.key;
        EXPECT_EQ(entry.commit, commit_of_build()) << entry.key;
    }
}

TEST_F(Run, AnInterruptIsNoticedBetweenSamples) {
    std::vector<Experiment> experiments{a};
    experiments[0].run = [](const Context& context) -> Result {
        context.check();
        stop = true;
        context.check();
        ADD_FAILURE();
        return {};
    };
    Record record = make_record(experiments, {}, {});
    EXPECT_FALSE(run(record, conditions_for(experiments)));
    EXPECT_EQ(record.experiments[0].status, Status::not_run);
}

TEST_F(Run, WhatWouldTakeTooLongWaitsForTheNextCall) {
    // Each experiment is estimated at 10 s, except the last one, which is estimated at 1 s.
    Experiment brief = on_gpu;
    brief.needs = cpu;
    brief.seconds = 1;
    const std::vector<Experiment> experiments{b, a, c, brief};
    Record record = make_record(experiments, {}, {});
    Conditions conditions = conditions_for(experiments);
    conditions.seconds = 5;
    EXPECT_FALSE(run(record, conditions)) << "a and c did not run";
    EXPECT_EQ(calls, "bag") << "the skipped experiment was not the first, so a shorter one may run";
    calls.clear();
    Record resumed = load(folder_ / "record.json");
    EXPECT_EQ(resumed.experiments[2].status, Status::not_run);
    EXPECT_EQ(resumed.experiments[3].status, Status::measured);
    EXPECT_TRUE(run(resumed, conditions));
    EXPECT_EQ(calls, "c");
}

TEST_F(Run, WhoTakesAnothersResultWaitsWithIt) {
    Experiment model = c;
    model.seconds = 1;
    model.after = "N.long";
    const Experiment surfaces{"N.long", Paper::gibadullin, "L", "l?", cpu, 10, 1, run_b};
    const std::vector<Experiment> experiments{a, surfaces, model};
    Record record = make_record(experiments, {}, {});
    Conditions conditions = conditions_for(experiments);
    conditions.seconds = 5;
    EXPECT_FALSE(run(record, conditions));
    EXPECT_EQ(calls, "a");
    conditions.seconds = 15;
    EXPECT_TRUE(run(record, conditions)) << "a skipped experiment is not waiting";
    EXPECT_EQ(calls, "abc");
}

TEST_F(Run, WhatIsNotDoneInTimeIsInterrupted) {
    std::vector<Experiment> experiments{a, c};
    experiments[0].run = [](const Context& context) -> Result {
        for (;;) context.check();
    };
    Record record = make_record(experiments, {}, {});
    Conditions conditions = conditions_for(experiments);
    conditions.seconds = 0.05;
    EXPECT_FALSE(run(record, conditions));
    EXPECT_EQ(calls, "");
    EXPECT_EQ(record.experiments[0].status, Status::not_run);
    EXPECT_EQ(record.experiments[0].reason, "interrupted");
}

TEST_F(Run, AnExperimentSeesWhatWasMeasuredBefore) {
    std::vector<Experiment> experiments{a, b, c};
    experiments[2].run = [](const Context& context) -> Result {
        EXPECT_EQ(context.measured("N.b"), nullptr) << "left out";
        EXPECT_EQ(context.measured("N.z"), nullptr);
        const Result* const before = context.measured("N.a");
        return before != nullptr ? *before : Result{};
    };
    Record record = make_record(experiments, {}, {});
    EXPECT_TRUE(run(record, conditions_for(experiments)));
    EXPECT_EQ(record.experiments[2].result.notes, std::vector<std::string>{"a"});
}

TEST_F(Run, WhatFailedIsTriedAgain) {
    c_fails = true;
    const std::vector<Experiment> experiments{a, c};
    Record record = make_record(experiments, {}, {});
    run(record, conditions_for(experiments));
    c_fails = false;
    calls.clear();
    EXPECT_TRUE(run(record, conditions_for(experiments)));
    EXPECT_EQ(calls, "c");
    EXPECT_EQ(record.experiments[1].status, Status::measured);
    EXPECT_EQ(record.experiments[1].reason, "");
}

TEST_F(Run, ProgressIsTold) {
    const std::vector<Experiment> experiments{a, c};
    Record record = make_record(experiments, {}, {});
    Conditions conditions = conditions_for(experiments);
    std::vector<std::string> told;
    conditions.progress = [&](const Progress& p) {
        told.push_back(p.entry.key + " " + std::to_string(p.index) + " " + p.next);
        EXPECT_EQ(p.count, 2u);
        EXPECT_GE(p.seconds_left, 0);
        EXPECT_LE(p.seconds_left, 20.1);
    };
    run(record, conditions);
    EXPECT_EQ(told, (std::vector<std::string>{"N.a 0 ", "N.a 0 half", "N.c 1 "}));
}

TEST_F(Run, AnExperimentThatIsNoMore) {
    Record record = make_record(std::vector<Experiment>{a}, {}, {});
    EXPECT_THROW(run(record, conditions_for({c})), RecordError);
}

TEST(TimeLeft, IsTheEstimatesAtFirst) {
    const TimeLeft left({10, 20, 30});
    EXPECT_DOUBLE_EQ(left.seconds(0, 0, 0), 60);
    EXPECT_DOUBLE_EQ(left.seconds(0, 4, 0), 56);
    // This experiment is overdue, and the other experiments still have to run.
    EXPECT_DOUBLE_EQ(left.seconds(0, 99, 0), 50);
}

TEST(TimeLeft, IsCorrectedByWhatWasSeen) {
    TimeLeft slow({100, 100}), fast({100, 100});
    slow.finished(0, 200);
    fast.finished(0, 50);
    EXPECT_GT(slow.seconds(1, 0, 0), 180);
    EXPECT_LT(slow.seconds(1, 0, 0), 200);
    EXPECT_LT(fast.seconds(1, 0, 0), 60);
    // A short experiment is not enough evidence.
    TimeLeft brief({0.1, 100});
    brief.finished(0, 0.5);
    EXPECT_LT(brief.seconds(1, 0, 0), 110);
}

TEST(TimeLeft, WhatIsSkippedSaysNothing) {
    TimeLeft left({100, 10});
    left.skipped(0);
    EXPECT_DOUBLE_EQ(left.seconds(1, 0, 0), 10);
}

TEST(TimeLeft, AnExperimentKnowsBestNearItsEnd) {
    const TimeLeft left({10});
    EXPECT_DOUBLE_EQ(left.seconds(0, 30, 1), 0);
    EXPECT_NEAR(left.seconds(0, 90, 0.9), 9, 0.1);  // according to its estimate, it would have ended
}

TEST(GpuWatch, KnowsTheLeastAndTheMostOfWhatItSaw) {
    std::atomic<int> reads = 0;
    GpuWatch watch([&] {
        GpuState state;
        state.mhz = ++reads == 2 ? 1200 : 1980;
        if (reads != 1) state.watts = 100 * std::min<int>(reads, 3);
        return state;
    });
    while (reads < 3) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const GpuWatch::Seen seen = watch.stop();
    ASSERT_TRUE(seen.clocks);
    EXPECT_EQ(seen.clocks->low, 1200);
    EXPECT_EQ(seen.clocks->median, 1980);
    EXPECT_EQ(seen.clocks->high, 1980);
    ASSERT_TRUE(seen.power);
    EXPECT_EQ(seen.power->low, 200);
    EXPECT_EQ(seen.power->high, 300);
    EXPECT_FALSE(seen.temperature);
}

TEST(GpuWatch, SaysNothingWhereNothingCanBeRead) {
    EXPECT_FALSE(GpuWatch({}).stop().clocks);
    EXPECT_FALSE(GpuWatch([] { return GpuState(); }).stop().clocks);
    EXPECT_FALSE(gpu_reader(-1));
}

TEST_F(Run, TheRecordHasTheStateOfTheGpuOfWhatWasMeasured) {
    const std::vector<Experiment> list{a, b};
    Conditions conditions = conditions_for(list);
    conditions.state = [] { return GpuState{1500, 650.5, 61, 1000}; };
    Record record = make_record(list, {}, {});
    EXPECT_TRUE(run(record, conditions));
    ASSERT_TRUE(record.experiments[0].clocks);
    EXPECT_EQ(record.experiments[0].clocks->median, 1500);
    EXPECT_EQ(record.experiments[0].power->median, 650.5);
    EXPECT_EQ(record.experiments[0].temperature->median, 61);
    EXPECT_FALSE(record.experiments[1].clocks) << "the experiment was skipped";
    EXPECT_FALSE(record.experiments[1].power);
}

}  // namespace
