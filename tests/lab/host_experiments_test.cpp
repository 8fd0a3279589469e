// Tests the experiments on transfers and messages on the simulated GPU. Each experiment must run to its end with
// verified outputs and complete results. Times are meaningless on the simulated GPU.
#include <gtest/gtest.h>

#include <cstdlib>

#include "whole_results.hpp"

namespace lab {
namespace {

class HostExperiments : public testing::TestWithParam<std::string> {};

TEST_P(HostExperiments, YieldWholeResults) {
    Context context;
    context.quick = true;
    context.gpu = 0;
    context.most_bytes = 16 << 10;
    expect_whole_result(GetParam(), context);
}

INSTANTIATE_TEST_SUITE_P(Host, HostExperiments,
                         testing::Values("N.overlap", "G.transfers", "G.breakdown", "P.streams", "P.host_memory",
                                         "P.modes", "P.qkd", "W.worth", "H.reads", "H.ctr", "H.overhead", "H.rekeying",
                                         "H.serial", "H.mixing", "H.modes"),
                         [](const auto& info) {
                             std::string name = info.param;
                             name[1] = '_';
                             return name;
                         });

/// With WARPAES_SIMT_DEVICES=2 there are two GPUs (simulated.lab_two_gpus).
TEST(AllGpus, AreMeasuredIfThereAreTwo) {
    Context context;
    context.quick = true;
    context.gpu = 0;
    context.most_bytes = 16 << 10;
    if (std::getenv("WARPAES_SIMT_DEVICES") != nullptr) return expect_whole_result("P.gpus", context);
    const std::vector<std::string> keys{"P.gpus"};
    EXPECT_THROW(select(keys)[0].run(context), LeftOut);
}

}  // namespace
}  // namespace lab
