// Tests the execution of other programs, and the folders for their files.
#include "lab/process.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <system_error>

#include "folder.hpp"
#include "lab/files.hpp"

namespace {

using namespace lab;

TEST(Process, HasTheVariablesThatItIsGiven) {
    setenv("WARPAES_TEST_OWN", "own", 1);
    setenv("WARPAES_TEST_BOTH", "own", 1);
    const Finished finished = run_process({"sh", "-c", "echo $WARPAES_TEST_OWN $WARPAES_TEST_BOTH $WARPAES_TEST_GIVEN"},
                                          {"WARPAES_TEST_BOTH=given", "WARPAES_TEST_GIVEN=given"});
    EXPECT_EQ(finished.output, "own given given\n");
    unsetenv("WARPAES_TEST_OWN");
    unsetenv("WARPAES_TEST_BOTH");
}

TEST(Process, OutputErrorsAndStatus) {
    const Finished finished = run_process({"sh", "-c", "echo out; echo err >&2; exit 3"});
    EXPECT_EQ(finished.status, 3);
    EXPECT_EQ(finished.output, "out\n");
    EXPECT_EQ(finished.errors, "err\n");
    EXPECT_GT(finished.seconds, 0);
}

TEST(Process, MoreThanAPipeHolds) {
    const Finished finished =
        run_process({"sh", "-c", "head -c 300000 /dev/zero; head -c 200000 /dev/zero >&2; head -c 1 /dev/zero"});
    EXPECT_EQ(finished.status, 0);
    EXPECT_EQ(finished.output.size(), 300'001u);
    EXPECT_EQ(finished.errors.size(), 200'000u);
}

TEST(Process, SignalsAndAbsence) {
    EXPECT_EQ(run_process({"sh", "-c", "kill -TERM $$"}).status, 128 + 15);
    EXPECT_EQ(run_process({"cat"}).output, "");  // its standard input is empty
    EXPECT_THROW(run_process({"no-such-program-anywhere"}), std::system_error);
    EXPECT_TRUE(find_program("sh"));
    EXPECT_FALSE(find_program("no-such-program-anywhere"));
}

TEST(Scratch, IsRemovedWithWhatIsInIt) {
    const oracle::Folder parent;
    std::filesystem::path path;
    {
        const ScratchFolder scratch(parent.path());
        path = scratch.path();
        std::ofstream(path / "file") << "x";
        EXPECT_EQ(path.parent_path(), parent.path());
    }
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_TRUE(ScratchFolder("").path().empty());
    EXPECT_THROW(ScratchFolder(parent.path() / "absent"), std::system_error);
}

TEST(Scratch, WhatAKilledProcessLeftIsRemovedAndNothingElse) {
    const oracle::Folder parent;
    const auto left = parent.path() / "warpaes-lab-killed", others = parent.path() / "warpaes-lab-without-lock",
               file = parent.path() / "warpaes-lab-file";
    std::filesystem::create_directory(left);
    std::ofstream(left / ".lock") << "";
    std::ofstream(left / "input") << "x";
    std::filesystem::create_directory(others);
    std::ofstream(file) << "x";
    const ScratchFolder first(parent.path());
    EXPECT_FALSE(std::filesystem::exists(left)) << "no process holds its lock";
    EXPECT_TRUE(std::filesystem::exists(others));
    EXPECT_TRUE(std::filesystem::exists(file));
    const ScratchFolder second(parent.path());
    EXPECT_TRUE(std::filesystem::exists(first.path())) << "it is in use";
}

}  // namespace
