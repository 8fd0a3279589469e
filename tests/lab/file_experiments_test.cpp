// Tests short experiments with files. Their results must be complete and must be storable. Without a GPU, only the
// CPU's part runs. On the simulated GPU, the experiments run completely.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "folder.hpp"
#include "lab/experiment.hpp"
#include "lab/gpu/device.hpp"
#include "lab/record.hpp"
#include "whole_results.hpp"

namespace {

using namespace lab;

#ifdef WARPAES_TEST_SIMULATED
constexpr std::size_t most_bytes = 70'000;
const std::string tried[] = {"P.staging", "P.pipeline", "P.random_access", "P.memory", "D.surfaces", "D.model"};
#else
constexpr std::size_t most_bytes = 300'000;
const std::string tried[] = {"P.staging",    "P.pipeline",      "P.modes",    "P.encryption",
                             "P.decryption", "P.random_access", "D.surfaces", "D.model"};
#endif

class FileExperiments : public testing::TestWithParam<std::string> {
protected:
    Context context() {
        Context context;
        context.quick = true;
        context.threads = 2;
        context.most_bytes = most_bytes;
        context.gpu = gpu::count() > 0 ? 0 : -1;
        context.disk = disk_.path();
        context.memory = memory_.path();
        if (const char* command = std::getenv("WARPAES")) context.command = command;
        return context;
    }
    oracle::Folder disk_, memory_;
};

TEST_P(FileExperiments, YieldsPanelsAndVerdicts) {
    const std::string keys[] = {GetParam()};
    Context here = context();
    double done = 0;
    here.step = [&](double share, const std::string&) {
        EXPECT_GE(share, done);
        EXPECT_LE(share, 1);
        done = share;
    };
    Result result;
    try {
        result = select(keys).front().run(here);
    } catch (const LeftOut& why) {
        GTEST_SKIP() << why.what() << "; machines that have it run this test";
    }
    check(result);
    EXPECT_FALSE(result.panels.empty());
    for (const Panel& panel : result.panels) {
        EXPECT_FALSE(panel.note.empty()) << panel.title;
        EXPECT_FALSE(panel.series.empty()) << panel.title;
        for (const Series& series : panel.series) {
            for (const auto& value : series.values) {
                ASSERT_TRUE(value) << panel.title << ", " << series.name;
                EXPECT_GE(*value, 0) << panel.title << ", " << series.name;
            }
        }
    }
    if (here.gpu >= 0) expect_verdicts(select(keys).front(), result);
    const bool leaves_out = std::any_of(result.notes.begin(), result.notes.end(), [](const std::string& note) {
        return note.find("left out") != std::string::npos;
    });
    EXPECT_EQ(leaves_out, here.gpu < 0 && GetParam() != "P.random_access");
    EXPECT_EQ(to_json(result_from_json(to_json(result))), to_json(result));
    EXPECT_TRUE(disk_.names().empty()) << disk_.names().front();
    EXPECT_TRUE(memory_.names().empty()) << memory_.names().front();
}

TEST_P(FileExperiments, StopWhereTheyAreTold) {
    const std::string keys[] = {GetParam()};
    Context here = context();
    here.step = [](double, const std::string&) { throw Interrupted(); };
    EXPECT_THROW(
        {
            try {
                select(keys).front().run(here);
            } catch (const LeftOut&) {
                throw Interrupted();
            }
        },
        Interrupted);
}

TEST_P(FileExperiments, WithoutAFolderAreLeftOut) {
    if (GetParam() == "P.modes" || GetParam() == "W.worth") return;  // these experiments use no files
    const std::string keys[] = {GetParam()};
    Context here = context();
    here.disk.clear();
    here.memory.clear();
    if (GetParam() == "P.memory") {  // most of this experiment needs no folder
        const std::vector<std::string> notes = select(keys).front().run(here).notes;
        EXPECT_EQ(std::count_if(notes.begin(), notes.end(),
                                [](const std::string& note) { return note.find("no folder") != std::string::npos; }),
                  1);
        return;
    }
    EXPECT_THROW(select(keys).front().run(here), LeftOut);
}

class TheModel : public FileExperiments {};

TEST_P(TheModel, IsOfTheSurfacesThatTheRunHas) {
    const std::string surfaces_key[] = {"D.surfaces"}, model_key[] = {"D.model"};
    Context here = context();
    const Result surfaces = result_from_json(to_json(select(surfaces_key).front().run(here)));
    here.disk.clear();  // nothing can be measured without it
    here.memory.clear();
    EXPECT_THROW(select(model_key).front().run(here), LeftOut);
    here.measured = [&](const std::string& key) { return key == "D.surfaces" ? &surfaces : nullptr; };
    const Result model = select(model_key).front().run(here);
    check(model);
    const Panel &speed = surfaces.panels[0], &time = model.panels[0];
    ASSERT_EQ(speed.title, "AES-128 encryption");
    ASSERT_EQ(time.title, speed.series[0].name + ": AES-128 encryption");
    EXPECT_EQ(time.y.values, speed.y.values);
    for (std::size_t i = 0; i < speed.series[0].values.size(); ++i) {
        const double microseconds = speed.x.values[i % speed.x.size()] / *speed.series[0].values[i] / 1e3;
        EXPECT_NEAR(*time.series[0].values[i], microseconds, 1e-6 * microseconds) << i;
        EXPECT_LE(time.series[0].spread[i]->low, time.series[0].spread[i]->high);
    }
    EXPECT_EQ(model.panels.size(), surfaces.panels.back().x.size() * (surfaces.panels.back().x.size() + 1) / 2 + 1);
}

INSTANTIATE_TEST_SUITE_P(Lab, TheModel, testing::Values("D.model"), [](const auto&) { return "D_model"; });
INSTANTIATE_TEST_SUITE_P(Lab, FileExperiments, testing::ValuesIn(tried), [](const auto& info) {
    std::string name = info.param;
    name[1] = '_';
    return name;
});

}  // namespace
